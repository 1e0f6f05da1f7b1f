// How an adaptive leash finds its price: the KL against beta (on a logarithmic axis), a point for each update, joined
// in their order, with the target. Only where beta adapts. charts/run_charts.js shows the update that is read.

import { el, setAttribute, setHidden, setText, shape, svg } from "../core/dom.js";
import { number } from "../core/format.js";
import { roundTicks } from "../charts/small_plots.js";

const WIDTH = 460;
const HEIGHT = 250;
const EDGE = { left: 46, right: 16, top: 12, bottom: 40 };
const DIGITS = [[1, 2, 5], [1, 1.5, 2, 3, 4, 5, 7], [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9]];
const MOST_TOLD = 150; // points that say their numbers when one points at them
const AHEAD = "Beta follows the KL that is foreseen eight updates from now. While that lies below the target beta "
  + "falls, so drifting gets cheap; once the KL climbs fast enough to pass the target, beta rises before it is there. "
  + "A leash that holds ends in a cloud around the target line.";
const ZIEGLER = "Left of the target beta falls, so drifting is cheap and the KL grows; right of it beta rises and "
  + "pulls the policy back. A leash that holds circles in on the target line; one that moves too fast swings around "
  + "it.";

/** Where everything stands: {points: [{update, kl, beta, x, y}], target, xTicks, yTicks}; null without points. Pure. */
export function pictureOf(metrics, target) {
  const points = (metrics.update ?? []).map((update, index) => ({ update, kl: metrics.kl_to_reference?.[index] ?? null,
    beta: metrics.kl_coef?.[index] ?? null })).filter(({ kl, beta }) => kl !== null && beta > 0);
  if (!points.length) return null;
  const right = 1.08 * Math.max(target, ...points.map(({ kl }) => kl));
  const left = Math.min(0, ...points.map(({ kl }) => kl));
  const betas = points.map(({ beta }) => Math.log10(beta));
  const middle = (Math.min(...betas) + Math.max(...betas)) / 2;
  const half = Math.max(0.12, (Math.max(...betas) - Math.min(...betas)) * 0.56); // a hair of change is drawn as one
  const [low, high] = [middle - half, middle + half];
  const x = (kl) => EDGE.left + ((kl - left) / (right - left)) * (WIDTH - EDGE.left - EDGE.right);
  const y = (beta) => HEIGHT - EDGE.bottom
    - ((Math.log10(beta) - low) / (high - low)) * (HEIGHT - EDGE.top - EDGE.bottom);
  return {
    points: points.map((point) => ({ ...point, x: x(point.kl), y: y(point.beta) })), target: x(target),
    xTicks: roundTicks(Math.max(0, left), right, 6).map((value) => ({ value, at: x(value) })),
    yTicks: betaTicks(low, high).map((value) => ({ value, at: y(value) })),
  };
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
    this.value = el("span", { class: "chart-value" });
    this.note = el("span", { class: "chart-note" });
    this.stage = el("div", { class: "leash-stage" });
    this.gloss = el("p", { class: "muted" });
    this.root = el("section", { class: "chart leash-picture", hidden: true, "data-chart": "leash" },
      el("div", { class: "chart-head" }, el("h3", {}, "The leash at work"), this.value),
      el("div", { class: "chart-sub" }, this.note),
      el("div", { class: "leash-body" }, this.stage, this.gloss));
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
    this.stage.replaceChildren(this.drawing(found, read, target));
  }

  drawing({ points, target, xTicks, yTicks }, read, wanted) {
    const foot = HEIGHT - EDGE.bottom;
    const words = (text, attributes) => shape("text", attributes, text);
    const first = points[0];
    const told = `The leash at work: from ${number(first.kl)} nats at beta ${number(first.beta)} to ${number(read.kl)} `
      + `nats at beta ${number(read.beta)} after update ${read.update}; target ${number(wanted)} nats.`;
    const dots = points.map(({ update, kl, beta, x, y }) => {
      const title = `update ${update}: ${number(kl)} nats, beta ${number(beta)}`;
      return shape("circle", { class: "dot", cx: x.toFixed(1), cy: y.toFixed(1), r: 2.6 },
        ...(points.length > MOST_TOLD ? [] : [shape("title", {}, title)]));
    });
    const drawing = svg({ class: "small-plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" },
      ...yTicks.flatMap(({ value, at }) => [
        shape("line", { class: "grid", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: at, y2: at }),
        words(String(value), { class: "tick", x: EDGE.left - 6, y: at + 4, "text-anchor": "end" })]),
      ...xTicks.map(({ value, at }) => words(String(value), { class: "tick", x: at, y: foot + 15,
        "text-anchor": "middle" })),
      words("KL, nats per completion", { class: "tick name", x: (EDGE.left + WIDTH) / 2, y: HEIGHT - 6,
        "text-anchor": "middle" }),
      shape("line", { class: "target", x1: target, x2: target, y1: EDGE.top, y2: foot }),
      words("target", { class: "tick name", x: target - 4, y: EDGE.top + 8, "text-anchor": "end" }),
      shape("polyline", { class: "path",
        points: points.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ") }),
      ...dots,
      words("start", { class: "tick name", x: first.x + 7, y: first.y + 4 }),
      shape("circle", { class: "read", cx: read.x, cy: read.y, r: 6 }));
    setAttribute(drawing, "aria-label", told);
    return drawing;
  }
}
