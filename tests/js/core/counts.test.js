// Behaviours in words: counts, what has become of them, and what a recording knows at a moment.

import assert from "node:assert/strict";
import test from "node:test";

import { bandInWords, countsInWords, intervalInWords, meterInWords, upTo, verdictOf,
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
