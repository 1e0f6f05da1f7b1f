// What the charts with several lines draw: which reward brings the gain, the trained score beside the monitors, and one
// figure of several runs. Each line has a colour and a dash pattern and is named at its end.

import { ALL_OF_ONE, column, nearest, smooth } from "./arithmetic.js";
import { COLOURS, DASHES, LETTERS, scoreUnit } from "./specs.js";
import { capital } from "../core/format.js";

/**
 * @typedef {Pick<Wire.Snapshot, "run" | "metrics" | "farmed" | "judged">} Told what the store holds
 * @typedef {Pick<Wire.Overlaid, "metrics" | "unit"> & Partial<Wire.Overlaid>} OverlaidRun
 * @typedef {{ runs: OverlaidRun[] }} Overlaid
 */

export const PARTS = "contributions.";
const SCORE = "--pg-score";

const look = (/** @type {number} */ index) => ({ colour: COLOURS[index % COLOURS.length],
  dash: DASHES[(index + Math.floor(index / DASHES.length)) % DASHES.length] });

/**
 * A line for each column of the training batches that has figures, by its label.
 * @param {Record<string, string>} labels @returns {(told: Told, xColumn: string, weight: number) => Charts.Series[]}
 */
const linesOf = (labels) => ({ metrics }, xColumn, weight) =>
  Object.entries(labels).filter(([name]) => metrics[name]?.some((value) => value !== null))
    .map(([name, label], index) => {
      const raw = column(metrics, name);
      return { label, x: column(metrics, xColumn), raw, line: smooth(raw, weight), updates: metrics.update,
        ...look(index) };
    });

/** @type {Charts.Spec[]} */
export const LINE_CHARTS = [
  {
    key: "answers", span: 0.2, large: true, title: "Right answers", unit: () => "", plain: true, whole: ALL_OF_ONE,
    note: () => "training batches, share of answers",
    gloss: "Share of the answers of an update that are the true one and, where a form is asked for, of those that keep "
      + "to it. Where the form rises and the answers do not, the reward pays for looks.",
    lines: linesOf({ answers_right: "right", answers_in_form: "in the form" }),
    words: () => [],
  },
  {
    key: "groups", span: 0.2, large: true, title: "Groups that teach nothing", unit: () => "", plain: true,
    whole: ALL_OF_ONE, note: () => "training batches, share of prompts, RLOO and GRPO",
    gloss: "Share of the prompts whose answers are all right, and all wrong. RLOO and GRPO learn from how the answers "
      + "to one prompt differ, so these prompts teach them nothing: those are too easy by now, these still too hard.",
    lines: linesOf({ groups_all_right: "all right", groups_all_wrong: "all wrong" }),
    words: () => [],
  },
  {
    key: "farmed", span: 1, large: true, title: "Where the gain comes from", unit: scoreUnit, zero: true, totalName: "",
    note: (run) => `training batches, what each reward adds, ${scoreUnit(run)}`,
    gloss: "Mean contribution of each reward to the score of an update, minus its contribution on the reference's "
      + "texts. The lines add up to the gain.",
    lines(/** @type {Told} */ { run, metrics }, xColumn, weight) {
      const terms = (run?.terms ?? []).filter(({ name }) => metrics[PARTS + name]?.some((value) => value !== null));
      if (terms.length < 2) return [];
      return terms.map(({ name, label }, index) => {
        const raw = column(metrics, PARTS + name);
        return { label, x: column(metrics, xColumn), raw, line: smooth(raw, weight), updates: metrics.update,
          ...look(index) };
      });
    },
    total: (values) => values.reduce((sum, value) => sum + (Number.isNaN(value) ? 0 : value), 0),
    words: (/** @type {Told} */ { farmed }) => (farmed ? [{ text: farmed }] : []),
  },
  {
    key: "judged", span: 1, large: true, title: "Trained score and monitors", unit: () => "sd", zero: true,
    totalName: "gap ",
    note: () => "change on the fixed prompts; bands: 95 %",
    gloss: "Monitors score the same texts and are never trained on. Each line is the change since before training: the "
      + "score in standard deviations of the reference's texts, a monitor in those of the texts before training. Where "
      + "the score rises and a monitor falls, the score has stopped measuring what it was meant to.",
    lines(/** @type {Told} */ { judged, metrics }, xColumn) {
      if (!judged) return [];
      const x = Float64Array.from(judged.updates, placeOf(metrics, xColumn));
      return judged.lines.map(({ label, comparable, mean, half }, index) => {
        const line = Float64Array.from(mean, (value) => value ?? NaN);
        const bound = (/** @type {number} */ sign) =>
          Float64Array.from(line, (value, at) => value + sign * (half[at] ?? 0));
        return { label, comparable, x, raw: line, line, low: bound(-1), high: bound(1), updates: judged.updates,
          ...(index ? look(index - 1) : { colour: SCORE, dash: [], width: 3 }) };
      });
    },
    /** Between the trained score and the lowest monitor below it, of those in the same unit. */
    gap([trained, ...others]) {
      const judges = others.filter(({ comparable }) => comparable);
      if (!judges.length) return null;
      const lowest = trained.raw.map((value, at) =>
        Math.min(value, ...judges.map(({ raw }) => raw[at]).filter((known) => !Number.isNaN(known))));
      return { x: trained.x, low: lowest, high: trained.raw };
    },
    total([trained, ...judges], lines) {
      const known = judges.filter((value, index) => lines[index + 1].comparable && !Number.isNaN(value));
      return known.length ? trained - Math.min(...known) : NaN;
    },
    words: (/** @type {Told} */ { judged }) => judged?.verdicts ?? [],
    turns: (/** @type {Told} */ { judged }) => judged?.turns ?? [],
  },
];

