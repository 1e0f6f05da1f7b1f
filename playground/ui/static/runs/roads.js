// Beside the curves of overlaid runs: what each had gained at each distance from the reference, how they compare where
// all of them have been, and what they cost. Different methods, or the same with other settings.

import { FrontierChart, scaleButton, SPEC } from "../charts/frontier_chart.js";
import { farthest } from "../charts/frontier_lines.js";
import { LETTERS } from "../charts/specs.js";
import { el, headOf, setWords, showParts } from "../core/dom.js";
import { duration, gainOf, number, rounded, withHalf } from "../core/format.js";

export class Roads {
  constructor() {
    this.range = { start: 0, end: 1 };
    this.chart = null;
    this.scale = scaleButton(() => {
      this.chart?.forget();
      this.draw();
    });
    this.sentence = el("p", { class: "muted" });
    this.plot = el("div", { class: "road-plot" });
    this.table = el("div", { class: "numbers", tabindex: "0", role: "region",
      "aria-label": "Gain and cost of each run" });
    this.root = el("div", { class: "overlay-roads", hidden: true },
      el("div", { class: "chart-bar" }, el("h3", {}, "What each run got for its drift, and what it cost"),
        el("span", { class: "grow" }), this.scale.button), this.sentence,
      el("div", { class: "road-parts" }, this.plot, this.table));
  }

  /** Make the chart, once Bokeh is there. */
  prepare() {
    if (this.chart) return;
    this.chart = new FrontierChart({ ...SPEC, key: "overlay-frontier" }, {
      range: this.range, onHover: (x) => this.chart.readOut(x), onZoom: () => {}, onReset: () => {},
      onSight: (chart) => chart.readOut(null),
    });
    this.plot.append(this.chart.card);
    new ResizeObserver(() => this.chart.readOut(null)).observe(this.plot);
    this.draw();
  }

  /** @param {{runs: any[], reached: number | null, scores_differ: string}} data */
  show(data) {
    this.data = data;
    const known = data.runs.filter((run) => run.end);
    this.root.hidden = data.runs.length < 2 || !known.length;
    if (this.root.hidden) return;
    setWords(this.sentence, sentenceOf(data));
    showParts(this.table, [table(data)]);
    this.draw();
  }

  draw() {
    if (!this.chart || this.root.hidden) return;
    const { runs, scores_differ: differ } = this.data;
    const { rooted } = this.scale;
    const shown = differ ? runs.map((run) => ({ ...run, possible: null })) : runs;
    this.range.end = this.scale.place(farthest(shown));
    this.chart.follow({ run: { ...runs[0], root: rooted }, runs: shown }, rooted ? "root" : "kl", 0);
  }
}

function sentenceOf({ reached, scores_differ: differ }) {
  if (differ) return "Their scores are not one measure, so no gain here is more or less than another.";
  if (reached === null) return "One of them has not moved away from the reference yet, so there is nothing to compare.";
  return `All of them have been ${rounded(reached)} nats away; what each had gained there is read off between two `
    + "looks at the fixed prompts.";
}

function table({ runs, reached }) {
  const gain = (look) => (look ? withHalf(look.gain, look.half || null, { sign: true }) : "\u2013");
  /** @type {[string, (run: any) => string][]} */
  const rows = [
    ["Method", (run) => run.method],
    ["Gain at the last look", ({ end }) => (end ? gainOf(end) : "\u2013")],
    ["KL at the last look, nats", ({ end }) => (end ? rounded(end.kl) : "\u2013")],
    [reached === null ? "" : `Gain at ${rounded(reached)} nats`, (run) => gain(run.there)],
    ["Texts written to learn from", ({ bill }) => number(bill.texts)],
    ["Tokens written", ({ bill }) => number(bill.tokens)],
    ["Tokens trained on", ({ bill }) => number(bill.tokens_trained)],
    ["Time", ({ bill }) => (bill.seconds ? duration(bill.seconds) : "none")],
    ["Arithmetic", ({ bill }) => bill.operations],
    ["Memory at most", ({ bill }) => (bill.memory_gb === null ? "\u2013" : `${rounded(bill.memory_gb, 0.01)} GB`)],
    ["Texts written for each answer", ({ bill }) => number(bill.answers)],
  ];
  return el("table", {},
    el("thead", {}, el("tr", {}, headOf(""),
      runs.map((run, index) => el("th", { scope: "col", title: run.title }, LETTERS[index])))),
    el("tbody", {}, rows.filter(([label]) => label).map(([label, of]) => el("tr", {}, el("th", { scope: "row" }, label),
      runs.map((run) => el("td", {}, run.bill ? of(run) : "\u2013"))))));
}
