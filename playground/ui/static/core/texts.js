// Model output on the page: monospaced, changed words marked by underline and tint, always as text nodes.

import { el, headOf, signOf } from "./dom.js";
import { directionOf, signed, stateOf } from "./format.js";
import { menuButton } from "./menu.js";
import { fileOf } from "./server.js";
import { wordDifference } from "./worddiff.js";

const FILES = [
  ["Report, HTML", "export/html", "All of it as one page for any browser, with charts and texts; nothing is fetched"],
  ["Replay, HTML", "export/replay", "All of it as one page that plays in any browser, from disk; nothing is fetched"],
  ["YAML", "export/yaml", "Settings, for the command python -m playground train"],
  ["TRL script", "export/trl", "This run as a Python script for TRL 1.12"],
  ["Metrics, CSV", "metrics.csv", "A row for each update, also under TRL's names"],
  ["Texts, CSV", "samples.csv", "A row for each completion of a fixed prompt"],
];
const TO_START = ["export/yaml", "export/trl"]; // of a run, again
const FIGURES = [["Runs, CSV", "runs.csv"], ["Curves, CSV", "curves.csv"], ["Charts, SVG and PDF", "charts.zip"]];

/** What the two figures of a run are. */
export const SCORE_WORDS = "How much reward a text earned. The untrained model's average is 0; 1 sd is the usual "
  + "difference between a text and that average.";
export const DISTANCE_WORDS = "How far the model has moved from its old self, in nats. 0: it writes as before.";

/** What the column of texts holds that is called so. */
export const KL_HEAD = "Distance (KL)";
export const KL_GLOSS = "KL from the reference, in nats: how differently the policy and the reference would continue "
  + "this text, summed over its tokens. 0 is no difference; it is never negative.";

/** The two texts as elements, with what differs marked. @param {string | null} before @param {string} after */
export function textPair(before, after) {
  const [left, right] = before === null
    ? [[{ text: before ?? "", changed: false }], [{ text: after, changed: false }]]
    : wordDifference(before, after);
  return [marked(left, "gone", before ?? ""), marked(right, "new", after)];
}

/**
 * A prompt for reading. Of a dialogue, as its data has it ("\n\nHuman: ...\n\nAssistant:"), what the user says; with
 * several turns, who says what, a line each.
 * @param {string} text
 */
export function promptText(text) {
  const said = text.trim();
  if (!said.startsWith("Human:")) return text;
  const turns = said.split(/(?:^|\n\n)(Human|Assistant):[ \t]*/).slice(1);
  const lines = turns.flatMap((name, index) => {
    const content = turns[index + 1]?.trim();
    return index % 2 || !content ? [] : [{ name: name === "Human" ? "User" : name, content }];
  });
  return lines.length === 1 ? lines[0].content : lines.map(({ name, content }) => `${name}: ${content}`).join("\n");
}

/**
 * Prompts for reading in little room: without the turns with which all of them begin, as with examples that stand above
 * every question. @param {string[]} prompts
 */
export function ownPrompts(prompts) {
  const turns = prompts.map((prompt) => prompt.trim().split(/\n\n(?=(?:Human|Assistant):)/));
  const most = prompts.length < 2 ? 0 : Math.min(...turns.map(({ length }) => length)) - 2;
  let shared = 0;
  while (shared < most && turns.every((turn) => turn[shared] === turns[0][shared])) shared += 1;
  shared -= shared % 2; // the human says the first of the rest
  return turns.map((turn, index) => shared ? `\u2026 ${promptText(turn.slice(shared).join("\n\n"))}` : prompts[index]);
}

/**
 * A prompt, muted, and what was written to it: behind it where that goes on from it, else below.
 * @param {string} prompt @param {string} completion @param {...Page.Child} more
 */
