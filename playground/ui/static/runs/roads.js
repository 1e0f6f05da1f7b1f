// Beside the curves of overlaid runs: what each had gained at each distance from the reference, how they compare where
// all of them have been, and what they cost. Different methods, or the same with other settings.

import { OverlayChart } from "../charts/overlay_chart.js";
import { LETTERS } from "../charts/specs.js";
import { el, headOf, setWords, showParts } from "../core/dom.js";
import { duration, gainOf, number, rounded, signed } from "../core/format.js";

const SPEC = {
  key: "overlay-road", span: 1, large: true, title: "Gain at a distance", column: "gain", colour: "--pg-score",
  unit: (run) => (run?.unit === "points" ? "points" : "sd"),
  note: () => "fixed prompts, by KL in nats", zero: true,
  gloss: "How much the fixed prompts had gained when the run was so many nats from the reference. Higher is a "
    + "better buy.",
};

export class Roads {
  constructor() {
    this.range = { start: 0, end: 1 };
    this.hover = null;
    this.chart = null;
    this.sentence = el("p", { class: "muted" });
    this.plot = el("div", { class: "road-plot" });
    this.table = el("div", { class: "numbers", tabindex: "0", role: "region",
      "aria-label": "Gain and cost of each run" });
    this.root = el("div", { class: "overlay-roads", hidden: true },
      el("h3", {}, "What each run got for its drift, and what it cost"), this.sentence,
      el("div", { class: "road-parts" }, this.plot, this.table));
  }

  /** Make the chart, once Bokeh is there. */
  prepare() {
    if (this.chart) return;
    const zoom = (from, to) => {
      this.zoomed = [from, to];
      this.draw();
    };
    this.chart = new OverlayChart(SPEC, {
      range: this.range,
      onHover: (x) => {
        this.hover = x;
        this.chart.readOut(x);
      },
      onZoom: zoom,
      onReset: () => {
        this.zoomed = null;
        this.chart.forget();
        this.draw();
      },
      onSight: (chart) => {
        chart.readOut(this.hover);
        chart.placeEnds();
      },
    });
    this.plot.append(this.chart.card);
    new ResizeObserver(() => this.chart.placeEnds()).observe(this.plot);
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
    const ways = this.data.runs.map((run) => ({ ...run, metrics: run.looks }));
    const farthest = Math.max(...ways.flatMap((run) => run.looks.kl), 0.1);
    [this.range.start, this.range.end] = this.zoomed ?? [0, farthest * 1.05];
    this.chart.update(ways, "kl", 0);
    this.chart.readOut(this.hover);
    requestAnimationFrame(() => this.chart.placeEnds());
  }
}

function sentenceOf({ reached, scores_differ: differ }) {
  if (differ) return "Their scores are not one measure, so no gain here is more or less than another.";
  if (reached === null) return "One of them has not moved away from the reference yet, so there is nothing to compare.";
  return `All of them have been ${rounded(reached)} nats away; what each had gained there is read off between two `
    + "looks at the fixed prompts.";
}

function table({ runs, reached }) {
  const sure = (half) => (half ? ` \u00b1 ${rounded(half)}` : "");
  const gain = (look) => (look ? `${signed(look.gain)}${sure(look.half)}` : "\u2013");
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
