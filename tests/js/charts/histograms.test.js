// How the scores of the fixed prompts are spread at each look.

import assert from "node:assert/strict";
import test from "node:test";

import { spreadOf } from "../../../playground/ui/static/charts/histograms.js";

const row = (update, by) => ({ update, p10: by - 2, p25: by - 1, p50: by, p75: by + 1, p90: by + 2 });

test("boxes are as wide as the smallest gap allows, and all of them are in view", () => {
  const { from, to, low, high, half } = spreadOf([row(0, 0), row(10, 1), row(30, 4)], 30);
  assert.deepEqual([from, to, half], [-6, 36, 2.75]);
  assert.ok(low < -2 && high > 6);
});

test("the first look and the one that is compared stand out", () => {
  assert.deepEqual(spreadOf([row(0, 0), row(10, 1), row(20, 4)], 20).strong, [true, false, true]);
});
