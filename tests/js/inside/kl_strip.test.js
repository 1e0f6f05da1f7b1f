// Where the estimates of a KL stand on their axis.

import assert from "node:assert/strict";
import test from "node:test";

import { stripOf } from "../../../playground/ui/static/inside/kl_strip.js";

const metrics = { update: [1, 2], "kl_estimates.k1": [0, 2], "kl_estimates.k3": [0, 1.5], "kl_estimates.full": [0, 1],
  "kl_spreads.k1": [0, 3], "kl_spreads.k3": [0, 0.5], "kl_spreads.full": [0, null] };

test("the axis holds every mean with its spread to both sides, and 0", () => {
  const { rows, low, high } = stripOf(metrics, 1);
  assert.deepEqual(rows.map(({ name, mean, sd }) => [name, mean, sd]),
    [["k1", 2, 3], ["k3", 1.5, 0.5], ["full", 1, null]]);
  assert.deepEqual([low, high], [-1, 5]);
});

test("a run that has none of them shows none, and one at the reference still has an axis", () => {
  assert.equal(stripOf({ update: [1], "kl_estimates.k1": [null] }, 0), null);
  assert.equal(stripOf({ update: [1] }, 0), null);
  const { low, high } = stripOf(metrics, 0);
  assert.ok(low === 0 && high > 0);
});
