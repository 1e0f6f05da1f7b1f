// What the Compare page draws of the fixed prompts: scores and lengths before and after, and how the scores were spread
// at each look. Before slate, after indigo.

import { binned, roundTicks } from "./arithmetic.js";
import { bars, frame } from "./small_plots.js";
import { el, shape } from "../core/dom.js";
import { number } from "../core/format.js";

const BINS = 14;
const SIZE = { height: 150, left: 34, right: 8, top: 6, bottom: 20 };
const SIDES = ["before", "now"];

/** The three drawings, as far as there is something to draw. `data` is what the Compare page shows. */
export function histogramsOf(data) {
  const { rows, measured, run, distribution } = data;
  const pick = (of) => [rows.map((row) => of(row.before)), rows.map((row) => of(row.after))].map((values) =>
    values.filter((value) => value !== null && value !== undefined));
  return [
    measured ? twoSides("Score", run.unit, pick((side) => side.score), data) : null,
    twoSides("Length", "tokens", pick((side) => side.tokens), data),
    (distribution?.length ?? 0) > 1 ? spread(data) : null,
  ].filter(Boolean);
}

function card(title, key, note, drawing) {
  return el("section.chart", el("div.chart-head", el("h3", title)),
    el("div.chart-sub", el("span", key), el("span", note)), drawing);
}

function twoSides(title, unit, values, { other }) {
  if (!values[0].length || !values[1].length) return null;
  const names = other ? ["the other run", "this run"] : ["before", "after"];
  const [before, after] = values.map((list) => number(list.reduce((sum, value) => sum + value, 0) / list.length));
  const { edges, counts } = binned(values, BINS, title === "Length");
  const most = Math.max(...counts.flat());
  const drawn = frame({ kind: "small-plot.stage", size: SIZE, from: edges[0], to: edges.at(-1), low: 0,
    high: most * 1.12, xTicks: roundTicks(edges[0], edges.at(-1), 6), yTicks: roundTicks(0, most, 4),
    label: `${title}: mean ${before} ${names[0]}, ${after} ${unit} ${names[1]}` });
  SIDES.forEach((side, index) => bars(drawn, edges, counts[index], () => `side ${side}`));
  const key = SIDES.flatMap((side, index) => [index ? " " : "", el("span", { class: `key ${side}` }, names[index])]);
  return card(title, key, `number of texts, by ${unit}`, drawn.node);
}

/** Where everything stands: both ranges, half the width of a box, and which looks stand out. Pure. */
export function spreadOf(rows, chosen) {
  const updates = rows.map(({ update }) => update);
  const gap = Math.min(...updates.slice(1).map((value, index) => value - updates[index]));
  const [low, high] = [Math.min(...rows.map(({ p10 }) => p10)), Math.max(...rows.map(({ p90 }) => p90))];
  const margin = (high - low) * 0.08 || 0.5;
  return { from: updates[0] - gap * 0.6, to: updates.at(-1) + gap * 0.6, low: low - margin, high: high + margin,
    half: gap * 0.275, strong: updates.map((update, index) => index === 0 || update === chosen) };
}

/** At each look a box from the 25th to the 75th percentile, a line from the 10th to the 90th, a mark at the median. */
function spread({ distribution: rows, run, update: chosen }) {
  const { half, strong, ...ranges } = spreadOf(rows, chosen);
  const last = rows.at(-1);
  const { node, x, y, add } = frame({ kind: "small-plot.stage", size: SIZE, ...ranges,
    xTicks: roundTicks(0, last.update, 5), yTicks: roundTicks(ranges.low, ranges.high, 4),
    label: `Score at each look: median ${number(rows[0].p50)} before, ${number(last.p50)} ${run.unit} at update `
      + last.update });
  rows.forEach(({ update, p10, p25, p50, p75, p90 }, index) => {
    const [left, right] = [x(update - half), x(update + half)];
    add("g", { class: `look ${index ? "now" : "before"}${strong[index] ? " strong" : ""}` },
      shape("line", { x1: x(update), x2: x(update), y1: y(p10), y2: y(p90) }),
      shape("rect", { x: left, width: right - left, y: y(p75), height: y(p25) - y(p75) }),
      shape("line.median", { x1: left, x2: right, y1: y(p50), y2: y(p50) }));
  });
  return card("Score at each look", "box: middle half; line: middle 80 %", `by update, ${run.unit}`, node);
}
