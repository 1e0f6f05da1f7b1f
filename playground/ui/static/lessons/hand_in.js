// All answers of a visitor as one page that needs nothing else, to be saved. It is built of text nodes, and written out
// by the browser.

import { el, saveFile } from "../core/dom.js";
import { language, translated } from "../core/language.js";
import { stepsOf } from "./card.js";
import { namesOf } from "./mysteries.js";
import { predictionInWords } from "./predict.js";
import { markOf } from "./progress.js";
import { resultOf } from "./questions.js";
import { verdictOf } from "./verdict.js";

const STYLE = "body { font: 16px/1.5 system-ui, sans-serif; max-width: 44em; margin: 2em auto; padding: 0 1em; "
  + "color: #0f172a; } h2 { margin-top: 2em; } h3 { margin: 1.6em 0 0.2em; } "
  + ".formula { margin: 0.3em 0; overflow-x: auto; } math { display: inline math; } li { margin: 0.6em 0; } "
  + "dt { font-weight: 600; margin-top: 0.6em; } dd { margin: 0; } .muted { color: #526077; } "
  + "@media print { article { break-inside: avoid; } }";

/** @type {Record<string, string>} */
const VERDICTS = { right: "As predicted.", close: "Nearly.", other: "Not as predicted." };

/** @typedef {Record<string, import("./progress.js").Answers>} Kept */
/** @typedef {Record<string, import("../core/mysteries.js").Solving>} Solved */
/** @typedef {Record<string, import("./questions.js").CourseAnswers>} Asked of courses; empty: not handed in */
/** @typedef {[Wire.Course[], Kept, Wire.Mysteries, Solved, Asked]} Given lessons, mystery runs, what was answered */

/** Save it. @param {Given} given */
export function handIn(...given) {
  saveFile(new Blob([pageOf(...given)], { type: "text/html" }), `lessons-${today()}.html`);
}

/** @param {Given} given */
function pageOf(...[all, kept, cases, solved, asked]) {
  const answered = all.map((course) => ({ course,
    lessons: course.lessons.filter(({ name }) => markOf(kept[name])) }))
    .filter(({ course: { name }, lessons }) => lessons.length || asked[name]);
  const page = el("html", { lang: language },
    el("head", el("meta", { charset: "utf-8" }), el("meta", { name: "viewport", content: "width=device-width" }),
      el("title", "RLHF Playground: answers to the lessons"), el("style", STYLE)),
    el("body", el("h1", "Answers to the lessons"),
      el("p", "Name: ______________________________"),
      el("p.muted", `RLHF Playground, saved on ${today()}.`),
      answered.map(({ course, lessons }) => [el("h2", course.title), questionsOf(course, asked[course.name]),
        lessons.map((lesson) => lessonOf(lesson, kept[lesson.name]))]), mysteriesOf(cases, solved)));
  return `<!doctype html>\n${new XMLSerializer().serializeToString(page)}\n`;
}

/** @param {Wire.Lesson} lesson @param {import("./progress.js").Answers} answers */
function lessonOf(lesson, { prediction, why, runs, tries, transfer }) {
  const told = runs[0]?.told;
  const verdict = told ? verdictOf(lesson.predict, prediction, told) : null;
  const chosen = lesson.transfer.options[transfer];
  const better = lesson.transfer.options.find((option) => option.right);
  const rows = [["Question", lesson.question], ["Asked", lesson.predict.ask],
    ["Prediction", predictionInWords(lesson.predict, prediction) || "only looked"], ["Reason", why],
    ["Compared with the run", verdict
      && [VERDICTS[verdict.tone] ?? "", verdict.said, ...verdict.more].map(translated).join(" ").trim()],
    ...runs.map((ran, index) => [lesson.runs[index]?.title ?? "Run",
      ran?.told && [...ran.told.said, ran.recorded ? "(a recording)" : ""].map(translated).join(" ").trim()]),
    ...tries.map(({ told: tried, values }) => [lesson.break_it?.ask, tried
      && `${tried.reached ? "Reached" : "Not reached"}, with ${Object.entries(values ?? {}).map(([field, value]) =>
        `${labelOf(lesson, field)}: ${value}`).join(", ")}.`]),
    [lesson.transfer.ask, chosen && `${chosen.say} (${chosen.right ? "right" : `not so; right is: ${better?.say}`})`]];
  const card = runs.findLast((ran) => ran?.told)?.told.card;
  return el("article", el("h3", `${lesson.number}. ${lesson.title}`),
    el("dl", rows.filter(([, words]) => words).map(([name, words]) => [el("dt", name), el("dd", words)]),
      card ? [el("dt", `Worked out: ${card.title}`), el("dd", el("ol", stepsOf(card)))] : ""));
}

/** What was answered before and after a course. @param {Wire.Course} course
 * @param {import("./questions.js").CourseAnswers | undefined} asked */
function questionsOf(course, asked) {
  if (!asked?.before && !asked?.after) return "";
  const { before, after } = asked;
  return el("article", el("h3", "Questions before and after"), el("p", resultOf(course)),
    el("dl", course.questions.map(({ ask, options }, index) => [el("dt", ask),
      before ? el("dd", `Before: ${options[before[index]]?.say}`) : "",
      after ? el("dd", `After: ${options[after[index]]?.say}`) : ""])));
}

/** The mystery runs that were answered. @param {Wire.Mysteries} cases @param {Solved} solved */
function mysteriesOf(cases, solved) {
  const answered = [...cases.runs, ...Object.keys(solved).filter((run) => !cases.runs.includes(run))]
    .filter((run) => solved[run]?.end);
  const sayOf = (/** @type {string | undefined} */ name) => cases.mistakes.find((one) => one.name === name)?.say ?? "";
  return answered.length ? [el("h2", "Mystery runs"), answered.map((run) => {
    const { end, named, tries = [], why, lamps } = solved[run];
    const rows = [["Mistake", sayOf(named)], ["Found", end === "found" ? "yes" : "no, it was shown"],
      ["Named before", tries.map(sayOf).join("; ")], ["Reason", why], ["Checks", lamps ? "turned on" : "off"]];
    return el("article", el("h3", namesOf(cases, run).title),
      el("dl", rows.filter(([, words]) => words).map(([name, words]) => [el("dt", name), el("dd", words)])));
  })] : [];
}

/** What a setting of the task is called. @param {Wire.Lesson} lesson @param {string} field */
function labelOf(lesson, field) {
  return lesson.break_it?.knobs.find((knob) => knob.field === field)?.label ?? field;
}

function today() {
  return new Date().toISOString().slice(0, 10);
}
