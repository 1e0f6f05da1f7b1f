// One chart: a card with title, current value, and a BokehJS canvas with our own crosshair, zoom and marks above it.
//
// Bokeh paints; pointer, crosshair, flags and marks are plain elements, so moving the mouse repaints no canvas.
// charts/overlay_chart.js draws several runs in one chart: it replaces `glyphs`, `paint`, `visibleValues` and what shows numbers.

import { bokeh } from "./bokeh.js";
import { column, drawnIndices, extent, labelSides, nearest, niceRange, smooth, whenChanged } from "./arithmetic.js";
import { cssValue, el, setAttribute, setText } from "../core/dom.js";
import { number, rounded } from "../core/format.js";
import { live } from "../core/store.js";

const LARGE_HEIGHT = 208;
const SMALL_HEIGHT = 92;
const DOTS_UP_TO = 120; // beyond this the raw values are a faint line

export class Chart {
  /** `shared`: {range: {start, end} of x, onHover(x), onZoom(from, to), onReset()}, common to all charts. */
  constructor(spec, shared) {
    this.spec = spec;
    this.shared = shared;
    this.yBounds = null;
    this.x = new Float64Array();
    this.raw = new Float64Array();
    this.value = el("span", { class: "chart-value" });
    this.detail = el("span", { class: "chart-detail" });
    this.note = el("span", { class: "chart-note" }, spec.note(null));
    this.cross = el("div", { class: "cross" });
    this.selection = el("div", { class: "selection" });
    this.flags = el("div", { class: "flags" });
    this.marks = el("div", { class: "edit-marks" });
    this.knee = el("div", { class: "knee", hidden: true }, el("span", {}, "knee"));
    this.marked = [];
    this.canvas = el("div", { class: "canvas" });
    this.stage = el("div", { class: "stage", role: "img", "aria-label": spec.title }, this.canvas, this.selection,
      this.marks, this.knee, this.cross, this.flags);
    this.expand = spec.large ? null : el("button", { type: "button", class: "icon-button expand", "aria-expanded": "false",
      "aria-label": `Enlarge ${spec.title}`, title: "Enlarge", onclick: () => this.toggle() }, "\u2922");
    this.card = el("section", { class: `chart ${spec.large ? "large" : "small"}`, "data-chart": spec.key },
      el("div", { class: "chart-head" },
        el("h3", { title: spec.gloss, tabindex: "-1" }, spec.title), this.value, this.expand),
      el("div", { class: "chart-sub" }, this.note, this.detail),
      this.stage);
    this.listen();
  }

  /** Make the Bokeh figure. The card must be in the document. */
  async draw() {
    const { spec } = this;
    const B = bokeh();
    this.xRange = new B.Range1d({ start: 0, end: 1 }); // each figure is a Bokeh document, and those share no models
    this.yRange = new B.Range1d({ start: 0, end: 1 });
    const figure = B.Plotting.figure({
      height: spec.large ? LARGE_HEIGHT : SMALL_HEIGHT, sizing_mode: "stretch_width", x_range: this.xRange,
      y_range: this.yRange, toolbar_location: null, tools: [], min_border_left: spec.large ? 40 : 34, min_border_right: 8,
      min_border_top: 6, min_border_bottom: 18, background_fill_color: null, border_fill_color: null,
      outline_line_color: null,
    });
    this.zero = new B.Span({ location: 0, dimension: "width", line_width: 1, visible: Boolean(spec.zero) });
    figure.add_layout(this.zero);
    this.glyphs(figure);
    this.figure = figure;
    this.ticks(spec.large);
    this.look();
    this.view = await B.Plotting.show(figure, this.canvas);
  }

