// Score against KL: the looks of one or several runs as paths, the best of n of the reference, the best policies, and
// the slope of the leash at a run's end. What the lines are is computed here from what the server tells
// (ui/live/wire_frontier.py); how lines are drawn and named is lines_chart.js's business.

import { niceStep } from "./arithmetic.js";
import { bokeh } from "./bokeh.js";
import { LinesChart } from "./lines_chart.js";
import { COLOURS, DASHES, LETTERS } from "./specs.js";
import { buttonOf, cssValue, setAttribute } from "../core/dom.js";
import { number } from "../core/format.js";

const ROOM = 1.12; // beyond the farthest look
const TANGENT_STEPS = 24;
const OPTIMUM = { colour: "--pg-score", dash: [], width: 2.5 };
const GREY = { colour: "--pg-reference", dash: [2, 4], width: 2 };
const BEST_OF = { colour: "--pg-reference", dash: [7, 3], width: 2.25 };
const TANGENT = { colour: "--pg-kl", dash: [2, 3], width: 1.75 };

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

/** The farthest KL that is drawn. */
export function farthest(runs) {
  const looks = runs.flatMap(({ looks: { kl } }) => kl);
  const bestOf = runs.flatMap(({ possible }) => possible?.best_of.kl ?? []);
  return ROOM * Math.max(...looks, ...bestOf, 0.5);
}

/** The lines of some runs, the path of the first one first. `scale` is "root" for square roots of the KL. */
export function linesOf(runs, scale) {
  const end = farthest(runs);
  const place = (kl) => (scale === "root" ? Math.sqrt(Math.max(kl, 0)) : kl);
  const line = (label, kl, score, look) => {
    const x = Float64Array.from(kl, place);
    const values = Float64Array.from(score, (value) => value ?? NaN);
    return { label, x, raw: values, line: values, ...look };
  };
  const several = runs.length > 1;
  const paths = runs.map(({ looks }, index) => ({
    ...line(several ? LETTERS[index] : "this run", looks.kl, looks.score, several
      ? { colour: COLOURS[index], dash: DASHES[index] } : { colour: "--pg-policy", dash: [], width: 2.75 }),
    low: Float64Array.from(looks.low), high: Float64Array.from(looks.high), path: true,
  }));
  const told = runs.find(({ possible }) => possible);
  if (told) paths.push(...possibleLines(told.possible, end, line));
  if (!several && runs[0].beta && runs[0].looks.kl.length > 1) paths.push(tangent(runs[0], end, line));
  return paths.filter(({ raw }) => raw.length);
}

function possibleLines({ start, optimum, trusted, best_of: bestOf }, end, line) {
  const inSight = optimum.kl.filter((kl) => kl <= end).length;
  const sure = Math.min(trusted, inSight);
  const from = (values, first, last) => values.slice(first, last);
  const found = [
    line("possible", [0, ...from(optimum.kl, 0, sure)], [start, ...from(optimum.score, 0, sure)], OPTIMUM),
    line("best of n", bestOf.kl, bestOf.score, { ...BEST_OF, path: true }),
  ];
  const rest = [Math.max(sure - 1, 0), inSight];
  if (rest[1] - rest[0] > 1)
    found.push(line("too few texts", from(optimum.kl, ...rest), from(optimum.score, ...rest), GREY));
  return found;
}

/** Through the newest look, with the slope that the leash asks for: what a nat must earn. */
function tangent({ looks, beta }, end, line) {
  const [kl, score] = [looks.kl.at(-1), looks.score.at(-1)];
  const [from, to] = [0.5 * kl, Math.min(1.5 * kl, end)];
  const at = Array.from({ length: TANGENT_STEPS + 1 }, (_, step) => from + (step / TANGENT_STEPS) * (to - from));
  return line("slope of leash", at, at.map((x) => score + beta * (x - kl)), { ...TANGENT, told: number(beta) });
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
