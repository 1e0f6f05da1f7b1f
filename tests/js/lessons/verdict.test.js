// A prediction held against what the run did.

import assert from "node:assert/strict";
import test from "node:test";

import { verdictOf } from "../../../playground/ui/static/lessons/verdict.js";

const choice = { kind: "choice", options: [{ say: "Kinder" }, { say: "Nonsense" }] };
const number = { kind: "number", options: [], unit: "% kind", near: 10, low: 0, high: 100 };
const curve = { kind: "curve", options: [], column: "score_mean" };
const told = (others) => ({ held: null, beliefs: [], value: null, words: "", shape: "", ...others });

test("a choice that was wrong gets what happened and the belief behind it, one that was right does not", () => {
  const said = told({ held: 1, beliefs: ["More reward sounds like more of what was meant.", "not to be said"] });
  const wrong = verdictOf(choice, { choice: 0 }, said);
  assert.equal(wrong.tone, "other");
  assert.deepEqual(wrong.more,
    ["What happened: \u201cNonsense\u201d", "More reward sounds like more of what was meant."]);
  const right = verdictOf(choice, { choice: 1 }, said);
  assert.equal(right.tone, "right");
  assert.deepEqual(right.more, []);
});

test("where no answer fits, and for those who only looked, nothing is right or wrong", () => {
  assert.equal(verdictOf(choice, {}, told({ held: 1 })).said, "What happened: \u201cNonsense\u201d");
  assert.equal(verdictOf(choice, {}, told({ held: 1 })).tone, "");
  assert.deepEqual(verdictOf(choice, { choice: 0 }, told({})).more, ["None of the answers fits this run."]);
});

test("a number is close where it is no further off than the lesson says", () => {
  assert.equal(verdictOf(number, { number: 80 }, told({ value: 90, words: "90 % kind" })).tone, "close");
  const rounded = told({ value: 79.7, words: "80 % kind" });
  assert.deepEqual([70, 80, 90, 91].map((guess) => verdictOf(number, { number: guess }, rounded).tone),
    ["close", "right", "close", "other"]);
  const far = verdictOf(number, { number: 79 }, told({ value: 90, words: "90 % kind" }));
  assert.equal(far.tone, "other");
  assert.equal(far.said, "You said 79 % kind, and it is 90 % kind. It is more.");
});

test("a curve came true where it has the same shape, and nearly where it then stayed", () => {
  const ran = (shape) => verdictOf(curve, { shape: "rises" }, told({ shape }));
  assert.equal(ran("rises").tone, "right");
  assert.equal(ran("rises, then stays").tone, "close");
  assert.equal(ran("rises, then falls").tone, "other");
  assert.equal(ran("falls").tone, "other");
  assert.equal(ran("falls").said, "You said: the score rises. It falls.");
  assert.equal(verdictOf(curve, {}, told({ shape: "stays" })).said, "The score stays.");
});