  /** The lines of the figure. */
  glyphs(figure) {
    const { spec } = this;
    const B = bokeh();
    this.source = new B.ColumnDataSource({ data: { x: [], raw: [], line: [], low: [], high: [] } });
    const data = { source: this.source };
    const x = { field: "x" };
    if (spec.band) {
      this.band = figure.varea({ x, y1: { field: "low" }, y2: { field: "high" }, fill_alpha: 0.16, ...data });
    }
    this.guide = new B.Span({ location: 0, dimension: "width", line_dash: [5, 4], line_width: 1.5, visible: false });
    figure.add_layout(this.guide);
    this.rawLine = figure.line({ x, y: { field: "raw" }, line_width: 1, line_alpha: 0.28, ...data });
    this.dots = figure.scatter({ x, y: { field: "raw" }, size: spec.large ? 4 : 3, line_color: null, fill_alpha: 0.35, ...data });
    this.line = figure.line({ x, y: { field: "line" }, line_width: spec.large ? 2.25 : 1.75, line_join: "round", ...data });
  }

  ticks(large) {
    for (const axis of [...this.figure.xaxes, ...this.figure.yaxes]) {
      axis.minor_tick_line_color = null;
      axis.major_tick_line_color = null;
      axis.axis_line_color = null;
      axis.major_label_text_font = "IBM Plex Sans, system-ui, sans-serif";
      axis.ticker.desired_num_ticks = large ? 5 : 3;
    }
    for (const axis of this.figure.xaxes) axis.ticker.desired_num_ticks = large ? 7 : 4;
  }

  /** Colours and text sizes from the page's style sheet: called at the start and when light/dark or projector changes. */
  look() {
    const projector = document.body.classList.contains("projector");
    this.paint();
    this.zero.line_color = cssValue("--pg-line-strong");
    for (const axis of [...this.figure.xaxes, ...this.figure.yaxes]) {
      axis.major_label_text_color = cssValue("--pg-muted");
      axis.major_label_text_font_size = projector ? "15px" : "11px";
    }
    for (const grid of this.figure.center) {
      if (grid.grid_line_color !== undefined) grid.grid_line_color = cssValue("--pg-grid");
    }
    for (const grid of this.figure.xgrids) grid.grid_line_color = null;
  }

  /** First index of a line in view, and the one after the last, with one more on either side. */
  between({ x }) {
    const { start, end } = this.shared.range;
    let from = 0;
    let to = x.length;
    while (from < to && x[from] < start) from += 1;
    while (to > from && x[to - 1] > end) to -= 1;
    return [Math.max(from - 1, 0), Math.min(to + 1, x.length)];
  }

  /** Colours of the lines. */
  paint() {
    const colour = cssValue(this.spec.colour);
    for (const renderer of [this.line, this.rawLine]) renderer.glyph.line_color = colour;
    this.dots.glyph.fill_color = colour;
    if (this.band) this.band.glyph.fill_color = colour;
    this.guide.line_color = colour;
  }

  /** Draw columns: x by mode, values smoothed by weight. */
  update(columns, xColumn, weight, run) {
    const { spec } = this;
    this.x = column(columns, xColumn);
    this.raw = column(columns, spec.column);
    this.smoothed = smooth(this.raw, spec.exact ? 0 : weight);
    this.low = spec.band ? smooth(column(columns, spec.band[0]), weight) : this.raw;
    this.high = spec.band ? smooth(column(columns, spec.band[1]), weight) : this.raw;
    this.run = run;
    const guide = spec.guide?.(run, live);
    setText(this.note, spec.note(run));
    if (!this.source) return;
    const [from, to] = this.inView();
    const all = drawnIndices(this.raw, Math.max(from - 1, 0), Math.min(to + 1, this.x.length), this.stage.clientWidth);
    const drawn = spec.sparse ? all.filter((index) => !Number.isNaN(this.raw[index])) : all; // measured at some updates only
    const pick = (values) => Float64Array.from(drawn, (index) => values[index]);
    this.source.data = { x: pick(this.x), raw: pick(this.raw), line: pick(this.smoothed), low: pick(this.low), high: pick(this.high) };
    const dots = drawn.length <= DOTS_UP_TO;
    if (this.dots.visible !== dots) this.dots.visible = dots;
    this.dots.glyph.size = drawn.length < 8 ? 6 : spec.large ? 4 : 3;
    if (this.rawLine.visible === dots) this.rawLine.visible = !dots;
    this.guide.visible = Boolean(guide);
    if (guide) this.guide.location = guide.value;
    this.fit(guide);
    this.describe();
  }

