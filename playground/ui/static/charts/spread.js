// How the scores of the fixed prompts are spread at each look, from before training to the end: a box from the 25th to
// the 75th percentile, a line from the 10th to the 90th, a mark at the median, and the moment that is compared in full
// colour.

import { bokeh, plainAxes, plainFigure } from "./bokeh.js";
import { cssValue, el, setAttribute, setText } from "../core/dom.js";
import { number } from "../core/format.js";

const LEVELS = ["p10", "p25", "p50", "p75", "p90"];

/** Where everything stands: the ranges of both axes, and the columns for Bokeh, without colours. Pure. */
export function spreadOf(rows, chosen) {
  const pick = (name) => rows.map((row) => row[name]);
  const updates = pick("update");
  const gap = Math.min(...updates.slice(1).map((value, index) => value - updates[index]));
  const [low, high] = [Math.min(...pick("p10")), Math.max(...pick("p90"))];
  const margin = (high - low) * 0.08 || 0.5;
  const half = gap * 0.275;
  return {
    x: { start: updates[0] - gap * 0.6, end: updates.at(-1) + gap * 0.6 },
    y: { start: low - margin, end: high + margin },
    columns: {
      x: updates, left: updates.map((update) => update - half), right: updates.map((update) => update + half),
      ...Object.fromEntries(LEVELS.map((name) => [name, pick(name)])),
      alpha: updates.map((update, index) => (index === 0 || update === chosen ? 0.6 : 0.22)),
    },
  };
}

export class Spread {
  constructor(element) {
    this.columns = null;
    this.canvas = el("div", { class: "canvas", inert: true });
    this.stage = el("div", { class: "stage", role: "img", "aria-label": "Score at each look" }, this.canvas);
    this.unit = el("span", {});
    this.card = el("section", { class: "chart", hidden: true },
      el("div", { class: "chart-head" }, el("h3", {}, "Score at each look")),
      el("div", { class: "chart-sub" }, el("span", {}, "box: middle half; line: middle 80 %"), this.unit), this.stage);
    element.append(this.card);
  }

  /** Everything but the drawing. */
  tell({ distribution: rows, run, update }) {
    this.card.hidden = (rows?.length ?? 0) < 2;
    if (this.card.hidden) return;
    this.spread = spreadOf(rows, update);
    setText(this.unit, `by update, ${run.unit}`);
    const end = `${number(rows.at(-1).p50)} ${run.unit} at update ${rows.at(-1).update}`;
    setAttribute(this.stage, "aria-label", `Score at each look: median ${number(rows[0].p50)} before, ${end}`);
  }

  /** Draw what was told last. */
  async show() {
    if (this.card.hidden) return;
    if (!this.figure) await this.draw();
    const { x, y, columns } = this.spread;
    this.figure.x_range.setv(x);
    this.figure.y_range.setv(y);
    this.columns = columns;
    this.look();
  }

  async draw() {
    const B = bokeh();
    this.figure = plainFigure({ height: 150 });
    this.source = new B.ColumnDataSource({ data: {} });
    const { source } = this;
    const [x, left, right, colour, fill_alpha, p10, p25, p50, p75, p90] =
      ["x", "left", "right", "colour", "alpha", ...LEVELS].map((field) => ({ field }));
    const line = { line_color: colour, source };
    this.figure.segment({ x0: x, x1: x, y0: p10, y1: p90, line_width: 1.5, ...line });
    this.figure.quad({ left, right, bottom: p25, top: p75, fill_color: colour, fill_alpha, line_width: 1.25, ...line });
    this.figure.segment({ x0: left, x1: right, y0: p50, y1: p50, line_width: 3, ...line });
    await B.Plotting.show(this.figure, this.canvas);
  }

  look() {
    if (!this.columns) return;
    plainAxes(this.figure, 4);
    const colour = this.columns.x.map((_, index) => cssValue(index ? "--pg-policy" : "--pg-reference"));
    this.source.data = { ...this.columns, colour };
  }
}
