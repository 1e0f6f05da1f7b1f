// A question: on a phone a form, on the screen in front the question and then what the class has answered. The host's
// part is in question_desk.js.

import { el, kept } from "../core/dom.js";
import { number } from "../core/format.js";
import { keptRecords } from "../core/kept.js";
import { untracked } from "../core/signals.js";
import { asking, predictionInWords } from "../lessons/predict.js";
import { pictureOf } from "../lessons/shapes.js";
import { verdictBox } from "../lessons/verdict.js";
import { tallyOf, WIDE } from "./tally.js";

export { desk, offer } from "./question_desk.js";

const UNTITLED = "A question";

/** @typedef {import("../lessons/progress.js").Prediction} Prediction */

/** Why one has answered so, by the step's number: it stays in this browser. */
const reasons = /** @type {import("../core/kept.js").Records<string>} */ (keptRecords("playground-class-reasons"));

/** Of each round of each question, so that what is being answered stays. @type {Map<string, HTMLElement>} */
const forms = new Map();

/** @param {Wire.ClassStep} step @param {import("./kinds.js").StudentTools} tools */
export function student(step, tools) {
  const { question: { title, situation, predict }, round, state } = step;
  if (state === "shown" && step.results) return { title: title || UNTITLED, parts: shownParts(step, tools) };
  const earlier = round > 1 ? mineIn(step, tools, round - 1) : null;
  const mine = mineIn(step, tools, round);
  return { title: title || UNTITLED, parts: [
    situation && round === 1 ? el("p.lesson-situation", situation) : null,
    round > 1 ? el("p", el("strong", "Once more. "), "Answer again, whether you have changed your mind or not.") : null,
    earlier ? el("p.muted", `In the round before you said: ${quoted(predict, earlier)}`) : null,
    state === "open" ? kept(formOf(step, tools)) : el("p.lesson-ask", predict.ask),
    state === "open" ? null : el("p", mine ? `You said: ${quoted(predict, mine)}` : "You have not answered this time."),
    state === "open" ? null : reasonOf(step.id),
    state === "open" ? null : el("p.muted", "No more answers now. It goes on in front."),
  ].filter(Boolean) };
}

/** @param {Wire.ClassStep} step @param {import("./kinds.js").StudentTools} tools */
function formOf(step, tools) {
  const key = `form ${step.id} ${step.round}`;
  if (!forms.has(key)) {
    const form = asking(step.question.predict, (given) => given && tools.answer(step.round, given),
      mineIn(step, tools, step.round) ?? {});
    forms.set(key, el("div.class-form", { "data-key": key }, form, reasonField(step.id)));
  }
  return forms.get(key);
}

/** @param {number} step */
function reasonField(step) {
  return el("div.class-reason", el("label", { for: "class-reason" }, "Why? One line for yourself; it stays here."),
    el("input", { type: "text", id: "class-reason", maxlength: 140, autocomplete: "off",
      value: untracked(() => reasons.records.value[step]) ?? "",
      onchange: (event) => reasons.set(String(step), event.target.value) }));
}

/** @param {number} step */
function reasonOf(step) {
  const words = reasons.records.value[step];
  return words ? el("p.muted", `Your reason: ${words}`) : null;
}

/** What this person has answered in a round: here, or before in this browser. */
function mineIn(/** @type {Wire.ClassStep} */ step, /** @type {import("./kinds.js").StudentTools} */ tools,
  /** @type {number} */ round) {
  const sent = tools.sent(round);
  const value = sent && sent.state !== "refused" ? sent.value : step.mine[round];
  return /** @type {Prediction | null} */ (value ?? null);
}

/** @param {Wire.ClassStep} step @param {import("./kinds.js").StudentTools} tools @returns {Node[]} */
function shownParts(step, tools) {
  const { question: { predict }, results, round } = step;
  const given = Array.from({ length: round }, (_, index) => mineIn(step, tools, index + 1));
  const mine = given.findLast(Boolean) ?? {};
  const answered = Object.keys(mine).length > 0;
  const [first, last] = [given[0] ?? {}, mine].map((one) => quoted(predict, one));
  const said = given.every(Boolean) && round > 1 && first !== last
    ? el("p", `First you said: ${first} Then: ${last}`) : null;
  return [el("p.lesson-ask", predict.ask), said,
    results.reveal?.ready ? verdictBox(predict, mine, results.reveal)
      : el("p", answered ? `You said: ${quoted(predict, mine)}` : "You have not answered."), reasonOf(step.id),
    ...explained(results, mine.choice), el("h2", "What the class has said"), ...tallyOf(predict, results, mine)]
    .filter(Boolean);
}

/**
 * What the run says, or why an answer is right: of the chosen one, if it is not.
 * @param {Wire.ClassResults} results @param {number} [chosen]
 */
function explained({ reveal, right, whys }, chosen) {
  if (reveal && !reveal.ready) return [el("p.muted", "The run has not ended yet.")];
  const why = [chosen !== undefined && chosen !== right ? whys[chosen] : "", whys[right]];
  return [...(reveal?.said ?? []), ...why].filter(Boolean).map((words) => el("p", words));
}

/** @param {Wire.Prediction} predict @param {Prediction} given */
function quoted(predict, given) {
  const words = predictionInWords(predict, given);
  return predict.kind === "choice" ? `\u201c${words}\u201d` : `${words}.`;
}

/** @param {Wire.ClassStep} step @param {Wire.ClassDesk} front @returns {Node[]} */
export function screen(step, front) {
  const { question: { title, situation, predict }, state, round, results } = step;
  const head = [el("p.screen-over", title || UNTITLED), el("h1", predict.ask)];
  if (state === "shown" && results) {
    const [told] = explained(results); // the others are on the phones: all of this is to be in sight
    return [...head, el("div.screen-results", told ? el("div.screen-told", told) : null,
      el("div.screen-tally", tallyOf(predict, results, {}, WIDE)))];
  }
  const count = el("p.screen-count", { role: "status" }, round > 1 ? el("strong", `Round ${round}: `) : "",
    countedIn(front, state));
  const doing = round > 1 ? "Answer again on your phone, whether you have changed your mind or not."
    : "Answer on your phone, each for yourself.";
  return [...head, situation && round === 1 ? el("p.screen-situation", situation) : null, possible(predict),
    state === "open" ? el("p.screen-do", doing) : null, count].filter(Boolean);
}

/** @param {Wire.ClassDesk} front @param {string} state */
export function countedIn({ answered, joined }, state) {
  // who joined later was not asked
  const have = `${answered}${state === "open" ? ` of ${joined}` : ""} ${answered === 1 ? "has" : "have"} answered`;
  return state === "closed" ? `${have}. No more answers now.` : have;
}

/** What can be answered, for those who look to the front. @param {Wire.Prediction} predict */
function possible({ kind, options, low, high, unit, shapes }) {
  if (kind === "choice") return el("ol.screen-options", options.map(({ say }) => el("li", say)));
  if (kind === "number") return el("p", `A number from ${number(low)} to ${number(high)}${unit ? ` ${unit}` : ""}.`);
  return el("ol.screen-options", shapes.map((name) => el("li", `It ${name}`, pictureOf(name))));
}