  /** Both ranges. */
  fit(guide = null) {
    const { start, end } = this.shared.range;
    if (this.xRange.start !== start || this.xRange.end !== end) this.xRange.setv({ start, end });
    this.fitY(guide);
  }

  /** Lowest and highest value in view, or null. */
  visibleValues() {
    return extent([this.raw, this.low, this.high], ...this.inView());
  }

  /** First index in view, and the one after the last. */
  inView() {
    const { start, end } = this.shared.range;
    const from = this.x.findIndex((value) => value >= start);
    let to = this.x.length;
    while (to > 0 && this.x[to - 1] > end) to -= 1;
    return [Math.max(from, 0), to];
  }

  /** Fit the y range to what is in view; a range that still fits stays. */
  fitY(guide) {
    const found = this.visibleValues();
    if (!found) return;
    const lacking = this.spec.span - (found[1] - found[0]);
    if (lacking > 0) {
      found[1] += this.spec.floor ? lacking : lacking / 2;
      if (!this.spec.floor) found[0] -= lacking / 2;
    }
    if (guide) found[1] = Math.max(found[1], guide.value);
    if (this.spec.floor) found[0] = Math.min(found[0], 0) || 0;
    if (this.spec.zero) {
      found[0] = Math.min(found[0], 0);
      found[1] = Math.max(found[1], 0);
    }
    this.yBounds = niceRange(found, this.yBounds);
    if (this.spec.floor && found[0] >= 0) this.yBounds = [0, this.yBounds[1]];
    this.yRange.setv({ start: this.yBounds[0], end: this.yBounds[1] });
  }

  /** Forget the y range: another run. */
  forget() {
    this.yBounds = null;
  }

  /** Show the numbers at x, or the newest ones when x is null. */
  readOut(x) {
    const index = this.readAt(x);
    const unit = this.spec.unit(this.run);
    const value = index < 0 ? NaN : this.raw[index];
    setText(this.value, Number.isNaN(value) ? "\u2013" : `${this.told(value)}${unit ? ` ${unit}` : ""}`);
    let detail = "";
    const guide = this.spec.guide?.(this.run, live);
    if (index >= 0 && this.spec.band) detail = `${this.told(this.low[index])} to ${this.told(this.high[index])}`;
    else if (guide) detail = `${guide.label} ${number(guide.value)}`;
    setText(this.detail, detail);
    const at = index < 0 || x === null ? null : this.pixel(this.x[index]);
    this.cross.style.visibility = at === null ? "hidden" : "visible";
    if (at !== null) this.cross.style.transform = `translateX(${at}px)`;
    this.value.title = Number.isNaN(value) ? "" : String(value);
  }

  /** Index of the point at x, or of the newest when x is null; where only some are known, of the nearest known one. */
  readAt(x) {
    if (!this.spec.sparse) return x === null ? this.x.length - 1 : nearest(this.x, x);
    const known = [...this.raw.keys()].filter((index) => !Number.isNaN(this.raw[index]));
    if (!known.length) return -1;
    return x === null ? known.at(-1) : known[nearest(known.map((index) => this.x[index]), x)];
  }

  /** Small flags on the axis: [{update, kind, message}]. */
  showFlags(events, xOf) {
    if (!this.spec.large || !this.view) return;
    const nodes = [];
    for (const event of events) {
      const at = this.pixel(xOf(event.update));
      if (at === null) continue;
      const flag = el("span", { class: `flag ${event.kind}`, title: `update ${event.update}: ${event.message || event.kind}` });
      flag.style.left = `${at}px`;
      nodes.push(flag);
    }
    this.flags.replaceChildren(...nodes);
  }

