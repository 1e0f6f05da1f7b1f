// Which point of a curve a pointer or a key means.

import assert from "node:assert/strict";
import test from "node:test";

import { moved, pointAt, pointsOf } from "../../../playground/ui/static/charts/cursor.js";

test("a cursor stops at known points of an update in view, on any axis", () => {
  const line = { x: [0, 5, 10, 15, 20], raw: [1, 2, NaN, 4, 5], updates: [0, 1, 2, 3, 4] };
  assert.deepEqual(pointsOf(line, { start: 0, end: 20 }), [1, 3, 4]); // not before training, not where nothing is known
  assert.deepEqual(pointsOf(line, { start: 4, end: 15 }), [1, 3]);
  assert.deepEqual(pointsOf({ ...line, updates: undefined }, { start: 0, end: 20 }), []);
});

test("keys go from point to point, by ten, and to the ends; without a cursor they begin at the last point", () => {
  const points = [2, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 20];
  const to = (at, key) => moved(points, at, key);
  assert.deepEqual(["ArrowLeft", "ArrowRight", "Home", "End"].map((key) => to(6, key)), [4, 8, 2, 20]);
  assert.deepEqual([to(2, "ArrowLeft"), to(20, "ArrowRight")], [2, 20]);
  assert.deepEqual([to(4, "PageUp"), to(20, "PageDown"), to(6, "PageDown")], [16, 6, 2]);
  assert.deepEqual([to(null, "ArrowLeft"), to(null, "ArrowRight")], [16, 20]);
  assert.equal(to(7, "ArrowRight"), 8); // its point has gone: the one before it counts
  assert.deepEqual([to(6, "a"), moved([], null, "Home")], [null, null]);
});

test("a pointer means the nearest point across, and of several lines the one nearest in height", () => {
  const at = (left, top) => ({ left, top });
  const [low, high] = [[at(0, 90), at(10, 80), at(20, 70)], [at(0, 10), at(12, 20)]];
  assert.equal(pointAt([low], at(11, 0)), low[1]); // however far away in height
  assert.equal(pointAt([low, high], at(11, 30)), high[1]);
  assert.equal(pointAt([low, [], high], at(11, 79)), low[1]);
  assert.equal(pointAt([[], []], at(0, 0)), undefined);
  const back = [at(0, 0), at(10, 100), at(9, 0)]; // a path over score and distance that returns
  assert.equal(pointAt([back], at(10, 10)), back[1]);
  assert.equal(pointAt([back], at(10, 10), true), back[2]);
});
