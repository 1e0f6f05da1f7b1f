// What the Compare page draws of the fixed prompts: scores and lengths before and after. Before slate, after indigo.

import { binned, roundTicks } from "./arithmetic.js";
import { bars, frame } from "./small_plots.js";
import { el } from "../core/dom.js";
import { number } from "../core/format.js";

/** @typedef {Pick<Wire.Compare, "rows" | "measured" | "run" | "other">} Pairs */

const BINS = 14;
const SIZE = { height: 150, left: 34, right: 8, top: 6, bottom: 20 };
const SIDES = ["before", "now"];

/**
 * The two drawings, as far as there is something to draw, each so many pixels wide.
 * @param {Pairs} data what the Compare page shows @param {number} width
 */
export function histogramsOf(data, width) {
  const { rows, measured, run } = data;
  const pick = (/** @type {(side: Wire.Side) => number | null} */ of) => [
    rows.map((row) => of(row.before)), rows.map((row) => of(row.after)),
  ].map((values) => values.filter((value) => value !== null && value !== undefined));
  return [
    measured ? twoSides("Score", run.unit, pick((side) => side.score), data, width) : null,
    twoSides("Length", "tokens", pick((side) => side.tokens), data, width),
  ].filter(Boolean);
}

/** @param {string} title @param {string} unit @param {number[][]} values @param {Pairs} pairs @param {number} width */
function twoSides(title, unit, values, { other }, width) {
  if (!values[0].length || !values[1].length) return null;
  const names = other ? ["the other run", "this run"] : ["before", "after"];
  const [before, after] = values.map((list) => number(list.reduce((sum, value) => sum + value, 0) / list.length));
  const { edges, counts } = binned(values, BINS, title === "Length");
  const most = Math.max(...counts.flat());
  const drawn = frame({ kind: "small-plot.stage", size: { ...SIZE, width }, from: edges[0], to: edges.at(-1), low: 0,
    high: most * 1.12, xTicks: roundTicks(edges[0], edges.at(-1), 6), yTicks: roundTicks(0, most, Math.min(4, most)),
    label: `${title}: mean ${before} ${names[0]}, ${after} ${unit} ${names[1]}` });
  SIDES.forEach((side, index) => bars(drawn, edges, counts[index], () => `side ${side}`));
  const key = SIDES.flatMap((side, index) => [index ? " " : "", el("span", { class: `key ${side}` }, names[index])]);
  return el("section.chart", el("div.chart-head", el("h3", title)),
    el("div.chart-sub", el("span", key), el("span", `number of texts, by ${unit}`)), drawn.node);
}
