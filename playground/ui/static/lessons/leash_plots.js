// The drawings of "Turn the leash": score and distance over the updates, and score against distance, each once for
// leashes that hold and once, on a wider scale, for those that do not. All runs are drawn faintly; those of the leash
// in view stand before them.

import { frame, pointsOf } from "../charts/small_plots.js";
import { niceRange, roundTicks } from "../charts/arithmetic.js";
import { el, shape } from "../core/dom.js";
import { number, signed } from "../core/format.js";
import { Plane } from "./plane.js";
import { bestStop, endsOf, isFar } from "./leash_figures.js";

const SIZE = { width: 300, height: 180, left: 40, right: 10, top: 10, bottom: 34 };
const MOST = 3; // runs of a leash
const ROOM = 1.06;
const CURVES = /** @type {const} */ ([
  { kind: "score", title: "Score", of: "score" },
  { kind: "kl", title: "Distance", of: "kls" }]);

export class LeashPlots {
  /** @param {Wire.Betas} data */
  constructor(data) {
    this.leashes = data.leashes;
    this.possible = data.possible;
    const scales = [data.leashes.filter((stop) => !isFar(stop)), data.leashes];
    this.scales = scales.map((stops, wide) => ({
      curves: CURVES.map((curve) => new Curve(curve, stops, Boolean(wide))),
      plane: planeOf(data, stops, Boolean(wide)),
    }));
    this.curves = this.scales.flatMap(({ curves }) => curves.map(({ root }) => root));
    this.planes = this.scales.map(({ plane }) => plane.node);
  }

  /** @param {number} index of the leash */
  show(index) {
    const stop = this.leashes[index];
    const wide = Number(isFar(stop));
    const ends = endsOf(stop);
    this.scales.forEach(({ curves, plane }, scale) => {
      for (const { root } of curves) root.toggleAttribute("hidden", scale !== wide);
      plane.node.toggleAttribute("hidden", scale !== wide);
    });
    for (const curve of this.scales[wide].curves) curve.show(stop);
    this.scales[wide].plane.move(ends, bestStop(this.possible, stop.beta), stop.beta);
  }
}

/** One figure over the updates. */
class Curve {
  /** @param {typeof CURVES[number]} curve @param {Wire.BetaStop[]} stops @param {boolean} wide */
  constructor({ kind, title, of }, stops, wide) {
    this.of = of;
    const runs = stops.flatMap((stop) => stop.runs);
    const to = Math.max(...runs.flatMap(({ updates }) => updates));
    const [low, high] = niceRange([0, Math.max(...runs.flatMap((run) => run[of]))], null);
    this.frame = frame({ label: `${title}, over the updates${wide ? ", on a wide scale" : ""}: the runs of the leash `
      + "in view before those of all leashes", kind: "board-plot", size: SIZE, from: 0, to, low: Math.max(low, 0), high,
    xTicks: roundTicks(0, to, 4), yTicks: roundTicks(0, high, 3), xName: "update", tell: number, tellX: number });
    for (const run of runs) this.frame.add("polyline.faint", { points: this.pointsOf(run) });
    if (kind === "score")
      this.frame.add("text.tick", { x: SIZE.left + 8, y: SIZE.top + 12 }, wide ? "grey: other leashes; a wider scale"
        : "grey: other leashes");
    this.lines = Array.from({ length: MOST }, () => shape(`polyline.now.${kind}`, { points: "" }));
    this.frame.node.append(...this.lines);
    this.root = el("figure.board-curve", el("figcaption", title), this.frame.node);
  }

  /** @param {Wire.BetaRun} run */
  pointsOf(run) {
    return pointsOf(run.updates.map((update, index) =>
      [this.frame.x(update), this.frame.y(Math.max(0, run[this.of][index]))]));
  }

  /** @param {Wire.BetaStop} stop */
  show(stop) {
    this.lines.forEach((line, index) =>
      line.setAttribute("points", stop.runs[index] ? this.pointsOf(stop.runs[index]) : ""));
  }
}

/**
 * Where all runs ended, the line of what is possible, and the points of the leash in view.
 * @param {Wire.Betas} data @param {Wire.BetaStop[]} stops @param {boolean} wide
 */
function planeOf({ possible }, stops, wide) {
  const ends = stops.flatMap((stop) => endsOf(stop).map((place) => ({ ...place, beta: stop.beta })));
  const far = ROOM * Math.max(...ends.map(({ kl }) => kl));
  const best = possible.filter(({ kl }) => kl <= far).map(({ score }) => score);
  const plane = new Plane(`Gain in score against distance${wide ? ", on a wide scale" : ""}: where the runs ended`, far,
    ROOM * Math.max(...ends.map(({ score }) => score), ...best));
  const known = [{ kl: 0, score: 0 }, ...possible.filter((point) => point.known)];
  plane.line([known.at(-1), ...possible.filter((point) => !point.known)], "unsure");
  plane.line(known, "possible");
  for (const end of ends)
    plane.dot(end, "faint", `leash ${end.beta}: ${signed(end.score)} sd, ${number(end.kl)} nats`);
  plane.moving(MOST);
  return plane;
}
