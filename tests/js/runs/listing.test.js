// Sorting and filtering the list of runs.

import assert from "node:assert/strict";
import test from "node:test";

import { NEWEST, behavioursOf, changedIn, columnsOf, countOf, grouped, listed, shownOf,
  sortedBy, turned, unfolded } from "../../../playground/ui/static/runs/listing.js";

const FIGURES = [["model", "Model", "words"], ["reward", "Reward", "words"], ["beta", "Leash (beta)", "setting"],
  ["gain", "Gain", "signed", true], ["kl", "Distance (KL)", "number", true]]
  .map(([key, label, kind, down = false]) => ({ key, label, kind, title: "", down }));
const COLUMNS = columnsOf(FIGURES, []);
const run = (id, started_at, { figures = {}, ...more } = {}) => ({ id, title: id, experiment: "", note: "",
  method: "PPO", engine: "playground", seed: 1, state: "finished", behaviours: [], started_at, ...more,
  figures: Object.fromEntries(
    Object.entries({ model: "pocket-2m", reward: "Sentiment", beta: 0.25, gain: null, kl: null, ...figures })
      .map(([key, value]) => [key, { value, low: null, high: null, note: "" }])) });
const RUNS = [
  run("new", 3, { note: "Half the leash", figures: { beta: 0.125 }, state: "failed" }),
  run("middle", 2, { figures: { gain: -1, kl: 9, reward: "Length" },
    experiment: "Kinder reviews, changed: length as reward" }),
  run("old", 1, { figures: { gain: 2, kl: 4, model: "pocket-1m", beta: null }, seed: 12 }),
];
const ids = (runs) => runs.map(({ id }) => id);

test("the newest run comes first, and a second press turns the order round", () => {
  assert.deepEqual(ids(listed(RUNS, "", NEWEST, COLUMNS)), ["new", "middle", "old"]);
  assert.deepEqual(ids(listed(RUNS, "", turned(NEWEST, "when", COLUMNS), COLUMNS)), ["old", "middle", "new"]);
});

test("the order is told by its column and an arrow", () => {
  assert.equal(sortedBy(NEWEST, COLUMNS), "When \u2193");
  assert.equal(sortedBy(turned(NEWEST, "kl", COLUMNS), COLUMNS), "Distance (KL) \u2193");
  assert.equal(sortedBy(turned(NEWEST, "beta", COLUMNS), COLUMNS), "Leash (beta) \u2191");
});

test("what has no value comes last either way", () => {
  const down = turned(NEWEST, "gain", COLUMNS);
  assert.deepEqual(ids(listed(RUNS, "", down, COLUMNS)), ["old", "middle", "new"]);
  assert.deepEqual(ids(listed(RUNS, "", turned(down, "gain", COLUMNS), COLUMNS)), ["middle", "old", "new"]);
  const up = turned(NEWEST, "beta", COLUMNS);
  assert.deepEqual(ids(listed(RUNS, "", up, COLUMNS)), ["new", "middle", "old"]);
  assert.deepEqual(ids(listed(RUNS, "", turned(up, "beta", COLUMNS), COLUMNS)), ["middle", "new", "old"]);
});

test("a filter wants all of its words, wherever in what is shown of a run they stand", () => {
  const found = (words) => ids(listed(RUNS, words, NEWEST, COLUMNS));
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
  const columns = columnsOf(FIGURES, behavioursOf(COUNTING).filter(({ name }) => name === "ends"));
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

const sweep = (id, gain = null) => ({ ...run(id, 5, { figures: { gain } }), varies: "Leash (beta): 0.1, 0.5",
  preset: "Kinder reviews", best: null });

test("a sweep stands in the list in place of its runs, which hold its words and are below it when it is open", () => {
  const runs = [run("alone", 9), run("s-2", 2, { sweep: "s", note: "curious" }), run("s-1", 1, { sweep: "s" })];
  const items = grouped({ runs, sweeps: [sweep("s")] });
  assert.deepEqual(items.map(({ id }) => id), ["alone", "s"]);
  assert.deepEqual(listed(items, "curious", NEWEST, COLUMNS).map(({ id }) => id), ["s"]);
  assert.deepEqual(listed(items, "leash 0.5 SWEEP", NEWEST, COLUMNS).map(({ id }) => id), ["s"]);
  assert.deepEqual(unfolded(items, null).map(({ id }) => id), ["alone", "s"]);
  assert.deepEqual(unfolded(items, "s").map(({ id }) => id), ["alone", "s", "s-1", "s-2"]);
});

test("a sweep is sorted by its best setting, and a run whose sweep is not known stands alone", () => {
  const items = grouped({ runs: [run("lost", 1, { sweep: "gone", figures: { gain: 1 } })],
    sweeps: [sweep("low", 0.5), sweep("high", 2), sweep("none")] });
  assert.deepEqual(ids(listed(items, "", { key: "gain", down: true }, COLUMNS)), ["high", "lost", "low", "none"]);
});
