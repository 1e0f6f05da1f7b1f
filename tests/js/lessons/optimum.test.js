import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { bestOf, bestOfAll, betasBetween, chanceOf } from "../../../playground/ui/static/lessons/optimum.js";

// tests/bench/test_best_policies.py compares the same numbers with bench/chalkboard.py
const { levels, best } = JSON.parse(readFileSync(new URL("optimum.json", import.meta.url), "utf8"));
const near = (one, other, within = 1e-9) => assert.ok(Math.abs(one - other) < within, `${one} is not ${other}`);

test("from how likely each score is, the page has Python's best policy for any leash", () => {
  for (const { beta, score, kl, log_z: logZ } of best) {
    const found = bestOf(levels, beta);
    near(found.score, score);
    near(found.kl, kl);
    near(found.logZ, logZ);
  }
});

test("the slope of the best is the leash", () => {
  for (const beta of [0.2, 0.5, 1, 4]) {
    const [short, long] = [bestOf(levels, beta * 1.0005), bestOf(levels, beta / 1.0005)];
    near((long.score - short.score) / (long.kl - short.kl), beta, 1e-4 * beta);
  }
});

test("the texts of the best policy are as likely as it says, in all", () => {
  const { logZ } = bestOf(levels, 0.3);
  const chances = levels.map(([score, reference]) => chanceOf({ score, reference }, 0.3, logZ));
  near(chances.reduce((sum, chance) => sum + chance, 0), 1);
});

test("no leash makes the best policy the reference", () => {
  for (const beta of [20, 200, 2000]) assert.ok(bestOf(levels, beta).gain > 0);
});

test("of several prompts it is the mean", () => {
  const { gain, kl } = bestOf(levels, 0.5);
  const both = bestOfAll([levels, [[1, 1]]], 0.5); // where all texts score alike there is nothing to gain
  near(both.gain, gain / 2);
  near(both.kl, kl / 2);
  assert.deepEqual(betasBetween(1, 8, 4).map(Math.round), [1, 2, 4, 8]);
});
