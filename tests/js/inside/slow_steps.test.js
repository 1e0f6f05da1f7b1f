// The steps of one token in words.

import assert from "node:assert/strict";
import test from "node:test";

import { stepsOf } from "../../../playground/ui/static/inside/slow_steps.js";

function stepsByKey({ d = 0, delta = 0, unit = undefined } = {}) {
  const episode = { pieces: ["a"], log_probs: [-1], probabilities: [0.37], entropies: [1], raw_score: null, score: 1,
    score_paid: [1], log_ratios: [d], reference_log_probs: [-1 - d], leash: [-0.25 * d], token_kl: [d], rewards: [1],
    values: [0.5], deltas: [delta], advantages: [0.5], whitened: [1], returns: [1] };
  const trace = { settings: { baseline: "value", estimator: "k1", kl_coef: 0.25, gamma: 1, gae_lambda: 0.95 },
    batch: { tokens: 1, mean: 0, sd: 1 }, steps: [] };
  return Object.fromEntries(stepsOf(trace, episode, 0, undefined, unit).map((step) => [step.key, step]));
}

test("no side is taken where policy and reference, or critic and return, do not differ", () => {
  for (const nothing of [0, 2e-7, -2e-7]) {
    const { leash, value } = stepsByKey({ d: nothing, delta: nothing });
    assert.equal(leash.words, "The policy still finds this token as likely as the reference does.");
    assert.match(value.words, /it came out as expected\.$/);
  }
  const { leash, value } = stepsByKey({ d: 0.4, delta: -0.5 });
  assert.match(leash.words, /likelier than the reference does, by 0\.40 nats\. At beta 0\.25 that costs 0\.10 sd\.$/);
  assert.match(value.words, /worse than expected by 0\.50\.$/);
});
