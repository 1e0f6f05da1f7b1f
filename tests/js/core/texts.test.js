// A prompt as it is read: of a dialogue what the user says, of several turns who says what. What of paid words is said.

import assert from "node:assert/strict";
import { test } from "node:test";

import { promptText, wordUse } from "../../../playground/ui/static/core/texts.js";

test("of a dialogue of one turn only what the user says is shown", () => {
  assert.equal(promptText("\n\nHuman: What is 2 + 3?\n\nAssistant:"), "What is 2 + 3?");
  assert.equal(promptText("\n\nHuman: A letter:\n\nDear tenant,\n\nAssistant:"), "A letter:\n\nDear tenant,");
});

test("of several turns each has its speaker", () => {
  assert.equal(promptText("\n\nHuman: The capital?\n\nAssistant: Canberra.\n\nHuman: No, Sydney.\n\nAssistant:"),
    "User: The capital?\nAssistant: Canberra.\nUser: No, Sydney.");
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
