// The lines of score against KL: which there are, and how far each goes.

import assert from "node:assert/strict";
import test from "node:test";

import { farthest, linesOf, sweepLines } from "../../../playground/ui/static/charts/frontier_lines.js";

const LOOKS = { update: [0, 5, 10], kl: [0, 4, 9], score: [0, 2, 3], low: [-0.5, 1.5, 2.5], high: [0.5, 2.5, 3.5] };
const POSSIBLE = {
  start: 0.1, trusted: 3, best_of: { n: [1, 2], kl: [0, 0.19], score: [0.1, 0.6] },
  optimum: { beta: [4, 1, 0.5, 0.25, 0.1], kl: [0.1, 1, 4, 10, 90], score: [0.3, 1, 2.2, 3.4, 5],
    effective: [900, 300, 80, 12, 1] },
};
const run = (changes = {}) => ({ evaluations: LOOKS, possible: null, beta: 0.25, ...changes });
const named = (lines) => Object.fromEntries(lines.map((line) => [line.label, line]));

test("a run alone has its path and the slope of its leash through its end", () => {
  const lines = named(linesOf([run()]));
  assert.deepEqual(Object.keys(lines), ["this run", "slope of leash"]);
  const slope = lines["slope of leash"];
  const [first, last] = [0, slope.x.length - 1];
  const rise = (slope.raw[last] - slope.raw[first]) / (slope.x[last] - slope.x[first]);
  assert.ok(Math.abs(rise - 0.25) < 1e-9);
  const end = slope.x.findIndex((x) => Math.abs(x - 9) < 0.2);
  assert.ok(Math.abs(slope.raw[end] - 3) < 0.06);
  assert.deepEqual(Object.keys(named(linesOf([run({ beta: null })]))), ["this run"]);
});

test("what is possible is grey from the last point on that enough texts are behind, and ends in sight", () => {
  const lines = named(linesOf([run({ possible: POSSIBLE })]));
  assert.deepEqual([...lines.possible.x], [0, 0.1, 1, 4]);
  assert.equal(lines.possible.raw[0], 0.1);
  assert.deepEqual([...lines["too few texts"].x], [4, 10]);
  assert.equal(lines["best of n"].raw.at(-1), 0.6);
  assert.ok(farthest([run({ possible: POSSIBLE })]) > 10);
});

test("several runs are told by letters, without slopes, and what is possible is of the first that knows", () => {
  const lines = linesOf([run(), run({ possible: POSSIBLE }), run({ evaluations: { ...LOOKS, kl: [], score: [] } })]);
  assert.deepEqual(lines.map(({ label }) => label), ["A", "B", "possible", "best of n", "too few texts"]);
});

test("a sweep is the ways of its settings and the ends of its runs, which nothing joins", () => {
  const way = (kl) => ({ evaluations: { update: [0, 5], kl: [0, kl], score: [0, 1], low: [0, 1], high: [0, 1] } });
  const ends = { kl: [1, 4], score: [0.5, 1] };
  const lines = sweepLines({ runs: [way(1), way(4)], ends });
  assert.deepEqual(lines.map(({ label }) => label), ["A", "B", "every run"]);
  assert.deepEqual([...lines[2].x], [1, NaN, 4]);
  assert.deepEqual([...lines[2].raw], [0.5, NaN, 1]);
  assert.ok(lines[2].line.every(Number.isNaN));
  const alone = sweepLines({ runs: [way(1)], ends: { kl: [], score: [] } });
  assert.deepEqual(alone.map(({ label }) => label), ["mean"]);
});
