// Behaviours in words: counts, what has become of them, and what a recording knows at a moment.

import assert from "node:assert/strict";
import test from "node:test";

import { bandInWords, countsInWords, firstOf, headline, intervalInWords, meterInWords, shareInWords, upTo, verdictOf,
} from "../../../playground/ui/static/core/counts.js";

const count = (yes, of, low = 0.1, high = 0.95) => ({ yes, of, low, high });
const meter = (counts, changes, aim = "less") => ({ name: "a", words: "repeats wrong claims", aim,
  updates: counts.map((_, index) => 5 * index), counts, changes, band: null });

test("counts are told from before to now, of as many as were asked", () => {
  assert.equal(countsInWords(meter([count(12, 29), count(20, 29), count(25, 29)], [0, 0, 1])), "12 \u2192 25 of 29");
  assert.equal(countsInWords(meter([count(12, 29), count(25, 28)], [0, 1])), "12 of 29 \u2192 25 of 28");
  assert.equal(countsInWords(meter([count(12, 29)], [0])), "12 of 29");
  assert.equal(countsInWords(meter([count(3, 9), count(4, 9)], [0, 0]), " | "), "3 | 4 of 9");
});

test("a change is better or worse by what is wanted, and no change is neither", () => {
  const verdict = (change, aim) => verdictOf(meter([count(1, 2), count(1, 2)], [0, change], aim));
  assert.deepEqual(verdict(1, "less"), { sign: "\u25B2", tone: "worse", text: "up: worse" });
  assert.deepEqual(verdict(-1, "less"), { sign: "\u25BC", tone: "better", text: "down: better" });
  assert.deepEqual(verdict(1, "more"), { sign: "\u25B2", tone: "better", text: "up: better" });
  assert.deepEqual(verdict(-1, "more"), { sign: "\u25BC", tone: "worse", text: "down: worse" });
  assert.deepEqual(verdict(1, "neither"), { sign: "\u25B2", tone: "", text: "up" });
  assert.deepEqual(verdict(0, "more"), { sign: "=", tone: "", text: "no clear change" });
});

test("who does not see a meter hears counts, intervals and what was measured", () => {
  const found = { ...meter([count(12, 24, 0.314, 0.686), count(18, 24, 0.551, 0.88)], [0, 1]), band: [0.88, 0.91] };
  assert.equal(meterInWords(found),
    "repeats wrong claims: now 18 of 24, 75 %, 95 % interval 55 to 88 %; before 12 of 24, "
    + "50 %, 95 % interval 31 to 69 %. Expected from other seeds: 88 to 91 %.");
  assert.equal(meterInWords(meter([count(1, 2)], [0])),
    "repeats wrong claims: before 1 of 2, 50 %, 95 % interval 10 to 95 %.");
  assert.deepEqual([intervalInWords({ low: 0, high: 0.104 }), bandInWords([0.996, 1])], ["0 to 10 %", "100 %"]);
});

test("a recording knows no later look, and not what the end tells", () => {
  const long = meter([count(1, 9), count(2, 9), count(8, 9)], [0, 0, 1]);
  const late = { ...long, updates: [5, 10, 15] };
  const all = { meters: [long, late], paid: [{ name: "a" }], ways: [{ words: "plainly", wrong: long, right: null }] };
  const { meters: [first, ...others], ways: [way], paid } = upTo(all, 7);
  assert.deepEqual([first.updates, first.counts.length, first.changes], [[0, 5], 2, [0, 0]]);
  assert.deepEqual([others[0].updates, way.wrong.updates, way.right, paid], [[5], [0, 5], null, []]);
  assert.equal(upTo(all, 0).meters.length, 1);
  assert.equal(upTo(null, 0), null);
});

test("shares are told in tenths, and nearly all is not all", () => {
  assert.deepEqual([0, 0.04, 0.05, 0.449, 0.45, 0.949, 0.95, 1].map(shareInWords),
    ["none", "hardly any", "one of ten", "four of ten", "five of ten", "nine of ten", "nearly all", "all"]);
});

