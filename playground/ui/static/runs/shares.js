// Above the curves of overlaid runs: each behaviour that all of them have counted, over the looks at the fixed
// prompts, with its 95 % intervals.

import { ChartGroup } from "../charts/chart_group.js";
import { overlaid } from "../charts/line_specs.js";
import { LinesChart } from "../charts/lines_chart.js";
import { el } from "../core/dom.js";
import { capital } from "../core/format.js";

const specOf = ({ name, words }) => ({
  key: `overlay-share-${name}`, span: 20, large: true, title: capital(words), column: "share",
  band: ["low", "high"], unit: () => "%", note: () => "% of the answers to fixed prompts; bands: 95 %", whole: [0, 103],
  gloss: "In how many of the answers to the fixed prompts that are asked for it, at each look. The band is Wilson's "
    + "interval; where two bands lie apart, the runs differ by more than chance.",
});

export class Shares {
  constructor() {
    this.ready = false;
    this.group = new ChartGroup({ draw: () => this.draw() });
    this.made = new Map(); // by the name of the behaviour
    this.shared = [];
    this.grid = el("div.charts-large");
    this.root = el("div.overlay-shares", { hidden: true }, el("h3", "What they do, counted"), this.grid);
  }

  /** Charts can be made from now on: Bokeh is there. */
  prepare() {
    if (this.ready) return;
    this.ready = true;
    this.group.watch(this.grid);
    this.draw();
  }

  /** @param {any[]} runs */
  show(runs) {
    this.runs = runs;
    const [first, ...others] = runs;
    this.shared = (first?.behaviours ?? []).filter(({ name }) => others.every((run) => found(run, name)));
    this.root.hidden = !this.shared.length;
    this.draw();
  }

  draw() {
    if (!this.ready || !this.shared.length) return;
    const charts = this.shared.map((behaviour) => this.chartOf(behaviour));
    const cards = charts.map(({ card }) => card);
    if (cards.length !== this.grid.children.length || cards.some((card, at) => card !== this.grid.children[at]))
      this.grid.replaceChildren(...cards);
    this.group.charts = charts;
    this.group.show([0, Math.max(...this.runs.map((run) => run.num_updates))], (chart) => {
      const runs = this.runs.map((run) => ({ ...run, metrics: found(run, chart.behaviour).looks }));
      chart.follow({ run: runs[0], runs }, "update", 0);
    });
  }

  chartOf(behaviour) {
    const { name } = behaviour;
    if (!this.made.has(name))
      this.made.set(name, Object.assign(new LinesChart(overlaid(specOf(behaviour)), this.group), { behaviour: name }));
    return this.made.get(name);
  }
}

function found(run, name) {
  return run.behaviours?.find((one) => one.name === name);
}
