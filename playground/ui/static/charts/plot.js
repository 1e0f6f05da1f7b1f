// The drawing of a chart as SVG: bands, lines with gaps and dots, between two axes. Its colours are those of the style
// sheet, so light, dark and print need no drawing anew. What stands above it is told by chart.js.

import { placing, roundTicks } from "./arithmetic.js";
import { shape, svg } from "../core/dom.js";
import { number } from "../core/format.js";

const RIGHT = 8;
const DIGIT = 0.62; // its width, of the size of its letters
const TICK_ROOM = 5; // between a number and the axis that it belongs to
const [SMALL_STEP, LARGE] = [0.001, 10_000]; // beyond which a number is told shorter
const INLINED = ["stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-opacity", "fill",
  "fill-opacity", "font-size", "font-family", "text-anchor"]; // in a picture, which has no style sheet

/**
 * What is drawn of a line: its columns, and how. `band` and `raw` are opacities, `dots` a size in pixels; 0: none.
 * @typedef {{ x: ArrayLike<number>, raw: ArrayLike<number>, line: ArrayLike<number>, low: ArrayLike<number>,
 *   high: ArrayLike<number>, colour: string, dash?: number[], width: number, band?: number, raw_line?: number,
 *   dots?: number, dot_opacity?: number }} DrawnLine
 * @typedef {{ range: Charts.Range, bounds: number[], lines: DrawnLine[], zero?: boolean, level?: number | null,
 *   colour?: string, gap?: { x: ArrayLike<number>, low: ArrayLike<number>, high: ArrayLike<number> } | null }} Drawing
 * @typedef {{ left: number, bottom: number, right?: number, xTicks: number, yTicks: number, letters: number }} Room
 * `letters`: the size of the numbers at the axes, in pixels
 */

export class Plot {
  /** @param {Element} box */
  constructor(box) {
    this.box = box;
    this.room = /** @type {Room} */ ({ left: 40, bottom: 18, xTicks: 7, yTicks: 5, letters: 11 });
    this.node = svg("curves", { "aria-hidden": "true" });
    box.append(this.node);
  }

  /** Where the lines are, in pixels of the box; null where that has no size. @returns {Charts.Box | null} */
  get frame() {
    const { clientWidth, clientHeight } = this.box;
    const { left, bottom, right = RIGHT, letters } = this.room;
    const top = letters / 2; // half of the topmost number
    const [width, height] = [clientWidth - left - right, clientHeight - top - bottom];
    return width > 0 && height > 0 ? { left, top, width, height } : null;
  }

  /** @param {Drawing} drawing */
  draw({ range, bounds, lines, zero = false, level = null, colour = "", gap = null }) {
    const { frame } = this;
    if (!frame) return;
    const x = placing(range.start, range.end, 0, frame.width);
    const y = placing(bounds[0], bounds[1], frame.height, 0);
    const across = (/** @type {string} */ kind, /** @type {number} */ value) =>
      shape(`line.${kind}`, { x1: 0, x2: frame.width, y1: y(value), y2: y(value) });
    const inside = shape("svg.inside", { x: frame.left, y: frame.top, width: frame.width, height: frame.height },
      zero ? across("zero", 0) : "", gap?.x.length ? shape("path.gap", { d: bandOf(gap, x, y) }) : "",
      lines.toReversed().flatMap((line) => marksOf(line, x, y)));
    if (level !== null) {
      const guide = across("guide", level);
      guide.style.stroke = `var(${colour})`;
      inside.append(guide);
    }
    const { clientWidth, clientHeight } = this.box;
    this.node.setAttribute("viewBox", `0 0 ${clientWidth} ${clientHeight}`);
    this.node.replaceChildren(...this.axes(range, bounds, frame), inside);
  }

  clear() {
    this.node.replaceChildren();
  }

  /** @param {Charts.Range} range @param {number[]} bounds @param {Charts.Box} frame */
  axes({ start, end }, [low, high], { left, top, width, height }) {
    const x = placing(start, end, left, left + width);
    const y = placing(low, high, top + height, top);
    const across = roundTicks(start, end, this.room.xTicks);
    const up = roundTicks(low, high, this.room.yTicks);
    return [...up.flatMap((value) => [
      shape("line.grid", { x1: left, x2: left + width, y1: y(value), y2: y(value) }),
      shape("text", { x: left - TICK_ROOM, y: y(value), dy: "0.35em", "text-anchor": "end" }, tickOf(value, up))]),
    ...across.map((value) => {
      const words = tickOf(value, across);
      const end = this.box.clientWidth - 1;
      const fits = x(value) + DIGIT * this.room.letters * words.length / 2 < end;
      return shape("text", { x: fits ? x(value) : end, y: top + height + TICK_ROOM, dy: "0.8em",
        "text-anchor": fits ? "middle" : "end" }, words);
    })];
  }

