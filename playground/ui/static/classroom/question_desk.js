// What the host does with a question: ask one, close it, ask it again, start its run, show what came of it; and hands,
// where the phones do not reach the page.

import { buttonOf, el, kept, menuOf, optionsOf, setHidden, setOff, showParts } from "../core/dom.js";
import { number, stateOf } from "../core/format.js";
import { newName } from "../core/server.js";
import { effect, signal } from "../core/signals.js";
import { isRecording } from "../core/store.js";
import { tallyOf } from "./tally.js";

const HAND_BINS = 10;
const WHAT = [["prediction", "What do you expect?"], ["transfer", "The last question"]];

/** @typedef {import("./kinds.js").DeskTools} Tools */

/** Of each question and round. @type {Map<string, HTMLElement>} */
const counters = new Map();

/** The name of the next start, the same until it is answered: a press that arrives twice starts one run. */
let request = newName();

/** @param {Wire.ClassDesk} front @param {Tools} tools @returns {Node[]} */
export function desk(front, tools) {
  const { step, runs } = front;
  const { state, round, question: { predict } } = step;
  const again = round === 1; // first they talk
  const told = runs.some(({ index, ended }) => ended && !index);
  const act = (/** @type {string} */ name, more = {}) => () => tools.lead({ do: name, step: step.id, ...more });
  /** @type {Record<string, Node[]>} */
  const buttons = {
    open: [button("close", "strong", act("close"), "No more answers")],
    closed: [button("again", again ? "strong" : "", act("again"), "Ask again"),
      button("show", again || told ? "" : "strong", act("show"), "Show the answers"),
      button("reopen", "", act("reopen"), "Take answers again")],
    shown: [button("close", "", act("close"), "Hide the answers")],
  };
  return [el("p.lesson-ask", predict.ask),
    el("p.muted", { "data-key": "hint" }, !again && LATER[state] || HINTS[state]),
    el("div.lesson-buttons", { "data-key": "buttons" }, buttons[state]),
    state === "open" ? null : runPart(front, tools),
    front.live && state !== "shown" ? el("details.desk-folded", { "data-key": "live" },
      el("summary", "What they answer (the class does not see this)"), ...tallyOf(predict, front.live)) : null,
    state === "shown" && step.results ? el("div", { "data-key": "shown" }, ...tallyOf(predict, step.results)) : null,
    kept(handsOf(step, tools))].filter(Boolean);
}

/** @type {Record<string, string>} */
const HINTS = {
  open: "Each for themselves first. Close it when most have answered.",
  closed: "Now let them talk, each with a neighbour who said something else. Then ask again, and show both rounds.",
  shown: "The screen in front and the phones show what the class has said.",
};

/** After the first round. @type {Record<string, string>} */
const LATER = { open: "Close it when most have answered.", closed: "Now show both rounds." };

/** @param {string} key @param {string} kind @param {() => unknown} onclick @param {string} text */
function button(key, kind, onclick, text) {
  return buttonOf(`button ${kind}`.trim(), { "data-key": key, onclick }, text);
}

/** The runs of the lesson that the class is asked about. @param {Wire.ClassDesk} front @param {Tools} tools */
function runPart(front, tools) {
  const { step, runs } = front;
  const lesson = tools.lessons.value.flatMap(({ lessons }) => lessons)
    .find(({ name }) => name === step.question.lesson);
  if (!lesson) return null;
  const several = lesson.runs.length > 1;
  return el("section.desk-runs", { "data-key": "runs" }, el("h3", several ? "The runs" : "The run"),
    lesson.runs.map((run, index) => {
      const made = runs.filter((one) => one.index === index);
      return el("div.desk-run", { "data-key": `run ${index}` }, el("p",
        several ? ORDER[Math.min(index, 1)] : "", el("strong", run.title),
        made.length ? ` (in front: \u201c${made[0].title}\u201d)` : "",
        run.changes.length ? el("span.muted", ` ${run.changes.join(", ")}`) : ""),
      made.map((one) => madeRun(one, front, tools)),
      el("div.lesson-buttons", button(`start ${index}`, "", () => start(lesson.name, index, tools),
        made.length ? "Start another one" : "Start the run"),
      run.twin ? button(`twin ${index}`, "", () => tools.lead({ do: "run", lesson: lesson.name, index,
        recorded: true }), "Take the recording") : null));
    }));
}

const ORDER = ["First: ", "Then, to compare with it: "];

/** @param {string} lesson @param {number} index @param {Tools} tools */
async function start(lesson, index, tools) {
  const { run } = await tools.lead({ do: "run", lesson, index, request });
  if (run) request = newName();
}

/** @param {Wire.ClassRun} made @param {Wire.ClassDesk} front @param {Tools} tools */
function madeRun(made, { step, shown_run: shown, front: inFront }, tools) {
  const { run, index, state, ended } = made;
  const { icon, word } = stateOf(isRecording(run) ? "recorded" : state);
  const show = inFront === run ? button(`back ${run}`, "strong", () => tools.lead({ do: "front", run: "" }),
    "Back to the question")
    : button(`front ${run}`, "", () => tools.lead({ do: "front", run }), "Show the run in front");
  const say = index || !ended ? null : shown === run
    ? el("span.muted", "Shown with the answers.")
    : button(`with ${run}`, step.round > 1 && !inFront ? "strong" : "",
      () => tools.lead({ do: "show", step: step.id, run }), "Show the answers with what it says");
  return el("div.desk-made", { "data-key": run }, made.going ? goingRun(made, tools)
    : el("p", `${icon} ${word}`), el("div.lesson-buttons", show, say));
}

