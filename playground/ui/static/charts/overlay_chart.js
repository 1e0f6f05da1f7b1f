// One chart with a line for each of several runs: a colour, a dash pattern and a letter for each, so that colour is
// never the only sign. Everything but the lines comes from chart.js.

import { column, nearest, smooth } from "./arithmetic.js";
import { lineGlyphs } from "./bokeh.js";
import { Chart, standing } from "./chart.js";
import { COLOURS, DASHES, LETTERS } from "./specs.js";
import { el, setAttribute, setText } from "../core/dom.js";

const LABEL_HEIGHT = 14;

export class OverlayChart extends Chart {
  constructor(spec, group) {
    super(spec, group);
    this.value.classList.add("overlay-values");
    this.letters = el("div.run-ends");
    this.marks.replaceWith(this.letters);
  }

  glyphs(figure) {
    this.slots = LETTERS.map(() => lineGlyphs(figure, { bandAlpha: this.spec.band ? 0.12 : 0 }));
    figure.min_border_right = 20;
  }

  /** Take the runs: [{metrics, unit, ...}]. */
  update(runs, xColumn, weight) {
    this.run = runs[0];
    this.series = runs.map((run, index) => {
      const raw = column(run.metrics, this.spec.column);
      const [low, high] = (this.spec.band ?? []).map((name) => column(run.metrics, name));
      const look = { colour: COLOURS[index], dash: DASHES[index], ...(low && { low, high }) };
      return { x: column(run.metrics, xColumn), raw, line: smooth(raw, weight), run, ...look };
    });
    setText(this.note, this.spec.note(this.run).split(";")[0]); // what follows in the note is about the band
    this.describe();
    this.repaint();
  }

  paintSeries() {
    this.paint();
    this.fill();
    this.fit();
  }

  /** A letter at the end of each line, none on top of another. */
  placeEnds() {
    this.letters.replaceChildren(...this.ends(LABEL_HEIGHT).map(({ index, left, top }) => {
      const node = standing(left + 4, "span.run-end", LETTERS[index]);
      Object.assign(node.style, { top: `${top}px`, color: `var(${COLOURS[index]}-text)` });
      return node;
    }));
  }

  readOut(x) {
    const unit = this.spec.unit(this.run);
    const values = this.series.map((one, index) => {
      const end = one.x.length - 1;
      const at = x === null ? end : nearest(one.x, x);
      const beyond = x !== null && at > 0 && at === end && x > one.x[at] + (one.x[at] - one.x[at - 1]) / 2;
      const value = at < 0 || beyond ? NaN : one.raw[at];
      const known = !Number.isNaN(value);
      const node = el("span.run-value", { title: known ? String(value) : null }, `${LETTERS[index]} `,
        el("strong", known ? this.told(value) : "\u2013"));
      node.style.color = `var(${COLOURS[index]}-text)`;
      return node;
    });
    this.value.replaceChildren(...values, el("span.muted", unit));
    this.showCross(x);
  }

  describe() {
    const told = this.series.map(({ raw, run }, index) => {
      const values = raw.length
        ? `${this.told(raw[0])} at the start, now ${this.told(raw.at(-1))} ${this.spec.unit(run)}`
        : "no points yet";
      return `${LETTERS[index]}, ${run.title}: ${values}`;
    });
    setAttribute(this.stage, "aria-label", `${this.spec.title}. ${told.join("; ")}`);
  }
}
