import assert from "node:assert/strict";
import test from "node:test";

import { leashInWords } from "../../../playground/ui/static/train/leash_words.js";

const run = (value, adaptive = false) => ({ adaptive,
  settings: [{ field: "seed", value: "0" }, ...(value === null ? [] : [{ field: "kl.coef", value }])] });
const edit = (update, value, field = "kl.coef") => ({ kind: "edit", update, field, value });

/** As it is read. */
function told(...facts) {
  const found = leashInWords(...facts);
  return found && [found.before, found.value, found.after].filter(Boolean).join(" ");
}

test("a leash that nobody changed is its value", () => {
  assert.equal(told(run("0.25"), [], {}), "0.25");
  assert.equal(told(run("0"), [edit(4, 0.5, "ppo.learning_rate"), { kind: "warning", update: 3 }], {}), "0");
});

test("a changed leash says since when, and what it was before", () => {
  assert.equal(told(run("0.25"), [edit(12, 0.05)], {}), "0.05 since update 12 (before: 0.25)");
  assert.equal(told(run("0.25"), [edit(12, 0.05), edit(20, 0.1)], {}),
    "0.1 since update 20 (before: 0.05 since update 12, 0.25)");
});

test("of many changes the last two values before are told", () => {
  assert.equal(told(run("0.25"), [edit(2, 1), edit(5, 2), edit(9, 3)], {}),
    "3 since update 9 (before: 2 since update 5, 1)");
});

test("of changes at one update the last one counts", () => {
  assert.equal(told(run("0.25"), [edit(0, 1), edit(0, 0.5)], {}), "0.5");
  assert.equal(told(run("0.25"), [edit(6, 1), edit(6, 0.5)], {}), "0.5 since update 6 (before: 0.25)");
});

test("an adaptive leash moves by itself, from what it was set to last", () => {
  assert.equal(told(run("0.4", true), [], { kl_coef: [0.4, 0.3124] }), "moves by itself: 0.312 now");
  assert.equal(told(run("0.4", true), [], { kl_coef: [] }), "moves by itself: 0.4 now");
  assert.equal(told(run("0.4", true), [edit(7, 0.2)], { kl_coef: [0.21] }),
    "moves by itself: 0.21 now (set to 0.2 since update 7)");
});

test("a method without a leash has no words for one", () => {
  assert.equal(told(run(null), [], { kl_coef: [0] }), null);
});
