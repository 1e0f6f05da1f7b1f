// How an adaptive leash finds its price: the KL against beta (on a logarithmic axis), a point for each update, joined
// in their order, with the target. Only where beta adapts. charts/run_charts.js shows the update that is read.

import { roundTicks } from "../charts/arithmetic.js";
import { frame, pointsOf } from "../charts/small_plots.js";
import { el, setHidden, setText, shape } from "../core/dom.js";
import { number } from "../core/format.js";

const SIZE = { width: 460, height: 250, left: 46, right: 16, top: 12, bottom: 40 };
const DIGITS = [[1, 2, 5], [1, 1.5, 2, 3, 4, 5, 7], [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9]];
const MOST_TOLD = 150; // points that say their numbers when one points at them
const AHEAD = "Beta follows the KL that is foreseen eight updates from now. While that lies below the target beta "
  + "falls, so drifting gets cheap; once the KL climbs fast enough to pass the target, beta rises before it is there. "
  + "A leash that holds ends in a cloud around the target line.";
const ZIEGLER = "Left of the target beta falls, so drifting is cheap and the KL grows; right of it beta rises and "
  + "pulls the policy back. A leash that holds circles in on the target line; one that moves too fast swings around "
  + "it.";

/** What is drawn, and the ends of both axes, that of beta in powers of ten; null without points. Pure. */
export function pictureOf(metrics, target) {
  const points = (metrics.update ?? []).map((update, index) => ({ update, kl: metrics.kl_to_reference?.[index] ?? null,
    beta: metrics.kl_coef?.[index] ?? null })).filter(({ kl, beta }) => kl !== null && beta > 0);
  if (!points.length) return null;
  const kls = points.map(({ kl }) => kl);
  const powers = points.map(({ beta }) => Math.log10(beta));
  const [least, most] = [Math.min(...powers), Math.max(...powers)];
  const half = Math.max(0.12, (most - least) * 0.56); // a hair of change is drawn as one
  return { points, from: Math.min(0, ...kls), to: 1.08 * Math.max(target, ...kls),
    low: (least + most) / 2 - half, high: (least + most) / 2 + half };
}

/** Round prices between two powers of ten: 1, 2 and 5 of each, or closer ones where that leaves fewer than two. */
export function betaTicks(low, high) {
  for (const digits of DIGITS) {
    const found = [];
    for (let power = Math.floor(low); power <= high; power += 1)
      for (const digit of digits) {
        const value = Number((digit * 10 ** power).toPrecision(3));
        if (Math.log10(value) >= low && Math.log10(value) <= high) found.push(value);
      }
    if (found.length > 1) return found;
  }
  return [];
}

export class LeashPicture {
  constructor() {
    this.value = el("span.chart-value");
    this.note = el("span.chart-note");
    this.stage = el("div.leash-stage");
    this.gloss = el("p.muted");
    this.root = el("section.chart.leash-picture", { hidden: true, "data-chart": "leash" },
      el("div.chart-head", el("h3", "The leash at work"), this.value),
      el("div.chart-sub", this.note),
      el("div.leash-body", this.stage, this.gloss));
  }

  /** Take the columns of a run, the target in force, which update is read (-1: none), and whether beta looks ahead. */
  show(metrics, target, index, ahead) {
    const found = target ? pictureOf(metrics, target) : null;
    setHidden(this.root, !found);
    if (!found) return;
    const read = found.points.find(({ update }) => update === metrics.update[index]) ?? found.points.at(-1);
    setText(this.value, `${number(read.kl)} nats at beta ${number(read.beta)}`);
    setText(this.gloss, ahead ? AHEAD : ZIEGLER);
    setText(this.note, `KL against beta (log), a point for each update; target ${number(target)} nats`);
    this.stage.replaceChildren(drawing(found, read, target));
  }
}

function drawing({ points, from, to, low, high }, read, target) {
  const first = points[0];
  const { node, x, y, add } = frame({ size: SIZE, from, to, low, high, xName: "KL, nats per completion",
    xTicks: roundTicks(Math.max(0, from), to, 6), yTicks: betaTicks(low, high).map(Math.log10),
    tell: (power) => String(Number((10 ** power).toPrecision(3))),
    label: `The leash at work: from ${number(first.kl)} nats at beta ${number(first.beta)} to ${number(read.kl)} nats `
      + `at beta ${number(read.beta)} after update ${read.update}; target ${number(target)} nats.` });
  const place = ({ kl, beta }) => [x(kl), y(Math.log10(beta))];
  const words = (at, top, anchor, text) =>
    add("text.tick.name", { x: at, y: top, "text-anchor": anchor }, text);
  add("line.target", { x1: x(target), x2: x(target), y1: SIZE.top, y2: SIZE.height - SIZE.bottom });
  words(x(target) - 4, SIZE.top + 8, "end", "target");
  add("polyline.path", { points: pointsOf(points.map(place)) });
  for (const point of points) {
    const [cx, cy] = place(point);
    const title = `update ${point.update}: ${number(point.kl)} nats, beta ${number(point.beta)}`;
    add("circle.dot", { cx: cx.toFixed(1), cy: cy.toFixed(1), r: 2.6 },
      points.length > MOST_TOLD ? "" : shape("title", title));
  }
  const [[startX, startY], [readX, readY]] = [first, read].map(place);
  words(startX + 7, startY + 4, "start", "start");
  add("circle.read", { cx: readX, cy: readY, r: 6 });
  return node;
}
