// Score against distance as a light drawing: lines and points that stay, and over them a point that moves with the
// line that rises by its leash for each nat. Both parts with a leash of their own have one.

import { frame, pointsOf } from "../charts/small_plots.js";
import { roundTicks } from "../charts/arithmetic.js";
import { shape } from "../core/dom.js";
import { number } from "../core/format.js";

const SIZE = { width: 420, height: 270, left: 40, right: 14, top: 12, bottom: 40 };

/** @typedef {{ kl: number, score: number }} Place */

export class Plane {
  /** `far`, `high`: the ends of its axes. @param {string} label @param {number} far @param {number} high */
  constructor(label, far, high) {
    this.far = far;
    this.frame = frame({ label, kind: "board-plot", size: SIZE, from: 0, to: far, low: 0, high,
      xTicks: roundTicks(0, far, 5), yTicks: roundTicks(0, high, 5), xName: "distance, in nats", tell: number,
      tellX: number });
    this.node = this.frame.node;
    const { left, right, top, bottom, width, height } = SIZE;
    const box = { x: left, y: top, width: width - left - right, height: height - top - bottom };
    this.frame.add("text.tick.name", { transform: `translate(11 ${(top + height - bottom) / 2}) rotate(-90)`,
      "text-anchor": "middle" }, "gain in score, in sd");
    // a drawing in the drawing cuts off what goes beyond its edge
    this.inner = shape("svg", { ...box, viewBox: `${box.x} ${box.y} ${box.width} ${box.height}` });
    this.node.append(this.inner);
  }

  /** @param {Place[]} places @param {string} kind */
  line(places, kind) {
    const node = shape(`polyline.${kind}`, { points: this.pointsOf(places) });
    this.inner.append(node);
    return node;
  }

  /** @param {Place[]} places */
  pointsOf(places) {
    return pointsOf(places.map(({ kl, score }) => [this.frame.x(kl), this.frame.y(score)]));
  }

  /** @param {Place} place @param {string} kind @param {string} title */
  dot({ kl, score }, kind, title = "", r = 3) {
    const node = shape(`circle.${kind}`, { cx: this.frame.x(kl), cy: this.frame.y(score), r },
      title ? shape("title", title) : "");
    this.inner.append(node);
    return node;
  }

  /** What moves, above all else that was drawn. @param {number} dots */
  moving(dots) {
    this.slope = this.line([], "slope");
    this.dots = Array.from({ length: dots }, () => this.dot({ kl: 0, score: 0 }, "here", "", 6));
  }

  /**
   * Move the points, and the line `through` a place, if there is one, that rises by `beta` for each nat.
   * @param {Place[]} places @param {Place | null} through @param {number} beta
   */
  move(places, through, beta) {
    this.dots.forEach((dot, index) => {
      const place = places[index];
      dot.toggleAttribute("hidden", !place);
      if (!place) return;
      dot.setAttribute("cx", this.frame.x(place.kl).toFixed(1));
      dot.setAttribute("cy", this.frame.y(place.score).toFixed(1));
    });
    this.slope.toggleAttribute("hidden", !through);
    if (!through) return;
    const ends = [0, this.far].map((kl) => ({ kl, score: through.score + beta * (kl - through.kl) }));
    this.slope.setAttribute("points", this.pointsOf(ends));
  }
}
