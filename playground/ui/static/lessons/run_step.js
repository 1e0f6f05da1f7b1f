// The step of a run: what it is and how it begins, what to watch while it goes, and then what it says: the prediction
// held against it, first in words.

import { BAR_KEY } from "../core/counts.js";
import { buttonOf, el, showParts, signOf } from "../core/dom.js";
import { duration, stateOf } from "../core/format.js";
import { ghost } from "../core/in_lesson.js";
import { recall, remember } from "../core/kept.js";
import { clock, live, player } from "../core/store.js";
import { compared, seriesOf } from "./shapes.js";
import { verdictBox } from "./verdict.js";

/** @type {Record<string, string>} */
const LOOK = { texts: "the texts before and now", counts: "the counts", score: "the score", distance: "the distance",
  curves: "all the curves", health: "the checks of its health", "every-text": "every text",
  frontier: "score against distance", update: "what happens in one update" };
/** What the signs of a part mean. @type {Record<string, string>} */
const KEYS = {
  counts: BAR_KEY,
  score: "In the score: between the edges of the pale band lie eight of ten texts.",
  curves: "Below the curves: a grey triangle is a moment that was saved; a red or brown mark is where a check of the "
    + "run's health began to warn.",
};
const MINUTES = "playground-slow-minutes"; // of the last run, where that took longer than its lesson is meant to
const RECORDED = "This is a recording: the same settings, run earlier. Another run differs, by chance.";
const COUNTED = "Counts, gains and distances here are of the run's answers to the fixed prompts. The curves show other "
  + "texts of the run, so their numbers can differ, by half or more.";

/** @typedef {import("./lesson.js").LessonPanel} Panel */

/**
 * `again`: only what there is to be read of it afterwards.
 * @param {Panel} panel @param {number} index @returns {import("./lesson.js").Step}
 */
export function runStep(panel, index, again = false) {
  const run = panel.lesson.runs[index];
  const ran = panel.answers.runs[index];
  if (ran?.told)
    return { title: panel.lesson.runs.length > 1 ? run.title : "What happened",
      parts: [toldParts(panel, index, ran), again ? "" : goOn(panel, index)] };
  const intro = [el("p", el("strong", `${run.title}. `), run.why),
    run.changes.length ? el("p.muted", `Changed: ${run.changes.join(", ")}.`) : ""];
  const box = el("div.lesson-run");
  panel.refresh = () => showParts(box, ran ? watching(panel, index, ran) : beginning(panel, index));
  const { start, twin } = panel.runs.offered(index);
  const next = index ? "And now" : start || twin ? "Now try it" : "Not on this page";
  return { title: ran ? `Watch: ${run.title}` : next, parts: [...(ran ? [] : intro), box] };
}

/**
 * How a run begins: Start, or its recording. Drawn again whenever one may do something else.
 * @param {Panel} panel @param {number} index @param {() => Record<string, number | string>} values of the knobs
 * @param {HTMLElement[]} more buttons
 */
export function beginning({ runs }, index, values = () => ({}), more = []) {
  const { start, refused, twin, waits } = runs.offered(index);
  const starting = runs.starting.value;
  const minutes = Number(recall(MINUTES) ?? 0);
  const notes = [start && waits ? "Another run trains at the moment: yours would wait for it." : "",
    start && !waits ? minutes ? `Your last run took about ${minutes} minutes here.`
      : "A run takes a minute or two on a quiet computer, some only seconds." : "",
    refused ? "This run has a mistake in it on purpose, and a page that is open to everyone trains no such run."
      : "",
    twin ? "The recording shows a run with the same settings, made earlier: about 20 seconds." : "",
    start || twin ? "" : "Runs are not started from this page, and there is no recording of this one. Run the RLHF "
      + "Playground on a computer of your own for it."].filter(Boolean);
  const first = start && !((waits || minutes) && twin);
  const starter = buttonOf(`button ${first ? "strong" : ""}`, { "data-key": "start", off: starting,
    onclick: () => runs.start(index, values()) },
  starting ? "Starting\u2026" : waits ? "Add to the queue" : "Start the run");
  const recording = buttonOf(`button ${first ? "" : "strong"}`, { "data-key": "twin", onclick: () => runs.play(index) },
    "Play the recording");
  const buttons = [start ? starter : null, twin ? recording : null];
  return [el("div.lesson-buttons", first ? buttons : buttons.reverse(), more),
    ...notes.map((words, at) => el("p.muted.lesson-note", { "data-key": `note ${at}` }, words)), complaintOf(runs)]
    .filter(Boolean);
}

