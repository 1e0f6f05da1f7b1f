// The list of runs as a table: its columns, what each is sorted by, which behaviours have one, which runs hold the
// words of a filter, and which stand together as a sweep. Pure.

import { stateOf } from "../core/format.js";

/**
 * @typedef {Wire.RunRow} Run
 * @typedef {{ headline: Pick<Wire.Headline, "gain" | "kl"> | null }} Best
 * @typedef {Wire.SweepRow & Best & { runs: Run[] }} Sweep
 * @typedef {Run | Sweep} Item
 * @typedef {Partial<Omit<Run, "headline" | "state"> & Best & { state: string }>} Listed what either may have
 * @typedef {{ name: string, words: string, runs: number, changed: number }} Counted how many runs have counted it
 * @typedef {{ name: string, words: string }} Named
 * @typedef {{ key: string, down: boolean }} Sort
 * @typedef {{ key: string, label: string, value: (run: Listed) => string | number, down?: boolean,
 *   figure?: boolean, title?: string }} Column
 */

/**
 * `value` is what a column is sorted by, `down` whether its largest comes first when it is chosen, `figure` a number.
 * @type {Column[]}
 */
export const COLUMNS = [
  { key: "when", label: "When", value: (run) => run.started_at, down: true },
  { key: "name", label: "Name", value: (run) => run.title },
  { key: "model", label: "Model", value: (run) => run.model },
  { key: "reward", label: "Reward", value: (run) => run.reward },
  { key: "beta", label: "Leash (beta)", value: (run) => run.beta, figure: true,
    title: "The score that one nat of distance costs, at the start" },
  { key: "rate", label: "Learning rate", value: (run) => run.learning_rate, figure: true, title: "At the start" },
  { key: "state", label: "State", value: (run) => stateOf(run.state).word },
  { key: "gain", label: "Gain", value: (run) => run.headline?.gain, down: true, figure: true,
    title: "Score on the fixed prompts at the last evaluation, less the score before training" },
  { key: "kl", label: "Distance (KL)", value: (run) => run.headline?.kl, down: true, figure: true,
    title: "Distance from the reference at that evaluation, in nats per completion" },
  { key: "duration", label: "Duration", value: (run) => run.duration, down: true, figure: true },
];

/** The order in which the list comes: the newest first. */
export const NEWEST = { key: "when", down: true };

export const MOST_COUNTED = 2; // columns of behaviours

/** A behaviour as a run has counted it, or undefined. */
export function counted(/** @type {Listed} */ run, /** @type {string} */ name) {
  return run.behaviours?.find((one) => one.name === name);
}

/**
 * Every behaviour that any of the runs has counted: those first that changed in most of them.
 * @param {Listed[]} runs
 */
export function behavioursOf(runs) {
  /** @type {Map<string, Counted>} */
  const known = new Map();
  for (const one of runs.flatMap(({ behaviours = [] }) => behaviours)) {
    const { words, runs: among = 0, changed = 0 } =
      /** @type {Partial<Counted>} */ (known.get(one.name) ?? one);
    known.set(one.name, { name: one.name, words, runs: among + 1, changed: changed + Math.abs(one.change) });
  }
  return [...known.values()].sort((one, two) => two.changed - one.changed);
}

/** The behaviours with a column: the first of those that all runs with counts share. */
export function shownOf(/** @type {Listed[]} */ runs) {
  const counting = runs.filter(({ behaviours }) => behaviours?.length).length;
  return behavioursOf(runs).filter((one) => one.runs === counting).slice(0, MOST_COUNTED);
}

/** What has changed in a run by more than chance and has no column, for the line below its name. */
export function changedIn(/** @type {Listed} */ { behaviours = [] }, /** @type {Named[]} */ shown) {
  return behaviours.filter((one) => one.change && !shown.some(({ name }) => name === one.name)).slice(0, MOST_COUNTED);
}

/**
 * All columns, with one for each of some behaviours before the gain.
 * @param {Named[]} behaviours @returns {Column[]}
 */
