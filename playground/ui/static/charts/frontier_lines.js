// Score against KL as lines: the evaluations of one or several runs as paths, the best of n of the reference, the best
// policies, and the slope of the leash at a run's end; from what the server says (ui/feed/insight_serializer.py). Pure.

import { COLOURS, DASHES, LETTERS } from "./specs.js";
import { number } from "../core/format.js";

/**
 * @typedef {Wire.FrontierLines & Charts.Run & Partial<Pick<Wire.Frontier, "beta">>} FrontierRun
 * @typedef {(label: string, kl: number[], score: number[], look: Partial<Charts.Series>) => Charts.Series} LineOf
 */

const ROOM = 1.12; // beyond the farthest look
const TANGENT_STEPS = 24;
/** @type {Charts.Look} */
const DOTS = { colour: "--pg-reference", dash: [] };
/** @type {Charts.Look} */
const OWN = { colour: "--pg-policy", dash: [], width: 2.75 };
/** @type {Charts.Look} */
const OPTIMUM = { colour: "--pg-score", dash: [], width: 2.5 };
const GREY = { colour: "--pg-reference", dash: [2, 4], width: 2 };
const BEST_OF = { colour: "--pg-reference", dash: [7, 3], width: 2.25 };
const TANGENT = { colour: "--pg-kl", dash: [2, 3], width: 1.75 };

/** The farthest KL that is drawn. */
export function farthest(/** @type {FrontierRun[]} */ runs) {
  const evaluations = runs.flatMap(({ evaluations: { kl } }) => kl);
  const bestOf = runs.flatMap(({ possible }) => possible?.best_of.kl ?? []);
  return ROOM * Math.max(...evaluations, ...bestOf, 0.5);
}

/** The lines of some runs, the path of the first one first. */
export function linesOf(/** @type {FrontierRun[]} */ runs) {
  const end = farthest(runs);
  /** @type {LineOf} */
  const line = (label, kl, score, look) => {
    const x = Float64Array.from(kl);
    const values = Float64Array.from(score, (value) => value ?? NaN);
    return { label, x, raw: values, line: values, ...look };
  };
  const several = runs.length > 1;
  const paths = runs.map(({ evaluations }, index) => /** @type {Charts.Series} */ ({
    ...line(several ? LETTERS[index] : "this run", evaluations.kl, evaluations.score, several
      ? { colour: COLOURS[index], dash: DASHES[index] } : OWN),
    low: Float64Array.from(evaluations.low), high: Float64Array.from(evaluations.high), path: true,
    updates: evaluations.update,
    run: runs[index],
  }));
  const told = runs.find(({ possible }) => possible);
  if (told) paths.push(...possibleLines(told.possible, end, line));
  if (!several && runs[0].beta && runs[0].evaluations.kl.length > 1) paths.push(tangent(runs[0], end, line));
  return paths.filter(({ raw }) => raw.length);
}

/**
 * The ways of some settings of a sweep, as means over seeds, and the ends of all its runs, which nothing joins.
 * @param {{ runs: FrontierRun[], ends: Wire.Sweep["ends"] }} sweep @returns {Charts.Series[]}
 */
export function sweepLines({ runs, ends }) {
  const apart = (/** @type {number[]} */ values) =>
    Float64Array.from(values.flatMap((value, at) => (at ? [NaN, value] : [value])));
  const raw = apart(ends.score);
  const dots = { label: "every run", raw, line: raw.map(() => NaN), path: true, ...DOTS,
    x: apart(ends.kl) };
  const ways = linesOf(runs).map((line) => (runs.length > 1 ? line : { ...line, label: "mean" }));
  return ends.kl.length ? [...ways, dots] : ways;
}

/** @param {FrontierRun["possible"]} possible @param {number} end @param {LineOf} line */
function possibleLines({ start, optimum, trusted, best_of: bestOf }, end, line) {
  const inSight = optimum.kl.filter((kl) => kl <= end).length;
  const sure = Math.min(trusted, inSight);
  /** @param {number[]} values @param {number} first @param {number} last */
  const from = (values, first, last) => values.slice(first, last);
  const found = [
    line("possible", [0, ...from(optimum.kl, 0, sure)], [start, ...from(optimum.score, 0, sure)], OPTIMUM),
    line("best of n", bestOf.kl, bestOf.score, { ...BEST_OF, path: true }),
  ];
  const rest = [Math.max(sure - 1, 0), inSight];
  if (rest[1] - rest[0] > 1)
    found.push(line("too few texts", from(optimum.kl, rest[0], rest[1]), from(optimum.score, rest[0], rest[1]), GREY));
  return found;
}

/**
 * Through the newest look, with the slope that the leash asks for: what a nat must earn.
 * @param {FrontierRun} run @param {number} end @param {LineOf} line
 */
function tangent({ evaluations, beta }, end, line) {
  const [kl, score] = [evaluations.kl.at(-1), evaluations.score.at(-1)];
  const [from, to] = [0.5 * kl, Math.min(1.5 * kl, end)];
  const at = Array.from({ length: TANGENT_STEPS + 1 }, (_, step) => from + (step / TANGENT_STEPS) * (to - from));
  return line("slope of leash", at, at.map((x) => score + beta * (x - kl)), { ...TANGENT, told: number(beta) });
}
