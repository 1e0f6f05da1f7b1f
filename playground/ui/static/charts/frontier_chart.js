// Score against KL: the chart of the lines that frontier_lines.js makes, over nats or their square roots. How lines are
// drawn and named is lines_chart.js's business.

import { niceStep } from "./arithmetic.js";
import { bokeh } from "./bokeh.js";
import { linesOf } from "./frontier_lines.js";
import { LinesChart } from "./lines_chart.js";
import { buttonOf, cssValue, setAttribute } from "../core/dom.js";

export const SPEC = {
  key: "frontier", span: 1, large: true, title: "Score on the fixed prompts", totalName: "",
  unit: (run) => (run?.unit === "points" ? "points" : "sd"), zero: true,
  note: (run) => `by KL to the reference, nats; bands: 95 %${run?.root ? "; square roots" : ""}`,
  gloss: "Each dot is a look at the fixed prompts: how far the run was from the reference, and what it scored. A path "
    + "that climbs steeply buys much score with little drift.",
  lines: (data, scale) => linesOf(data.runs, scale), words: () => [], total: ([first]) => first,
};

/** A switch between nats and their square roots: {button, rooted, place}. `changed` hears of it. */
export function scaleButton(changed) {
  const scale = {
    rooted: false,
    place: (kl) => (scale.rooted ? Math.sqrt(kl) : kl),
    button: buttonOf("quiet-button", { "aria-pressed": "false",
      title: "Square roots of the KL along the foot: near the reference the best score grows with them",
      onclick: () => {
        scale.rooted = !scale.rooted;
        setAttribute(scale.button, "aria-pressed", String(scale.rooted));
        changed();
      } }, "\u221a scale"),
  };
  return scale;
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
    const { start, end } = this.shared.range;
    const root = this.run?.root;
    const last = root ? end ** 2 : end;
    const wide = this.stage.clientWidth > 480 ? 7 : 4;
    const step = niceStep(last / wide);
    const nats = root ? [0, ...[0.1, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500].filter((value) => value <= last)]
      : Array.from({ length: Math.floor(last / step) + 1 }, (_, at) => Number((at * step).toPrecision(6)));
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

  showFlags() {}
}

function nearestTo(values, x) {
  let best = 0;
  for (let at = 1; at < values.length; at += 1) {
    if (Math.abs(values[at] - x) < Math.abs(values[best] - x)) best = at;
  }
  return best;
}
