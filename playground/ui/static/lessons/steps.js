// The other steps of a lesson: what is predicted, why it is so, a task to break it, one more question, and the end.

import { cardOf } from "./card.js";
import { buttonOf, el, setHidden, setText, showParts, signOf } from "../core/dom.js";
import { knobControls } from "../core/knob.js";
import { go, place } from "../core/nav.js";
import { lessonLink } from "./courses.js";
import { asking, options } from "./predict.js";
import { nextLesson, openLessons, progress } from "./progress.js";
import { answeredPart, offerAfter, offerBefore } from "./questions.js";
import { beginning, watching } from "./run_step.js";
import { untrainedPart } from "./untrained.js";
import { waysOn } from "./ways_on.js";

/** @typedef {import("./lesson.js").LessonPanel} Panel @typedef {import("./lesson.js").Step} Step */

/** @param {Panel} panel @returns {Step} */
export function predictStep(panel) {
  const { lesson } = panel;
  let given = /** @type {import("./progress.js").Prediction | null} */ (null);
  const why = el("input", { type: "text", id: "lesson-why", maxlength: 200, autocomplete: "off",
    placeholder: "in a few words, for yourself" });
  const ready = buttonOf("button strong", { off: true, "aria-describedby": "lesson-predict-first",
    onclick: () => panel.next({ prediction: given, why: why.value.trim() }, "Your prediction is kept.") },
  "That is my prediction");
  const form = asking(lesson.predict, (prediction) => {
    given = prediction;
    ready.setAttribute("aria-disabled", String(!prediction));
  });
  const { box, fill } = untrainedPart(lesson);
  panel.refresh = fill;
  return { title: "What do you expect?", before: el("div.lesson-before", offerBefore(panel),
    el("p.lesson-situation", lesson.situation)), parts: [box, form,
    el("div.own", el("label", { for: "lesson-why" }, "Why? ", el("span.muted", "(if you like)")), why),
    el("div.lesson-buttons", ready, buttonOf("quiet-button", {
      onclick: () => panel.next({ prediction: {}, why: "" }, "No prediction.") }, "Only look")),
    el("p.muted.lesson-note", { id: "lesson-predict-first" },
      "Right or wrong does not count. Predicting first makes you see more.")] };
}

/** @param {Panel} panel @returns {Step} */
export function explainStep(panel, again = false) {
  const { lesson, answers } = panel;
  const told = answers.runs.findLast((ran) => ran?.told)?.told;
  return { title: "Why?", parts: [(told?.explained ?? []).map((words) => el("p", words)),
    told?.card ? cardOf(told.card) : "",
    again ? "" : el("div.lesson-buttons", buttonOf("button strong", { onclick: () => panel.next() },
      lesson.break_it ? "Now try it yourself" : "One more question"))] };
}

/** @param {Panel} panel @returns {Step} */
export function breakStep(panel) {
  const { lesson: { break_it: task, runs }, answers } = panel;
  const last = answers.tries.at(-1);
  const index = runs.length;
  const box = el("div.lesson-run");
  if (last && !last.told) {
    panel.refresh = () => showParts(box, watching(panel, index, last));
    return { title: "Try it yourself", parts: [el("p", task.ask), box] };
  }
  const { start } = panel.runs.offered(index);
  const given = /** @type {Record<string, number | string>} */ (
    Object.fromEntries(task.knobs.map(({ field }) => [field, task.values[field] ?? ""])));
  const values = { ...given, ...last?.values };
  const boards = panel.lesson.look.some((part) => ["leash", "chalkboard"].includes(part)); // with a leash of their own
  const knobs = task.knobs.map((knob) => (boards ? { ...knob, label: `${knob.label} of the next run` } : knob));
  const controls = knobControls(knobs, "lesson", "first run", (field, value) => {
    values[field] = value;
    controls.get(field).show(value);
  });
  for (const [field, control] of controls) {
    control.show(values[field]);
    control.setMark(given[field]);
  }
  const reached = last?.told.reached;
  const skip = () => buttonOf(`button ${reached ? "strong" : ""}`, { "data-key": "skip", onclick: () => panel.next() },
    reached ? "One more question" : last || start ? "Skip this" : "Go on");
  panel.refresh = () => showParts(box, beginning(panel, index, () => values, [skip()]));
  return { title: "Try it yourself", parts: [el("p", task.ask), last ? resultOf(last) : "",
    reached ? "" : hintsPart(panel, task.hints, task.solution && `${task.solution} has reached it.`),
    reached ? "" : start ? el("div.lesson-knobs", [...controls.values()].map(({ root }) => root)) : "",
    reached ? el("div.lesson-buttons", skip()) : box] };
}

