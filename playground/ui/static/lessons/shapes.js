// Predicted curves: the named shapes, which shape a drawing has, and a run's curve on the scale of a drawing. A drawing
// is a list of places over the run, from -1 to 1; 0 is where it begins. Pure.

import { CHARTS, MORE_CHARTS } from "../charts/specs.js";

export const COLUMNS = 40; // between the points of a drawing
const CLEAR = 0.15; // less is no rise and no fall
const PLAIN = "--pg-ink";
const HIGHEST = 0.85; // how far a run's own curve goes from where it begins

/** Corners of each shape: how far the run is, and the place there. @type {Record<string, number[][]>} */
const CORNERS = {
  rises: [[0, 0], [1, 0.85]],
  falls: [[0, 0], [1, -0.85]],
  stays: [[0, 0], [1, 0]],
  "rises, then falls": [[0, 0], [0.45, 0.8], [1, -0.1]],
  "rises, then stays": [[0, 0], [0.4, 0.75], [1, 0.8]],
  "falls, then rises": [[0, 0], [0.45, -0.8], [1, 0.1]],
  "falls, then stays": [[0, 0], [0.4, -0.75], [1, -0.8]],
};

/** A named shape as a drawing. @param {string} shape */
export function drawingOf(shape) {
  const corners = CORNERS[shape] ?? CORNERS.stays;
  return Array.from({ length: COLUMNS + 1 }, (_, column) => rounded(placeAt(corners, column / COLUMNS)));
}

/** Between two corners it is drawn as a wave is, without edges. @param {number[][]} corners @param {number} x */
function placeAt(corners, x) {
  const next = Math.max(1, corners.findIndex(([at]) => at >= x));
  const [[from, low], [to, high]] = [corners[next - 1], corners[next]];
  const share = (x - from) / (to - from);
  const eased = corners.length > 2 ? (1 - Math.cos(Math.PI * share)) / 2 : share;
  return low + (high - low) * eased;
}

/** Which shape a drawing has. @param {number[]} drawing */
export function shapeOf(drawing) {
  const end = drawing.at(-1);
  const [top, bottom] = [Math.max(...drawing), Math.min(...drawing)];
  if (top - bottom < CLEAR) return "stays";
  const back = (/** @type {number} */ far, /** @type {number} */ toEnd) =>
    far >= CLEAR && toEnd >= Math.max(CLEAR, 0.4 * far);
  if (back(top, top - end) && top >= -bottom) return "rises, then falls";
  if (back(-bottom, end - bottom)) return "falls, then rises";
  if (Math.abs(end) < CLEAR) return "stays";
  const early = drawing[Math.round(drawing.length * 0.55)] / end >= 0.88;
  return `${end > 0 ? "rises" : "falls"}${early ? ", then stays" : ""}`;
}

/**
 * The one of some shapes that a drawing has, or else comes nearest to.
 * @param {number[]} drawing @param {string[]} shapes
 */
export function shapeAmong(drawing, shapes) {
  const found = shapeOf(drawing);
  const [beginning] = found.split(",");
  if (shapes.includes(found)) return found;
  if (shapes.includes(beginning)) return beginning;
  const away = (/** @type {string} */ shape) => drawingOf(shape)
    .reduce((sum, place, column) => sum + (place - drawing[column]) ** 2, 0);
  return shapes.reduce((one, other) => (away(other) < away(one) ? other : one));
}

/**
 * Of many drawings, point by point: the middle one, and between which places four of five of them are.
 * @param {number[][]} drawings
 */
export function bandOf(drawings) {
  const points = Array.from({ length: COLUMNS + 1 }, (_, column) => drawings
    .map((drawing) => drawing[Math.round((column / COLUMNS) * (drawing.length - 1))])
    .sort((one, other) => one - other));
  const at = (/** @type {number} */ share) => points.map((places) => {
    const place = share * (places.length - 1);
    const [below, above] = [places[Math.floor(place)], places[Math.ceil(place)]];
    return rounded(below + (above - below) * (place % 1));
  });
  return { low: at(0.1), middle: at(0.5), high: at(0.9) };
}

/**
 * A run's curve on the scale of a drawing, and what its numbers are there: `valueAt(place)` is the number at a place.
 * One that stays is not blown up until its noise looks like a change.
 * @param {[number, number][]} curve @param {string} shape
 */
export function scaled(curve, shape) {
  const start = curve[0]?.[1] ?? 0;
  const farthest = Math.max(...curve.map(([, value]) => Math.abs(value - start)), 1e-9);
  const scale = (shape === "stays" ? CLEAR * 0.6 : HIGHEST) / farthest;
  const [first, last] = [curve[0]?.[0] ?? 0, curve.at(-1)?.[0] ?? 1];
  return {
    points: curve.map(([update, value]) => [(update - first) / (last - first || 1), (value - start) * scale]),
    valueAt: (/** @type {number} */ place) => start + place / scale,
    placeOf: (/** @type {number} */ value) => (value - start) * scale,
    updates: [first, last],
  };
}

/**
 * What is drawn: its name in a sentence, its axis, its colour, and whether it can fall below where it begins.
 * @param {string} column
 */
export function seriesOf(column) {
  const spec = [...CHARTS, ...MORE_CHARTS].find((one) => one.column === column || one.key === column);
  const { name, unit } = WORDS[spec?.key ?? column]
    ?? { name: spec ? `the ${spec.title.toLowerCase()}` : column, unit: "" };
  const colour = spec?.colour ?? PLAIN;
  return { name, axis: `${name.replace("the ", "")}${unit ? `, in ${unit}` : ""}`,
    colour: colour === PLAIN ? "--pg-policy" : colour, // what is drawn by hand is plain
    floor: spec?.key === "kl" };
}

/** @type {Record<string, { name: string, unit: string }>} */
const WORDS = { score: { name: "the score", unit: "sd" }, kl: { name: "the distance", unit: "nats" },
  entropy: { name: "the entropy", unit: "nats per token" }, length: { name: "the length", unit: "tokens" },
  beta: { name: "the leash", unit: "score per nat" }, clip: { name: "the clip fraction", unit: "" },
  fit: { name: "the value fit", unit: "" }, judged: { name: "the score beside the monitors", unit: "" },
  strange: { name: "the strangeness", unit: "perplexity" },
  distinct_2: { name: "the share of different word pairs", unit: "" },
  penalised: { name: "the score minus the leash cost", unit: "sd" } };

/** @param {number} value */
function rounded(value) {
  return Math.round(value * 1000) / 1000 || 0;
}
