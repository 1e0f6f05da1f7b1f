// Small drawings that are read once: lines over steps, a histogram, a calibration plot. SVG in the page's colours, so
// light and dark need no redrawing; the numbers behind each are in a table beside it.

import { el, headOf, shape, svg } from "../core/dom.js";

const WIDTH = 380;
const HEIGHT = 190;
const EDGE = { left: 40, right: 18, top: 10, bottom: 36 };

/**
 * A frame with ticks: {node, x, y, add}. `x` and `y` turn values into places.
 * @param {Record<string, any>} frame
 */
function frame({ label, from, to, low, high, xTicks, yTicks, xName, tell = String, tellX = String }) {
  const x = (value) => EDGE.left + ((value - from) / (to - from || 1)) * (WIDTH - EDGE.left - EDGE.right);
  const y = (value) => HEIGHT - EDGE.bottom - ((value - low) / (high - low || 1)) * (HEIGHT - EDGE.top - EDGE.bottom);
  const node = svg({ class: "small-plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
  const words = (text, attributes) => shape("text", attributes, text);
  for (const value of yTicks) {
    node.append(shape("line", { class: "grid", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: y(value), y2: y(value) }),
      words(tell(value), { class: "tick", x: EDGE.left - 6, y: y(value) + 4, "text-anchor": "end" }));
  }
  const below = { y: HEIGHT - EDGE.bottom + 15, "text-anchor": "middle" };
  for (const value of xTicks) node.append(words(tellX(value), { class: "tick", x: x(value), ...below }));
  const middle = (EDGE.left + WIDTH - EDGE.right) / 2;
  node.append(words(xName, { ...below, class: "tick name", x: middle, y: HEIGHT - 4 }));
  return { node, x, y, add: (name, attributes) => node.append(shape(name, attributes)) };
}

/**
 * Lines over steps: [{kind: "training" | "held-out", at: [...], values: [...]}].
 * @param {Record<string, any>} axes
 */
export function lines(label, series, axes) {
  const { low, high } = axes;
  const all = series.flatMap((item) => item.at);
  const to = Math.max(2, ...all);
  const { node, x, y, add } = frame({ label, from: 1, to, xTicks: roundTicks(1, to, 5), ...axes });
  for (const { kind, at, values } of series) {
    const known = at.map((step, index) => [step, values[index]]).filter(([, value]) => Number.isFinite(value));
    const height = (value) => y(Math.min(Math.max(value, low), high));
    const points = known.map(([step, value]) => `${x(step).toFixed(1)},${height(value).toFixed(1)}`);
    if (points.length > 1) add("polyline", { class: `line ${kind}`, points: points.join(" ") });
    if (kind === "held-out" || points.length === 1) {
      for (const point of points)
        add("circle", { class: `dot ${kind}`, cx: point.split(",")[0], cy: point.split(",")[1], r: 3.5 });
    }
  }
  return node;
}

/** A histogram {edges, counts} whose bars left of 0 are wrong and right of it right. */
export function marginBars(label, { edges, counts }, xName) {
  const most = Math.max(...counts, 1);
  const yTicks = roundTicks(0, most, 4);
  const { node, x, y, add } = frame({ label, from: edges[0], to: edges.at(-1), low: 0, high: most * 1.05, yTicks, xName,
    xTicks: roundTicks(edges[0], edges.at(-1), 6), tellX: (value) => String(value).replace("-", "\u2212") });
  counts.forEach((count, index) => {
    const [left, right] = [x(edges[index]), x(edges[index + 1])];
    if (count)
      add("rect", { class: edges[index] < -1e-9 ? "bar wrong" : "bar right", x: left + 0.5, y: y(count),
        width: Math.max(right - left - 1, 1), height: y(0) - y(count) });
  });
  add("line", { class: "zero", x1: x(0), x2: x(0), y1: y(0), y2: y(most * 1.05) });
  return node;
}

/** Promised against observed probability, with 95 % intervals; hollow: how the annotator would answer. */
export function calibrationDots(label, bins, xName) {
  const low = Math.min(0.5, Math.floor(Math.min(...bins.map((bin) => Math.min(bin.low, bin.known ?? 1))) * 10) / 10);
  const told = (value) => `${Math.round(value * 100)} %`;
  const { node, x, y, add } = frame({ label, from: 0.5, to: 1, low, high: 1, xName, tell: told, tellX: told,
    xTicks: [0.5, 0.6, 0.7, 0.8, 0.9, 1], yTicks: roundTicks(low, 1, 5) });
  add("line", { class: "diagonal", x1: x(0.5), y1: y(0.5), x2: x(1), y2: y(1) });
  for (const bin of bins) {
    const at = x(bin.predicted);
    add("line", { class: "interval", x1: at, x2: at, y1: y(bin.low), y2: y(bin.high) });
    add("circle", { class: "dot held-out", cx: at, cy: y(bin.observed), r: 4 });
    if (bin.known !== null) add("rect", { class: "known", x: at - 4, y: y(bin.known) - 4, width: 8, height: 8 });
  }
  return node;
}

/** A table of numbers that opens with a click. */
export function numbers(title, heads, rows) {
  return el("details", { class: "folded numbers" }, el("summary", {}, title),
    el("table", {}, el("thead", {}, el("tr", {}, heads.map((head) => headOf(head)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell) => el("td", {}, cell)))))));
}

/** Round values between two ends, about `count` of them. */
export function roundTicks(from, to, count) {
  const rough = (to - from || 1) / count;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * size).find((value) => value >= rough);
  const found = [];
  for (let at = Math.ceil(from / step - 1e-9) * step; at <= to + step * 1e-6; at += step)
    found.push(Number(at.toPrecision(6)) || 0);
  return found;
}
