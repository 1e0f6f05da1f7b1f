// Mystery runs: what this visitor has answered of each, as the browser keeps it. Until a run is answered its lamps are
// off, unless the visitor turns them on.

import { keptRecords } from "./kept.js";
import { live } from "./store.js";

/**
 * `tries`: the mistakes that were named and are not it. `end`: how it ended, `named`: what it is then; `lamps`: they
 * were turned on before.
 * @typedef {{ tries?: string[], why?: string, end?: "found" | "shown", named?: string, lamps?: boolean }} Solving
 */

const kept = /** @type {import("./kept.js").Records<Solving>} */ (keptRecords("playground-mysteries"));

/** By the ids of the runs. */
export const mysteries = kept.records;

/** @param {string} run @param {Solving | null} change null: as if it had never been opened */
export function keepMystery(run, change) {
  kept.set(run, change && { ...mysteries.value[run], ...change });
}

/** Whether the lamps of the run in view are off. */
export function lampsAreOff() {
  if (!live.run?.mystery) return false;
  const { end, lamps: on } = mysteries.value[live.runId] ?? {};
  return !end && !on;
}

/** The alerts of the run in view, as far as they may be seen. */
export function lamps() {
  return lampsAreOff() ? null : live.alerts;
}
