// The host's desk, in a second window or on a phone: the class, the step that it is at, what can come next, what was.

import { buttonOf, confirmed, el, kept, showParts } from "../core/dom.js";
import { asked } from "../core/poll.js";
import { askedOnce, getJson } from "../core/server.js";
import { effect, signal } from "../core/signals.js";
import { codeOf, qrOf, typedAddress } from "./joining.js";
import { KINDS } from "./kinds.js";
import { countedIn } from "./question.js";
import { goingRun } from "./question_desk.js";
import { posted } from "./sending.js";

const EVERY_MS = 2500;
const LOOPBACK = /^https?:\/\/(localhost|127\.|\[::1\])/;
/** @type {[Wire.ClassStep["kind"], string][]} */
const OFFERS = [["question", "A question"], ["vote", "A vote on pairs of texts"], ["game", "The game of rewards"]];
/** @type {Record<string, string>} */
const STATES = { open: "open", closed: "closed", shown: "shown" };
/** Why a person may be stuck. @type {Record<string, string>} */
const SIGNS = { help: "!", tries: "\u2717", long: "\u25D4", "": "" };
/** Of a lesson, in a sentence. @type {Record<string, string>} */
const STEPS = { predict: "the prediction", "run-0": "the first run", "run-1": "the second run",
  explain: "\u201cWhy?\u201d", break: "the task", transfer: "the last question", end: "the end" };

const root = document.getElementById("class");
const lessons = signal(/** @type {Wire.Course[]} */ ([]));
const said = signal("");
const allLessons = /** @type {() => Promise<Wire.Lessons>} */ (askedOnce("live/_lessons"));

const { answer: front, problem, now: ask } = asked(async (signalled) => {
  lessons.value = (await allLessons()).courses;
  return /** @type {Wire.ClassDesk} */ (await getJson("class/front", signalled));
}, EVERY_MS);

/** @type {import("./kinds.js").DeskTools} */
const tools = { lessons, front, lead: async (step) => {
  said.value = "";
  const answer = /** @type {Wire.ClassLed} */ (await posted("class/lead", step));
  said.value = answer.error || answer.sentence || "";
  await ask();
  return answer;
} };

async function open() {
  const { joined, steps } = front.value;
  const lost = steps.length || joined;
  const parts = el("p", `The last class (${joined} joined, ${steps.length} steps) and all its answers are deleted, and `
    + "there is a new code.");
  if (!lost || await confirmed("Open a new class?", parts, "Delete it and open a new one")) tools.lead({ do: "open" });
}

async function end() {
  const parts = el("p", "No one can join or answer any more. What was answered stays until a new class is opened.");
  if (await confirmed("End the class?", parts, "End the class", { no: "Keep it open" })) tools.lead({ do: "end" });
}

/** @param {Wire.ClassDesk} shown */
function theClass({ code, address, addresses, qr, present, joined, free, over, damaged }) {
  if (over) return [el("p", `The class has ended. It can go on with its code, people (${joined}) and steps.`),
    el("div.lesson-buttons", { "data-key": "over" },
      buttonOf("button strong", { onclick: () => tools.lead({ do: "go_on" }) }, "Go on with this class"),
      buttonOf("button", { onclick: open }, "Open a new class"))];
  if (!code) return [el("p", damaged
    || "No class is open. Opened, it gets a code of four letters with which phones join."),
    buttonOf("button strong", { "data-key": "open", onclick: open }, "Open a class")];
  const only = addresses.every((one) => LOOPBACK.test(one));
  return [el("div.desk-join", { "data-key": "join" }, qrOf(qr, address), el("div", codeOf(code),
    addresses.map((one) => el("p.desk-address", typedAddress(one))))),
  only ? el("p.muted", { "data-key": "only" }, "This address works on this computer only. For a class, start the "
    + "playground with --mode classroom.") : null,
  el("p", { "data-key": "here", role: "status" }, el("strong", `${present} here now`), ` (${joined} joined)`),
  el("label.desk-free", { "data-key": "free" }, el("input", { type: "checkbox", checked: free,
    onchange: (event) => tools.lead({ do: "free", free: event.target.checked }) }),
  "The class may look around on the page"),
  el("div.lesson-buttons", { "data-key": "ends" }, buttonOf("quiet-button", { onclick: end }, "End the class"),
    buttonOf("quiet-button", { onclick: open }, "Open a new class")),
  el("details.desk-folded", { "data-key": "isolated" }, el("summary", "The phones cannot reach this address?"),
    el("p", "Some networks keep devices apart: guest networks, and many of schools. Then a hotspot of a phone or of "
      + "this computer works. Or ask for hands: each question has a place to type the counts.")),
  ].filter(Boolean);
}