/** A run that has not ended: where it is, and how to stop it. @param {Wire.ClassRun} made @param {Tools} tools */
export function goingRun({ run, state, title, words }, tools) {
  const { icon, word } = stateOf(state);
  return el("div.lesson-buttons", { "data-key": `going ${run}` },
    el("span", `${icon} \u201c${title}\u201d ${word}${words ? `: ${words}` : ""}. `,
      el("span.muted", "What you start next waits for it.")),
    buttonOf("quiet-button", { onclick: () => tools.lead({ do: "stop_run", run }) }, "Stop it"));
}

/** Hands to be counted. @param {Wire.ClassStep} step @param {Tools} tools */
function handsOf({ id, round, question: { predict } }, tools) {
  const key = `hands ${id} ${round}`;
  if (!counters.has(key)) {
    const fields = answersOf(predict).map((says) => ({ says,
      field: el("input", { type: "number", min: 0, max: 300, inputmode: "numeric", value: "0" }) }));
    const told = el("p.muted", { role: "status" });
    counters.set(key, el("details.desk-folded", { "data-key": key },
      el("summary", "Hands up, where phones do not work"),
      el("p.muted", "Count the hands for each answer. They are shown beside the answers of the phones, as hands."),
      el("div.desk-hands", fields.map(({ says, field }) => el("label", field, el("span", says)))),
      button("count", "", async () => {
        const { error } = await tools.lead({ do: "counts", step: id,
          counts: fields.map(({ field }) => Number(field.value)) });
        told.textContent = error ? "" : "They are counted.";
      }, "Keep these counts"), told));
  }
  return counters.get(key);
}

/** What there is to raise a hand for. @param {Wire.Prediction} predict */
function answersOf({ kind, options, shapes, low, high, unit }) {
  if (kind === "choice") return options.map(({ say }) => say);
  if (kind === "curve") return shapes;
  const edge = (/** @type {number} */ index) => number(low + ((high - low) * index) / HAND_BINS);
  return Array.from({ length: HAND_BINS }, (_, index) => `${edge(index)} to ${edge(index + 1)} ${unit}`);
}

/** @param {Tools} tools */
export function offer(tools) {
  return el("div", ofLessons(tools), typed(tools));
}

/** @param {Tools} tools */
function ofLessons(tools) {
  const chosen = signal("");
  const what = signal("prediction");
  const menu = menuOf([], { id: "desk-lesson", onchange: (event) => {
    chosen.value = event.target.value;
    which.value = what.value = "prediction";
  } });
  const which = menuOf(WHAT, { id: "desk-what", onchange: (event) => { what.value = event.target.value; } });
  const shown = el("div.desk-preview");
  const note = el("p.muted", "The class is at this question now.");
  const press = button("ask", "strong", () => tools.lead({ do: "ask", lesson: chosen.value, what: what.value }),
    "Ask this question");
  effect(() => {
    const courses = tools.lessons.value;
    menu.replaceChildren(...courses.map(({ title, lessons }) => el("optgroup", { label: title },
      optionsOf(lessons.map((lesson) => [lesson.name, `${lesson.number}. ${lesson.title}`])))));
    chosen.value = menu.value;
  });
  effect(() => {
    const lesson = tools.lessons.value.flatMap(({ lessons }) => lessons).find(({ name }) => name === chosen.value);
    const { ask, options } = (what.value === "transfer" ? lesson?.transfer : lesson?.predict)
      ?? { ask: "", options: /** @type {Wire.Option[]} */ ([]) };
    const now = tools.front.value?.step;
    const here = now?.question?.predict.ask === ask && now.state !== "shown";
    press.classList.toggle("strong", !here);
    setOff(press, here && now.state === "open");
    setHidden(note, !here, press);
    showParts(shown, [el("p", el("strong", ask)), options.length ? el("ul", options.map(({ say }) => el("li", say)))
      : el("p.muted", { hidden: !lesson }, lesson?.predict.kind === "curve" ? "They choose a shape."
        : "They choose a number.")]);
  });
  return el("div.desk-form", el("label", { for: "desk-lesson" }, "Lesson"), menu,
    el("label", { for: "desk-what" }, "Question"), which, shown, press, note);
}

/** A question of the host's own. @param {Tools} tools */
function typed(tools) {
  const ask = el("input", { type: "text", id: "desk-ask", maxlength: 240 });
  const answers = el("textarea", { id: "desk-answers", rows: 4 });
  return el("details.desk-folded", el("summary", "A question of your own"),
    el("div.desk-form", el("label", { for: "desk-ask" }, "Question"), ask,
      el("label", { for: "desk-answers" }, "Answers: 2 to 6, one in a line"), answers,
      button("ask-own", "", async () => {
        const { error } = await tools.lead({ do: "ask", ask: ask.value,
          options: answers.value.split("\n").filter((line) => line.trim()) });
        if (!error) ask.value = answers.value = "";
      }, "Ask it")));
}
