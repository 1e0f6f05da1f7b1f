// Help: the words of the page, its keys, and where there is more to read. core/header.js loads and opens it.

import { el, openDialog } from "./dom.js";
import { DISTANCE_WORDS, SCORE_WORDS } from "./texts.js";

/** @type {[string, string][]} */
const WORDS = [
  ["Score", SCORE_WORDS],
  ["Distance (KL)", DISTANCE_WORDS],
  ["Leash (beta)", "How much score the model gives up for each nat. Papers say KL penalty."],
  ["Bars", "Thick: now. Upright line: before training. Thin line with ends: 95 % interval. Green block: where runs of "
    + "this experiment usually end."],
  ["Before, now", "The same prompts, answered before training and by the newest model."],
  ["Check", "A rule that is watched while a run trains. Where it fails, it gives an alert: red or amber."],
];
/** @type {[string, string][]} */
const KEYS = [
  ["Space", "Pause the run in view, or resume it (on Train)"],
  ["\u2190 \u2192", "On a curve: from point to point; on a slider: from stop to stop"],
  ["Enter", "On a curve: open that update, its scores and texts"],
  ["1 \u2026 9", "Choose an answer in a lesson"],
  ["Esc", "Close a window, end a presentation"],
];
const FILES = [["README.md", "what this is, and how to start"], ["docs/page.md", "every part of this page"],
  ["docs/classroom.md", "in front of a class"], ["docs/own.md", "a model, a reward, prompts of your own"],
  ["docs/README.md", "everything else"]];

/** Open the window. */
export function showHelp() {
  const list = (/** @type {Page.Child[][]} */ rows) => el("dl.help-list", rows.map(([term, words]) =>
    [el("dt", term), el("dd", words)]));
  openDialog("Help", [
    el("h3", "The words"), list(WORDS),
    el("h3", "The keys"), list(KEYS.map(([key, words]) => [el("kbd", key), words])),
    el("h3", "To read, in the folder of the project"), list(FILES.map(([file, words]) => [el("code", file), words])),
  ], { kind: "help-window", long: true });
}
