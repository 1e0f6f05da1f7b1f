// The mystery runs on the page of the lessons: a card for each, what was found, and a new one to be trained. Which
// there are is asked for once.

import { rights } from "../core/access.js";
import { buttonOf, el, signOf } from "../core/dom.js";
import { refreshHome } from "../core/home.js";
import { mysteries } from "../core/mysteries.js";
import { answerOf, askedOnce, newName } from "../core/server.js";
import { signal } from "../core/signals.js";
import { lessonLink, openLesson } from "./courses.js";

/** @type {Record<string, string[]>} */
const MARKS = { done: ["\u2713", "done"], predicted: ["\u25D1", "predicted"], found: ["\u2713", "found"],
  shown: ["\u2013", "shown"], begun: ["\u25D1", "begun"] };

/** How far a lesson or a mystery run is. @param {string} mark one of these, or "" */
export function markPart(mark) {
  const [sign, word] = MARKS[mark] ?? ["", ""];
  return el("span.lesson-mark", { "data-mark": mark }, word ? [signOf(sign), ` ${word}`] : "");
}

/** All of them, and what can be chosen. */
export const everyMystery = /** @type {() => Promise<Wire.Mysteries>} */ (askedOnce("live/_mysteries"));

/** How far a run is: "found", "shown", "begun", or "". @param {string} run */
export function markOf(run) {
  const kept = mysteries.value[run];
  return kept?.end ?? (kept?.tries?.length || kept?.lamps ? "begun" : "");
}

/** What it is called in an address, and what it is called. @param {Wire.Mysteries} all @param {string} run */
export function namesOf({ runs }, run) {
  const place = runs.indexOf(run) + 1;
  return { name: place ? String(place) : run, title: place ? `Mystery run ${place}` : "Mystery run" };
}

/**
 * Starts mystery runs: a new one, or `run` without its mistake. `offered` says whether that can be done here.
 * @param {Page.Server} server
 */
export function starterOf(server) {
  const busy = signal(false);
  const complaint = signal("");
  let request = newName();
  return { busy, complaint, offered: (/** @type {Wire.Mysteries} */ all) =>
    Boolean(all.trains && rights.value.start && server.start_mystery),
  start: async (run = "") => {
    if (busy.value) return "";
    busy.value = true;
    complaint.value = "";
    const answer = await answerOf(() => server.start_mystery({ run, request }));
    busy.value = false;
    complaint.value = answer.error ?? "";
    if (!answer.run) return "";
    request = newName();
    refreshHome();
    return answer.run;
  } };
}

/** @typedef {ReturnType<typeof starterOf>} Starter */

/** @param {Wire.Mysteries} all @param {Starter} starter */
export function mysteryCards(all, starter) {
  const found = all.runs.filter((run) => markOf(run) === "found").length;
  const own = Object.keys(mysteries.value).filter((run) => !all.runs.includes(run));
  return el("details.course.mysteries", { "data-key": "mysteries" },
    el("summary", el("span.course-head", el("strong", "Mystery runs: find the mistake in a training"),
      el("span.muted", `${all.runs.length} runs${found ? `, ${found} found` : ""}`))),
    el("p.course-about", "Each of these trainings has one mistake in it, as programs for RLHF have had. Read its "
      + "curves, its texts and one update in slow motion, and say which mistake it is."),
    el("ol.mystery-cards", [...all.runs, ...own].map((run) => cardOf(all, run))),
    starter.offered(all) ? el("div.lesson-buttons", buttonOf("button", { "data-key": "train", off: starter.busy.value,
      onclick: async () => {
        const run = await starter.start();
        if (run) openLesson(run, "mystery");
      } }, starter.busy.value ? "Starting\u2026" : "Train a new one"),
    el("span.muted", "The mistake is drawn anew. It takes two minutes or three.")) : null,
    starter.complaint.value ? el("p.problem", { role: "alert" }, starter.complaint.value) : null);
}

/** @param {Wire.Mysteries} all @param {string} run */
function cardOf(all, run) {
  const { name, title } = namesOf(all, run);
  return el("li", { "data-key": run }, lessonLink(name, [el("strong", title),
    el("span.mystery-run", name === run ? `your own: ${run}` : ""),
    markPart(markOf(run))], {}, "mystery"));
}
