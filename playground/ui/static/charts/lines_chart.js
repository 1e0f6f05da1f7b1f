// One chart with a line for each reward or judge, each named at its end and with its value at the cursor. What the lines
// are, and what they say in words, comes from the spec; everything else from charts/chart.js.

import { bokeh } from "./bokeh.js";
import { Chart } from "./chart.js";
import { drawnIndices, extent, nearest, spreadLabels } from "./arithmetic.js";
import { cssValue, el, setAttribute, setText } from "../core/dom.js";
import { signed } from "../core/format.js";
import { live } from "../core/store.js";

const MOST_LINES = 12;
const LABEL_HEIGHT = 15;
const LABEL_WIDTH = 138; // pixels kept free at the right for the names
const NARROW_LABEL_WIDTH = 104;
const WIDE_LABEL_WIDTH = 210;
const NARROW_STAGE = 420;
const WIDE_STAGE = 760;

export class LinesChart extends Chart {
  constructor(spec, shared) {
    super(spec, shared);
    this.lines = [];
    this.hoverX = null;
    this.names = el("div", { class: "line-names" });
    this.stage.append(this.names);
    this.words = el("ul", { class: "chart-words", "aria-live": "polite" });
    this.card.append(this.words);
    this.card.hidden = true;
  }

  glyphs(figure) {
    const B = bokeh();
    const x = { field: "x" };
    const area = (source) => figure.varea({ x, y1: { field: "low" }, y2: { field: "high" }, fill_alpha: 0.13, source });
    const gapSource = new B.ColumnDataSource({ data: { x: [], low: [], high: [] } });
    this.gap = { source: gapSource, area: area(gapSource) };
    this.drawn = Array.from({ length: MOST_LINES }, () => {
      const source = new B.ColumnDataSource({ data: { x: [], raw: [], line: [], low: [], high: [] } });
      return {
        source, band: area(source),
        raw: figure.line({ x, y: { field: "raw" }, line_width: 1, line_alpha: 0.22, source }),
        line: figure.line({ x, y: { field: "line" }, line_width: 2.25, line_join: "round", source }),
      };
    });
    const width = this.stage.clientWidth;
    this.room = width < NARROW_STAGE ? NARROW_LABEL_WIDTH : width < WIDE_STAGE ? LABEL_WIDTH : WIDE_LABEL_WIDTH;
    figure.min_border_right = this.room;
  }

  paint() {
    this.gap.area.glyph.fill_color = cssValue("--pg-reference");
    this.lines.forEach((one, index) => {
      const { band, raw, line } = this.drawn[index];
      const colour = cssValue(one.colour);
      band.glyph.fill_color = colour;
      raw.glyph.line_color = colour;
      line.glyph.setv({ line_color: colour, line_dash: one.dash, line_width: one.bold ? 3 : 2.25 });
    });
  }

  /** Draw what there is to draw of a run: `data` is what the store holds; hidden without lines. */
  async follow(data, xColumn, weight) {
    this.run = data.run;
    this.lines = this.spec.lines(data, xColumn, weight).slice(0, MOST_LINES);
    this.card.hidden = !this.lines.length;
    if (!this.lines.length) return;
    setText(this.note, this.spec.note(this.run));
    const words = this.spec.words(data);
    const shown = JSON.stringify(words);
    if (this.words.dataset.shown !== shown) {
      this.words.dataset.shown = shown;
      this.words.replaceChildren(...words.map(({ text, turned }) => el("li", { class: turned ? "turned" : null },
        turned ? el("span", { class: "icon", "aria-hidden": "true" }, "! ") : null, text)));
    }
    if (!this.view) {
      if (this.drawing || !bokeh()?.Plotting) return;
      this.drawing = true; // in a hidden card a figure would have no width
      await this.draw();
      this.drawing = false;
    }
    this.fill();
  }

