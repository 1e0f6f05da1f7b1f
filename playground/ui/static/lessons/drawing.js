// A curve to be drawn on empty axes, with a finger or the mouse; and the curve of the run laid over it afterwards.

import { frame, pointsOf } from "../charts/small_plots.js";
import { roundTicks, smooth } from "../charts/arithmetic.js";
import { shape } from "../core/dom.js";
import { number } from "../core/format.js";
import { COLUMNS, scaled, seriesOf } from "./shapes.js";

const SIZE = { width: 360, height: 190, left: 52, right: 14, top: 12, bottom: 34 };
const ENOUGH = 0.6; // of the width: from there on the line goes on level to its end
const WEIGHT = 0.6; // of what was before in a smoothed line, as beside the large charts
const NAMES = { room: 56, height: 15 }; // of the lines, at their ends
const LOWEST = { floor: -0.12, free: -1 };
const FARTHEST = 0.85; // where a run's own curve has its farthest point, whatever its numbers
/** Until the run has numbers, words that fit every curve. @type {Map<number, string>} */
const WORDS = new Map([[FARTHEST, "high"], [0, "start"], [-FARTHEST, "low"]]);
const HIGHEST = 1;

/**
 * The axes, with the dot at which every curve begins.
 * @param {string} column @param {string} label
 * @param {{ tell?: (place: number) => string, yTicks?: number[], updates?: number[] | null, right?: number }} scale
 */
function axes(column, label, { tell = () => "", yTicks = [0], updates = null, right = SIZE.right } = {}) {
  const { floor, axis } = seriesOf(column);
  const low = floor ? LOWEST.floor : LOWEST.free;
  const made = frame({ label, kind: "lesson-plot", size: { ...SIZE, right }, from: 0, to: 1, low, high: HIGHEST,
    yTicks, tell, xTicks: updates ? [0, 1] : [], tellX: (at) => String(updates?.[at] ?? ""), xName: "update" });
  const { left, width, height, top, bottom } = SIZE;
  const middle = (top + height - bottom) / 2;
  made.add("text.tick.name", { transform: `translate(15 ${middle}) rotate(-90)`, "text-anchor": "middle" }, axis);
  made.add("line.axis", { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom });
  made.add("line.axis", { x1: left, x2: left, y1: top, y2: height - bottom });
  made.add("circle.start", { cx: made.x(0), cy: made.y(0), r: 4 });
  return { ...made, low };
}

/** @param {import("../charts/small_plots.js").Frame} frame @param {number[]} drawing */
function placesOf({ x, y }, drawing) {
  return pointsOf(drawing.map((place, column) => [x(column / COLUMNS), y(place)]));
}

export class Drawing {
  /**
   * `drawn(curve)` hears of a drawing that reaches the end; null while it does not.
   * @param {string} column @param {(curve: number[] | null) => void} drawn
   */
  constructor(column, drawn) {
    this.drawn = drawn;
    this.curve = /** @type {number[]} */ ([0]);
    const { floor } = seriesOf(column);
    this.axes = axes(column, "Your drawing: nothing yet", { tell: (place) => WORDS.get(place) ?? "",
      yTicks: [...WORDS.keys()].filter((place) => place >= 0 || !floor) });
    this.root = this.axes.node;
    this.root.classList.add("drawable");
    this.hint = shape("text.hint", { x: this.axes.x(0.52), y: this.axes.y(0.62), "text-anchor": "middle" },
      "draw here, from the dot");
    this.line = shape("polyline.mine", { points: "", pathLength: 1 });
    this.root.append(this.hint, this.line);
    this.root.addEventListener("pointerdown", (event) => this.begin(event));
    this.root.addEventListener("pointermove", (event) => {
      if (this.root.hasPointerCapture(event.pointerId)) this.go(event);
    });
    for (const end of ["pointerup", "pointercancel"]) this.root.addEventListener(end, () => this.end());
  }

  /** Show a drawing; `moving`: the line is drawn before one's eyes. @param {number[]} curve @param {string} said */
  show(curve, said, moving = false) {
    this.curve = curve;
    this.line.classList.toggle("drawn", moving);
    this.paint();
    this.root.setAttribute("aria-label", `Your drawing: ${said}`);
  }