test("what leads is shown first, then what has changed", () => {
  const named = (name, change) => ({ name, changes: [0, change] });
  const shown = firstOf([named("reward", 0), named("english", 0), named("ends", 1), named("no", -1)]);
  assert.deepEqual(shown.map(({ name }) => name), ["reward", "ends", "no", "english"]);
  assert.deepEqual(firstOf([]), []);
});

test("one line says what has clearly changed, at what cost, and whether the score rose all the same", () => {
  const of = (name, words, aim, yes, change) => ({ name, words, aim, updates: [0, 5], changes: [0, change],
    counts: yes.map((one) => count(one, 20)), band: null });
  const kind = (yes, change) => of("kind", "is kind", "more", yes, change);
  const grammar = (yes, change) => of("grammar", "keeps to the grammar", "more", yes, change);
  const said = (meters, paid = []) => headline({ meters, paid: paid.map((name) => ({ name })), ways: [] });
  assert.equal(headline(null), "");
  assert.equal(said([meter([count(1, 2)], [0])]), "", "one look is no change");
  assert.equal(said([kind([10, 12], 0), grammar([20, 20], 0)]),
    "No clear change yet: it is kind in six of ten answers.");
  assert.equal(headline({ meters: [kind([10, 12], 0)], paid: [], ways: [] }, { ended: true }),
    "No clear change: it is kind in six of ten answers.");
  assert.equal(said([kind([20, 20], 0)]), "It is kind in all answers, as before.");
  assert.equal(said([kind([10, 18], 1), grammar([20, 20], 0)]),
    "Now it is kind in nine of ten answers (before: five).");
  assert.equal(said([kind([10, 18], 1), grammar([20, 4], -1)]),
    "Now it is kind in nine of ten answers (before: five). But it keeps to the grammar in two of ten (before: all).");
  assert.equal(said([kind([10, 10], 0), grammar([20, 0], -1), kind([18, 2], -1)], ["grammar"]),
    "Now it keeps to the grammar in none of the answers (before: all). And the score rose.",
    "what is worse itself stands alone");
  assert.equal(said([kind([2, 3], 1)]), "Now it is kind in two of ten answers (before: one).");
  assert.equal(said([kind([5, 6], 1)]), "Now it is kind in 6 of 20 answers (before: 5 of 20).", "the same in tenths");
  const few = { ...kind([0, 0], 0), counts: [count(3, 6), count(5, 6)] };
  assert.equal(said([few]), "No clear change yet: it is kind in 5 of 6 answers.", "six have no tenths");
  assert.equal(said([{ ...few, changes: [0, 1] }]), "Now it is kind in 5 of 6 answers (before: 3 of 6).");
  const reward = (yes, change) => of("trained_reward", "earns more than the untrained median", "more", yes, change);
  assert.equal(said([reward([10, 18], 1), kind([20, 20], 0), grammar([10, 18], 1)]),
    "Now it earns more than the untrained median in nine of ten answers (before: five). "
    + "It keeps to the grammar in nine of ten (before: five).");
  assert.equal(said([reward([10, 18], 1), kind([10, 18], 1), grammar([20, 4], -1)]),
    "Now it earns more than the untrained median in nine of ten answers (before: five). "
    + "But it keeps to the grammar in two of ten (before: all).");
  assert.equal(said([reward([10, 11], 0), grammar([10, 18], 1)]),
    "No clear change of its reward yet. Now it keeps to the grammar in nine of ten answers (before: five).");
  assert.equal(said([reward([10, 11], 0), grammar([18, 18], 0)]),
    "No clear change yet: it earns more than the untrained median in six of ten answers.");
  assert.equal(headline({ meters: [kind([10, 18], 1)], paid: [], ways: [] }, { first: "It cheats." }),
    "It cheats. Now it is kind in nine of ten answers (before: five).");
  const long = of("long", "says again in the very same words what the user has said before", "less", [20, 2], -1);
  const line = said([long, grammar([20, 4], -1)], ["long"]);
  assert.ok(line.length <= 140 && line.startsWith("Now it says again"), line);
  assert.equal(line.includes("But it"), false, "a line has no room for it");
});