export function columnsWith(behaviours) {
  const gain = COLUMNS.findIndex(({ key }) => key === "gain");
  const columns = behaviours.map(({ name, words }) => ({ key: `counts ${name}`, label: words, down: true, figure: true,
    value: (/** @type {Listed} */ run) => shareOf(counted(run, name)?.after),
    title: "How many completions of the fixed prompts show it: before training, and at the last evaluation" }));
  return [...COLUMNS.slice(0, gain), ...columns, ...COLUMNS.slice(gain)];
}

/** A count in words: "13 \u2192 22 of 25", or with two different numbers of answers "13 of 24 \u2192 22 of 25". */
export function countOf(/** @type {Wire.Ends} */ { before, after }) {
  return before.of === after.of ? `${before.count} \u2192 ${after.count} of ${after.of}`
    : `${before.count} of ${before.of} \u2192 ${after.count} of ${after.of}`;
}

/** How it changed, for a cell and a filter: "up", "down", or "no clear change". */
export function changeOf(/** @type {{ change: number }} */ { change }) {
  return change > 0 ? "up" : change < 0 ? "down" : "no clear change";
}

/**
 * What stands in the list: each run that is of no sweep, and each sweep with its runs.
 * @param {Wire.History} history @returns {Item[]}
 */
export function grouped({ runs, sweeps }) {
  const known = new Map(sweeps.map((sweep) => [sweep.id, /** @type {Sweep} */ ({ ...sweep, runs: [],
    headline: sweep.best ? { gain: sweep.best.gain.mean, kl: sweep.best.kl?.mean } : null })]));
  /** @type {Run[]} */
  const alone = [];
  for (const run of runs) (known.get(run.sweep)?.runs ?? alone).push(run);
  for (const sweep of known.values()) sweep.runs.sort((one, other) => one.id.localeCompare(other.id)); // as planned
  return [...alone, ...known.values()];
}

/** The rows of a list: below the sweep that is open stand its runs. */
export function unfolded(/** @type {Item[]} */ items, /** @type {string | null} */ open) {
  return items.flatMap((item) => ("runs" in item && item.id === open ? [item, ...item.runs] : [item]));
}

/** What a press on the head of a column asks for: that column, and at a second press the other way round. */
export function turned(/** @type {Sort} */ sort, /** @type {string} */ key, columns = COLUMNS) {
  return sort.key === key ? { key, down: !sort.down }
    : { key, down: Boolean(columns.find((column) => column.key === key)?.down) };
}

/** The order in words, with the arrow that the column has: "When \u2193". */
export function sortedBy(/** @type {Sort} */ { key, down }, columns = COLUMNS) {
  return `${columns.find((column) => column.key === key)?.label ?? "When"} ${down ? "\u2193" : "\u2191"}`;
}

/**
 * The runs that hold all the words, sorted; what has no value comes last either way.
 * @param {Item[]} runs @param {string} words @param {Sort} sort
 */
export function listed(runs, words, sort, columns = COLUMNS) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const { value } = columns.find(({ key }) => key === sort.key) ?? COLUMNS[0];
  const missing = (/** @type {string | number | null} */ found) =>
    found === null || found === undefined || found === "";
  return runs.filter((run) => wanted.every((word) => textOf(run).includes(word))).sort((one, two) => {
    const [a, b] = [value(one), value(two)];
    if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
    const order = typeof a === "string" ? a.localeCompare(String(b)) : a - Number(b);
    return sort.down ? -order : order;
  });
}

/** @param {Item} run @returns {string} */
function textOf(run) {
  if ("runs" in run) {
    return ["sweep", run.id, run.preset, run.told, run.model, run.reward, stateOf(run.state).word,
      ...run.runs.map(textOf)].join("\n").toLowerCase();
  }
  return [run.id, run.title, run.told, run.note, run.wrong_on_purpose, run.model, run.reward, run.method, run.engine,
    `seed ${run.seed}`, stateOf(run.state).word,
    ...(run.behaviours ?? []).map((one) => `${one.words}: ${changeOf(one)}`)]
    .join("\n").toLowerCase();
}

function shareOf(/** @type {Wire.EndCount | undefined} */ count) {
  return count && count.count / count.of;
}
