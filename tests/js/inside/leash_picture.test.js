// Where the updates of an adaptive leash stand: KL from left to right, beta upwards by its logarithm.

import assert from "node:assert/strict";
import test from "node:test";

import { betaTicks, pictureOf } from "../../../playground/ui/static/inside/leash_picture.js";

const metrics = { update: [1, 2, 3, 4], kl_to_reference: [0, 2, 4, null], kl_coef: [0.1, 1, 10, 10] };

test("ten times the price is the same step upwards everywhere, and the KL is linear", () => {
  const { points, target } = pictureOf(metrics, 2);
  assert.deepEqual(points.map(({ update }) => update), [1, 2, 3]);
  const [first, second, third] = points;
  assert.ok(Math.abs((first.y - second.y) - (second.y - third.y)) < 1e-9 && first.y > third.y);
  assert.ok(Math.abs((second.x - first.x) - (third.x - second.x)) < 1e-9 && third.x > first.x);
  assert.equal(target, second.x);
});

test("the target is in the picture before the KL is there, and a beta that hardly moves is no leap", () => {
  const { points, target } = pictureOf({ update: [1, 2], kl_to_reference: [0.1, 0.2], kl_coef: [0.3, 0.303] }, 5);
  assert.ok(target > points[1].x && target < 460);
  assert.ok(Math.abs(points[0].y - points[1].y) < 6);
});

test("a run without a beta above 0 has no picture", () => {
  assert.equal(pictureOf({ update: [1], kl_to_reference: [1], kl_coef: [0] }, 3), null);
  assert.equal(pictureOf({}, 3), null);
});

test("prices are round and at least two", () => {
  assert.deepEqual(betaTicks(-1, 0.35), [0.1, 0.2, 0.5, 1, 2]);
  for (const from of [-2.3, -0.61, -0.35, 0.2, 0.78]) assert.ok(betaTicks(from, from + 0.24).length > 1, String(from));
});