  /** What was changed in mid-run: a dashed line with its number at the top, and in words where there is room. */
  showMarks(marks, xOf) {
    if (!this.frame()) return;
    this.marked = marks.map((mark) => ({ ...mark, at: this.pixel(xOf(mark.update)) })).filter(({ at }) => at !== null);
    const box = this.frame();
    const width = ({ label }) => 30 + label.length * (document.body.classList.contains("projector") ? 8.2 : 6.1);
    const sides = this.spec.large ? labelSides(this.marked.map((mark) => ({ at: mark.at, width: width(mark) })), box.left, box.left + box.width) : [];
    this.marks.replaceChildren(...this.marked.map(({ at, number: index, update, label, messages }, place) => {
      const title = `${whenChanged(update)}: ${messages.join(", ")}`;
      const tag = el("span", { class: "edit-tag", title }, String(index), sides[place] ? el("span", { class: "edit-label" }, label) : null);
      const node = el("div", { class: `edit-mark ${sides[place] ?? ""}` }, tag);
      node.style.left = `${at}px`;
      return node;
    }));
  }

  /** Where training stopped paying: {update, low, high} or null. */
  showKnee(knee, xOf) {
    const at = knee && this.frame() ? this.pixel(xOf(knee.update)) : null;
    this.knee.hidden = at === null;
    if (at === null) return;
    this.knee.style.left = `${at}px`;
    this.knee.title = `Knee: from update ${knee.update} on the score hardly rises${knee.low === knee.high ? "" : ` (other prompts would say ${knee.low} to ${knee.high})`}`;
  }

  /** Pixels from the left edge of the stage for an x value; null when outside. */
  pixel(x) {
    const box = this.frame();
    const { start, end } = this.shared.range;
    if (!box || x < start || x > end || !(end > start)) return null;
    return box.left + ((x - start) / (end - start)) * box.width;
  }

  frame() {
    const box = this.view?.frame?.bbox;
    return box && box.width > 0 ? box : null;
  }

  /** A value in words, no finer than the chart can show. */
  told(value) {
    return rounded(value, 10 ** Math.floor(Math.log10(this.spec.span / 100)));
  }

  describe() {
    const last = this.readAt(null);
    const first = this.raw[this.spec.sparse ? this.raw.findIndex((value) => !Number.isNaN(value)) : 0];
    const text = last < 0 ? "no points yet" : `${this.told(first)} at the start, now ${this.told(this.raw[last])} ${this.spec.unit(this.run)}`;
    setAttribute(this.stage, "aria-label", `${this.spec.title}: ${text}`);
  }

  toggle() {
    const on = this.card.classList.toggle("enlarged");
    this.expand.setAttribute("aria-expanded", String(on));
    if (!this.figure) return; // not drawn yet
    this.figure.height = on ? LARGE_HEIGHT + 32 : SMALL_HEIGHT;
    this.ticks(on);
  }

  listen() {
    let from = null;
    const xAt = (event) => {
      const box = this.frame();
      if (!box) return null;
      const { start, end } = this.shared.range;
      const share = (event.clientX - this.stage.getBoundingClientRect().left - box.left) / box.width;
      return start + Math.min(Math.max(share, 0), 1) * (end - start);
    };
    this.stage.addEventListener("pointermove", (event) => {
      const x = xAt(event);
      if (x === null) return;
      this.shared.onHover(x);
      if (from !== null) this.select(from, x);
    });
    this.stage.addEventListener("pointerleave", () => this.shared.onHover(null));
    this.stage.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse" || event.button !== 0) return; // on touch screens a drag scrolls the page
      from = xAt(event);
      this.stage.setPointerCapture(event.pointerId);
    });
    this.stage.addEventListener("pointerup", (event) => {
      const to = xAt(event);
      const box = this.frame();
      const { start, end } = this.shared.range;
      const wide = from !== null && to !== null && box && (Math.abs(to - from) / (end - start)) * box.width > 6;
      const range = wide ? [Math.min(from, to), Math.max(from, to)] : null;
      from = null;
      this.selection.style.visibility = "hidden";
      if (range) this.shared.onZoom(...range);
    });
    this.stage.addEventListener("dblclick", () => this.shared.onReset());
  }

  select(from, to) {
    const [a, b] = [this.pixel(Math.min(from, to)), this.pixel(Math.max(from, to))];
    if (a === null || b === null) return;
    Object.assign(this.selection.style, { visibility: "visible", left: `${a}px`, width: `${b - a}px` });
  }
}
