// Beside the curves of overlaid runs: what each had gained at each distance from the reference, how they compare where
// all of them have been, and what they cost. Different methods, or the same with other settings.

import { FrontierPlot } from "../charts/frontier_chart.js";
import { LETTERS } from "../charts/specs.js";
import { el, setWords, showParts, tableOf } from "../core/dom.js";
import { openUpdateOf } from "../inside/rollout.js";
import { duration, gainOf, number, rounded, withHalf } from "../core/format.js";

/** @param {Wire.Overlaid} run @returns {Wire.Overlaid} */
const withoutPossible = (run) => ({ ...run, possible: null });

export class Methods {
  constructor() {
    this.chart = new FrontierPlot({ key: "overlay-frontier" }, openUpdateOf);
    this.sentence = el("p.muted");
    this.plot = el("div.method-plot");
    this.table = el("div.numbers", { tabindex: "0", role: "region", "aria-label": "Gain and cost of each run" });
    this.root = el("div.overlay-methods", { hidden: true },
      el("div.chart-bar", el("h3", "Gain against distance, and cost")), this.sentence,
      el("div.method-parts", this.plot, this.table));
  }

  /** Make the chart. */
  prepare() {
    this.chart.prepare(this.plot);
  }

  /** @param {Wire.Overlay} data */
  show(data) {
    const { runs, scores_differ: differ } = data;
    this.root.hidden = runs.length < 2 || !runs.some((run) => run.end);
    if (this.root.hidden) return;
    setWords(this.sentence, sentenceOf(data));
    showParts(this.table, [table(data)]);
    this.chart.show({ run: runs[0], runs: differ ? runs.map(withoutPossible) : runs });
  }
}

function sentenceOf(/** @type {Wire.Overlay} */ { reached, scores_differ: differ }) {
  if (differ) return "Their scores are measured differently, so their gains cannot be compared.";
  if (reached === null) return "One of them has not moved from the reference yet, so there is nothing to compare.";
  return `All of them reached a distance of ${rounded(reached)} nats. The gain of each there is interpolated between `
    + "two evaluations. A run that only passed there was still learning: one that ends there, with a tighter leash, "
    + "usually has more.";
}

function table(/** @type {Wire.Overlay} */ { runs, reached, scores_differ: differ }) {
  const gain = (/** @type {Wire.PathPoint | null} */ look) => (look
    ? withHalf(look.gain, look.gain_half || null, { sign: true }) : "\u2013");
  /** @type {[string, (run: Wire.Overlaid) => string][]} */
  const rows = [
    ["Method", (run) => run.method],
    ["Gain at the last evaluation", ({ end }) => (end ? gainOf(end) : "\u2013")],
    ["Distance (KL) at the last evaluation, nats", ({ end }) => (end ? rounded(end.kl) : "\u2013")],
    [reached === null || differ ? "" : `Gain at ${rounded(reached)} nats`, (run) => gain(run.there)],
    ["Training texts", ({ bill }) => number(bill.texts)],
    ["Tokens written", ({ bill }) => number(bill.tokens)],
    ["Tokens trained on", ({ bill }) => number(bill.tokens_trained)],
    ["Time", ({ bill }) => (bill.seconds ? duration(bill.seconds) : "none")],
    ["Compute", ({ bill }) => bill.operations],
    ["Peak memory", ({ bill }) => (bill.memory_gb === null ? "\u2013" : `${rounded(bill.memory_gb, 0.01)} GB`)],
    ["Texts per answer", ({ bill }) => number(bill.answers)],
  ];
  return tableOf("", ["", ...runs.map((run, index) => lettered(run, index))],
    rows.filter(([label]) => label).map(([label, of]) => [el("th", { scope: "row" }, label),
      ...runs.map((run) => el("td", run.bill ? of(run) : "\u2013"))]));
}

/** The head of the column of a run. */
export function lettered(/** @type {{ title: string }} */ { title }, /** @type {number} */ index) {
  return el("th", { scope: "col", title }, LETTERS[index]);
}
