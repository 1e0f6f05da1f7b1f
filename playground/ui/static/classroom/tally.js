// What a class has answered to a question: bars for answers in words and for shapes, columns for numbers. On phones, on
// the screen in front and at the desk.

import { frame } from "../charts/small_plots.js";
import { el, shape } from "../core/dom.js";
import { number } from "../core/format.js";
import { compared } from "../lessons/shapes.js";

const BIN_GAP = 3;
/** Of the columns on the screen in front. */
export const WIDE = { width: 560, height: 160, left: 34, right: 22, top: 22, bottom: 36 };
const PLOT = { width: 360, height: 190, left: 34, right: 14, top: 22, bottom: 36 };

/**
 * @typedef {import("../lessons/progress.js").Prediction} Prediction
 * @typedef {{ name: string, kind: string, total: number, counts: number[] }} Series one round, or the hands of one
 * @typedef {{ mine?: Prediction, right?: number | null }} Marks
 */

/**
 * The counts of each round, and of the hands that were counted in it, as far as there are any.
 * @param {Wire.Prediction} predict @param {Wire.ClassRound[]} rounds @returns {Series[]}
 */
export function seriesIn(predict, rounds) {
  return rounds.flatMap(({ answered, counts, shapes, hands }, index) => {
    const name = rounds.length > 1 ? ["First round", "Second round", "Third round"][index] ?? `Round ${index + 1}`
      : "The class";
    const kind = index === rounds.length - 1 ? "now" : "before";
    const own = predict.kind === "curve" ? predict.shapes.map((one) => shapes[one] ?? 0) : counts;
    const all = [{ name, kind, total: answered, counts: own },
      { name: `${name}, hands`, kind: `${kind} hands`, total: hands.reduce((sum, count) => sum + count, 0),
        counts: hands }];
    return all.filter(({ total, kind: what }) => total || (!what.includes("hands") && !hands.length));
  });
}

/**
 * All of it. `size`: of the columns. @param {Wire.Prediction} predict @param {Wire.ClassResults} results
 * @param {Prediction} mine @returns {HTMLElement[]}
 */
export function tallyOf(predict, results, mine = {}, size = PLOT) {
  const series = seriesIn(predict, results.rounds);
  if (!series.some(({ total }) => total)) return [el("p.muted", "No one has answered.")];
  const marks = { mine, right: results.right };
  if (predict.kind === "number")
    return [columns(predict, series, marks, results.reveal, size), legendOf(series), middles(predict, results)];
  if (predict.kind === "choice")
    return [bars(predict.options.map(({ say }) => say), series, marks), legendOf(series)];
  const chosen = { choice: predict.shapes.indexOf(mine.shape) };
  const told = results.reveal?.curve.length ? results.reveal : null;
  return [el("div", { class: told ? "tally-split" : "" }, told ? compared(predict.column, mine.shape, told) : "",
    el("div", bars(predict.shapes, series, { mine: chosen }), legendOf(series)))];
}

/** Which bar is which, where there is more than one. @param {Series[]} series */
function legendOf(series) {
  return el("p.tally-legend", { hidden: series.length < 2 }, series.map(({ name, kind, total }) =>
    el("span", el("span", { class: `tally-key ${kind}`, "aria-hidden": "true" }), `${name}: ${total} `)));
}

/** @param {string[]} answers @param {Series[]} series @param {Marks} marks */
function bars(answers, series, { mine, right = null }) {
  return el("ul.tally", answers.map((say, index) => el("li", { "data-right": String(index === right) },
    el("p", el("span.tally-say", say), index === right ? el("strong.tally-mark", " \u2713 so it is") : "",
      index === mine?.choice ? el("strong.tally-mark.mine", " your answer") : ""),
    series.map(({ name, kind, total, counts }) => {
      const count = counts[index] ?? 0;
      return el("p.tally-bar", el("span.visually-hidden", `${name}: `),
        el("span.tally-track", { "aria-hidden": "true" },
          el("span", { class: `tally-fill ${kind}`, style: `width: ${total ? (100 * count) / total : 0}%` })),
        el("span.tally-count", `${count} of ${total}`));
    }))));
}

/**
 * Answers that are numbers: how many there are in each of the bins.
 * @param {Wire.Prediction} predict @param {Series[]} series @param {Marks} marks @param {Wire.Reveal | null} reveal
 * @param {typeof PLOT} size
 */
function columns({ low, high, unit, ask }, series, { mine }, reveal, size) {
  const bins = Math.max(...series.map(({ counts }) => counts.length));
  const most = Math.max(...series.flatMap(({ counts }) => counts), 1);
  const edges = Array.from({ length: bins + 1 }, (_, index) => low + ((high - low) * index) / bins);
  const words = series.map(({ name, counts }) => `${name}: ${counts.map((count, index) => (count
    ? `${number(edges[index])} to ${number(edges[index + 1])}: ${count}` : "")).filter(Boolean).join(", ")}`);
  const made = frame({ label: `${ask} ${words.join(". ")}`, kind: "lesson-plot tally-columns", size, from: low,
    to: high, low: 0, high: most, xTicks: edges.filter((_, index) => index % 2 === 0), yTicks: [most],
    xName: unit, tellX: number });
  const width = (made.x(high) - made.x(low)) / bins / series.length;
  series.forEach(({ kind, counts }, at) => counts.forEach((count, index) => {
    if (count) made.add("rect", { class: `tally-fill ${kind}`, x: made.x(edges[index]) + BIN_GAP / 2 + at * width,
      y: made.y(count), width: Math.max(2, width - BIN_GAP), height: made.y(0) - made.y(count) });
  }));
  made.add("line.axis", { x1: made.x(low), x2: made.x(high), y1: made.y(0), y2: made.y(0) });
  /** @param {number} value @param {string} kind @param {string} says */
  const mark = (value, kind, says) => made.node.append(shape(`line.tally-line.${kind}`, { x1: made.x(value),
    x2: made.x(value), y1: size.top, y2: made.y(0) }), shape(`text.line-end.${kind}`, { x: made.x(value),
    y: kind === "run" ? 11 : 20, "text-anchor": value > (low + high) / 2 ? "end" : "start" }, says));
  if (mine?.number !== undefined) mark(mine.number, "mine", "you");
  if (Number.isFinite(reveal?.value)) mark(Math.min(Math.max(reveal.value, low), high), "run", "the run");
  return /** @type {HTMLElement} */ (/** @type {unknown} */ (made.node));
}

/** The answer in the middle of each round, and what the run says. @param {Wire.Prediction} predict
 * @param {Wire.ClassResults} results */
function middles({ unit }, { rounds, reveal }) {
  const told = rounds.map(({ numbers }) => (numbers.length
    ? number((numbers[(numbers.length - 1) >> 1] + numbers[numbers.length >> 1]) / 2) : "")).filter(Boolean);
  return el("p", { hidden: !told.length }, `The middle answer: ${told.join(", then ")}${unit ? ` ${unit}` : ""}.`,
    reveal?.words ? ` The run: ${reveal.words}.` : "");
}
