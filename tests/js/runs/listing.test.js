// Sorting and filtering the list of runs.

import assert from "node:assert/strict";
import test from "node:test";

import { COLUMNS, NEWEST, listed, turned } from "../../../playground/ui/static/runs/listing.js";

const run = (id, started_at, more = {}) => ({ id, title: id, told: "", note: "", model: "pocket-2m",
  reward: "Sentiment", method: "PPO", engine: "playground", seed: 1, state: "finished", beta: 0.25,
  learning_rate: 3e-4, duration: 10, started_at, headline: null, ...more });
const RUNS = [
  run("new", 3, { note: "Half the leash", beta: 0.125, state: "failed" }),
  run("middle", 2, { headline: { gain: -1, kl: 9 }, reward: "Length", told: "Kinder reviews, but length as reward" }),
  run("old", 1, { headline: { gain: 2, kl: 4 }, model: "pocket-1m", beta: null, seed: 12 }),
];
const ids = (runs) => runs.map(({ id }) => id);

test("the newest run comes first, and a second press turns the order round", () => {
  assert.deepEqual(ids(listed(RUNS, "", NEWEST)), ["new", "middle", "old"]);
  assert.deepEqual(ids(listed(RUNS, "", turned(NEWEST, "when"))), ["old", "middle", "new"]);
});

test("what has no value comes last either way", () => {
  const down = turned(NEWEST, "gain");
  assert.deepEqual(ids(listed(RUNS, "", down)), ["old", "middle", "new"]);
  assert.deepEqual(ids(listed(RUNS, "", turned(down, "gain"))), ["middle", "old", "new"]);
  const up = turned(NEWEST, "beta");
  assert.deepEqual(ids(listed(RUNS, "", up)), ["new", "middle", "old"]);
  assert.deepEqual(ids(listed(RUNS, "", turned(up, "beta"))), ["middle", "new", "old"]);
});

test("every column can be sorted by, and words by the alphabet", () => {
  for (const { key } of COLUMNS) assert.equal(listed(RUNS, "", turned(NEWEST, key)).length, 3);
  assert.deepEqual(ids(listed(RUNS, "", turned(NEWEST, "model"))), ["old", "new", "middle"]);
  assert.deepEqual(ids(listed(RUNS, "", turned(NEWEST, "reward"))), ["middle", "new", "old"]);
  assert.deepEqual(ids(RUNS), ["new", "middle", "old"], "the list itself stays as it is");
});

test("a filter wants all of its words, wherever in what is shown of a run they stand", () => {
  const found = (words) => ids(listed(RUNS, words, NEWEST));
  assert.deepEqual(found("  LEASH half "), ["new"]);
  assert.deepEqual([found("length"), found("seed 12"), found("pocket-1m"), found("failed"), found("ppo mid")],
    [["middle"], ["old"], ["old"], ["new"], ["middle"]]);
  assert.deepEqual(found("no such"), []);
});