/** @param {Wire.ClassDesk} shown */
function now(shown) {
  const { step, steps } = shown;
  if (!step) return [el("p.muted", "Nothing yet. Begin with one of those below."), ...others(shown)];
  const { title } = steps.find(({ id }) => id === step.id);
  const round = step.round > 1 ? `Round ${step.round}: ` : "";
  return [el("p", { "data-key": "step" }, el("strong", title), ` \u00b7 ${STATES[step.state]}`),
    step.vote?.wait ? null
      : el("p.desk-count", { "data-key": "count", role: "status" }, round, countedIn(shown, step.state)),
    el("div.desk-kind", { "data-key": `step ${step.id}` }, KINDS[step.kind].desk(shown, tools)),
    ...others(shown)].filter(Boolean);
}

/** Runs of other lessons that go on. @param {Wire.ClassDesk} shown */
function others({ going }) {
  return going.map((run) => el("div", { "data-key": `going ${run.run}` }, goingRun(run, tools)));
}

/** Who is in the lesson that the class is at, or asks for help; who is stuck first. @param {Wire.ClassDesk} shown */
function placesOf({ places }) {
  return el("ul.desk-places", places.map((place) => el("li", { "data-key": `number ${place.number}`,
    "data-stuck": place.stuck }, el("span.desk-sign", { "aria-hidden": "true" }, SIGNS[place.stuck]),
  el("strong", `Number ${place.number}`), el("span", whereIs(place)))));
}

/** @param {Wire.ClassPlace} place */
function whereIs({ stuck, step, tries, minutes }) {
  const at = step ? `at ${STEPS[step] ?? step}` : "";
  if (stuck === "help") return `asks for help ${at}`;
  if (stuck === "tries") return `has tried the task ${tries} times in vain`;
  return stuck === "long" ? `has been ${at} for ${minutes} minutes, most are further` : at;
}

/** @param {Wire.ClassDesk} shown */
function before({ steps, step, code }) {
  return el("ol.desk-steps", steps.map(({ id, title, state, answered }) =>
    el("li", { "data-key": `step ${id}` }, title, el("span.muted", ` \u00b7 ${STATES[state]}, ${answered} answered `),
      id === step?.id ? el("strong", "now") : !code ? null : buttonOf("quiet-button", {
        "aria-label": `Back to this: ${title}`, onclick: () => tools.lead({ do: "back", step: id }) },
      "Back to this"))));
}

/** @type {HTMLElement[]} */
const offers = OFFERS.map(([kind, words], index) => el("details.desk-offer", { "data-key": `offer ${kind}`,
  open: index === 0 }, el("summary", el("h3", words)), KINDS[kind].offer(tools)));

/** @param {string} key @param {string} title @param {Node[]} parts */
function section(key, title, parts) {
  return el(`section.panel.desk-${key}`, { "data-key": key, "aria-labelledby": `desk-${key}` },
    el("h2", { id: `desk-${key}` }, title), parts);
}

effect(() => {
  const shown = front.value;
  root.classList.add("on-desk");
  showParts(root, /** @type {ChildNode[]} */ ([
    el("header.desk-head", { "data-key": "head" }, el("h1", "The desk"), shown ? [
      el("a.quiet-button", { href: "./class/screen", target: "class-screen" }, "Screen in front"),
      el("a.quiet-button", { href: "./", target: "playground" }, "The full page")] : null),
    el("p.problem.desk-said", { "data-key": "problem", role: "alert", hidden: !problem.value }, problem.value),
    el("div.desk-said", { "data-key": "said", hidden: !said.value },
      el("p", { role: "alert" }, said.value),
      buttonOf("quiet-button", { onclick: () => { said.value = ""; } }, "OK")),
    shown ? null : el("p.muted", { "data-key": "loading" }, problem.value ? "" : "Loading\u2026"),
    shown ? el("div.desk-columns", { "data-key": "columns" },
      el("div", section("class", "The class", theClass(shown)),
        shown.places.length ? section("stuck", `Who is stuck: ${
          shown.places.filter(({ stuck }) => stuck).length} of ${shown.present}`, [placesOf(shown)]) : null,
        shown.steps.length ? section("before", "So far", [before(shown)]) : null),
      el("div", section("now", "Now", now(shown)), section("next", "Next", offers.map(kept)))) : null,
  ].filter(Boolean)));
});

ask();