/** What became of the last try. @param {import("./progress.js").Ran} last */
function resultOf({ told: { reached, said } }) {
  return el("div.lesson-verdict", { "data-tone": reached ? "right" : "other" },
    el("p.lesson-tone", signOf(reached ? "\u2713" : "\u2260"), reached ? " You have done it" : " Not yet"),
    said.map((words) => el("p", words)));
}

/**
 * Hints, a step at each press: where to look, what to compare, and the answer. Which were read is kept nowhere.
 * @param {Panel} panel @param {string[]} hints @param {string} answer "" where there is none
 */
function hintsPart(panel, hints, answer) {
  const steps = [...hints.map((words) => ({ name: "Hint: ", words })), { name: "Answer: ", words: answer }]
    .filter(({ words }) => words);
  const list = el("ul.lesson-hints", { "aria-live": "polite" });
  const button = buttonOf("quiet-button", { title: "Nobody sees that you have read it, and it does not count.",
    onclick: () => {
      panel.hintsRead += 1;
      show();
    } });
  function show() {
    const { hintsRead: read } = panel;
    for (const { name, words } of steps.slice(list.childElementCount, read))
      list.append(el("li", { tabindex: "-1" }, el("strong", name), words));
    setText(button, read >= hints.length ? "Show the answer" : read ? "Another hint" : "Hint");
    setHidden(button, read >= steps.length, /** @type {HTMLElement} */ (list.lastElementChild));
  }
  show();
  return el("div.lesson-hints-part", list, button);
}

/** @param {Panel} panel @returns {Step} */
export function transferStep(panel) {
  const { lesson: { transfer }, answers } = panel;
  const better = transfer.options.find((option) => option.right);
  const chosen = answers.transfer;
  if (chosen === undefined) {
    let given = -1;
    const ready = buttonOf("button strong", { off: true, onclick: () => {
      const { right, why = "" } = transfer.options[given];
      panel.answer({ transfer: given }, `${right ? "Right." : "Not right."} ${why}`);
    } }, "That is my answer");
    const form = options("lesson-transfer", transfer.ask, transfer.options, (index) => {
      given = index;
      ready.setAttribute("aria-disabled", "false");
    });
    const answer = `\u201c${better.say}\u201d ${better.why ?? ""}`;
    return { title: "One more question", parts: [form,
      transfer.hints.length ? hintsPart(panel, transfer.hints, answer) : "", el("div.lesson-buttons", ready)] };
  }
  return { title: "One more question", parts: [el("p", transfer.ask), answeredPart(transfer, chosen),
    el("div.lesson-buttons", buttonOf("button strong", { onclick: () => panel.next({}, "The lesson is done.") },
      "Go on"))] };
}

/** @param {Panel} panel @returns {Step} */
export function endStep(panel) {
  const { lesson: { chapter }, all, name } = panel;
  const { embedded } = place();
  const next = nextLesson(all, progress.value, name);
  const open = openLessons(all, { ...progress.value, [name]: panel.answers });
  return { title: chapter ? "A claim you may read elsewhere" : "Done", parts: [
    chapter ? [el("blockquote.lesson-claim", chapter.says),
      el("p", el("strong", chapter.right ? "\u2713 That holds. " : "\u2260 Not quite so, here. "), chapter.so)] : "",
    offerAfter(panel), embedded ? "" : waysOn(panel),
    el("div.lesson-done", el("p", signOf("\u2713 "), el("strong", "Lesson done.")),
      el("div.lesson-buttons", embedded ? "" : next
        ? lessonLink(next.name, `Next: ${next.title}`, { class: "button strong" })
        : buttonOf("button strong", { onclick: () => go({ page: "lessons" }) },
          open ? `Back to the lessons (${open} still open)` : "All lessons are done: hand in"),
      buttonOf("quiet-button", { onclick: () => panel.again() }, "Do it again")))] };
}
