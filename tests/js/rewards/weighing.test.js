// The arithmetic of the reward workbench. That it weighs as the trainer does is a test in tests/ui/test_scripts.py.

import assert from "node:assert/strict";
import test from "node:test";

import { analyse, duel, shareBelow } from "../../../playground/ui/static/rewards/weighing.js";

const LENGTH = { kind: "length", weight: 1, normalise: false, cap: "", target: "" };
const FOUND = {
  names: ["length"], labels: ["Length"], rewards: [LENGTH], texts: { length: [7, 2] },
  reference: { length: [3, 5, 9, 4, 4] }, sides: [{ side: "A" }, { side: "B" }],
  samples: [0, 1, 2, 3, 4].map((number) => ({ prompt: "p", completion: String(number) })),
};

test("a reward that was not measured is told and left out", () => {
  const rewards = [{ ...LENGTH, weight: -1 }, { ...LENGTH, target: 20 }];
  const found = analyse(FOUND, rewards);
  assert.deepEqual(found.terms.map(({ label }) => label), ["Length"]);
  assert.deepEqual(found.missing, [rewards[1]]);
  const none = analyse(FOUND, []);
  assert.deepEqual([none.samples, none.texts], [[], []]);
});

test("texts are ranked by their score, and ties by their order", () => {
  const found = analyse(FOUND, [LENGTH]);
  assert.deepEqual(found.samples.map(({ rank }) => rank), [5, 2, 1, 3, 4]);
  assert.deepEqual(found.texts.map(({ rank }) => rank), [2, 6]);
});

test("a duel names the winner and the term that decides", () => {
  const terms = [{ label: "Length" }, { label: "Truth" }];
  assert.deepEqual(duel([{ score: 1, adds: [0.5, 0.5] }, { score: 2, adds: [2.5, -0.5] }], terms),
    { winner: 1, by: 1, terms: [{ label: "Length", by: 2 }, { label: "Truth", by: -1 }] });
  assert.equal(duel([{ score: 1, adds: [1, 0] }, { score: 1, adds: [0, 1] }], terms), null);
});

test("of equal scores half count as lower", () => {
  assert.equal(shareBelow([{ score: 0 }, { score: 1 }, { score: 2 }], 1), 0.5);
});
