// How the scores of the fixed prompts are spread at each look, from before training to the end: a box from the 25th to the
// 75th percentile, a line from the 10th to the 90th, a mark at the median, and the moment that is compared in full colour.

import { bokeh } from "./bokeh.js";
import { cssValue, el, setText } from "../core/dom.js";
import { number } from "../core/format.js";

export class Spread {
  constructor(element) {
    this.canvas = el("div", { class: "canvas" });
    this.stage = el("div", { class: "stage", role: "img" }, this.canvas);
    this.unit = el("span", {});
    this.card = el("section", { class: "chart", hidden: true },
      el("div", { class: "chart-head" }, el("h3", {}, "Score at each look")),
      el("div", { class: "chart-sub" }, el("span", {}, "box: middle half; line: middle 80 %"), this.unit), this.stage);
    element.append(this.card);
  }

  async show({ distribution: rows, run, update }) {
    this.card.hidden = (rows?.length ?? 0) < 2;
    if (this.card.hidden) return;
    if (!this.figure) await this.draw();
    const pick = (name) => rows.map((row) => row[name]);
    const updates = pick("update");
    const gap = Math.min(...updates.slice(1).map((value, index) => value - updates[index]));
    const lows = pick("p10");
    const highs = pick("p90");
    const margin = (Math.max(...highs) - Math.min(...lows)) * 0.08 || 0.5;
    this.x.setv({ start: updates[0] - gap * 0.6, end: updates.at(-1) + gap * 0.6 });
    this.y.setv({ start: Math.min(...lows) - margin, end: Math.max(...highs) + margin });
    this.rows = rows;
    this.chosen = update;
    this.width = gap * 0.55;
    this.fill();
    setText(this.unit, `by update, ${run.unit}`);
    this.stage.setAttribute("aria-label", `Score at each look: median ${number(rows[0].p50)} before, ${number(rows.at(-1).p50)} ${run.unit} at update ${updates.at(-1)}`);
  }

  fill() {
    const { rows, width } = this;
    const colour = rows.map((row, index) => cssValue(index ? "--pg-policy" : "--pg-reference"));
    this.source.data = {
      x: rows.map((row) => row.update), left: rows.map((row) => row.update - width / 2), right: rows.map((row) => row.update + width / 2),
      ...Object.fromEntries(["p10", "p25", "p50", "p75", "p90"].map((name) => [name, rows.map((row) => row[name])])), colour,
      alpha: rows.map((row, index) => (index === 0 || row.update === this.chosen ? 0.6 : 0.22)),
    };
  }

  async draw() {
    const B = bokeh();
    const columns = ["x", "left", "right", "p10", "p25", "p50", "p75", "p90", "colour", "alpha"];
    this.source = new B.ColumnDataSource({ data: Object.fromEntries(columns.map((name) => [name, []])) });
    this.x = new B.Range1d({ start: 0, end: 1 });
    this.y = new B.Range1d({ start: 0, end: 1 });
    const figure = B.Plotting.figure({
      height: 150, sizing_mode: "stretch_width", x_range: this.x, y_range: this.y, toolbar_location: null, tools: [],
      background_fill_color: null, border_fill_color: null, outline_line_color: null, min_border_left: 34, min_border_right: 8,
    });
    const line_color = { field: "colour" };
    const { source } = this;
    figure.segment({ x0: { field: "x" }, x1: { field: "x" }, y0: { field: "p10" }, y1: { field: "p90" }, line_color, line_width: 1.5, source });
    figure.quad({ left: { field: "left" }, right: { field: "right" }, bottom: { field: "p25" }, top: { field: "p75" }, line_color,
      fill_color: { field: "colour" }, fill_alpha: { field: "alpha" }, line_width: 1.25, source });
    figure.segment({ x0: { field: "left" }, x1: { field: "right" }, y0: { field: "p50" }, y1: { field: "p50" }, line_color, line_width: 3, source });
    this.figure = figure;
    this.look();
    await B.Plotting.show(figure, this.canvas);
  }

  look() {
    if (!this.figure) return;
    plainAxes(this.figure, 4);
    if (this.rows) this.fill();
  }
}

/** Axes and grid as on the whole page: numbers without lines, in the colours and the text size of the moment. */
export function plainAxes(figure, yTicks) {
  for (const axis of [...figure.xaxes, ...figure.yaxes]) {
    axis.minor_tick_line_color = null;
    axis.major_tick_line_color = null;
    axis.axis_line_color = null;
    axis.major_label_text_color = cssValue("--pg-muted");
    axis.major_label_text_font = "IBM Plex Sans, system-ui, sans-serif";
    axis.major_label_text_font_size = document.body.classList.contains("projector") ? "15px" : "11px";
  }
  for (const axis of figure.yaxes) axis.ticker.desired_num_ticks = yTicks;
  for (const grid of figure.xgrids) grid.grid_line_color = null;
  for (const grid of figure.ygrids) grid.grid_line_color = cssValue("--pg-grid");
}
