// The formulas of six methods, written with symbols.

import assert from "node:assert/strict";
import test from "node:test";

import { formulaOf, groupWords, meaningsOf, pushInWords } from "../../../playground/ui/static/inside/formula_words.js";
import { textsWith } from "../../../playground/ui/static/inside/rollout_bins.js";

const PUSHED = { advantages: [-1.5, 0.5], ratios: [1.25, 0.75], clipped: [false, true], weight: 0.01,
  pushes: [-0.01635, 0.002], leash: [0.0024, 0.002], left_out: false };

function formula(name, settings = {}) {
  return { name, clipped: 1, tokens: 2, settings: { baseline: "group", advantage_scale: "group", loss_mean: "token",
    ratio: "token", where: "reward", kl_coef: 0, estimator: "k1", clip_range: 0.2, clip_range_high: null,
    ...settings } };
}

const text = (part) => (typeof part === "string" ? part : part.text ?? part.strong);
const lines = (...of) => formulaOf(...of).map((line) => line.map(text).join(""));

test("each formula has the parts that its settings say, with the token's numbers put in", () => {
  const grpo = formula("grpo", { loss_mean: "text", where: "loss", kl_coef: 0.25, estimator: "k3" });
  assert.deepEqual(lines(grpo, PUSHED, 0), [
    "loss = −1/(n |y|) Σ [min(r Â, clip(r, 1 − ε, 1 + ε) Â) − β KL]", "Â = (R − mean) / sd",
    "push = 0.01 · 1.25 · (−1.50) + 0.0024 = −0.016"]);
  assert.equal(lines(grpo, PUSHED, 1)[2], "push = 0, clipped + 0.002 = +0.002");
  assert.match(lines(formula("dapo", { clip_range_high: 0.28 }), PUSHED, 0)[0], /^loss = −1\/T Σ .*1 \+ ε↑/);
  assert.equal(lines(formula("dr_grpo", { advantage_scale: "none" }), PUSHED, 0)[1], "Â = R − mean");
  assert.match(lines(formula("gspo", { ratio: "text" }), PUSHED, 0)[0], /min\(s Â, clip\(s,/);
  const reinforce = formula("reinforce", { baseline: "none", advantage_scale: "none" });
  assert.equal(lines(reinforce, PUSHED, 0)[0], "loss = −1/T Σ Â log π");
});

test("every symbol of a formula says what it is for the token", () => {
  const every = [formula("ppo", { baseline: "value", advantage_scale: "batch" }),
    formula("reinforce", { baseline: "none" }), formula("grpo", { where: "loss", kl_coef: 0.25 }),
    formula("gspo", { ratio: "text", loss_mean: "text" })];
  for (const one of every) {
    const linked = formulaOf(one, PUSHED, 0).flat().filter((part) => part.symbol).map(({ symbol }) => symbol);
    const told = meaningsOf(one, PUSHED, 0);
    assert.deepEqual(new Set(linked), new Set(told.map(({ key }) => key)), one.name);
    assert.ok(told.every(({ words, value }) => words.length > 10 && value));
  }
});

test("a push is told by sign and words, and a group by what it teaches", () => {
  assert.equal(pushInWords(PUSHED, 0).sign, "−");
  assert.deepEqual(pushInWords(PUSHED, 1), { side: "above", sign: "×",
    words: "made likelier, stopped by the clip, +0.002 per nat" });
  const group = { prompt: "", places: [0, 1], mean: 0.5, sd: 0, alike: true };
  const words = (changes, settings) => groupWords({ ...group, ...changes }, "sd",
    { baseline: "group", where: "loss", kl_coef: 0.25, ...settings });
  assert.match(words({}), /^All 2 texts of this prompt score \+0\.50 sd\. .* teach nothing/);
  const differ = { alike: false, sd: 1.5 };
  assert.match(words(differ), /spread \(sd\) 1\.50 sd\. What scores more/);
  assert.match(words(differ, { where: "reward" }), /paid its score less the leash/);
  assert.match(words(differ, { baseline: "value" }), /does not compare/);
  assert.match(words({ mean: null }), /one text for each prompt/);
});

test("texts are found by all words, in the prompt or in the answer", () => {
  const texts = [{ prompt: "The film", completion: "was dull" }, { prompt: "The book", completion: "was lovely" }];
  assert.deepEqual(textsWith(texts, " WAS  film "), texts.slice(0, 1));
  assert.deepEqual(textsWith(texts, ""), texts);
});
