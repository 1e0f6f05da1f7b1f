// One chart: a card with title, current value, and a drawing (plot.js) with crosshair, zoom and marks above it.
//
// Pointer, crosshair, flags and marks are plain elements, so moving the mouse draws nothing anew. What is drawn are
// `series`: [{x, raw, line, low, high, colour, dash, width}], one of them here. lines_chart.js has several: it replaces
// what makes them and what shows numbers.

import { ALL_OF_ONE, column, drawnIndices, extent, nearest, niceRange, smooth, spreadLabels, whenChanged, widened,
} from "./arithmetic.js";
import { Plot } from "./plot.js";
import { describeCursor, listen, placeCursor } from "./pointing.js";
import { buttonOf, el, helpOf, setAttribute, setText } from "../core/dom.js";
import { exact, number, rounded, signed } from "../core/format.js";
import { ghost } from "../core/in_lesson.js";
import { hasEnded, live } from "../core/store.js";

/** @typedef {(update: number) => number} XOf where an update lies along the foot */

const DOTS_UP_TO = 120; // beyond this the raw values are a faint line
const DOTS = "Each dot is one update; the line smooths them.";
const PLATEAU_ROOM = 70; // pixels that its name needs
const PRESENTED_TICKS = { xTicks: 4, yTicks: 3 }; // their numbers are large

export class Chart {
  /** @param {Charts.Spec} spec @param {import("./chart_group.js").ChartGroup} group */
  constructor(spec, group) {
    this.spec = spec;
    this.group = group;
    this.yBounds = /** @type {number[] | null} */ (null);
    /** @type {Charts.Series[]} */
    this.series = [];
    this.value = el("span.chart-value");
    this.detail = el("span.chart-detail");
    this.note = el("span.chart-note", spec.note(null));
    this.cross = el("div.cross");
    this.selection = el("div.selection");
    this.flags = el("div.flags");
    this.marks = el("div.edit-marks");
    this.inSight = false;
    this.canvas = el("div.canvas");
    this.plot = new Plot(this.canvas);
    this.stage = el("div.stage", { role: "img", "aria-label": spec.title },
      this.canvas, this.selection, this.marks, this.cross, this.flags);
    this.expand = spec.large ? null : buttonOf("icon-button expand", { "aria-expanded": "false",
      "aria-label": `Enlarge ${spec.title}`, title: "Enlarge", onclick: () => this.toggle() }, "\u2922");
    const help = helpOf(spec.title, spec.large ? `${spec.gloss} ${DOTS}` : spec.gloss);
    this.card = el("section", { class: `chart ${spec.large ? "large" : "small"}`, "data-chart": spec.key },
      el("div.chart-head", el("h3", { tabindex: "-1" }, spec.title), spec.first ? [help, this.detail] : null,
        this.value, this.expand),
      spec.first ? null : el("div.chart-sub", el("span.chart-about", this.note, help), this.detail),
      el("div.plot", this.stage));
    this.cursor = /** @type {Charts.Point | null} */ (null); // the point that is read
    this.dot = /** @type {HTMLElement | null} */ (null); // that is there, if its points can be opened
    this.dragged = false;
    this.goesBack = false; // its lines may
    listen(this);
    new IntersectionObserver((entries) => this.sighted(entries.at(-1).isIntersecting)).observe(this.stage);
    new ResizeObserver(() => this.look()).observe(this.stage);
  }

  /**
   * Nothing is painted where nobody sees it: painting all charts of a run that goes on takes more of the processor than
   * everything else on the page, and the model may be training on the same one.
   */
  sighted(/** @type {boolean} */ inSight) {
    this.inSight = inSight;
    if (inSight) this.look();
  }

  /** Draw it for its size, and for light or presentation: at the start, and when they change. */
  look() {
    this.setRoom();
    this.repaint();
    this.group.seen(this);
  }

  /** How much room the numbers at the axes take, and how many there are. */
  setRoom() {
    const large = this.spec.large || this.enlarged();
    const presented = isPresented() ? presentedLetters() : 0;
    const letters = presented || (document.body.classList.contains("projector") ? 15 : 11);
    this.plot.room = { ...this.plot.room, letters, left: Math.max(large ? 40 : 34, 2.4 * presented),
      bottom: Math.max(18, 1.4 * presented), ...(large && !presented ? { xTicks: 7, yTicks: 5 } : PRESENTED_TICKS) };
  }