export function promptAndAnswer(prompt, completion, ...more) {
  const answers = /^[\p{L}\p{N}*#"]/u.test(completion) && /\S$/.test(prompt);
  return el("p.output", el("span.muted", promptText(prompt), answers ? "\n" : null), completion, more);
}

/**
 * How many untrained texts have some of the words that are paid, and which words none has: whole words in any case, as
 * the reward counts them. @param {string[]} words @param {string[]} texts
 */
export function wordUse(words, texts) {
  const edge = "[\\p{L}\\p{N}_]";
  const patterns = words.map((word) =>
    new RegExp(`(?<!${edge})${word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")}(?!${edge})`, "iu"));
  const uses = texts.filter((text) => patterns.some((pattern) => pattern.test(text))).length;
  const never = words.filter((_, index) => !texts.some((text) => patterns[index].test(text)))
    .map((word) => `\u201c${word}\u201d`).join(", ");
  return `Untrained, the model uses your words in ${uses} of ${texts.length} texts.${never
    ? ` It never writes ${never} there: what it does not write, it cannot learn.` : ""}`;
}

/** What stands before every prompt of a run, if anything does. @param {Wire.Run | null | undefined} run */
export function systemPart(run) {
  return run?.system ? [el("p.system-prompt", { tabindex: "0" }, el("span.muted", "System prompt, before each: "),
    el("span.output", run.system))] : [];
}

/**
 * A pair of answers as a row: `sides` are [{label, parts}] of before and now, `score` the parts of that cell, `more`
 * the cells after the KL. What is null has no cell.
 * @param {{ prompt?: Page.Child, sides: { label: string, parts: Page.Child }[], score?: Page.Child, kl?: Page.Child,
 *   more?: Page.Child }} row
 */
export function pairRow({ prompt = null, sides, score = null, kl = null, more = [] }) {
  return el("tr",
    prompt === null ? null : el("td.prompt", { "data-label": "Prompt" }, el("p.output",
      typeof prompt === "string" ? promptText(prompt) : prompt)),
    sides.map(({ label, parts }, index) => el("td", { class: index ? "now" : "before", "data-label": label }, parts)),
    score === null ? null : el("td.figure.score", { "data-label": "Score" }, score),
    kl === null ? null : el("td.figure.nowrap", { "data-label": "Distance (KL), nats" }, kl), more);
}

/** The two sides of such a row. @param {Page.Child} before @param {Page.Child} now */
export function beforeAndNow(before, now, name = "Now") {
  return [{ label: "Before", parts: before }, { label: name, parts: now }];
}

/** The heads of their columns. */
export function sideHeads(now = "Now") {
  return [headOf("Before", "before"), headOf(now, "now")];
}

/**
 * Two scores, the later one in the colour of the way it went; one that is not there yet is left out.
 * @param {number | null | undefined} before @param {number | null | undefined} after
 */
export function scoresOf(before, after, { between = " \u2192 ", coloured = true } = {}) {
  const known = [before, after].map((score) => score !== undefined && score !== null);
  return [el("span.nowrap", known[0] ? signed(before) : "", known[0] && known[1] ? between : ""),
    known[1] ? el("strong", { class: coloured ? directionOf(before, after) : null }, signed(after)) : null];
}

/**
 * What there is to know in a line: names and values; what is null is left out.
 * @param {([string, Page.Child] | null)[]} pairs
 */
export function facts(pairs) {
  return pairs.filter((pair) => pair !== null).map(([name, value]) => el("span.fact",
    el("span.muted", `${name} `), el("span.fact-value", value)));
}

/**
 * What a model reads, token by token, in turns lighter and darker; special tokens are framed.
 * @param {Wire.Piece[]} pieces @param {...Page.Child} more
 */
export function seenPart(pieces, ...more) {
  return el("p.output.seen", pieces.map(({ text, special, tokens = [text] }) => (special
    ? el("span.special", text.replaceAll("\n", "\u23ce"))
    : tokens.map((token) => el("span.token", token)))), more);
}

/**
 * Words that may be long: in a row they are cut to a few lines; all of them at a touch, or with the focus beside.
 * @param {string} kind @param {string} text @param {Page.Attributes} attributes
 */
export function clamped(kind, text, attributes = {}) {
  return el(`${kind}.clamp`, { title: text, ...attributes }, text);
}

/** Links to the files of a run. @param {string} run */
export function fileLinks(run, watched = false) {
  const files = FILES.filter(([, path]) => fileOf(run, path) && !(watched && TO_START.includes(path)));
  return files.map(([name, path, title]) => el("a.quiet-button",
    { ...fileOf(run, path), title, "data-key": `${path} ${run}` }, name));
}

/**
 * A menu of what can be taken away of a sweep or of some runs: `query` names them.
 * @param {string} id @param {string} query
 */
export function figuresMenu(id, query) {
  const links = FIGURES.filter(([, file]) => fileOf("_figures", `${file}?${query}`)).map(([name, file]) =>
    el("a.quiet-button", { ...fileOf("_figures", `${file}?${query}`), "data-key": `${file} ${id}` }, name));
  return links.length ? menuButton(id, "Take it away", "as files", links) : [];
}

/**
 * How far something is: a bar, also for a screen reader; `words` where numbers do not say it.
 * @param {string} label @param {number} done @param {number} of
 * @param {{ tone?: string, words?: string | null }} look
 */
export function progressBar(label, done, of, { tone = "", words = null } = {}) {
  return el("div.progress", { role: "progressbar", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": of,
    "aria-valuenow": done, "aria-valuetext": words }, el("div.fill", { "data-tone": tone,
    style: `transform: scaleX(${of ? done / of : 0})` }));
}

/**
 * The state of a run with its sign; `words` in place of the usual word, then what follows it.
 * @param {string} state @param {{ words?: string | null, title?: string | null }} look @param {...Page.Child} more
 */
export function stateMark(state, { words = null, title = null } = {}, ...more) {
  const { icon, word, tone } = stateOf(state);
  return el("span.state", { "data-tone": tone, title }, signOf(icon), el("strong", words ?? word), more);
}

/** @param {import("./worddiff.js").Words[]} parts @param {string} kind @param {string} whole */
function marked(parts, kind, whole) {
  const node = el("p.output");
  if (!whole.trim()) return el("p.output.nothing", "(nothing)");
  for (const part of parts) {
    if (!part.changed) node.append(part.text);
    else {
      const space = part.text.match(/^\s*/)[0];
      node.append(space, el("mark", { class: kind }, part.text.slice(space.length)));
    }
  }
  if (node.firstChild?.nodeType === Node.TEXT_NODE)
    node.firstChild.textContent = node.firstChild.textContent.trimStart();
  return node;
}

/** What a check of answers reads in a text. @param {Wire.Reading | null} read */
export function readLine(read) {
  if (!read) return null;
  const { answer, true: truth, is_right: right } = read;
  return el("p.shows", el("span", { class: `turned ${right ? "good" : "bad"}` }, signOf(right ? "\u2713" : "\u2715"),
    answer === null ? " no answer found" : ` read as \u201c${answer}\u201d`,
    truth === null ? ", true answer not known" : `, true answer \u201c${truth}\u201d`));
}
