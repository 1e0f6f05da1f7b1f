// A curve to be drawn on empty axes, with a finger or the mouse; and the curve of the run laid over it afterwards.

import { frame, pointsOf } from "../charts/small_plots.js";
import { roundTicks, smooth } from "../charts/arithmetic.js";
import { shape } from "../core/dom.js";
import { number } from "../core/format.js";
import { bandOf, COLUMNS, scaled, seriesOf } from "./shapes.js";

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
    this.axes = emptyAxes(column, "Your drawing: nothing yet");
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
 * A prediction, if there is one, with the curve of the run over it, on the run's own scale; without a run (`told` is
 * null) on empty axes. `others`: what a class has drawn, as the band of four of five and the middle one.
 * @param {string} column @param {number[] | undefined} drawing
 * @param {Pick<Wire.Reveal, "curve" | "shape"> | null} told @param {string} label @param {number[][]} others
 */
export function overlayOf(column, drawing, told, label, others = []) {
  const made = told ? scaledAxes(column, told, label) : emptyAxes(column, label, NAMES.room);
  const ends = [];
  if (others.length) {
    const { low, middle, high } = bandOf(others);
    const back = placesOf(made, low).split(" ").reverse().join(" ");
    made.add("polygon.class-band", { points: `${placesOf(made, high)} ${back}` });
    made.add("polyline.class-middle", { points: placesOf(made, middle) });
    if (!drawing) ends.push({ who: "class", says: "class", at: made.y(middle.at(-1)) });
  }
  if (drawing) {
    made.add("polyline.mine", { points: placesOf(made, drawing) });
    ends.push({ who: "mine", says: "you", at: made.y(drawing.at(-1)) });
  }
  if (told) ends.push({ who: "run", says: "the run", at: runOver(made, column, told) });
  ends.sort((one, other) => one.at - other.at);
  const near = ends.length > 1 && ends[1].at - ends[0].at < NAMES.height;
  const middle = near ? (ends[0].at + ends[1].at) / 2 : 0;
  ends.forEach(({ who, says, at }, index) => made.add(`text.line-end.${who}`, { x: made.x(1) + 6,
    y: 4 + (near ? middle + (index - 0.5) * NAMES.height : at) }, says));
  return made.node;
}

/** Axes without numbers. @param {string} column @param {string} label @param {number} [right] */
function emptyAxes(column, label, right) {
  const { floor } = seriesOf(column);
  return axes(column, label, { tell: (place) => WORDS.get(place) ?? "", right,
    yTicks: [...WORDS.keys()].filter((place) => place >= 0 || !floor) });
}

/** The run's own. @param {string} column @param {Pick<Wire.Reveal, "curve" | "shape">} told @param {string} label */
function scaledAxes(column, told, label) {
  const { valueAt, placeOf, updates } = smoothed(told);
  const ticks = roundTicks(valueAt(seriesOf(column).floor ? 0 : -0.95), valueAt(0.95), 4);
  const places = new Map(ticks.map((value) => [placeOf(value), number(value)]));
  return axes(column, label, { yTicks: [...places.keys()], tell: (place) => places.get(place), updates,
    right: NAMES.room });
}

/** @param {Pick<Wire.Reveal, "curve" | "shape">} told */
function smoothed({ curve, shape: went }) {
  const line = smooth(curve.map(([, value]) => value), WEIGHT);
  return scaled(curve.map(([update], index) => [update, line[index]]), went);
}

/**
 * Draw the run's curve; where it ends.
 * @param {import("../charts/small_plots.js").Frame} made @param {string} column
 * @param {Pick<Wire.Reveal, "curve" | "shape">} told
 */
function runOver(made, column, told) {
  const { points, placeOf } = smoothed(told);
  const run = points.map(([at, place]) => [made.x(at), made.y(place)]);
  const { colour } = seriesOf(column);
  told.curve.forEach(([, value], index) => made.add("circle.raw", { cx: run[index][0], cy: made.y(placeOf(value)),
    r: 1.8, style: `fill: var(${colour})` }));
  made.add("polyline.run", { points: pointsOf(run), pathLength: 1, style: `stroke: var(${colour})` });
  return run.at(-1)[1];
}
