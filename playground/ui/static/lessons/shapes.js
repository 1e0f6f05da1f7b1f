// Predicted curves: the picture of each named shape, and a run's curve beside the shape that was expected.

import { extent, roundTicks, smooth, widened } from "../charts/arithmetic.js";
import { frame, pointsOf, sparkline } from "../charts/small_plots.js";
import { CHARTS, MORE_CHARTS } from "../charts/specs.js";
import { el } from "../core/dom.js";
import { number } from "../core/format.js";

const PLAIN = "--pg-ink";
const SIZE = { width: 360, height: 190, left: 52, right: 14, top: 12, bottom: 34 };
const WEIGHT = 0.6; // of what was before in a smoothed line, as beside the large charts

/** The corners of each shape: how far the run is, and how high. @type {Record<string, number[][]>} */
const CORNERS = {
  rises: [[0, 0], [1, 1]],
  falls: [[0, 1], [1, 0]],
  stays: [[0, 0.5], [1, 0.5]],
  "rises, then falls": [[0, 0], [0.5, 1], [1, 0]],
  "rises, then stays": [[0, 0], [0.4, 1], [1, 1]],
};

/** A shape as a small picture; its name stands beside it. @param {string} name */
export function pictureOf(name) {
  const corners = CORNERS[name] ?? [];
  const at = corners.map(([share]) => share);
  const heights = corners.map(([, height]) => height);
  return sparkline(at, heights, [0, 1]);
}

/**
 * The run's curve on its own numbers, below the shapes of what was expected, if anything, and of the run.
 * @param {string} column @param {string | undefined} expected @param {Pick<Wire.Reveal, "curve" | "shape">} told
 */
export function compared(column, expected, told) {
  const shapes = [expected ? named("You said", expected) : "", named("The run", told.shape)];
  return el("figure.lesson-compared", el("figcaption", shapes), plotOf(column, told));
}

/** @param {string} who @param {string} name */
function named(who, name) {
  return el("span", pictureOf(name), `${who}: ${name}`);
}

/** What the run recorded as dots, and its smoothed line. @param {string} column
 * @param {Pick<Wire.Reveal, "curve" | "shape">} told */
function plotOf(column, { curve, shape: went }) {
  const { name, axis, colour, floor, span } = seriesOf(column);
  const updates = curve.map(([update]) => update);
  const values = Float64Array.from(curve, ([, value]) => value);
  const [from, to] = [updates[0], updates.at(-1)];
  const [low, high] = widened(extent([values]), span, floor);
  const { node, x, y, add } = frame({ label: `${name} over the run: it ${went}`, kind: "lesson-plot", size: SIZE,
    from, to, low, high, xTicks: [from, to], yTicks: roundTicks(low, high, 4), tell: number, xName: "update" });
  const { left, width, height, right, top, bottom } = SIZE;
  const middle = (top + height - bottom) / 2;
  add("text.tick.name", { transform: `translate(15 ${middle}) rotate(-90)`, "text-anchor": "middle" }, axis);
  add("line.axis", { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom });
  for (const [update, value] of curve)
    add("circle.raw", { cx: x(update), cy: y(value), r: 1.8, style: `fill: var(${colour})` });
  const line = [...smooth(values, WEIGHT)].map((value, index) => [x(updates[index]), y(value)]);
  add("polyline.run", { points: pointsOf(line), pathLength: 1, style: `stroke: var(${colour})` });
  return node;
}

/**
 * What a curve is of: its name in a sentence, its axis, its colour, whether it can fall below 0, and the range in which
 * its noise looks like noise.
 * @param {string} column
 */
export function seriesOf(column) {
  const spec = [...CHARTS, ...MORE_CHARTS].find((one) => one.column === column || one.key === column);
  const { name, unit } = WORDS[spec?.key ?? column]
    ?? { name: spec ? `the ${spec.title.toLowerCase()}` : column, unit: "" };
  const colour = spec?.colour ?? PLAIN;
  return { name, axis: `${name.replace("the ", "")}${unit ? `, in ${unit}` : ""}`,
    colour: colour === PLAIN ? "--pg-policy" : colour, floor: Boolean(spec?.floor), span: spec?.span ?? 0 };
}

/** @type {Record<string, { name: string, unit: string }>} */
const WORDS = { score: { name: "the score", unit: "sd" }, kl: { name: "the distance", unit: "nats" },
  entropy: { name: "the entropy", unit: "nats per token" }, length: { name: "the length", unit: "tokens" },
  beta: { name: "the leash", unit: "score per nat" }, clip: { name: "the clip fraction", unit: "" },
  fit: { name: "the value fit", unit: "" }, judged: { name: "the score beside the monitors", unit: "" },
  answers: { name: "the right answers", unit: "" }, groups: { name: "the groups that teach nothing", unit: "" },
  disagreement: { name: "the disagreement of the judges", unit: "sd" },
  strange: { name: "the strangeness", unit: "perplexity" },
  distinct_2: { name: "the share of different word pairs", unit: "" },
  penalised: { name: "the score minus the leash cost", unit: "sd" } };
