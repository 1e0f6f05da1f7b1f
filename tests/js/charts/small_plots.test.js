// Round ticks.

import assert from "node:assert/strict";
import test from "node:test";

import { roundTicks } from "../../../playground/ui/static/charts/small_plots.js";

test("ticks are round, within both ends, and about as many as asked for", () => {
  assert.deepEqual(roundTicks(0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(roundTicks(-1.3, 2.4, 6), [-1, 0, 1, 2]);
  assert.deepEqual(roundTicks(1, 150, 5), [50, 100, 150]);
});
