// One chart with a line for each of several runs: a colour, a dash pattern and a letter for each, so that colour is never
// the only sign. Everything but the lines comes from charts/chart.js.

import { bokeh } from "./bokeh.js";
import { Chart } from "./chart.js";
import { column, drawnIndices, extent, nearest, smooth } from "./arithmetic.js";
import { cssValue, el, setAttribute, setText } from "../core/dom.js";
import { COLOURS, DASHES, LETTERS } from "./specs.js";

const LABEL_HEIGHT = 14;

export class OverlayChart extends Chart {
  constructor(spec, shared) {
    super(spec, shared);
    this.series = [];
    this.value.classList.add("overlay-values");
    this.ends = el("div", { class: "run-ends" });
    this.marks.replaceWith(this.ends);
  }

  glyphs(figure) {
    const B = bokeh();
    const x = { field: "x" };
    this.lines = DASHES.map((dash) => {
      const source = new B.ColumnDataSource({ data: { x: [], raw: [], line: [] } });
      const raw = figure.line({ x, y: { field: "raw" }, line_width: 1, line_alpha: 0.22, source });
      const line = figure.line({ x, y: { field: "line" }, line_width: 2.25, line_join: "round", line_dash: dash, source });
      return { source, raw, line };
    });
    figure.min_border_right = 20;
  }

  paint() {
    this.lines.forEach(({ raw, line }, index) => {
      const colour = cssValue(COLOURS[index]);
      raw.glyph.line_color = colour;
      line.glyph.line_color = colour;
    });
  }

  /** Draw the runs: [{metrics, unit, ...}]. */
  update(runs, xColumn, weight) {
    this.run = runs[0];
    this.series = runs.map((run) => {
      const raw = column(run.metrics, this.spec.column);
      return { x: column(run.metrics, xColumn), raw, smoothed: smooth(raw, weight), run };
    });
    setText(this.note, this.spec.note(this.run).split(";")[0]); // what follows in the note is about the band
    if (!this.lines) return;
    this.lines.forEach(({ source }, index) => {
      const one = this.series[index];
      const drawn = one ? drawnIndices(one.raw, ...this.between(one), this.stage.clientWidth) : [];
      const pick = (values) => Float64Array.from(drawn, (at) => values[at]);
      source.data = one ? { x: pick(one.x), raw: pick(one.raw), line: pick(one.smoothed) } : { x: [], raw: [], line: [] };
    });
    this.fit();
    this.describe();
  }

  visibleValues() {
    const found = this.series.map((one) => extent([one.raw], ...this.between(one))).filter(Boolean);
    return found.length ? [Math.min(...found.map(([low]) => low)), Math.max(...found.map(([, high]) => high))] : null;
  }

  /** A letter at the end of each line, none on top of another. */
  placeEnds() {
    const box = this.frame();
    if (!box || !this.yBounds) return;
    const [low, high] = this.yBounds;
    const labels = this.series.map((one, index) => {
      let last = one.x.length - 1;
      while (last >= 0 && (Number.isNaN(one.smoothed[last]) || this.pixel(one.x[last]) === null)) last -= 1;
      return last < 0 ? null : { index, left: this.pixel(one.x[last]), top: box.top + ((high - one.smoothed[last]) / (high - low)) * box.height };
    }).filter(Boolean).sort((a, b) => a.top - b.top);
    labels.forEach((label, place) => {
      const above = labels.slice(0, place).filter((other) => Math.abs(other.left - label.left) < 16).at(-1);
      if (above) label.top = Math.max(label.top, above.top + LABEL_HEIGHT);
    });
    this.ends.replaceChildren(...labels.map(({ index, left, top }) => {
      const node = el("span", { class: "run-end" }, LETTERS[index]);
      node.style.cssText = `left: ${left + 4}px; top: ${Math.min(top, box.top + box.height - 4)}px; color: var(${COLOURS[index]}-text)`;
      return node;
    }));
  }

  readOut(x) {
    const unit = this.spec.unit(this.run);
    const values = this.series.map((one, index) => {
      const at = x === null ? one.x.length - 1 : nearest(one.x, x);
      const beyond = x !== null && at > 0 && at === one.x.length - 1 && x > one.x[at] + (one.x[at] - one.x[at - 1]) / 2;
      const value = at < 0 || beyond ? NaN : one.raw[at];
      const node = el("span", { class: "run-value", title: Number.isNaN(value) ? null : String(value) }, `${LETTERS[index]} `,
        el("strong", {}, Number.isNaN(value) ? "\u2013" : this.told(value)));
      node.style.color = `var(${COLOURS[index]}-text)`;
      return node;
    });
    this.value.replaceChildren(...values, el("span", { class: "muted" }, unit));
    const at = x === null ? null : this.pixel(x);
    this.cross.style.visibility = at === null ? "hidden" : "visible";
    if (at !== null) this.cross.style.transform = `translateX(${at}px)`;
  }

  describe() {
    const told = this.series.map(({ raw, run }, index) =>
      `${LETTERS[index]}, ${run.title}: ${raw.length ? `${this.told(raw[0])} at the start, now ${this.told(raw.at(-1))} ${this.spec.unit(run)}` : "no points yet"}`);
    setAttribute(this.stage, "aria-label", `${this.spec.title}. ${told.join("; ")}`);
  }
}
