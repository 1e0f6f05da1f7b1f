// The clip as a picture: each token of the last minibatch of an epoch, how far its probability has moved (to the right:
// likelier, on a log axis) against where its advantage wants it. In the two shaded regions the loss is flat.

import { frame } from "../charts/small_plots.js";
import { el, tableOf } from "../core/dom.js";
import { number, percent } from "../core/format.js";

/** @typedef {Wire.Trace} Trace @typedef {Wire.Picture} Picture @typedef {Wire.Episode} Episode */

const SIZE = { width: 560, height: 270, left: 44, right: 12, top: 12, bottom: 36 };
const TICKS = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.4, 2, 3, 5, 10]; // of the ratio; ends of the axis are among them
const LEAST = Math.log(1.5);
const HEADS = ["", "less likely, past the range", "within the range", "likelier, past the range"];

/**
 * The picture of an epoch of a trace, with its words and counts; `choose(epoch)` hears which one somebody wants.
 * @param {Trace} trace @param {Episode} episode @param {number} token @param {number} epoch
 * @param {(epoch: number) => void} choose
 */
export function clipPicture(trace, episode, token, epoch, choose) {
  const { pictures } = trace;
  const picture = pictures.find((item) => item.epoch === epoch) ?? pictures.at(-1);
  if (!picture) return null;
  const at = `epoch ${picture.epoch} of ${pictures.length}`;
  const start = picture.starts[episode.row];
  /** @param {string} name @param {number[]} counts @param {number} flat */
  const row = (name, counts, flat) => [el("th", { scope: "row" }, name), ...counts.map((count, side) =>
    el("td", { class: side === flat ? "flat" : null }, `${count}${side === flat ? " (no gradient)" : ""}`))];
  return el("div.clip-picture", { "data-key": "clip" },
    el("div.chart-bar", el("h3", "Who still pulls"), el("span.grow"), el("label.inline.slider-label",
      el("output.at", at), el("input", { type: "range", min: 1, max: pictures.length, step: 1, value: epoch,
        disabled: pictures.length < 2, "aria-label": "Epoch of the picture", "aria-valuetext": at,
        oninput: ({ target }) => choose(Number(target.value)) }))),
    el("p.clip-words", { role: "status" }, inWords(picture, trace, episode)),
    el("div", drawing(picture, start === undefined ? null : start + token)),
    tableOf("clip-counts", HEADS, [row("to become likelier", picture.counts.up, 2),
      row("to become less likely", picture.counts.down, 0)]));
}

/** @param {Picture} picture @param {Trace} trace @param {Episode} episode */
function inWords(picture, trace, episode) {
  const { num_clipped: clipped, drawn, tokens, share, after, minibatch } = picture;
  const which = after ? "after the update's one step, in the completions that were read again"
    : `in minibatch ${minibatch}, the last of the epoch`;
  const some = drawn < tokens ? ` (${tokens} in all; these were kept)` : "";
  const whole = trace.changed ? "" : ` Over all ${trace.steps.length} steps of this update it is ${
    fine(trace.clip_fraction)}, the clip fraction of the charts.`;
  const ring = picture.starts[episode.row] === undefined ? " The chosen token was in another minibatch."
    : " The ring is the chosen token.";
  return `${clipped} of ${drawn} tokens${some} have no gradient ${which}: ${fine(share)}.${whole}${ring}`;
}

/** A small share with a digit more. */
function fine(/** @type {number} */ share) {
  return share > 0 && share < 0.1 ? `${number(share * 100)} %` : percent(share);
}

function drawing(/** @type {Picture} */ picture, /** @type {number | null} */ chosen) {
  const { width, height, left, right, top, bottom } = SIZE;
  const [low, high] = picture.edges;
  const far = Math.max(LEAST, ...picture.log_ratios.map(Math.abs), ...[low, high].map((edge) => edgeWithin(edge)));
  const most = Math.max(1, ...picture.advantages.map(Math.abs)) * 1.05;
  const whole = Math.floor(most);
  const { node, x, y, add } = frame({ kind: "small-plot.clip-plot", size: SIZE, from: -far, to: far, low: -most,
    high: most, grid: "x", xTicks: TICKS.map(Math.log).filter((value) => Math.abs(value) <= far),
    yTicks: [whole, 0, -whole],
    tell: number, tellX: (value) => String(Number(Math.exp(value).toPrecision(3))),
    xName: "ratio to the policy that wrote it",
    label: `Ratio against advantage of ${picture.drawn} tokens; ${picture.num_clipped} have no gradient` });
  /** @param {string} words @param {number} at @param {number} to */
  const text = (words, at, to, anchor = "start") => add("text.tick", { x: at, y: to, "text-anchor": anchor }, words);
  /** @param {number} from @param {number} to @param {boolean} up */
  const region = (from, to, up) => add("rect.flat", { x: x(from), width: Math.max(0, x(to) - x(from)),
    y: up ? y(most) : y(0), height: y(0) - y(most) });
  if (high !== null && high < far) region(high, far, true);
  if (low !== null && low > -far) region(-far, low, false);
  add("line.zero", { x1: left, x2: width - right, y1: y(0), y2: y(0) });
  add("line.zero", { x1: x(0), x2: x(0), y1: top, y2: height - bottom });
  text("advantage: likelier \u2191", left + 4, top + 10);
  text("less likely \u2193", width - right - 4, height - bottom - 5, "end");
  for (const [from, to, at] of [[high, far, top + 24], [-far, low, height - bottom - 16]])
    if (roomBetween(from, to, far)) text("no gradient", (x(from) + x(to)) / 2, at, "middle");
  for (const clipped of [false, true]) add("path", { class: clipped ? "dot cut" : "dot", d: picture.log_ratios
    .map((value, index) => (picture.clipped[index] === clipped
      ? (clipped ? cross : spot)(x(value), y(picture.advantages[index])) : "")).join("") });
  if (chosen !== null) add("circle.chosen", { r: 7, cx: x(picture.log_ratios[chosen]),
    cy: y(picture.advantages[chosen]) });
  return node;
}

/**
 * Whether a word fits between two places of an axis that goes from -far to far.
 * @param {number | null} from @param {number | null} to @param {number} far
 */
function roomBetween(from, to, far) {
  return from !== null && to !== null && to - from > 0.3 * far;
}

/** Where the range is so wide that it would leave the dots no room, its edge is not in the picture. */
function edgeWithin(/** @type {number | null} */ edge) {
  return edge === null || Math.abs(edge) > Math.log(10) ? 0 : Math.abs(edge) * 1.3;
}

function spot(/** @type {number} */ x, /** @type {number} */ y) {
  return `M${(x - 2).toFixed(1)} ${y.toFixed(1)}a2 2 0 1 0 4 0a2 2 0 1 0 -4 0`;
}

function cross(/** @type {number} */ x, /** @type {number} */ y) {
  return `M${(x - 3).toFixed(1)} ${(y - 3).toFixed(1)}l6 6m0 -6l-6 6`;
}
