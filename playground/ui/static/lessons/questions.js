// Questions with one right answer, beside the last one of a lesson: one that comes back after a day or more, and those
// that are asked before and after a course. What was answered stays in this browser.

import { buttonOf, el, setHidden, setOff, signOf } from "../core/dom.js";
import { keptRecords } from "../core/kept.js";
import { place } from "../core/nav.js";
import { lessonLink } from "./courses.js";
import { options } from "./predict.js";
import { answersOf, comesBack, keep, progress } from "./progress.js";

const COUNTS = ["", "One question", "Two questions", "Three questions"];

/**
 * Of a course: the chosen answers before and after; `skipped`: they are not wanted.
 * @typedef {{ before?: number[], after?: number[], skipped?: boolean }} CourseAnswers
 * @typedef {import("./lesson.js").LessonPanel} Panel
 */

const kept = /** @type {import("../core/kept.js").Records<CourseAnswers>} */ (keptRecords("playground-courses"));

/** By the names of the courses. */
export const courseAnswers = kept.records;

/** What was chosen, whether that is right, and why. @param {Wire.Question} question @param {number} chosen */
export function answeredPart(question, chosen) {
  const { say = "", why = "", right = false } = question.options[chosen] ?? {};
  const better = question.options.find((option) => option.right);
  return el("div.lesson-verdict", { "data-tone": right ? "right" : "other" },
    el("p.lesson-tone", signOf(right ? "\u2713" : "\u2260"), right ? " Right." : " Not right."),
    el("p", `You said: \u201c${say}\u201d`), why ? el("p", why) : "",
    right ? "" : el("p", el("strong", "Right is: "), better.say, " ", better.why ?? ""));
}

/**
 * The last question of a lesson that was done a day ago or more, once on a visit; null where none is due.
 * @param {Wire.Course[]} all @param {HTMLElement} heir gets the focus where the question is skipped
 */
export function returningPart(all, heir) {
  const lesson = comesBack(all, progress.value, Date.now());
  if (!lesson) return null;
  const { name, title, transfer } = lesson;
  const order = shuffled(transfer.options.map((_, index) => index));
  let given = -1;
  const keepAnswer = (/** @type {boolean | null} */ right) =>
    keep(name, { ...answersOf(name), again: { at: new Date().toISOString(), right } });
  const heading = el("h2", { id: "returning-title", tabindex: "-1" }, "One question again");
  const ready = buttonOf("button strong", { off: true, onclick: () => {
    keepAnswer(Boolean(transfer.options[given].right));
    box.replaceChildren(heading, el("p", transfer.ask), answeredPart(transfer, given),
      el("p", lessonLink(name, `Open the lesson \u201c${title}\u201d`)));
    heading.focus({ preventScroll: true });
  } }, "That is my answer");
  const form = options("returning", transfer.ask, order.map((index) => transfer.options[index]), (place) => {
    given = order[place];
    setOff(ready, false);
  });
  const skip = buttonOf("quiet-button", { onclick: () => {
    keepAnswer(null);
    setHidden(box, true, heir);
  } }, "Skip it");
  const box = el("section.returning", { "aria-labelledby": "returning-title" }, heading,
    el("p.muted", `From the lesson \u201c${title}\u201d. What one is asked again is remembered longer.`),
    form, el("div.lesson-buttons", ready, skip));
  return box;
}

/** In an order by chance. @template T @param {T[]} items */
function shuffled(items) {
  return items.map((item) => ({ item, at: Math.random() })).sort((one, other) => one.at - other.at)
    .map(({ item }) => item);
}

/** "before 1 of 3, after 3 of 3"; "" as long as nothing is said of what is right. @param {Wire.Course} course */
export function resultOf({ name, questions }) {
  const { before, after } = courseAnswers.value[name] ?? {};
  if (!after) return "";
  const count = (/** @type {number[]} */ chosen) =>
    `${chosen.filter((choice, at) => questions[at]?.options[choice]?.right).length} of ${questions.length}`;
  return before ? `before ${count(before)}, after ${count(after)}` : `after ${count(after)}`;
}

/** What is offered at the first lesson of a course, until it is answered or skipped. @param {Panel} panel */
export function offerBefore(panel) {
  const { course: { name, questions, lessons } } = panel;
  if (!questions.length || lessons[0].name !== panel.name || courseAnswers.value[name] || place().embedded)
    return "";
  return el("div.course-offer", el("p", `${COUNTS[questions.length]} before the course, the same after it. `
    + "Only you see the result."),
  el("div.lesson-buttons", askButton(panel), buttonOf("quiet-button", { onclick: () => {
      kept.set(name, { skipped: true });
      panel.show(true);
    } }, "Skip them")));
}

/** The same at its last lesson, and then what came of it. @param {Panel} panel */
export function offerAfter(panel) {
  const { course, course: { name, questions, lessons } } = panel;
  const { after, skipped } = courseAnswers.value[name] ?? {};
  if (!questions.length || lessons.at(-1).name !== panel.name || skipped || place().embedded) return "";
  if (!after) return el("div.course-offer", el("p", `${COUNTS[questions.length]} on the whole course, with `
    + "their answers. Only you see the result."), el("div.lesson-buttons", askButton(panel)));
  return el("div.course-offer", el("p", el("strong", "The questions on this course: "), `${resultOf(course)}.`),
    el("details", el("summary", "The answers"),
      questions.map((question, index) => [el("p.lesson-ask", question.ask), answeredPart(question, after[index])])));
}

/** @param {Panel} panel */
function askButton(panel) {
  return buttonOf("button", { onclick: () => {
    panel.asksCourse = true;
    panel.show(true);
  } }, "Answer them");
}

/** The questions of the course, in the place of the open step. @param {Panel} panel */
export function courseStep(panel) {
  const { course: { name, questions }, step } = panel;
  const when = step === "end" ? "after" : "before";
  const given = questions.map(() => -1);
  const back = () => {
    panel.asksCourse = false;
    panel.show(true);
  };
  const ready = buttonOf("button strong", { off: true, onclick: () => {
    kept.set(name, { ...courseAnswers.value[name], [when]: given });
    back();
  } }, when === "after" ? "Show the answers" : "Keep my answers");
  const forms = questions.map(({ ask, options: answers }, index) =>
    options(`course-${index}`, ask, answers, (chosen) => {
      given[index] = chosen;
      setOff(ready, given.includes(-1));
    }));
  return { title: `${COUNTS[questions.length]} ${when} the course`, parts: [
    when === "before" ? el("p.muted", "What is right is said when you answer them again, after the last lesson.") : "",
    ...forms, el("div.lesson-buttons", ready, buttonOf("quiet-button", { onclick: back }, "Not now"))] };
}
