// The list of runs as a table: its columns, what each is sorted by, which behaviours have one, which runs hold the
// words of a filter, and which stand together as a sweep. Pure.

import { stateOf } from "../core/format.js";

/**
 * @typedef {Wire.ListedRun} Run
 * @typedef {Wire.SweepRow & { runs: Run[] }} Sweep
 * @typedef {Run | Sweep} Item
 * @typedef {Pick<Item, "title" | "started_at" | "figures"> & { state: string, behaviours?: Wire.MeterEnds[] }} Listed
 *   what either has
 * @typedef {{ name: string, words: string, runs: number, changed: number }} Counted how many runs have counted it
 * @typedef {{ name: string, words: string }} Named
 * @typedef {{ key: string, down: boolean }} Sort
 * @typedef {Partial<Omit<Wire.RunColumn, "key" | "label">> & { key: string, label: string, behaviour?: Named,
 *   value: (run: Listed) => string | number | null | undefined }} Column
 */

/** Those that are no figures; `value` is what a column is sorted by. @type {Record<string, Column>} */
const OWN = {
  when: { key: "when", label: "When", value: (run) => run.started_at, down: true },
  name: { key: "name", label: "Name", value: (run) => run.title },
  state: { key: "state", label: "State", value: (run) => stateOf(run.state).word },
};

const SHOWS = "How many completions of the fixed prompts show it: before training, and at the last evaluation";

/** The order in which the list comes: the newest first. */
export const NEWEST = { key: "when", down: true };

const MOST_COUNTED = 2; // columns of behaviours

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
 * All columns: of the figures those with which a run was started stand before its state, those that it came to behind
 * it, after one for each of some behaviours.
 * @param {Wire.RunColumn[]} figures @param {Named[]} behaviours @returns {Column[]}
 */
export function columnsOf(figures, behaviours) {
  const columns = figures.map((figure) => ({ ...figure,
    value: (/** @type {Listed} */ run) => run.figures[figure.key]?.value }));
  const before = (/** @type {Column} */ { kind }) => kind === "words" || kind === "setting";
  const counts = behaviours.map((behaviour) => ({ key: `counts ${behaviour.name}`, label: behaviour.words, down: true,
    kind: /** @type {const} */ ("number"), title: SHOWS, behaviour,
    value: (/** @type {Listed} */ run) => shareOf(counted(run, behaviour.name)?.after) }));
  return [OWN.when, OWN.name, ...columns.filter(before), OWN.state, ...counts,
    ...columns.filter((column) => !before(column))];
}

/** A count in words: "13 \u2192 22 of 25", or with two different numbers of answers "13 of 24 \u2192 22 of 25". */
export function countOf(/** @type {Wire.MeterEnds} */ { before, after }) {
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
  const known = new Map(sweeps.map((sweep) => [sweep.id, /** @type {Sweep} */ ({ ...sweep, runs: [] })]));
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
export function turned(/** @type {Sort} */ sort, /** @type {string} */ key, /** @type {Column[]} */ columns) {
  return sort.key === key ? { key, down: !sort.down }
    : { key, down: Boolean(columns.find((column) => column.key === key)?.down) };
}

/** The order in words, with the arrow that the column has: "When \u2193". */
export function sortedBy(/** @type {Sort} */ { key, down }, /** @type {Column[]} */ columns) {
  return `${columns.find((column) => column.key === key)?.label ?? "When"} ${down ? "\u2193" : "\u2191"}`;
}

/**
 * The runs that hold all the words, sorted; what has no value comes last either way.
 * @param {Item[]} runs @param {string} words @param {Sort} sort @param {Column[]} columns
 */
export function listed(runs, words, sort, columns) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const { value } = columns.find(({ key }) => key === sort.key) ?? OWN.when;
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
  const figures = Object.values(run.figures).map(({ value }) => value).filter((value) => typeof value === "string");
  const words = "runs" in run ? ["sweep", run.preset, run.varies, ...run.runs.map(textOf)]
    : [run.title, run.experiment, run.note, run.wrong_on_purpose, run.method, run.engine,
      run.seed === null ? "" : `seed ${run.seed}`, ...run.behaviours.map((one) => `${one.words}: ${changeOf(one)}`)];
  return [run.id, ...figures, stateOf(run.state).word, ...words].join("\n").toLowerCase();
}

function shareOf(/** @type {Wire.EndCount | undefined} */ count) {
  return count && count.count / count.of;
}
