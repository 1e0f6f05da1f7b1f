// How the scores of the fixed prompts are spread at each look.

import assert from "node:assert/strict";
import test from "node:test";

import { spreadOf } from "../../../playground/ui/static/charts/spread.js";

const row = (update, by) => ({ update, p10: by - 2, p25: by - 1, p50: by, p75: by + 1, p90: by + 2 });

test("boxes are as wide as the smallest gap allows, and all of them are in view", () => {
  const { x, y, columns } = spreadOf([row(0, 0), row(10, 1), row(30, 4)], 30);
  assert.deepEqual([x, columns.x], [{ start: -6, end: 36 }, [0, 10, 30]]);
  assert.deepEqual([columns.left, columns.right], [[-2.75, 7.25, 27.25], [2.75, 12.75, 32.75]]);
  assert.deepEqual(columns.p50, [0, 1, 4]);
  assert.ok(y.start < -2 && y.end > 6);
});

test("the first look and the one that is compared stand out", () => {
  const { columns } = spreadOf([row(0, 0), row(10, 1), row(20, 4)], 20);
  assert.deepEqual(columns.alpha, [0.6, 0.22, 0.6]);
});
