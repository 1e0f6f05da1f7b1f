// Small drawings that need no library: lines over steps, histograms, and the frame in which all
// others are drawn. SVG in the page's colours, so light and dark need no redrawing; the numbers behind each are in a
// table or in words beside it.

import { placing, roundTicks } from "./arithmetic.js";
import { el, shape, svg, tableOf } from "../core/dom.js";

/**
 * @typedef {{ label?: string, kind?: string, size?: Partial<typeof SIZE>, from?: number, to?: number, low?: number,
 *   high?: number, xTicks?: number[], yTicks?: number[], xName?: string, tell?: (value: number) => string,
 *   tellX?: (value: number) => string, grid?: "x" | "y" }} Framing
 * @typedef {ReturnType<typeof frame>} Frame
 */

const SIZE = { width: 380, height: 190, left: 40, right: 18, top: 10, bottom: 36 };

/** A round number with a real minus. */
const plain = (/** @type {number} */ value) => String(value).replace("-", "\u2212");

/**
 * A frame with ticks: {node, x, y, add}. `x` and `y` turn values into places, `add` draws a shape. `size` may replace
 * parts of the usual one; `grid` says for which ticks there are lines.
 * @param {Framing} framing
 */
export function frame({ label, kind = "small-plot", size = {}, from, to, low, high, xTicks = [], yTicks = [],
  xName = "", tell = plain, tellX = plain, grid = "y" }) {
  const { width, height, left, right, top, bottom } = { ...SIZE, ...size };
  const x = placing(from, to, left, width - right);
  const y = placing(low, high, height - bottom, top);
  const node = svg(kind, { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  /** @param {string} name @param {Record<string, unknown>} attributes @param {(string | Node)[]} children */
  const add = (name, attributes, ...children) => node.append(shape(name, attributes, ...children));
  for (const value of yTicks) {
    if (grid === "y") add("line.grid", { x1: left, x2: width - right, y1: y(value), y2: y(value) });
    add("text.tick", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, tell(value));
  }
  for (const value of xTicks) {
    if (grid === "x") add("line.grid", { x1: x(value), x2: x(value), y1: top, y2: height - bottom });
    add("text.tick", { x: x(value), y: height - bottom + 15, "text-anchor": "middle" }, tellX(value));
  }
  if (xName)
    add("text.tick.name", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, xName);
  return { node, x, y, add };
}

/** Points of a line, as SVG wants them. */
export function pointsOf(/** @type {number[][]} */ points) {
  return points.map((point) => point.map((place) => place.toFixed(1)).join(",")).join(" ");
}

/**
 * A small line with a dot at its end, of values from `low` to `high` over `at`; `label` says it to a screen reader.
 * @param {number[]} at @param {number[]} values @param {number[]} ends @param {string} label @param {number[]} marks
 */
export function sparkline(at, values, [low, high], label = "", marks = []) {
  const x = placing(at[0], at.at(-1), 3, 93);
  const y = placing(low, high, 25, 3);
  const said = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
  return svg("spark", { viewBox: "0 0 96 28", ...said },
    marks.map((value) => shape("line.grid", { x1: 0, x2: 96, y1: y(value), y2: y(value) })),
    values.length > 1
      ? shape("polyline", { points: pointsOf(values.map((value, index) => [x(at[index]), y(value)])) }) : "",
    values.length > 1 ? shape("circle", { cx: x(at.at(-1)), cy: y(values.at(-1)), r: 2.5 }) : "");
}

/**
 * The bars of a histogram; `kindOf(index)` is the class of each, `titleOf(index)` what it says to who points at it.
 * @param {Frame} frame @param {number[]} edges @param {number[]} counts
 * @param {(index: number) => string} kindOf @param {((index: number) => string) | null} titleOf
 */
export function bars({ x, y, add }, edges, counts, kindOf, titleOf = null) {
  counts.forEach((count, index) => {
    const [left, right] = [x(edges[index]), x(edges[index + 1])];
    if (count)
      add("rect", { class: kindOf(index), x: left + 0.5, y: y(count), width: Math.max(right - left - 1, 1),
        height: y(0) - y(count) }, titleOf ? shape("title", titleOf(index)) : "");
  });
}

/**
 * Lines over steps: [{kind: "training" | "held-out", at: [...], values: [...]}].
 * @param {string} label @param {{ kind: string, at: number[], values: number[] }[]} series @param {Framing} axes
 */
export function lines(label, series, axes) {
  const { low, high } = axes;
  const to = Math.max(2, ...series.flatMap((item) => item.at));
  const { node, x, y, add } = frame({ label, from: 1, to, xTicks: roundTicks(1, to, 5), ...axes });
  for (const { kind, at, values } of series) {
    const points = at.map((step, index) => [step, values[index]]).filter(([, value]) => Number.isFinite(value))
      .map(([step, value]) => [x(step), y(Math.min(Math.max(value, low), high))]);
    if (points.length > 1) add("polyline", { class: `line ${kind}`, points: pointsOf(points) });
    if (kind === "held-out" || points.length === 1)
      for (const [cx, cy] of points) add("circle", { class: `dot ${kind}`, cx, cy, r: 3.5 });
  }
  return node;
}

/**
 * A histogram {edges, counts} whose bars left of 0 are wrong and right of it right.
 * @param {string} label @param {{ edges: number[], counts: number[] }} histogram @param {string} xName
 */
export function marginBars(label, { edges, counts }, xName) {
  const most = Math.max(...counts, 1);
  const drawn = frame({ label, from: edges[0], to: edges.at(-1), low: 0, high: most * 1.05, xName,
    yTicks: roundTicks(0, most, Math.min(4, most)), xTicks: roundTicks(edges[0], edges.at(-1), 6) });
  const { node, x, y, add } = drawn;
  bars(drawn, edges, counts, (index) => (edges[index] < -1e-9 ? "bar wrong" : "bar right"));
  add("line.zero", { x1: x(0), x2: x(0), y1: y(0), y2: y(most * 1.05) });
  return node;
}

/**
 * A table of numbers that opens with a click.
 * @param {string} title @param {string[]} heads @param {string[][]} rows
 */
export function numbers(title, heads, rows) {
  return el("details.folded.numbers", el("summary", title),
    tableOf("", heads, rows.map((row) => row.map((cell) => el("td", cell)))));
}
