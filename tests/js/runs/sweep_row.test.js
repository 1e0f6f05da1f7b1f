// What a sweep says of itself in words.

import assert from "node:assert/strict";
import test from "node:test";

import { formProblems, formTitle, messageOf } from "../../../playground/ui/static/runs/sweep_form.js";
import { intervalOf, progressOf, shareOf } from "../../../playground/ui/static/runs/sweep_row.js";

test("how far it is, and how long it takes where that is known", () => {
  assert.equal(progressOf({ words: "2 of 6 done, 4 waiting", left: null }), "2 of 6 done, 4 waiting");
  assert.equal(progressOf({ words: "2 of 6 done", left: [120, 240] }), "2 of 6 done; about 2 to 4 min left");
});

test("a mean has its interval where there are two seeds", () => {
  assert.equal(intervalOf({ mean: 1.234, half: 0.5, seeds: 3 }, true), "+1.23 \u00b1 0.50");
  assert.equal(intervalOf({ mean: 1.234, half: null, seeds: 1 }), "1.23");
  assert.equal(shareOf({ mean: 62, low: 0, high: 100 }), "62 (0 to 100)");
  assert.equal(shareOf({ mean: 62, low: null, high: null }), "62");
  assert.equal(shareOf(undefined), "\u2013");
  assert.equal(intervalOf(null), "\u2013");
});

test("before the start it says how many runs, how long, and behind whom", () => {
  assert.equal(messageOf({ count: 9, seconds: [60, 90], beside: 0 }),
    "9 runs, about 60 to 90 s one after the other on this machine.");
  assert.equal(messageOf({ count: 1, seconds: null, beside: 1 }), "1 run, behind 1 that waits already.");
});

const OFFERED = [["Seconds", [["kinder-reviews", "1. Kinder reviews"], ["no-leash", "2. No leash"]]]];

test("the form as it stands is called by its preset, or its run, and how much was changed", () => {
  assert.equal(formTitle({ preset: "no-leash", changes: 0 }, OFFERED), "The form as it stands: No leash");
  assert.equal(formTitle({ preset: "no-leash", changes: 1 }, OFFERED), "The form as it stands: No leash, 1 change");
  assert.equal(formTitle({ preset: "run:mine", changes: 2 }, OFFERED),
    "The form as it stands: settings of mine, 2 changes");
});

test("a form that is not filled or has a mistake is not swept, and it is said where to mend it", () => {
  assert.match(formProblems({ text: null }, [])[0].message, /still being filled/);
  assert.deepEqual(formProblems({ text: "seed:0" }, [{ label: "Leash (beta)", message: "must be at least 0." }]),
    [{ label: "On the Train page, Leash (beta)", message: "must be at least 0." }]);
  assert.deepEqual(formProblems({ text: "seed:0" }, []), []);
});
