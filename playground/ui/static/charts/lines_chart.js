// One chart with a line for each reward, judge or run, each named at its end and with its value at the cursor. What the
// lines are, and what they say in words, comes from the spec (line_specs.js); everything else from chart.js.

import { nearest } from "./arithmetic.js";
import { Chart, lastKnown, standing } from "./chart.js";
import { describeCursor } from "./pointing.js";
import { el, setAttribute, setText, showParts, signOf } from "../core/dom.js";
import { signed } from "../core/format.js";
import { live } from "../core/store.js";

const MOST_LINES = 12;
const LABEL_HEIGHT = 15;
const [LEAST_ROOM, MOST_ROOM] = [104, 210]; // pixels kept free at the right for the names

export class LinesChart extends Chart {
  /** @param {Charts.Spec} spec @param {import("./chart_group.js").ChartGroup} group */
  constructor(spec, group) {
    super(spec, group);
    this.hoverX = /** @type {number | null} */ (null);
    this.names = el("div.line-names");
    this.stage.append(this.names);
    this.words = el("ul.chart-words", { "aria-live": "polite" });
    this.card.append(this.words);
    this.card.hidden = true;
  }

  setRoom() {
    super.setRoom();
    this.room = this.spec.room ?? Math.min(MOST_ROOM, Math.max(LEAST_ROOM, 0.28 * this.stage.clientWidth));
    this.plot.room.right = this.room;
  }

  /**
   * Take what there is to draw of a run: `data` is what the store holds; hidden without lines.
   * @param {{ run?: Charts.Run }} data @param {string} xColumn @param {number} weight
   */
  follow(data, xColumn, weight) {
    this.run = data.run;
    this.series = this.spec.lines(data, xColumn, weight).slice(0, MOST_LINES);
    this.card.hidden = !this.series.length;
    if (!this.series.length) return;
    setText(this.note, this.spec.note(this.run));
    showParts(this.words, this.spec.words(data).map(({ text, turned }) =>
      el("li", { class: turned ? "turned" : null }, turned ? signOf("! ") : null, text)));
    this.describe();
    this.repaint();
  }

  drawSeries() {
    this.fitY();
    if (!this.yBounds) return;
    this.plot.draw({ range: this.group.range, bounds: this.yBounds, zero: Boolean(this.spec.zero),
      lines: this.series.map((line) => this.drawnLine(line)), gap: this.spec.gap?.(this.series) });
    requestAnimationFrame(() => {
      this.readOut(this.hoverX);
      this.placeTurns();
    });
  }

  /** @param {Charts.Series} line @returns {import("./plot.js").DrawnLine} */
  drawnLine(line) {
    return { ...this.drawnPart(line), band: line.low ? 0.13 : 0, raw_line: 0.22 };
  }

  readOut(/** @type {number | null} */ x) {
    this.hoverX = x;
    if (!this.series.length) return;
    const values = this.series.map((one) => valueAt(one, x));
    const { total, totalName } = this.spec;
    const sum = total?.(values, this.series);
    const unit = this.spec.unit(this.run);
    setText(this.value, !total ? unit : Number.isNaN(sum) ? "\u2013" : `${totalName}${signed(sum)} ${unit}`);
    this.placeNames(values);
    this.showCross(x);
  }

  placeEnds() {
    this.readOut(this.hoverX);
  }

  /** A value in words: of lines that are changes with its sign. */
  said(/** @type {number} */ value) {
    return Number.isNaN(value) ? "\u2013" : this.spec.plain ? this.inWords(value) : signed(value);
  }

  /** Value and name of each line at its end, none on top of another. */
  placeNames(/** @type {number[]} */ values) {
    const ends = this.ends(LABEL_HEIGHT);
    if (!ends.length) return;
    const { left, width } = this.frame();
    const right = left + width;
    this.names.replaceChildren(...ends.map(({ index, left: at, top }) => {
      const { label, colour, told, title = label } = this.series[index];
      const value = told ?? this.said(values[index]);
      const node = el("span.line-name", { title: `${title}: ${value} ${this.spec.unit(this.run)}` },
        el("strong", value), ` ${label}`);
      const start = Math.min(at, right) + 6;
      node.style.cssText = `left: ${start}px; top: ${top}px; color: var(${colour}-text);`
        + `max-width: ${right + this.room - start - 2}px`;
      return node;
    }));
  }

  /** What was changed in mid-run is marked on the other charts. */
  showMarks() {}

  /** Where a judge turned down is marked on the axis. @param {unknown} _ @param {import("./chart.js").XOf} xOf */
  showFlags(_, xOf) {
    this.xOf = xOf;
    this.placeTurns();
  }

  placeTurns() {
    if (!this.frame() || !this.xOf) return;
    const turns = this.placed(this.spec.turns?.(live) ?? [], this.xOf);
    this.marks.replaceChildren(...turns.map(({ label, update, at }) => standing(at, "div.turn-mark", {
      title: `${label} turned down ${update ? `after update ${update}` : "from the start"}` })));
  }

  describe() {
    const { plain, title: what } = this.spec;
    const told = this.series.map(({ label, title, raw }) => {
      const last = this.said(raw[lastKnown(raw)] ?? NaN);
      return plain ? `${title}: ${this.said(raw[0] ?? NaN)} at the start, now ${last}` : `${label} ${last}`;
    });
    setAttribute(this.stage, "aria-label",
      `${what}, in ${this.spec.unit(this.run)}: ${told.join(plain ? "; " : ", ")}`);
    describeCursor(this);
  }
}

/** What a line has at a place, or last; nothing where it ended well before. */
function valueAt(/** @type {Charts.Series} */ { x: xs, raw }, /** @type {number | null} */ x) {
  const end = xs.length - 1;
  const at = x === null ? lastKnown(raw) : nearest(xs, x);
  const beyond = x !== null && at > 0 && at === end && x > xs[at] + (xs[at] - xs[at - 1]) / 2;
  return at < 0 || beyond ? NaN : raw[at];
}