  /**
   * First index of a line in view, and the one after the last, with one more on either side.
   * @param {Charts.Series} line @returns {[number, number]}
   */
  between({ x }) {
    const { start, end } = this.group.range;
    let from = 0;
    let to = x.length;
    while (from < to && x[from] < start) from += 1;
    while (to > from && x[to - 1] > end) to -= 1;
    return [Math.max(from - 1, 0), Math.min(to + 1, x.length)];
  }

  /**
   * Take columns: x by mode, values smoothed by weight.
   * @param {Charts.Columns} columns @param {string} xColumn @param {number} weight @param {Charts.Run} run
   */
  update(columns, xColumn, weight, run) {
    const { spec } = this;
    const raw = column(columns, spec.column);
    const band = (spec.band ?? []).map((name) => column(columns, name));
    const [low, high] = band.map((values) => smooth(values, weight));
    const line = smooth(raw, spec.exact ? 0 : weight);
    this.series = [{ x: column(columns, xColumn), raw, line, low: low ?? raw, high: high ?? raw, band,
      updates: columns.update }, ...this.ghosts(xColumn, weight)];
    this.run = run;
    this.describe();
    this.repaint();
  }

  /**
   * The lesson's first run, a grey line behind a visitor's own.
   * @param {string} xColumn @param {number} weight @returns {Charts.Series[]}
   */
  ghosts(xColumn, weight) {
    const { value: columns } = ghost;
    if (!columns || !this.spec.large) return [];
    const line = smooth(column(columns, this.spec.column), weight);
    return [{ x: column(columns, xColumn), raw: line, line, colour: "--pg-muted", dash: [], width: 1.5 }];
  }

  /** Draw what was taken last, if anybody sees it. */
  repaint() {
    if (!this.inSight || !this.series.length || !this.plot.frame) return;
    this.drawSeries();
    this.stage.dataset.drawn = "yes"; // for who waits until there are curves
  }

  drawSeries() {
    const { band, large, colour, zero } = this.spec;
    const [own, ...behind] = this.series.map((line) => this.drawnPart(line));
    const hasDots = own.x.length <= DOTS_UP_TO;
    const size = own.x.length < 8 ? 6 : large ? 4 : 3;
    const guide = this.spec.guide?.(this.run, live) ?? null;
    this.fitY(guide);
    if (!this.yBounds) {
      this.plot.clear(); // what stands there is another run's
      return;
    }
    const first = { ...own, colour, width: large ? 2.25 : 1.75, band: band ? 0.16 : 0, raw_line: hasDots ? 0 : 0.28,
      dots: hasDots ? size : 0, dot_opacity: 0.35 };
    this.plot.draw({ range: this.group.range, bounds: this.yBounds, zero: Boolean(zero), level: guide?.value ?? null,
      colour, lines: [first, ...behind] });
  }

  /** What is in view of a line, no more points than can be seen. @param {Charts.Series} series */
  drawnPart(series) {
    const { x, raw, line, low = line, high = line, colour = this.spec.colour, dash, width = 2.25 } = series;
    const all = drawnIndices(raw, ...this.between(series), this.stage.clientWidth);
    // what was measured at some updates only is drawn through the gaps
    const drawn = this.spec.sparse ? all.filter((at) => !Number.isNaN(raw[at])) : all;
    const pick = (/** @type {ArrayLike<number>} */ values) => Float64Array.from(drawn, (at) => values[at]);
    return { x: pick(x), raw: pick(raw), line: pick(line), low: pick(low), high: pick(high), colour, dash, width };
  }

  /** Fit the y range to what is in view; a range that still fits stays. */
  fitY(/** @type {Charts.Guide | null} */ guide = null) {
    const { span, floor, zero, whole } = this.spec;
    const inView = extent(this.series.flatMap((one) =>
      [one.raw, one.low ?? one.raw, one.high ?? one.raw].map((values) => values.subarray(...this.between(one)))));
    if (!inView) return;
    const found = widened(inView, span, floor);
    if (guide) found[1] = Math.max(found[1], guide.value);
    if (floor && found[0] > -0.02 * found[1]) found[0] = 0; // a hair below 0 needs no room of its own
    if (zero) {
      found[0] = Math.min(found[0], 0);
      found[1] = Math.max(found[1], 0);
    }
    const shares = inView[0] >= 0 && inView[1] <= 1 && this.spec.unit(this.run) === "points"; // of one point each
    this.yBounds = whole ?? (shares ? ALL_OF_ONE : niceRange(found, this.yBounds));
    if (floor && found[0] >= 0) this.yBounds = [0, this.yBounds[1]];
  }