/**
 * A chart of one figure (an entry of specs.js) with a line for each of `runs`, [{metrics, title, ...}].
 * @param {Charts.Spec} spec @returns {Charts.Spec}
 */
export function overlaid(spec) {
  /** @type {(overlaid: Overlaid, xColumn: string, weight: number) => Charts.Series[]} */
  const lines = ({ runs }, xColumn, weight) => runs.map((run, index) => {
    const { metrics } = run;
    const raw = column(metrics, spec.column);
    const [low, high] = (spec.band ?? []).map((name) => column(metrics, name));
    return { ...lookOf(run, index), x: column(metrics, xColumn), raw, line: smooth(raw, weight),
      updates: metrics.update, ...(low && { low, high }) };
  });
  return { ...spec, lines, words: () => [], plain: true, most: LETTERS.length, room: 64,
    note: (run) => spec.note(run).split(";")[0] }; // what follows in the note is about the band
}

/**
 * The same of a behaviour that all runs have counted: its share at each look, with its interval.
 * @param {Wire.Shares} shares @returns {Charts.Spec}
 */
export function sharesOf({ name, words }) {
  /** @type {(overlaid: Overlaid, xColumn: string) => Charts.Series[]} */
  const lines = ({ runs }, xColumn) => runs.map((run, index) => {
    const { evaluations } = run.behaviours.find((one) => one.name === name);
    const [raw, low, high] = ["share", "low", "high"].map((which) => column(evaluations, which));
    return { ...lookOf(run, index), raw, line: raw, low, high, updates: evaluations.update,
      x: Float64Array.from(evaluations.update, placeOf(run.metrics, xColumn)) };
  });
  return { key: `overlay-share-${name}`, span: 20, large: true, title: capital(words), lines, words: () => [],
    plain: true, most: LETTERS.length, room: 64, whole: [0, 103], unit: () => "%",
    note: () => "% of the answers to fixed prompts; bands: 95 %",
    gloss: "Share of the answers to the fixed prompts that show it, at each evaluation. The band is Wilson's interval; "
      + "where two bands lie apart, the runs differ by more than chance." };
}

/** The line of a run among others. @param {OverlaidRun} run @param {number} index */
const lookOf = (run, index) => ({ run, label: LETTERS[index], title: `${LETTERS[index]}, ${run.title}`,
  colour: COLOURS[index], dash: DASHES[index] });

/** Where an update lies on an axis. */
function placeOf(/** @type {Charts.Columns} */ metrics, /** @type {string} */ xColumn) {
  return (/** @type {number} */ update) => (xColumn === "update" ? update : update === 0 ? 0
    : metrics[xColumn]?.[nearest(metrics.update, update)] ?? 0);
}
