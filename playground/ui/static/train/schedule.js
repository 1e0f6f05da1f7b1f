// How much of a run's learning is still to come: the sum of the learning rates ahead as a share of the sum of all.

import { percent } from "../core/format.js";

const LITTLE_LEFT = 0.1;

/** @param {{num_updates: number, schedule: string, warmup: number}} plan @param {number} done updates */
export function learningLeft({ num_updates: total, schedule, warmup }, done) {
  const sum = (from) => {
    const falling = Math.max(from, warmup);
    const rest = Math.max(0, total - falling);
    const rising = from < warmup ? (warmup * (warmup + 1) - from * (from + 1)) / 2 / warmup : 0;
    return rising + (schedule === "linear" ? (rest * (rest + 1)) / 2 / Math.max(1, total - warmup) : rest);
  };
  return total > 0 ? sum(Math.min(done, total)) / sum(0) : 0;
}

/** In words, once so little is left that a change does little; before that nothing. */
export function lateness(plan, done) {
  const left = learningLeft(plan, done);
  if (left >= LITTLE_LEFT) return "";
  const share = percent(Math.floor(100 * (1 - left)) / 100);
  return `Little comes of a change by now: ${share} of this run's learning is done`
    + (plan.schedule === "linear" ? ", for its learning rate falls to 0." : ".");
}
