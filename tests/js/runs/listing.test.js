// Sorting and filtering the list of runs.

import assert from "node:assert/strict";
import test from "node:test";

import { NEWEST, behavioursOf, changedIn, columnsWith, countOf, grouped, listed, shownOf,
  sortedBy, turned, unfolded } from "../../../playground/ui/static/runs/listing.js";

const run = (id, started_at, more = {}) => ({ id, title: id, told: "", note: "", model: "pocket-2m",
  reward: "Sentiment", method: "PPO", engine: "playground", seed: 1, state: "finished", beta: 0.25,
  learning_rate: 3e-4, duration: 10, started_at, headline: null, ...more });
const RUNS = [
  run("new", 3, { note: "Half the leash", beta: 0.125, state: "failed" }),
  run("middle", 2, { headline: { gain: -1, kl: 9 }, reward: "Length",
    told: "Kinder reviews, changed: length as reward" }),
  run("old", 1, { headline: { gain: 2, kl: 4 }, model: "pocket-1m", beta: null, seed: 12 }),
];
const ids = (runs) => runs.map(({ id }) => id);

test("the newest run comes first, and a second press turns the order round", () => {
  assert.deepEqual(ids(listed(RUNS, "", NEWEST)), ["new", "middle", "old"]);
  assert.deepEqual(ids(listed(RUNS, "", turned(NEWEST, "when"))), ["old", "middle", "new"]);
});

test("the order is told by its column and an arrow", () => {
  assert.equal(sortedBy(NEWEST), "When \u2193");
  assert.equal(sortedBy(turned(NEWEST, "kl")), "Distance (KL) \u2193");
  assert.equal(sortedBy(turned(NEWEST, "beta")), "Leash (beta) \u2191");
});

test("what has no value comes last either way", () => {
  const down = turned(NEWEST, "gain");
  assert.deepEqual(ids(listed(RUNS, "", down)), ["old", "middle", "new"]);
  assert.deepEqual(ids(listed(RUNS, "", turned(down, "gain"))), ["middle", "old", "new"]);
  const up = turned(NEWEST, "beta");
  assert.deepEqual(ids(listed(RUNS, "", up)), ["new", "middle", "old"]);
  assert.deepEqual(ids(listed(RUNS, "", turned(up, "beta"))), ["middle", "new", "old"]);
});

test("a filter wants all of its words, wherever in what is shown of a run they stand", () => {
  const found = (words) => ids(listed(RUNS, words, NEWEST));
  assert.deepEqual(found("  LEASH half "), ["new"]);
  assert.deepEqual([found("length"), found("seed 12"), found("pocket-1m"), found("failed"), found("ppo mid")],
    [["middle"], ["old"], ["old"], ["new"], ["middle"]]);
  assert.deepEqual(found("no such"), []);
});

const side = (count, of, low = 0, high = 1) => ({ count, of, low, high });
const behaviour = (name, before, after, change) => ({ name, words: `does ${name}`, before, after, change });
const COUNTING = [
  run("reviews", 3, { behaviours: [behaviour("ends", side(8, 8), side(8, 8), 0),
    behaviour("kind", side(2, 8), side(7, 8), 1)] }),
  run("claims", 2, { behaviours: [behaviour("ends", side(8, 8), side(1, 8), -1),
    behaviour("flatters", side(3, 6), side(2, 4), 0)] }),
  run("waiting", 1, { behaviours: [] }),
];
const names = (behaviours) => behaviours.map(({ name }) => name);

test("behaviours that all runs with counts share have a column", () => {
  assert.deepEqual(names(behavioursOf(COUNTING)), ["ends", "kind", "flatters"]);
  assert.deepEqual(names(shownOf(COUNTING)), ["ends"]);
  assert.deepEqual(names(shownOf(COUNTING.slice(0, 1))), ["kind", "ends"], "what changed comes first");
  assert.deepEqual([shownOf([]), shownOf(RUNS)], [[], []]);
});

test("a column of a behaviour stands before the gain and is sorted by the share at the last look", () => {
  const columns = columnsWith(behavioursOf(COUNTING).filter(({ name }) => name === "ends"));
  const place = columns.findIndex(({ key }) => key === "counts ends");
  assert.deepEqual([columns[place].label, columns[place + 1].key], ["does ends", "gain"]);
  const down = turned(NEWEST, "counts ends", columns);
  assert.deepEqual(ids(listed(COUNTING, "", down, columns)), ["reviews", "claims", "waiting"]);
  const up = turned(down, "counts ends", columns);
  assert.deepEqual(ids(listed(COUNTING, "", up, columns)), ["claims", "reviews", "waiting"]);
});

test("a count is told with both numbers of answers where these differ", () => {
  const [, flatters] = COUNTING[1].behaviours;
  assert.equal(countOf(COUNTING[0].behaviours[1]), "2 \u2192 7 of 8");
  assert.equal(countOf(flatters), "3 of 6 \u2192 2 of 4");
  assert.deepEqual(names(changedIn(COUNTING[1], [])), ["ends"]);
  assert.deepEqual(changedIn(COUNTING[1], [{ name: "ends" }]), []);
});

const sweep = (id, more = {}) => ({ id, title: id, told: "Leash (beta): 0.1, 0.5", preset: "Kinder reviews",
  model: "pocket-2m", reward: "Sentiment", state: "finished", started_at: 5, best: null, ...more });

test("a sweep stands in the list in place of its runs, which hold its words and are below it when it is open", () => {
  const runs = [run("alone", 9), run("s-2", 2, { sweep: "s", note: "curious" }), run("s-1", 1, { sweep: "s" })];
  const items = grouped({ runs, sweeps: [sweep("s")] });
  assert.deepEqual(items.map(({ id }) => id), ["alone", "s"]);
  assert.deepEqual(listed(items, "curious", NEWEST).map(({ id }) => id), ["s"]);
  assert.deepEqual(listed(items, "leash 0.5 SWEEP", NEWEST).map(({ id }) => id), ["s"]);
  assert.deepEqual(unfolded(items, null).map(({ id }) => id), ["alone", "s"]);
  assert.deepEqual(unfolded(items, "s").map(({ id }) => id), ["alone", "s", "s-1", "s-2"]);
});

test("a sweep is sorted by its best setting, and a run whose sweep is not known stands alone", () => {
  const best = (mean) => ({ gain: { mean }, kl: null });
  const items = grouped({ runs: [run("lost", 1, { sweep: "gone", headline: { gain: 1 } })],
    sweeps: [sweep("low", { best: best(0.5) }), sweep("high", { best: best(2) }), sweep("none")] });
  assert.deepEqual(listed(items, "", { key: "gain", down: true }).map(({ id }) => id), ["high", "lost", "low", "none"]);
});