  /** As it looks now, for a canvas. @returns {Promise<HTMLImageElement>} */
  async picture() {
    const { clientWidth, clientHeight } = this.box;
    const copy = /** @type {SVGElement} */ (this.node.cloneNode(true));
    const parts = /** @type {SVGElement[]} */ ([...copy.querySelectorAll("*")]);
    [...this.node.querySelectorAll("*")].forEach((original, index) => {
      const style = getComputedStyle(original);
      for (const name of INLINED) parts[index].style.setProperty(name, style.getPropertyValue(name));
    });
    for (const [name, value] of Object.entries({ width: clientWidth, height: clientHeight }))
      copy.setAttribute(name, String(value));
    const file = new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
    const image = new Image();
    image.src = URL.createObjectURL(file);
    await image.decode();
    URL.revokeObjectURL(image.src);
    return image;
  }
}

/** @typedef {(value: number) => number} Place */

/** The shapes of a line, from the back to the front. @param {DrawnLine} line @param {Place} x @param {Place} y */
function marksOf(line, x, y) {
  const { colour, dash = [], width, band = 0, raw_line: raw = 0, dots = 0, dot_opacity: opacity = 1 } = line;
  /** @param {string} d @param {string} style */
  const path = (d, style) => shape("path", { d, style: `stroke: var(${colour}); ${style}` });
  return [
    band ? shape("path", { d: bandOf(line, x, y), style: `fill: var(${colour}); fill-opacity: ${band}` }) : "",
    raw ? path(pathOf(line.x, line.raw, x, y), `stroke-width: 1; stroke-opacity: ${raw}`) : "",
    dots ? path(dotsOf(line.x, line.raw, x, y), `stroke-width: ${dots}; stroke-opacity: ${opacity}`) : "",
    path(pathOf(line.x, line.line, x, y), `stroke-width: ${width}; stroke-dasharray: ${dash.join(" ") || "none"}`)];
}

/**
 * A line with a gap wherever a value is not known.
 * @param {ArrayLike<number>} xs @param {ArrayLike<number>} ys @param {Place} x @param {Place} y
 */
function pathOf(xs, ys, x, y) {
  const steps = Array.from(xs, (at, index) => {
    if (Number.isNaN(ys[index])) return "";
    const begins = index === 0 || Number.isNaN(ys[index - 1]);
    return `${begins ? "M" : "L"}${x(at).toFixed(1)} ${y(ys[index]).toFixed(1)}`;
  });
  return steps.join("");
}

/** @param {ArrayLike<number>} xs @param {ArrayLike<number>} ys @param {Place} x @param {Place} y */
function dotsOf(xs, ys, x, y) {
  return Array.from(xs, (at, index) => (Number.isNaN(ys[index]) ? ""
    : `M${x(at).toFixed(1)} ${y(ys[index]).toFixed(1)}h0`)).join("");
}

/**
 * The stretches between two lines in which both are known.
 * @param {{ x: ArrayLike<number>, low: ArrayLike<number>, high: ArrayLike<number> }} band
 * @param {Place} x @param {Place} y
 */
function bandOf({ x: xs, low, high }, x, y) {
  /** @type {number[][]} */
  const stretches = [];
  for (let at = 0; at < xs.length; at += 1) {
    const isKnown = !Number.isNaN(low[at]) && !Number.isNaN(high[at]);
    if (isKnown && stretches.at(-1)?.at(-1) === at - 1) stretches.at(-1).push(at);
    else if (isKnown) stretches.push([at]);
  }
  /** @param {ArrayLike<number>} ys */
  const point = (ys) => (/** @type {number} */ at) => `${x(xs[at]).toFixed(1)} ${y(ys[at]).toFixed(1)}`;
  return stretches.map((places) =>
    `M${[...places.map(point(high)), ...places.toReversed().map(point(low))].join("L")}Z`).join("");
}

/** A round value at an axis, with as many decimals as its neighbours. @param {number} value @param {number[]} ticks */
function tickOf(value, ticks) {
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : Math.abs(value) || 1;
  if (value === 0) return "0";
  if (Math.abs(value) >= LARGE) return number(value);
  if (step < SMALL_STEP) return Number(value.toPrecision(2)).toExponential().replaceAll("-", "\u2212");
  return value.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9))).replace("-", "\u2212");
}
