// What a visitor has answered in the lessons, as this browser keeps it, and how far each lesson is. Nothing of it
// leaves the browser by itself.

import { keptRecords } from "../core/kept.js";

const DAY_MS = 86_400_000;

/**
 * A prediction: the number of an option, a number, or the shape of a curve in words. Empty: the visitor only looked.
 * @typedef {{ choice?: number, number?: number, shape?: string }} Prediction
 */
/**
 * A run of a lesson, and what it said of it as soon as it had ended. `values`: of the task to break it;
 * `waits`: why it did not start at once.
 * @typedef {{ id: string, recorded: boolean, told?: Wire.Reveal, values?: Record<string, number | string>,
 *   waits?: string }} Ran
 */
/**
 * `at`: the step that is open (`stepsOf`); `done`: when the lesson was; `again`: when its last question has come back,
 * and whether it was answered rightly then (null: it was skipped).
 * @typedef {{ at: string, prediction?: Prediction, why?: string, runs: Ran[], tries: Ran[],
 *   transfer?: number, done?: string, again?: { at: string, right: boolean | null } }} Answers
 */

const kept = /** @type {import("../core/kept.js").Records<Answers>} */ (keptRecords("playground-lessons"));

/** By the names of the lessons. */
export const progress = kept.records;

/** @returns {Answers} */
export function newAnswers() {
  return { at: "predict", runs: [], tries: [] };
}

/** What was answered in a lesson. @param {string} name */
export function answersOf(name) {
  return { ...newAnswers(), ...progress.value[name] };
}

/** @param {string} name @param {Answers | null} answers null: as if it had never been begun */
export function keep(name, answers) {
  kept.set(name, answers);
}

/** The steps of a lesson in their order. @param {Pick<Wire.Lesson, "runs" | "break_it">} lesson */
export function stepsOf({ runs, break_it }) {
  return ["predict", ...runs.map((_, index) => `run-${index}`), "explain", ...(break_it ? ["break"] : []), "transfer",
    "end"];
}

/**
 * The step that is open: the kept one, unless the lesson has been changed since.
 * @param {Pick<Wire.Lesson, "runs" | "break_it">} lesson @param {Answers} answers
 */
export function stepOf(lesson, { at, runs }) {
  const steps = stepsOf(lesson);
  const place = steps.indexOf(at);
  const missing = lesson.runs.findIndex((_, index) => !runs[index]?.told);
  if (place < 0) return steps[0];
  return missing >= 0 && place > missing + 1 ? `run-${missing}` : at;
}

/** The step after one. @param {Pick<Wire.Lesson, "runs" | "break_it">} lesson @param {string} at */
export function nextStep(lesson, at) {
  const steps = stepsOf(lesson);
  return steps[Math.min(steps.indexOf(at) + 1, steps.length - 1)];
}

/** How far a lesson is: "done", "begun", or "". @param {Answers | undefined} answers */
export function markOf(answers) {
  if (!answers?.prediction) return "";
  return answers.at === "end" ? "done" : "begun";
}

/**
 * The lesson whose last question comes back: of those that were done a day ago or more, one that was answered wrongly,
 * else the oldest whose question has not come back yet. null: there is none, or one has come back within a day.
 * @param {Wire.Course[]} courses @param {Record<string, Answers>} kept @param {number} now
 */
export function comesBack(courses, kept, now) {
  const done = courses.flatMap(({ lessons }) => lessons).filter(({ name }) => markOf(kept[name]) === "done");
  const age = (/** @type {string | undefined} */ when) => (when ? now - Date.parse(when) : Infinity);
  if (done.some(({ name }) => age(kept[name].again?.at) < DAY_MS)) return null;
  const due = done.filter(({ name }) => age(kept[name].done) >= DAY_MS)
    .sort((one, other) => (kept[one.name].done ?? "").localeCompare(kept[other.name].done ?? ""));
  const wasWrong = (/** @type {Wire.Lesson} */ { name, transfer }) => (kept[name].again
    ? kept[name].again.right === false : !transfer.options[kept[name].transfer]?.right);
  return due.find(wasWrong) ?? due.find(({ name }) => !kept[name].again) ?? null;
}

/** How many lessons are not done. @param {Wire.Course[]} courses @param {Record<string, Answers>} kept */
export function openLessons(courses, kept) {
  return courses.flatMap(({ lessons }) => lessons).filter(({ name }) => markOf(kept[name]) !== "done").length;
}

/** How often the task was tried, until it is reached. @param {Answers} answers */
export function triesInVain({ tries }) {
  return tries.some(({ told }) => told?.reached) ? 0 : tries.filter(({ told }) => told).length;
}

/** The run that belongs into view: the newest of the lesson. @param {Answers} answers @returns {Ran | null} */
export function newestRun({ runs, tries }) {
  return tries.at(-1) ?? runs.at(-1) ?? null;
}

/**
 * Which lesson comes next: one that was begun, else the first that was not done; null when all are done.
 * @param {Wire.Course[]} courses @param {Record<string, Answers>} kept @param {string | null} after a lesson
 */
export function nextLesson(courses, kept, after = null) {
  const all = courses.flatMap(({ lessons }) => lessons);
  if (after !== null) return all[all.findIndex(({ name }) => name === after) + 1] ?? null;
  return all.find(({ name }) => markOf(kept[name]) === "begun") ?? all.find(({ name }) => !markOf(kept[name])) ?? null;
}