  fill() {
    this.paint();
    this.drawn.forEach(({ source }, index) => {
      const one = this.lines[index];
      const indices = one ? drawnIndices(one.raw, ...this.between(one), this.stage.clientWidth) : [];
      const pick = (values) => Float64Array.from(indices, (at) => values[at]);
      source.data = one
        ? { x: pick(one.x), raw: pick(one.raw), line: pick(one.line), low: pick(one.low ?? one.line), high: pick(one.high ?? one.line) }
        : { x: [], raw: [], line: [], low: [], high: [] };
    });
    const gap = this.spec.gap?.(this.lines);
    this.gap.source.data = gap ?? { x: [], low: [], high: [] };
    this.fit();
    this.describe();
    requestAnimationFrame(() => {
      this.readOut(this.hoverX);
      this.placeTurns();
    });
  }

  visibleValues() {
    const found = this.lines.map((one) => extent([one.raw, one.low ?? one.raw, one.high ?? one.raw], ...this.between(one))).filter(Boolean);
    return found.length ? [Math.min(...found.map(([low]) => low)), Math.max(...found.map(([, high]) => high))] : null;
  }

  readOut(x) {
    this.hoverX = x;
    if (!this.lines.length) return;
    const values = this.lines.map((one) => {
      const at = x === null ? lastKnown(one.raw) : nearest(one.x, x);
      return at < 0 ? NaN : one.raw[at];
    });
    const unit = this.spec.unit(this.run);
    const total = this.spec.total(values, this.lines);
    setText(this.value, Number.isNaN(total) ? "\u2013" : `${this.spec.totalName}${signed(total)} ${unit}`);
    this.placeNames(values);
    const at = x === null ? null : this.pixel(x);
    this.cross.style.visibility = at === null ? "hidden" : "visible";
    if (at !== null) this.cross.style.transform = `translateX(${at}px)`;
  }

  /** Value and name of each line at its end, none on top of another. */
  placeNames(values) {
    const box = this.frame();
    if (!box || !this.yBounds) return;
    const [low, high] = this.yBounds;
    const ends = this.lines.map((one, index) => {
      const last = lastKnown(one.line);
      return last < 0 ? null : { index, left: this.pixel(one.x[last]) ?? box.left + box.width, top: box.top + ((high - one.line[last]) / (high - low)) * box.height };
    }).filter(Boolean);
    const tops = spreadLabels(ends.map(({ top }) => top), LABEL_HEIGHT, box.top, box.top + box.height);
    this.names.replaceChildren(...ends.map(({ index, left }, place) => {
      const { label, colour } = this.lines[index];
      const value = signed(values[index]);
      const node = el("span", { class: "line-name", title: `${label}: ${value} ${this.spec.unit(this.run)}` },
        el("strong", {}, value), ` ${label}`);
      const start = Math.min(left + 6, box.left + box.width + 6);
      node.style.cssText = `left: ${start}px; top: ${tops[place]}px; max-width: ${box.left + box.width + this.room - start - 2}px; color: var(${colour}-text)`;
      return node;
    }));
  }

  /** What was changed in mid-run is marked on the other charts. */
  showMarks() {}

  /** Where a judge turned down is marked on the axis. */
  showFlags(_, xOf) {
    this.xOf = xOf;
    this.placeTurns();
  }

  placeTurns() {
    const box = this.frame();
    if (!box || !this.xOf) return;
    const marks = (this.spec.turns?.(live) ?? []).map((turn) => ({ ...turn, at: this.pixel(this.xOf(turn.update)) })).filter(({ at }) => at !== null);
    this.marks.replaceChildren(...marks.map(({ label, update, at }) => {
      const node = el("div", { class: "turn-mark", title: `${label} turned down ${update ? `after update ${update}` : "from the start"}` });
      node.style.left = `${at}px`;
      return node;
    }));
  }

  describe() {
    const told = this.lines.map(({ label, raw }) => `${label} ${signed(raw[lastKnown(raw)])}`);
    setAttribute(this.stage, "aria-label", `${this.spec.title}, in ${this.spec.unit(this.run)}: ${told.join(", ")}`);
  }
}

function lastKnown(values) {
  let at = values.length - 1;
  while (at >= 0 && Number.isNaN(values[at])) at -= 1;
  return at;
}
