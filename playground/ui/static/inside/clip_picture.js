// The clip as a picture: each token of the last minibatch of an epoch, how far its probability has moved (to the right:
// likelier, on a log axis) against where its advantage wants it. In the two shaded regions the loss is flat.

import { el, headOf, setAttribute, setText, shape, svg } from "../core/dom.js";
import { number, percent } from "../core/format.js";

const SIZE = { width: 560, height: 270, left: 44, right: 12, top: 12, bottom: 36 };
const TICKS = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.4, 2, 3, 5, 10]; // of the ratio; ends of the axis are among them
const LEAST = Math.log(1.5);
const HEADS = ["", "less likely, past the range", "within the range", "likelier, past the range"];

export class ClipPicture {
  /** `choose(epoch)` hears which epoch somebody wants to see. */
  constructor(choose) {
    this.slider = el("input", { type: "range", min: 1, step: 1, "aria-label": "Epoch of the picture",
      oninput: () => choose(Number(this.slider.value)) });
    this.at = el("output", { class: "at" });
    this.stage = el("div", {});
    this.words = el("p", { class: "clip-words", role: "status" });
    this.table = el("table", { class: "clip-counts" });
    this.root = el("div", { class: "clip-picture", hidden: true },
      el("div", { class: "chart-bar" }, el("h3", {}, "Who still pulls"), el("span", { class: "grow" }),
        el("label", { class: "inline slider-label" }, this.at, this.slider)),
      this.words, this.stage, this.table);
  }

  show(trace, episode, token, epoch) {
    const { pictures } = trace;
    const picture = pictures.find((item) => item.epoch === epoch) ?? pictures.at(-1);
    this.slider.max = pictures.length;
    this.slider.value = epoch;
    this.slider.disabled = pictures.length < 2;
    if (!picture) return;
    setText(this.at, `epoch ${picture.epoch} of ${pictures.length}`);
    setAttribute(this.slider, "aria-valuetext", this.at.textContent);
    setText(this.words, told(picture, trace, episode));
    const start = picture.starts[episode.row];
    this.stage.replaceChildren(drawing(picture, start === undefined ? null : start + token));
    const row = (name, counts, flat) => el("tr", {}, el("th", { scope: "row" }, name),
      counts.map((count, side) => el("td", { class: side === flat ? "flat" : null },
        `${count}${side === flat ? " (no gradient)" : ""}`)));
    this.table.replaceChildren(el("thead", {}, el("tr", {}, HEADS.map((head) => headOf(head)))),
      el("tbody", {}, row("to become likelier", picture.counts.up, 2),
        row("to become less likely", picture.counts.down, 0)));
  }
}

function told(picture, trace, episode) {
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
function fine(share) {
  return share > 0 && share < 0.1 ? `${number(share * 100)} %` : percent(share);
}

function drawing(picture, chosen) {
  const { width, height, left, right, top, bottom } = SIZE;
  const [low, high] = picture.edges;
  const far = Math.max(LEAST, ...picture.log_ratios.map(Math.abs), ...[low, high].map((edge) => edgeWithin(edge)));
  const most = Math.max(1, ...picture.advantages.map(Math.abs)) * 1.05;
  const x = (value) => left + ((value + far) / (2 * far)) * (width - left - right);
  const y = (value) => top + ((most - value) / (2 * most)) * (height - top - bottom);
  const region = (from, to, up) => shape("rect", { class: "flat", x: x(from), width: Math.max(0, x(to) - x(from)),
    y: up ? y(most) : y(0), height: y(0) - y(most) });
  const text = (words, attributes) => shape("text", { class: "tick", ...attributes }, words);
  const dots = (clipped) => shape("path", { class: clipped ? "dot cut" : "dot", d: picture.log_ratios
    .map((value, index) => (picture.clipped[index] === clipped
      ? (clipped ? cross : spot)(x(value), y(picture.advantages[index])) : "")).join("") });
  const inView = TICKS.filter((ratio) => Math.abs(Math.log(ratio)) <= far);
  return svg({ class: "small-plot clip-plot", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Ratio against advantage of ${picture.drawn} tokens; ${picture.num_clipped} have no gradient` },
  ...(high !== null && high < far ? [region(high, far, true)] : []),
  ...(low !== null && low > -far ? [region(-far, low, false)] : []),
  ...inView.map((ratio) => shape("line", { class: "grid", x1: x(Math.log(ratio)), x2: x(Math.log(ratio)), y1: top,
    y2: height - bottom })),
  shape("line", { class: "zero", x1: left, x2: width - right, y1: y(0), y2: y(0) }),
  shape("line", { class: "zero", x1: x(0), x2: x(0), y1: top, y2: height - bottom }),
  ...inView.map((ratio) => text(String(ratio), { x: x(Math.log(ratio)), y: height - bottom + 15,
    "text-anchor": "middle" })),
  ...[Math.floor(most), 0, -Math.floor(most)].map((value) => text(number(value), { x: left - 6, y: y(value) + 4,
    "text-anchor": "end" })),
  text("ratio to the policy that wrote it", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }),
  text("advantage: likelier \u2191", { x: left + 4, y: top + 10 }),
  text("less likely \u2193", { x: width - right - 4, y: height - bottom - 5, "text-anchor": "end" }),
  ...[[high, far, top + 24], [-far, low, height - bottom - 16]].filter(([from, to]) => roomBetween(from, to, far))
    .map(([from, to, at]) => text("no gradient", { x: (x(from) + x(to)) / 2, y: at, "text-anchor": "middle" })),
  dots(false), dots(true),
  ...(chosen === null ? [] : [shape("circle", { class: "chosen", r: 7, cx: x(picture.log_ratios[chosen]),
    cy: y(picture.advantages[chosen]) })]));
}

/** Whether a word fits between two places of an axis that goes from -far to far. */
function roomBetween(from, to, far) {
  return from !== null && to !== null && to - from > 0.3 * far;
}

/** Where the range is so wide that it would leave the dots no room, its edge is not in the picture. */
function edgeWithin(edge) {
  return edge === null || Math.abs(edge) > Math.log(10) ? 0 : Math.abs(edge) * 1.3;
}

function spot(x, y) {
  return `M${(x - 2).toFixed(1)} ${y.toFixed(1)}a2 2 0 1 0 4 0a2 2 0 1 0 -4 0`;
}

function cross(x, y) {
  return `M${(x - 3).toFixed(1)} ${(y - 3).toFixed(1)}l6 6m0 -6l-6 6`;
}
