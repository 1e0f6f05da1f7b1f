// Where a time went, before it is drawn.

import assert from "node:assert/strict";
import test from "node:test";

import { timeShares } from "../../../playground/ui/static/charts/small_plots.js";

test("the parts of a time are told with what they took and their share of it", () => {
  const found = timeShares([{ name: "writing", seconds: 1.2 }, { name: "scoring", seconds: 0.01 },
    { name: "learning", seconds: 2.39 }, { name: "looking", seconds: 0.4 }]);
  assert.deepEqual(found.map(({ name, words }) => [name, words]), [["writing", "1.2 s (30 %)"],
    ["scoring", "under 0.1 s (under 1 %)"], ["learning", "2.4 s (60 %)"], ["looking", "0.4 s (10 %)"]]);
  assert.ok(Math.abs(found.reduce((sum, { share }) => sum + share, 0) - 1) < 1e-12);
});

test("what an older run does not know, or what took no time, is no part", () => {
  const found = timeShares([{ name: "writing", seconds: 3 }, { name: "scoring", seconds: 0 },
    { name: "learning", seconds: 1 }, { name: "looking", seconds: null }, { name: "odd", seconds: NaN },
    { name: "missing" }]);
  assert.deepEqual(found.map(({ name, share }) => [name, share]), [["writing", 0.75], ["learning", 0.25]]);
  assert.deepEqual(timeShares([{ name: "looking", seconds: null }]), []);
  assert.deepEqual(timeShares([]), []);
});
