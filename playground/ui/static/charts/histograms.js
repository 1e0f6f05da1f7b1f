// Two histograms of the fixed prompts, before and after: score and length. Before slate, after indigo.

import { bokeh, bokehReady, plainAxes, plainFigure } from "./bokeh.js";
import { cssValue, el, setAttribute, setText } from "../core/dom.js";
import { niceStep } from "./arithmetic.js";
import { number } from "../core/format.js";
import { Spread } from "./spread.js";

const BINS = 14;

export class Histograms {
  constructor(element) {
    this.element = element;
    this.note = el("p", { class: "undrawn-note", role: "status" });
    element.append(this.note);
    this.plots = [
      { title: "Score", of: (side) => side.score, unit: (run) => run.unit },
      { title: "Length", of: (side) => side.tokens, unit: () => "tokens", whole: true },
    ];
    for (const plot of this.plots) {
      plot.canvas = el("div", { class: "canvas", inert: true });
      plot.stage = el("div", { class: "stage", role: "img", "aria-label": plot.title }, plot.canvas);
      plot.unitNode = el("span", {});
      plot.keys = ["before", "now"].map((side) => el("span", { class: `key ${side}` }));
      plot.card = el("section", { class: "chart" },
        el("div", { class: "chart-head" }, el("h3", {}, plot.title)),
        el("div", { class: "chart-sub" }, el("span", {}, plot.keys[0], " ", plot.keys[1]), plot.unitNode), plot.stage);
      element.append(plot.card);
    }
    this.spread = new Spread(element);
    document.addEventListener("playground-look", () => {
      this.look();
      this.spread.look();
    });
  }

  /** Tell the data of the Compare page, and draw them as soon as that can be; null empties. */
  async show(data) {
    this.data = data;
    this.element.hidden = !data?.rows.length;
    if (this.element.hidden) return;
    this.spread.tell(data);
    for (const plot of this.plots) this.tell(plot, data);
    if (!(await bokehReady(this.note, "The histograms", "The scores and lengths are in the table below."))) {
      this.element.classList.add("undrawn");
      return;
    }
    if (this.data !== data) return; // something else has been chosen meanwhile
    await this.spread.show();
    for (const plot of this.plots) if (!plot.card.hidden) await this.paint(plot);
  }

  /** Everything but the drawing. */
  tell(plot, data) {
    const before = known(data.rows.map((row) => plot.of(row.before)));
    const after = known(data.rows.map((row) => plot.of(row.after)));
    plot.card.hidden = !before.length || !after.length || (plot.title === "Score" && !data.measured);
    if (plot.card.hidden) return;
    plot.bins = histogram(before, after, plot.whole);
    const unit = plot.unit(data.run);
    const sides = data.other ? ["the other run", "this run"] : ["before", "after"];
    plot.keys.forEach((key, side) => setText(key, sides[side]));
    setText(plot.unitNode, `number of texts, by ${unit}`);
    setAttribute(plot.stage, "aria-label",
      `${plot.title}: mean ${number(mean(before))} ${sides[0]}, ${number(mean(after))} ${unit} ${sides[1]}`);
  }

  /** What was told last. */
  async paint(plot) {
    if (!plot.figure) await this.draw(plot);
    const { bins } = plot;
    plot.source.data = bins;
    plot.figure.x_range.setv({ start: bins.left[0], end: bins.right.at(-1) });
    plot.figure.y_range.setv({ start: 0, end: Math.max(...bins.before, ...bins.after) * 1.12 });
  }

  async draw(plot) {
    const B = bokeh();
    plot.source = new B.ColumnDataSource({ data: { left: [], right: [], before: [], after: [] } });
    const figure = plainFigure({ height: 150 });
    const side = (name) => figure.quad({ left: { field: "left" }, right: { field: "right" }, bottom: 0,
      top: { field: name },
      source: plot.source, line_width: 1.5 });
    plot.sides = [side("before"), side("after")];
    plot.figure = figure;
    this.look();
    await B.Plotting.show(figure, plot.canvas);
  }

  look() {
    for (const { figure, sides } of this.plots) {
      if (!figure) continue;
      ["--pg-reference", "--pg-policy"].forEach((name, index) => {
        const { glyph } = sides[index];
        glyph.fill_color = cssValue(name);
        glyph.line_color = cssValue(name);
        glyph.fill_alpha = index ? 0.28 : 0.22;
      });
      plainAxes(figure, 3);
    }
  }
}

function known(values) {
  return values.filter((value) => value !== null && value !== undefined);
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Counts of both lists in the same round bins. */
function histogram(before, after, whole) {
  const all = [...before, ...after];
  const low = Math.min(...all);
  const high = Math.max(...all);
  let step = niceStep((high - low || 1) / BINS);
  if (whole) step = Math.max(1, Math.round(step));
  const start = Math.floor(low / step) * step;
  const count = Math.max(1, Math.floor((high - start) / step) + 1);
  const counts = (values) => {
    const bins = new Array(count).fill(0);
    for (const value of values) bins[Math.min(count - 1, Math.floor((value - start) / step))] += 1;
    return bins;
  };
  const left = Array.from({ length: count }, (_, index) => start + index * step);
  return { left, right: left.map((value) => value + step), before: counts(before), after: counts(after) };
}
