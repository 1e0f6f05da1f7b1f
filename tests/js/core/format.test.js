// Numbers and times for reading.

import assert from "node:assert/strict";
import test from "node:test";

import { directionOf, duration, gainOf, number, signed, timeRange, withHalf, when,
} from "../../../playground/ui/static/core/format.js";

test("numbers are told with three digits and a real minus", () => {
  assert.deepEqual([1.234, -0.5, 12.34, 123.4, 12345, 0, -4, null].map(number),
    ["1.23", "\u22120.50", "12.3", "123", "12,300", "0", "\u22124", "\u2013"]);
  assert.deepEqual([signed(2.371), duration(31.4), duration(125), duration(3780)],
    ["+2.37", "31 s", "2 min 05 s", "1 h 03 min"]);
  assert.deepEqual([0, 0.42, 1.96, 75, 99.6, 125, 3599, 3780, 7800, -5].map(duration), ["0 s", "0.4 s", "2 s", "75 s",
    "1 min 40 s", "2 min 05 s", "59 min 59 s", "1 h 03 min", "2 h 10 min", "0 s"]); // as in tests/cli/test_cli.py
});

test("a time is told as in a lab book", () => {
  const now = new Date(2026, 10, 22, 15, 0);
  const at = (...parts) => when(new Date(...parts).getTime() / 1000, now);
  assert.deepEqual([at(2026, 10, 22, 14, 5), at(2026, 10, 21, 9, 12), at(2026, 9, 3, 7, 0)],
    ["today 14:05", "yesterday 09:12", "3 Oct 2026 07:00"]);
});

test("an estimate is a range with one unit, or one number where its ends are told alike", () => {
  assert.deepEqual([[0.2, 0.9], [0.2, 3.4], [21.4, 34.6], [50, 118], [3000, 9000], [10.2, 10.4], [9e4, 9e5]]
    .map((ends) => timeRange(...ends)),
    ["less than a second", "about 1 to 3 s", "about 21 to 35 s", "about 1 to 2 min", "about 1 to 3 h",
      "about 10 s", "about 1 to 10 days"]);
});

test("a score has the colour of the way it went, and none where it is told as the same number", () => {
  assert.deepEqual([directionOf(-0.01, -0.77), directionOf(0.1, 0.4), directionOf(0.101, 0.102),
    directionOf(null, 1), directionOf(1, undefined)], ["down", "up", "", "", ""]);
});

test("a gain is told with its interval, and one of training batches says that it is", () => {
  assert.equal(gainOf({ gain: 2.531, high: 2.831, source: "fixed prompts" }), "+2.53 \u00b1 0.30");
  assert.equal(gainOf({ gain: 0.0012, high: 0.0015, source: "fixed prompts" }), "+0.0012 \u00b1 0.0003");
  assert.equal(withHalf(-0.0001, 0.004), "0.000 \u00b1 0.004");
  assert.equal(withHalf(-1.25, 0.002), "\u22121.250 \u00b1 0.002");
  assert.equal(withHalf(1.25, 0), "1.25 \u00b1 0");
  assert.equal(gainOf({ gain: -0.5, high: null, source: "training batch" }), "\u22120.50 (training batch)");
});