/** @param {import("./runs.js").LessonRuns} runs */
function complaintOf({ complaint }) {
  return complaint.value ? el("p.problem.lesson-note", { "data-key": "wrong", role: "alert" }, complaint.value) : null;
}

/** @param {Panel} panel @param {number} index @param {import("./progress.js").Ran} ran */
export function watching(panel, index, ran) {
  const { runs, lesson } = panel;
  const viewed = live.runId === ran.id;
  const state = viewed ? live.status?.state : undefined;
  if (viewed && live.connection === "failed") return gone(panel, index, ["This run is gone: it was deleted."]);
  if (state === "failed" || state === "interrupted")
    return gone(panel, index, [`This run ended early: ${stateOf(state).word}.`, live.status.outcome]);
  if (runs.complaint.value) return gone(panel, index, [runs.complaint.value]);
  const looks = lesson.look.map((part) => (part === "curves" && lesson.figures.length
    ? listed(lesson.figures.map((column) => seriesOf(column).name)) : LOOK[part])).filter(Boolean);
  const ended = live.status?.ended && viewed;
  const busy = state === "running" && !ran.recorded ? busyWords(lesson.minutes, clock()) : "";
  if (busy) remember(MINUTES, String(Math.round(leastSeconds(clock()) / 60)));
  else if (ended && !ran.recorded && leastSeconds(clock()) <= 60 * lesson.minutes) remember(MINUTES, "");
  const twin = busy && runs.offered(index).twin;
  return [looks.length ? el("p", { "data-key": "look" }, el("strong", "Look at "), listed(looks), ".") : null,
    signsOf(lesson),
    index >= lesson.runs.length && ghost.value
      ? el("p.muted.lesson-note", { "data-key": "ghost" }, "The grey line is the lesson's first run.") : null,
    el("p.muted.lesson-note", { "data-key": "what" }, ran.recorded ? RECORDED
      : state === "queued" ? "It waits for its turn: one run at a time on this device."
        : "It runs on this machine, now."),
    busy ? el("p.lesson-note", { "data-key": "busy", role: "status" }, busy) : null,
    twin ? el("div.lesson-buttons", { "data-key": "meanwhile" }, buttonOf("button",
      { onclick: () => runs.play(index) }, "Play the recording meanwhile")) : null,
    el("p", { "data-key": "then" }, ended ? "It has ended. What came of it is said here in a moment."
      : `When it has ended, ${endingWords(panel, index)}.`),
    viewed && player.value && !ended ? el("div.lesson-buttons", { "data-key": "skip" }, buttonOf("button", {
      onclick: () => {
        panel.skipped = true;
        player.value.seek(player.value.updates.length);
      } }, "Go to the end")) : null].filter(Boolean);
}

/**
 * Where one run alone takes longer than all of its lesson is meant to, reading included.
 * @param {number} minutes @param {{ elapsed: number, left: number[] | null }} time
 */
export function busyWords(minutes, time) {
  const least = leastSeconds(time);
  return least <= 60 * minutes ? "" : "This machine is busy with other work, or a slow one: this run alone takes "
    + `${duration(Math.round(least))} or more, and the whole lesson is meant to take ${minutes} minutes. `
    + "It goes on by itself.";
}

/** How long a run takes at least. @param {{ elapsed: number, left: number[] | null }} clock */
function leastSeconds({ elapsed, left }) {
  return elapsed + (left?.[0] ?? 0);
}

