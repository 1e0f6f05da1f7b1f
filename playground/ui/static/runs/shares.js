// Above the curves of overlaid runs: each behaviour that all of them have counted, over the looks at the fixed
// prompts, with its 95 % intervals.

import { OverlayChart } from "../charts/overlay_chart.js";
import { el } from "../core/dom.js";

const specOf = ({ name, words }) => ({
  key: `overlay-share-${name}`, span: 20, large: true, title: words[0].toUpperCase() + words.slice(1), column: "share",
  band: ["low", "high"], unit: () => "%", note: () => "% of the answers to fixed prompts; bands: 95 %", whole: [0, 103],
  gloss: "In how many of the answers to the fixed prompts that are asked for it, at each look. The band is Wilson's "
    + "interval; where two bands lie apart, the runs differ by more than chance.",
});

export class Shares {
  constructor() {
    this.range = { start: 0, end: 1 };
    this.zoomed = null;
    this.hover = null;
    this.ready = false;
    this.made = new Map(); // by the name of the behaviour
    this.grid = el("div", { class: "charts-large" });
    this.root = el("div", { class: "overlay-shares", hidden: true }, el("h3", {}, "What they do, counted"), this.grid);
  }

  get charts() {
    return [...this.made.values()];
  }

  /** Charts can be made from now on: Bokeh is there. */
  prepare() {
    if (this.ready) return;
    this.ready = true;
    new ResizeObserver(() => this.charts.forEach((chart) => chart.placeEnds())).observe(this.grid);
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
    if (!this.ready || !this.shared?.length) return;
    for (const behaviour of this.shared) {
      if (!this.made.has(behaviour.name)) this.made.set(behaviour.name, this.chart(behaviour));
    }
    const cards = this.shared.map(({ name }) => this.made.get(name).card);
    if (cards.length !== this.grid.children.length || cards.some((card, at) => card !== this.grid.children[at])) {
      this.grid.replaceChildren(...cards);
    }
    const last = Math.max(...this.runs.map((run) => run.num_updates));
    [this.range.start, this.range.end] = this.zoomed ?? [0, last];
    for (const { name } of this.shared) {
      const ways = this.runs.map((run) => ({ ...run, metrics: found(run, name).looks }));
      this.made.get(name).update(ways, "update", 0);
      this.made.get(name).readOut(this.hover);
    }
    requestAnimationFrame(() => this.charts.forEach((chart) => chart.placeEnds()));
  }

  chart(behaviour) {
    return new OverlayChart(specOf(behaviour), {
      range: this.range,
      onHover: (x) => {
        this.hover = x;
        for (const chart of this.charts) chart.readOut(x);
      },
      onZoom: (from, to) => {
        this.zoomed = [from, to];
        this.draw();
      },
      onReset: () => {
        this.zoomed = null;
        for (const chart of this.charts) chart.forget();
        this.draw();
      },
      onSight: (chart) => {
        chart.readOut(this.hover);
        chart.placeEnds();
      },
    });
  }
}

function found(run, name) {
  return run.behaviours?.find((one) => one.name === name);
}
