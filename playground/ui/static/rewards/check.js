// The report of the reward self-test: verdict and findings, one example token by token, figures, and the same pairs in
// other prompt formats.

import { el, headOf, setWords, signOf, tableOf, withCode } from "../core/dom.js";
import { bytesTold, capital, number, percent, rounded, signed } from "../core/format.js";
import { seenPart } from "../core/texts.js";
import { whenOpened } from "./tabs.js";

const ABOUT = "The model of the Train page writes 64 completions, and the reward model scores them. Then it scores "
  + "pairs of a good and a bad completion, in this prompt format and in others. A few seconds for a small model.";
const MARKS = { ok: "\u2713", warn: "!", fail: "\u00d7" };
const WORDS = { ok: "Fit to train on", warn: "Look at this before training on it",
  fail: "Do not train on it as it is" };

/** @typedef {{ value: Wire.RewardCheck }} Props */

/** @param {Element} element @param {Props} props @param {Page.Tools} page */
export const mount = (element, props, page) => whenOpened("test", () => draw(element, props, page));

/** @param {Element} element @param {Props} props @param {Page.Tools} page */
function draw(element, props, { watch }) {
  const line = el("p.muted.check-line", { role: "status" });
  const body = el("div.check-report");
  element.append(line, body);

  function show() {
    const { state = "empty", phase = "", message = "", report } = props.value ?? {};
    line.classList.toggle("problem", state === "error");
    setWords(line, { error: message, asking: `${capital(phase)} \u2026`, empty: ABOUT, done: "" }[state]);
    if (state !== "asking") body.replaceChildren(...(state === "done" ? drawn(report) : []));
    body.classList.toggle("old", state === "asking");
  }

  watch("value", show);
  show();
}

function drawn(/** @type {Wire.RewardReport} */ report) {
  return [verdict(report), facts(report), example(report), forms(report)].filter(Boolean);
}

function verdict(/** @type {Wire.RewardReport} */ report) {
  return el("section", { class: `check-verdict ${report.verdict}` },
    el("h3", signOf(MARKS[report.verdict]), WORDS[report.verdict]),
    el("ul", report.findings.map((finding) => el("li", { class: finding.level },
      signOf(MARKS[finding.level]),
      el("span", finding.level === "ok" ? "" : [el("strong", finding.name), ": "], withCode(finding.text))))));
}

/** Good and bad example, spread, accuracy, lengths, size and what fewer bits cost. */
function facts(/** @type {Wire.RewardReport} */ report) {
  const { pairs, reference, lengths, good, bad, cost } = report;
  /** @type {[string, string, Page.Child][]} */
  const rows = [];
  if (pairs?.count)
    rows.push(["Good beats bad", percent(pairs.accuracy),
      withCode(`of ${pairs.count} pairs: ${pairs.source}. Guessing gets 50 %.`)]);
  if (good?.completion !== undefined)
    rows.push(["A good example", signed(good.score), quoted(good)], ["A bad example", signed(bad.score), [quoted(bad),
      ...(bad.score > good.score ? [" It scores higher than the good one: the model is wrong on this pair."] : [])]]);
  if (reference?.completions) rows.push(["Spread", `sd ${number(reference.sd)}`,
    `mean ${number(reference.mean)}, from ${number(reference.lowest)} to ${number(reference.highest)}, on `
      + `${reference.completions} completions of the untrained model. A mean near 0 is fine.`]);
  if (lengths?.mean) rows.push(["Length", `${Math.round(lengths.mean)} tokens`,
    `on average; the longest has ${lengths.longest}${lengths.limit ? ` of at most ${lengths.limit}` : ""}. `
      + `${lengths.cut_share ? `${percent(lengths.cut_share)} lose the beginning of their prompt.` : "None is cut."}`]);
  if (report.bytes_held) rows.push(["Size", bytesTold(report.bytes_held), cost
    ? `in ${cost.quantization}, instead of ${bytesTold(cost.bytes_full)}. Rank correlation with the full scores `
      + `${rounded(cost.rank_correlation, 0.001)}; ${percent(cost.pair_agreement)} of all pairs in the same order.`
    : "in memory."]);
  if (!rows.length) return null;
  return el("table.check-facts", el("tbody", rows.map(([name, figure, words]) =>
    el("tr", el("th", { scope: "row" }, name), el("td.figure", figure), el("td", words)))));
}

function quoted(/** @type {Wire.ExampleScore} */ shown) {
  return el("span.output", shown.completion.trim());
}

/** What the model reads, token by token; special tokens stand out. */
function example(/** @type {Wire.RewardReport} */ { example: shown, template }) {
  if (!shown?.tokens) return null;
  const more = shown.length - shown.ids.length;
  return el("section.check-example",
    el("h3", "What the model reads", el("span.muted", ` prompt format ${template}, ${shown.length} tokens`)),
    seenPart(shown.tokens.map((text, place) => ({ text, special: shown.special[place] })),
      more > 0 ? el("span.muted", ` and ${more} more`) : ""),
    el("p.muted.small-text", "Every shade is one token. Framed: special tokens, which are not text."));
}

/** The same pairs in the prompt format in use and in others, best first. */
function forms(/** @type {Wire.RewardReport} */ { formats }) {
  if (!formats?.length) return null;
  const name = (/** @type {Wire.TriedFormat} */ { name: title, in_force: inForce, help, example: shown }) => el("td",
    el("details", el("summary", title, inForce ? el("span.mark", "in use") : ""),
      el("p.muted.small-text", help), el("p.output", shown)));
  /** @param {string} label @param {Page.Child[]} parts */
  const figure = (label, ...parts) => el("td.figure", { "data-label": label }, parts);
  return el("section.check-forms",
    el("h3", "The same pairs in other prompt formats"),
    el("p.muted.small-text", "The format in use should come first. One that is better by much more than its "
      + "\u00b1 (one standard error) is closer to what the model was trained on."),
    tableOf("", ["Prompt format", ...["Right", "Against the one in use", "Margin good \u2212 bad"].map((head) =>
      headOf(head, "figure"))], formats.map((row) => el("tr", { class: row.in_force ? "in-force" : null }, name(row),
      figure("Right", share(row.accuracy)),
      figure("Against the one in use",
        row.in_force ? "\u2013" : `${points(row.ahead)} \u00b1 ${(100 * row.ahead_error).toFixed(1)} points`),
      figure("Margin", `${signed(row.margin)} \u00b1 ${rounded(row.margin_error)}`)))));
}

function share(/** @type {number} */ value) {
  return el("span", el("span.share-bar", { style: `--share: ${value}`, "aria-hidden": "true" }), percent(value));
}

function points(/** @type {number} */ value) {
  const rounded = Math.round(100 * value);
  return rounded > 0 ? `+${rounded}` : number(rounded);
}
