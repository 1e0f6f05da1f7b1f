import assert from "node:assert/strict";
import { test } from "node:test";
import { bestAt, bestStop, countOf, isFar, sentenceOf } from "../../../playground/ui/static/lessons/leash_figures.js";

const run = (seed, gain, kl, after) => ({ seed, gain, kl, counts: { positive: { before: 30, after, of: 64 } } });
const stop = { beta: 0.25, runs: [run(0, 3, 7, 50), run(1, 3.5, 8, 55), run(2, 3.2, 6, 60)] };
const data = { loose: 0.16, tight: 3.4, leashes: [stop], possible: [
  { kl: 2, score: 2, known: true }, { kl: 10, score: 4, known: true }, { kl: 20, score: 5, known: false }] };

test("counts are those of all its runs together", () => {
  assert.deepEqual(countOf(stop, "positive"), { before: 90, after: 165, of: 192 });
});

test("what is possible lies between the known points of its line, and beyond them it is not said", () => {
  assert.equal(bestAt(data.possible, 1), 1);
  assert.equal(bestAt(data.possible, 6), 3);
  assert.equal(bestAt(data.possible, 15), null);
});

test("a sentence says no more than the range of its runs", () => {
  assert.equal(sentenceOf(data, stop), "With a leash of 0.25 the gain in score was +3 to +3.50 sd, at a distance of "
    + "6 to 8 nats (3 runs with different start values). "
    + "About +3.25 sd is the best that any model could have at their mean distance.");
  assert.match(sentenceOf(data, { beta: 0, runs: [run(0, 22, 200, 20)] }),
    /^Without a leash the gain in score was \+22 sd, at a distance of 200 nats \(one run\)\.$/);
  assert.ok(!isFar(stop));
});

test("the best model stops where its line is as steep as the leash, as far as that is known", () => {
  assert.deepEqual(bestStop(data.possible, 0.5), { kl: 2, score: 2 });
  assert.equal(bestStop(data.possible, 0.1), null);
});
