// Which words two texts share.

import assert from "node:assert/strict";
import test from "node:test";

import { wordDifference } from "../../../playground/ui/static/core/worddiff.js";

test("only what changed is marked", () => {
  const [left, right] = wordDifference(" dull and slow. I would not go.", " lovely and slow. I would go.");
  const changed = (parts) => parts.filter((part) => part.changed).map((part) => part.text);
  assert.deepEqual(changed(left), [" dull", " not"]);
  assert.deepEqual(changed(right), [" lovely"]);
  assert.equal(left.map((part) => part.text).join(""), " dull and slow. I would not go.");
});

test("empty and very long texts are held", () => {
  assert.deepEqual(wordDifference("", "a b"), [[], [{ text: "a b", changed: true }]]);
  assert.equal(wordDifference("a ".repeat(3000), "a ".repeat(3000))[0].length, 1);
});
