// Where the updates of an adaptive leash stand: KL from left to right, beta upwards by its logarithm.

import assert from "node:assert/strict";
import test from "node:test";

import { betaTicks, pictureOf } from "../../../playground/ui/static/inside/leash_picture.js";

const metrics = { update: [1, 2, 3, 4], kl_to_reference: [0, 2, 4, null], kl_coef: [0.1, 1, 10, 10] };

test("every point is in the picture, beta by its power of ten, and the target before the KL is there", () => {
  const { points, from, to, low, high } = pictureOf(metrics, 2);
  assert.deepEqual(points.map(({ update, kl, beta }) => [update, kl, beta]), [[1, 0, 0.1], [2, 2, 1], [3, 4, 10]]);
  assert.ok(from <= 0 && to > 4 && low < -1 && high > 1 && Math.abs(low + high) < 1e-9);
  assert.ok(pictureOf({ update: [1], kl_to_reference: [0.1], kl_coef: [0.3] }, 5).to > 5);
});

test("a beta that hardly moves is no leap", () => {
  const { low, high } = pictureOf({ update: [1, 2], kl_to_reference: [0.1, 0.2], kl_coef: [0.3, 0.303] }, 5);
  assert.ok(Math.log10(0.303 / 0.3) / (high - low) < 0.05);
});

test("a run without a beta above 0 has no picture", () => {
  assert.equal(pictureOf({ update: [1], kl_to_reference: [1], kl_coef: [0] }, 3), null);
  assert.equal(pictureOf({}, 3), null);
});

test("prices are round and at least two", () => {
  assert.deepEqual(betaTicks(-1, 0.35), [0.1, 0.2, 0.5, 1, 2]);
  for (const from of [-2.3, -0.61, -0.35, 0.2, 0.78]) assert.ok(betaTicks(from, from + 0.24).length > 1, String(from));
});
