// What is said of prompts that are too few to hold some out.

import assert from "node:assert/strict";
import test from "node:test";

import { usedTwice } from "../../../playground/ui/static/train/prompts_preview.js";

test("fixed prompts that are trained on too are told, with what to do", () => {
  assert.equal(usedTwice({ held_out: true, num_training: 200, num_evaluation: 64 }), "");
  assert.match(usedTwice({ held_out: false, num_training: 20, num_evaluation: 20 }),
    /hold some out: the fixed prompts are trained on too.*\u201cFixed prompts\u201d to 10 or fewer\./);
  assert.match(usedTwice({ held_out: false, num_training: 101, num_evaluation: 64 }),
    /: 64 of them are the fixed prompts and are trained on too.* to 50 or fewer\./);
});
