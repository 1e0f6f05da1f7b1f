// Score against KL: the chart of the lines that frontier_lines.js makes, over nats or their square roots. How lines are
// drawn and named is lines_chart.js's business.

import { roundTicks } from "./arithmetic.js";
import { bokeh } from "./bokeh.js";
import { ChartGroup } from "./chart_group.js";
import { farthest, linesOf } from "./frontier_lines.js";
import { LinesChart } from "./lines_chart.js";
import { scoreUnit } from "./specs.js";
import { buttonOf, cssValue, setPressed } from "../core/dom.js";

const ROOT_TICKS = [0, 0.1, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500];
export const SPEC = {
  key: "frontier", span: 1, large: true, title: "Score on the fixed prompts", totalName: "",
  unit: scoreUnit, zero: true,
  note: (run) => `by KL to the reference, nats; bands: 95 %${run?.root ? "; square roots" : ""}`,
  gloss: "Each dot is a look at the fixed prompts: how far the run was from the reference, and what it scored. A path "
    + "that climbs steeply buys much score with little drift.",
  lines: (data, scale) => linesOf(data.runs, scale), words: () => [], total: ([first]) => first,
};

/** The chart with a switch between nats and their square roots; there is nothing to zoom into. */
export class FrontierPlot {
  constructor(spec = {}) {
    this.spec = { ...SPEC, ...spec };
    this.data = null;
    this.rooted = false;
    this.group = new ChartGroup({ draw: () => this.draw(), canZoom: false });
    this.button = buttonOf("quiet-button", { "aria-pressed": "false",
      title: "Square roots of the KL along the foot: near the reference the best score grows with them",
      onclick: () => {
        this.rooted = !this.rooted;
        setPressed(this.button, this.rooted);
        this.group.forget();
        this.draw();
      } }, "\u221a scale");
  }

  /** Make the chart in a box: BokehJS has come. */
  prepare(box) {
    if (this.group.charts.length) return;
    this.group.add(new FrontierChart(this.spec, this.group), box);
    this.group.watch(box);
    this.draw();
  }

  /** Take {run, runs}, of which the first one has the unit, and `end`, the KL up to which is drawn; null: nothing. */
  show(data, end = data && farthest(data.runs)) {
    this.data = data;
    this.end = end;
    this.draw();
  }

  draw() {
    const [chart] = this.group.charts;
    if (!chart) return;
    chart.card.hidden = !this.data;
    if (!this.data) return;
    this.group.range.end = this.rooted ? Math.sqrt(this.end) : this.end;
    chart.follow({ ...this.data, run: { ...this.data.run, root: this.rooted } }, this.rooted ? "root" : "kl", 0);
  }
}

export class FrontierChart extends LinesChart {
  glyphs(figure) {
    super.glyphs(figure);
    this.looks = new (bokeh().ColumnDataSource)({ data: { x: [], y: [], colour: [] } });
    figure.scatter({ x: { field: "x" }, y: { field: "y" }, size: 6, line_color: null, source: this.looks,
      fill_color: { field: "colour" } });
  }

  /** A path may go back to where it has been. */
  between({ x }) {
    return [0, x.length];
  }

  paintSeries() {
    super.paintSeries();
    const dots = this.series.filter(({ path }) => path);
    this.looks.data = {
      x: dots.flatMap(({ x }) => [...x]), y: dots.flatMap(({ raw }) => [...raw]),
      colour: dots.flatMap(({ x, colour }) => Array.from(x, () => cssValue(colour))),
    };
    this.ticksAt();
  }

  /** Round numbers of nats, wherever the scale puts them. */
  ticksAt() {
    const B = bokeh();
    const { start, end } = this.group.range;
    const root = this.run?.root;
    const nats = root ? ROOT_TICKS.filter((value) => value <= end ** 2)
      : roundTicks(0, end, this.stage.clientWidth > 480 ? 7 : 5);
    const placed = nats.map((value) => (root ? Math.sqrt(value) : value)).filter((value) => value >= start);
    for (const axis of this.figure.xaxes) {
      axis.ticker = new B.FixedTicker({ ticks: placed });
      axis.major_label_overrides = new Map(placed.map((value, at) => [value, String(nats[at])]));
    }
  }

  /** The value of a line where it comes nearest to a place. */
  readOut(x) {
    this.hoverX = x;
    if (!this.series.length) return;
    const values = this.series.map(({ x: xs, raw }) => raw[x === null ? raw.length - 1 : nearestTo(xs, x)] ?? NaN);
    super.readOut(null);
    this.hoverX = x;
    this.placeNames(values);
    this.showCross(x);
  }
}

function nearestTo(values, x) {
  let best = 0;
  for (let at = 1; at < values.length; at += 1) {
    if (Math.abs(values[at] - x) < Math.abs(values[best] - x)) best = at;
  }
  return best;
}