  /** Forget the y range: another run. */
  forget() {
    this.yBounds = null;
  }

  /** Show the numbers at x, or the newest ones when x is null. */
  readOut(/** @type {number | null} */ x) {
    const [{ x: xs, raw, band, updates }] = this.series;
    const index = this.readAt(x);
    const unit = this.spec.unit(this.run);
    const fixed = x === null ? testedOf(this.spec) : null;
    const value = fixed ? fixed.value : index < 0 ? NaN : raw[index];
    const words = fixed?.gain ? signed(value) : this.inWords(value);
    setText(this.value, Number.isNaN(value) ? "\u2013" : `${words}${unit ? ` ${unit}` : ""}`);
    let detail = "";
    const batch = this.spec.tested ? "this batch" : "";
    const guide = this.spec.guide?.(this.run, live);
    const [low, high] = band.map((values) => values[index]);
    const remark = this.spec.remark?.(value, low, high);
    setText(this.note, remark || this.spec.note(this.run));
    if (fixed) detail = fixed.words;
    else if (this.spec.first && remark) detail = remark;
    else if (index >= 0 && band.length) detail = [...new Set([low, high].map((end) => this.inWords(end)))].join(" to ");
    else if (guide) detail = `${guide.label} ${number(guide.value)}`;
    if (index >= 0 && x !== null) detail = `update ${updates[index]}`;
    setText(this.detail, [fixed || index < 0 ? "" : batch, detail].filter(Boolean).join(", "));
    this.showCross(index < 0 || x === null ? null : xs[index]);
    this.value.title = Number.isNaN(value) ? "" : exact(value);
  }

  showCross(/** @type {number | null} */ x) {
    this.crossAt = x;
    this.placeCross();
  }

  placeCross() {
    const at = (this.crossAt ?? null) === null ? null : this.pixel(this.crossAt);
    this.cross.style.visibility = at === null ? "hidden" : "visible";
    if (at !== null) this.cross.style.transform = `translateX(${at}px)`;
    placeCursor(this);
  }

  /** Index of the point at x, or of the newest when x is null; where only some are known, of the nearest known one. */
  readAt(/** @type {number | null} */ x) {
    const [{ x: xs, raw }] = this.series;
    if (!this.spec.sparse) return x === null ? xs.length - 1 : nearest(xs, x);
    const known = [...raw.keys()].filter((index) => !Number.isNaN(raw[index]));
    if (!known.length) return -1;
    return x === null ? known.at(-1) : known[nearest(known.map((index) => xs[index]), x)];
  }

  /** Small flags on the axis. @param {Charts.Flag[]} events @param {XOf} xOf */
  showFlags(events, xOf) {
    if (!this.frame()) return;
    this.flags.replaceChildren(...this.placed(events, xOf).map(({ at, update, kind, message }) =>
      standing(at, "span", { class: `flag ${kind}`, title: `update ${update}: ${message || kind}` })));
  }

  /**
   * What was changed in mid-run: a dashed line with its number, which the list below the charts explains.
   * @param {Charts.Mark[]} marks @param {XOf} xOf
   */
  showMarks(marks, xOf) {
    if (!this.frame()) return;
    this.marks.replaceChildren(...this.placed(marks, xOf).map(({ at, number: index, update, messages }) => {
      const title = `${whenChanged(update)}: ${messages.join(", ")}`;
      return standing(at, "div.edit-mark", el("span.edit-tag", { title }, String(index)));
    }));
  }

  /**
   * After which update there was hardly anything left to gain.
   * @param {{ update: number, sentence: string } | null} plateau @param {XOf} xOf
   */
  showPlateau(plateau, xOf) {
    const at = plateau && this.frame() ? this.pixel(xOf(plateau.update)) : null;
    if (this.plateau) this.plateau.hidden = at === null;
    if (at === null) return;
    if (!this.plateau) this.addPlateau();
    this.plateau.style.left = `${at}px`;
    this.plateau.classList.toggle("left", at > this.stage.clientWidth - PLATEAU_ROOM);
    this.plateauName.title = plateau.sentence; // which also stands in what came of the run
  }

  /** Beside the stage, which is a picture and has no buttons. */
  addPlateau() {
    this.plateauName = el("span.plateau-name", "plateau");
    this.plateau = el("div.plateau", this.plateauName);
    this.stage.after(this.plateau);
  }

