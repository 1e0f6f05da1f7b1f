// Sentences in another language.

import assert from "node:assert/strict";
import test from "node:test";

import { wordsOf } from "../../../playground/ui/static/core/sentences.js";

const { translate } = wordsOf([["Hint", "Pista"], ["{number} of {whole}", "{number} de {whole}"],
  ["Now {share} reviews are kind.", "Ahora {share} rese\u00f1as son amables."], ["Next: {title}", "Ahora: {title}"],
  ["After {second} comes {first}, always.", "{first} sigue a {second}."], ["because {text}", "porque {text}"]]);

test("a sentence is translated, with the space around it, and another stays", () => {
  assert.equal(translate("Hint"), "Pista");
  assert.equal(translate(" Hint "), " Pista ");
  assert.equal(translate("Hints"), "Hints");
  assert.equal(translate(""), "");
});

test("what stands in the places of a sentence is translated too, and may change its order", () => {
  assert.equal(translate("Now 55 of 64 reviews are kind."), "Ahora 55 de 64 rese\u00f1as son amables.");
  assert.equal(translate("After 1 $& comes\n 2, always."), "2 sigue a 1 $&.");
  assert.equal(translate("Next: Hint"), "Ahora: Pista");
});

test("where a place holds what has no translation the sentence stays, but for what somebody typed", () => {
  assert.equal(translate("one of the best"), "one of the best");
  assert.equal(translate("Next: A judge of eighty pairs"), "Next: A judge of eighty pairs");
  assert.equal(translate("because they are paid"), "porque they are paid");
});
