// Score against KL: the chart of the lines that frontier_lines.js makes. How lines are drawn and named is told by
// lines_chart.js.

import { ChartGroup } from "./chart_group.js";
import { farthest, linesOf } from "./frontier_lines.js";
import { LinesChart } from "./lines_chart.js";
import { scoreUnit } from "./specs.js";

/**
 * @typedef {import("./frontier_lines.js").FrontierRun} FrontierRun
 * @typedef {{ run: Charts.Run, runs: FrontierRun[], ends?: Wire.Sweep["ends"] }} Drawn
 */

/** @type {Charts.Spec} */
export const SPEC = {
  key: "frontier", span: 1, large: true, title: "Score on the fixed prompts", totalName: "",
  unit: scoreUnit, zero: true,
  note: () => "by KL to the reference, nats; bands: 95 %",
  gloss: "Each dot is an evaluation on the fixed prompts: how far the run was from the reference, and its score. A "
    + "steep path buys much score for little distance.",
  lines: (/** @type {Drawn} */ { runs }) => linesOf(runs), words: () => [], total: ([first]) => first,
};

/** The chart in its box; there is nothing to zoom into. */
export class FrontierPlot {
  /** @param {Partial<Charts.Spec>} spec @param {import("./chart_group.js").Opened | null} opened */
  constructor(spec = {}, opened = null) {
    this.spec = { ...SPEC, ...spec };
    this.data = /** @type {Drawn | null} */ (null);
    this.group = new ChartGroup({ draw: () => this.draw(), canZoom: false, opened });
  }

  /** Make the chart in a box. */
  prepare(/** @type {Element} */ box) {
    if (this.group.charts.length) return;
    this.group.add(new FrontierChart(this.spec, this.group), box);
    this.group.watch(box);
    this.draw();
  }

  /**
   * Take {run, runs}, of which the first one has the unit, and `end`, the KL up to which is drawn; null: nothing.
   * @param {Drawn | null} data @param {number} end
   */
  show(data, end = data && farthest(data.runs)) {
    this.data = data;
    this.group.range.end = end ?? 1;
    this.draw();
  }

  draw() {
    const [chart] = /** @type {FrontierChart[]} */ (this.group.charts);
    if (!chart) return;
    chart.card.hidden = !this.data;
    if (this.data) chart.follow(this.data, "kl", 0);
  }
}

class FrontierChart extends LinesChart {
  goesBack = true;

  /** A path may go back to where it has been. @param {Charts.Series} line @returns {[number, number]} */
  between({ x }) {
    return [0, x.length];
  }

  /** @param {Charts.Series} line */
  drawnLine(line) {
    return { ...super.drawnLine(line), dots: line.path ? 6 : 0 };
  }

  /** The value of a line where it comes nearest to a place. */
  readOut(/** @type {number | null} */ x) {
    this.hoverX = x;
    if (!this.series.length) return;
    const values = this.series.map(({ x: xs, raw }) => raw[x === null ? raw.length - 1 : nearestTo(xs, x)] ?? NaN);
    super.readOut(null);
    this.hoverX = x;
    this.placeNames(values);
    this.showCross(x);
  }
}

function nearestTo(/** @type {Float64Array} */ values, /** @type {number} */ x) {
  let best = 0;
  for (let at = 1; at < values.length; at += 1) {
    if (Math.abs(values[at] - x) < Math.abs(values[best] - x)) best = at;
  }
  return best;
}