/** What the signs of what is looked at mean, folded. @param {Wire.Lesson} lesson */
function signsOf({ look }) {
  const curves = ["score", "distance"].some((part) => look.includes(part)) ? [KEYS.curves] : [];
  const keys = [...look.filter((part) => part !== "curves").map((part) => KEYS[part]), ...curves].filter(Boolean);
  return keys.length ? el("details.lesson-note", { "data-key": "signs" }, el("summary", "What the signs mean"),
    el("ul", keys.map((words) => el("li", words)))) : null;
}

/** What comes when a run has ended. @param {Panel} panel @param {number} index */
function endingWords({ lesson, answers }, index) {
  if (index >= lesson.runs.length) return "you read here whether the task is done";
  const predicted = !index && Object.keys(answers.prediction ?? {}).length;
  return predicted ? "your prediction is compared with it here" : "you read here what came of it";
}

/** @param {Panel} panel @param {number} index @param {string[]} words */
function gone({ runs }, index, words) {
  const told = words.filter(Boolean);
  return [...told.map((said, at) => el("p", { "data-key": `gone ${at}`, role: at ? null : "alert" }, said)),
    el("div.lesson-buttons", { "data-key": "again" }, buttonOf("button strong", { onclick: () => runs.forget(index) },
      "Run it again"))];
}

/** @param {Panel} panel @param {number} index */
function goOn(panel, index) {
  const { lesson } = panel;
  const another = lesson.runs[index + 1];
  return el("div.lesson-buttons", buttonOf("button strong", { onclick: () => panel.next() },
    another ? `Next: ${another.title}` : "Why is that?"));
}

/**
 * What a run has said of the lesson.
 * @param {Panel} panel @param {number} index @param {import("./progress.js").Ran} ran
 */
function toldParts(panel, index, { told, recorded }) {
  const { lesson: { predict }, answers } = panel;
  const parts = index === 0 ? verdictParts(predict, answers, told) : [];
  return [...parts, told.memory?.length ? memoryBars(told.memory) : "", told.said.map((words) => el("p", words)),
    told.outside.length ? el("details.lesson-note",
      el("summary", signOf("! "), "Runs on other seeds ended elsewhere than this one"),
      el("ul", told.outside.map((words) => el("li", words)))) : "",
    signsOf(panel.lesson) ?? "", shows(panel.lesson) ? el("p.muted.lesson-note", COUNTED) : "",
    recorded ? el("p.muted.lesson-note", RECORDED) : ""];
}

/** Whether there are counts or curves in sight. @param {Wire.Lesson} lesson */
function shows({ look }) {
  return ["counts", "score", "distance"].some((part) => look.includes(part));
}

/** What each role holds in memory, the largest first. @param {Wire.Reveal["memory"]} roles */
function memoryBars(roles) {
  return el("ul.lesson-memory", { "aria-label": "Memory of each role" },
    [...roles].sort((one, other) => other.share - one.share).map(({ name, share, words }) =>
      el("li", el("span", name), el("span.lesson-memory-bar", { style: `--share: ${share}`, "aria-hidden": "true" }),
        el("span.muted", words))));
}

/** @param {Wire.Prediction} predict @param {import("./progress.js").Answers} answers @param {Wire.Reveal} told */
function verdictParts(predict, { prediction: given = {}, why }, told) {
  return [verdictBox(predict, given, told, why),
  predict.kind === "curve" && told.curve.length ? compared(predict.column, given.shape, told) : "",
  predict.kind === "number" && told.value !== null ? scaleOf(predict, given.number, told) : ""];
}

/**
 * Where the prediction and the run lie between the ends of the slider. The words above say the same.
 * @param {Wire.Prediction} predict @param {number | undefined} guess @param {Wire.Reveal} told
 */
function scaleOf({ low, high }, guess, { value }) {
  const at = (/** @type {number} */ place) => `--share: ${Math.min(Math.max((place - low) / (high - low), 0), 1)}`;
  return el("div.lesson-scale", { "aria-hidden": "true" }, el("div.lesson-scale-line"),
    guess === undefined ? "" : el("span.mine", { style: at(guess) }, el("span", "you")),
    el("span.run", { style: at(value) }, el("span", "the run")));
}

/** "one, two and three" @param {string[]} words */
function listed(words) {
  return words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words.at(-1)}` : words.join("");
}
