// A prompt as it is read: of a dialogue what the user says, of several turns who says what. What of paid words is said.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ownPrompts, promptText, wordUse } from "../../../playground/ui/static/core/texts.js";

test("of a dialogue of one turn only what the user says is shown", () => {
  assert.equal(promptText("\n\nHuman: What is 2 + 3?\n\nAssistant:"), "What is 2 + 3?");
  assert.equal(promptText("\n\nHuman: A letter:\n\nDear tenant,\n\nAssistant:"), "A letter:\n\nDear tenant,");
});

test("of several turns each has its speaker", () => {
  assert.equal(promptText("\n\nHuman: The capital?\n\nAssistant: Canberra.\n\nHuman: No, Sydney.\n\nAssistant:"),
    "User: The capital?\nAssistant: Canberra.\nUser: No, Sydney.");
});

test("examples that stand above every question are left out where there is little room", () => {
  const asked = ["2 + 3?", "4 + 5?"].map((sum) => `\n\nHuman: 1 + 1?\n\nAssistant: 2\n\nHuman: ${sum}\n\nAssistant:`);
  assert.deepEqual(ownPrompts(asked), ["\u2026 2 + 3?", "\u2026 4 + 5?"]);
  const others = [asked[0], "\n\nHuman: 3 + 3?\n\nAssistant:", "The film was"];
  assert.deepEqual(ownPrompts(others), others);
  assert.deepEqual(ownPrompts([asked[0]]), [asked[0]]);
});

test("any other prompt stays as it is", () => {
  for (const text of ["The film was", " Human nature", "Ask the Human: yes", ""]) assert.equal(promptText(text), text);
});

test("words are counted whole, in any case, and those that no text has are named", () => {
  const texts = ["A Star, they say.", "The starlit sea", "A c++ star"];
  assert.equal(wordUse(["star"], texts), "Untrained, the model uses your words in 2 of 3 texts.");
  assert.equal(wordUse(["c++", "moon"], texts), "Untrained, the model uses your words in 1 of 3 texts. "
    + "It never writes \u201cmoon\u201d there: what it does not write, it cannot learn.");
});
