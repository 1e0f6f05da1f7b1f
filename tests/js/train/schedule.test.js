// The share of a run's learning that is still to come, held to the sum of its learning rates.

import assert from "node:assert/strict";
import test from "node:test";

import { lateness, learningLeft } from "../../../playground/ui/static/train/schedule.js";

/** The trainer's rule, update by update (training/loop/trainer.py, `learning_rate`). */
function rates({ num_updates: total, schedule, warmup }) {
  return [...Array(total).keys()].map((done) => (done < warmup ? (done + 1) / warmup
    : schedule === "constant" ? 1 : (total - done) / (total - warmup)));
}

test("it is the sum of the learning rates ahead over the sum of all", () => {
  for (const schedule of ["linear", "constant"]) for (const warmup of [0, 1, 7]) {
    const plan = { num_updates: 40, schedule, warmup };
    const all = rates(plan);
    const sum = (values) => values.reduce((total, value) => total + value, 0);
    for (const done of [0, 3, 7, 20, 39, 40]) {
      assert.ok(Math.abs(learningLeft(plan, done) - sum(all.slice(done)) / sum(all)) < 1e-12,
        `${schedule} ${warmup} ${done}`);
    }
  }
});

test("a change is late after two thirds of the updates where the rate falls, else after nine tenths", () => {
  const falling = { num_updates: 40, schedule: "linear", warmup: 0 };
  assert.deepEqual([lateness(falling, 0), lateness(falling, 26)], ["", ""]);
  assert.equal(lateness(falling, 28),
    "Little comes of a change by now: 90 % of this run's learning is done, for its learning rate falls to 0.");
  assert.match(lateness(falling, 39), /99 %/);
  const staying = { ...falling, schedule: "constant" };
  assert.equal(lateness(staying, 36), "");
  assert.equal(lateness(staying, 38), "Little comes of a change by now: 95 % of this run's learning is done.");
});