  /** @param {PointerEvent} event */
  begin(event) {
    event.preventDefault();
    this.root.setPointerCapture(event.pointerId);
    this.line.classList.remove("drawn");
    const { column } = this.placeOf(event);
    this.curve = column < 3 ? [0] : this.curve.slice(0, column);
    this.go(event);
  }

  /** Up to the pointer; what it has jumped over is a straight line. @param {PointerEvent} event */
  go(event) {
    const { column, place } = this.placeOf(event);
    if (column < 1) return;
    if (column < this.curve.length) this.curve.length = column; // going back wipes
    const from = this.curve.length - 1;
    const last = this.curve[from];
    for (let at = from + 1; at <= column; at += 1)
      this.curve.push(Number((last + ((place - last) * (at - from)) / (column - from)).toFixed(3)));
    this.paint();
  }

  end() {
    if (this.curve.length > COLUMNS * ENOUGH)
      while (this.curve.length <= COLUMNS) this.curve.push(this.curve.at(-1));
    this.paint();
    this.drawn(this.curve.length > COLUMNS ? this.curve : null);
  }

  paint() {
    this.hint.classList.toggle("gone", this.curve.length > 1);
    this.line.setAttribute("points", placesOf(this.axes, this.curve));
  }

  /** @param {PointerEvent} event */
  placeOf(event) {
    const box = this.root.getBoundingClientRect();
    const { left, right, top, bottom, width, height } = SIZE;
    const x = ((event.clientX - box.left) / box.width) * width;
    const y = ((event.clientY - box.top) / box.height) * height;
    const { low } = this.axes;
    const share = (x - left) / (width - left - right);
    const place = HIGHEST - ((y - top) / (height - top - bottom)) * (HIGHEST - low);
    return { column: Math.round(Math.min(Math.max(share, 0), 1) * COLUMNS),
      place: Math.min(Math.max(place, low), HIGHEST) };
  }
}

/**
 * A prediction, if there is one, with the curve of the run over it, on the run's own scale.
 * @param {string} column @param {number[] | undefined} drawing @param {Pick<Wire.Reveal, "curve" | "shape">} told
 * @param {string} label
 */
export function overlayOf(column, drawing, { curve, shape: went }, label) {
  const line = smooth(curve.map(([, value]) => value), WEIGHT);
  const { points, valueAt, placeOf, updates } = scaled(curve.map(([update], index) => [update, line[index]]), went);
  const { colour, floor } = seriesOf(column);
  const ticks = roundTicks(valueAt(floor ? 0 : -0.95), valueAt(0.95), 4);
  const places = new Map(ticks.map((value) => [placeOf(value), number(value)]));
  const made = axes(column, label, { yTicks: [...places.keys()], tell: (place) => places.get(place), updates,
    right: NAMES.room });
  const run = points.map(([at, place]) => [made.x(at), made.y(place)]);
  curve.forEach(([, value], index) => made.add("circle.raw", { cx: run[index][0], cy: made.y(placeOf(value)), r: 1.8,
    style: `fill: var(${colour})` }));
  if (drawing) made.add("polyline.mine", { points: placesOf(made, drawing) });
  made.add("polyline.run", { points: pointsOf(run), pathLength: 1, style: `stroke: var(${colour})` });
  const ends = [run.at(-1)[1], drawing ? made.y(drawing.at(-1)) : NaN];
  const middle = (ends[0] + ends[1]) / 2;
  const near = Math.abs(ends[0] - ends[1]) < NAMES.height;
  ends.forEach((at, index) => {
    const apart = (index ? ends[1] > ends[0] : ends[0] >= ends[1]) ? 1 : -1;
    if (Number.isFinite(at)) made.add(`text.line-end.${index ? "mine" : "run"}`, { x: made.x(1) + 6,
      y: 4 + (near ? middle + (apart * NAMES.height) / 2 : at) }, index ? "you" : "the run");
  });
  return made.node;
}