  /**
   * Of what happened at an update, what is in view, with its place.
   * @template {{ update: number }} I @param {I[]} items @param {XOf} xOf
   */
  placed(items, xOf) {
    return items.map((item) => ({ ...item, at: this.pixel(xOf(item.update)) })).filter(({ at }) => at !== null);
  }

  /** Pixels from the left edge of the stage for an x value; null when outside. */
  pixel(/** @type {number} */ x) {
    const box = this.frame();
    const { start, end } = this.group.range;
    if (!box || x < start || x > end || !(end > start)) return null;
    return box.left + ((x - start) / (end - start)) * box.width;
  }

  /** Pixels from the top edge of the stage for a y value. */
  height(/** @type {number} */ y) {
    const { top, height } = this.frame();
    const [low, high] = this.yBounds;
    return top + ((high - y) / (high - low)) * height;
  }

  /** Where each line ends, as far as it is in view: {index, left, top}, none within `height` pixels of another. */
  ends(/** @type {number} */ height) {
    const box = this.frame();
    if (!box || !this.yBounds) return [];
    const ends = this.series.map(({ x, line }, index) => {
      const last = line.findLastIndex((value, at) => !Number.isNaN(value) && this.pixel(x[at]) !== null);
      return { index, last, left: this.pixel(x[last]), top: this.height(line[last]) };
    }).filter(({ last }) => last >= 0);
    const tops = spreadLabels(ends.map(({ top }) => top), height, box.top, box.top + box.height);
    return ends.map((end, place) => ({ ...end, top: tops[place] }));
  }

  /** Where its lines are drawn; null where it has no size. */
  frame() {
    return this.plot.frame;
  }

  /** A value in words, no finer than the chart can show. */
  inWords(/** @type {number} */ value) {
    return rounded(value, 10 ** Math.floor(Math.log10(this.spec.span / 100)));
  }

  describe() {
    const [{ raw }] = this.series;
    const last = this.readAt(null);
    const first = raw[this.spec.sparse ? raw.findIndex((value) => !Number.isNaN(value)) : 0];
    const text = last < 0 ? "no points"
      : `${this.inWords(first)} at the start, now ${this.inWords(raw[last])} ${this.spec.unit(this.run)}`;
    setAttribute(this.stage, "aria-label", `${this.spec.title}: ${text}`);
    describeCursor(this);
  }

  /** A value as it is read at the cursor. */
  said(/** @type {number} */ value) {
    return this.inWords(value);
  }

  enlarged() {
    return this.card.classList.contains("enlarged");
  }

  toggle() {
    const on = this.card.classList.toggle("enlarged");
    this.expand.setAttribute("aria-expanded", String(on));
    this.card.scrollIntoView({ block: "nearest" });
    this.look();
  }
}

/** Whether the page is shown to a room: its letters have the size of the page's text, so that the window decides. */
function isPresented() {
  return document.body.classList.contains("presentation");
}

/** The size of those letters, in pixels. */
function presentedLetters() {
  return Math.ceil(parseFloat(getComputedStyle(document.querySelector(".run-view")).fontSize));
}

/**
 * What the answers to the fixed prompts came to at the newest evaluation, by which a run is known wherever it is told:
 * the gain, or the distance. Null before there are two evaluations.
 * @param {Charts.Spec} spec
 */
function testedOf({ tested }) {
  if (!tested || live.updates.length < 2) return null;
  const update = live.updates.at(-1);
  const [was, is] = [0, update].map((at) => live.moments.get(at)?.summary[tested] ?? null);
  if (was === null || is === null) return null;
  const gain = tested === "score";
  const moves = tested === "kl" && live.metrics.kl_to_first?.some((value) => value !== null);
  const words = [gain ? "gain" : "", "fixed prompts", moves ? "first reference" : "",
    hasEnded.value ? "" : `update ${update}`];
  return { gain, value: gain ? is - was : is, words: words.filter(Boolean).join(", ") };
}

/**
 * An element at a place, in pixels from the left.
 * @param {number} at @param {string} what @param {(string | Node | Record<string, unknown>)[]} rest
 */
export function standing(at, what, ...rest) {
  const node = el(what, ...rest);
  node.style.left = `${at}px`;
  return node;
}

/** Index of the last value that is known; -1 without any. */
export function lastKnown(/** @type {Float64Array} */ values) {
  return values.findLastIndex((value) => !Number.isNaN(value));
}
