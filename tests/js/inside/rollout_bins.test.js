// One update in bins, and which of its texts are shown.

import assert from "node:assert/strict";
import test from "node:test";

import { actOf, drawnAxes, filledBins, keptInWords, rangeInWords, sameBin, scoresInWords, textsOf, widened,
} from "../../../playground/ui/static/inside/rollout_bins.js";

const HISTOGRAM = { low: -1, high: 3, counts: [4, 0, 1, 2] };
const ALIKE = { low: 2, high: 2, counts: [5] };

test("bins that hold answers have their share of the range", () => {
  assert.deepEqual(filledBins(HISTOGRAM), [{ bin: 0, low: -1, high: 0, count: 4 },
    { bin: 2, low: 1, high: 2, count: 1 }, { bin: 3, low: 2, high: 3, count: 2 }]);
  assert.deepEqual(filledBins(ALIKE), [{ bin: 0, low: 2, high: 2, count: 5 }]);
});

test("axes only ever grow, so that bars can be compared, and have room where all scores are the same", () => {
  const first = widened(null, HISTOGRAM);
  assert.deepEqual(first, { low: -1, high: 3, most: 4 });
  assert.deepEqual(widened(first, ALIKE), { low: -1, high: 3, most: 5 });
  assert.deepEqual(widened(first, { low: 0, high: 6, counts: [1, 1] }), { low: -1, high: 6, most: 4 });
  const { low, high, most } = drawnAxes(widened(null, ALIKE));
  assert.ok(low < 2 && high > 2 && most > 5);
});

test("the top bin stays the top bin, the bottom one the bottom one, any other keeps its scores", () => {
  const later = { low: 0, high: 8, counts: [3, 0, 2, 1] }; // two wide
  assert.equal(sameBin(3, HISTOGRAM, later), 3);
  assert.equal(sameBin(0, HISTOGRAM, later), 0);
  assert.equal(sameBin(2, HISTOGRAM, later), 0); // 1 to 2 lies in 0 to 2
  assert.equal(sameBin(2, { ...HISTOGRAM, low: 1, high: 5 }, later), null); // nothing scored 3.5 there
  assert.equal(sameBin(null, HISTOGRAM, later), null);
  assert.equal(sameBin(3, HISTOGRAM, ALIKE), 0);
});

test("a bin filters the texts, and the best stands first", () => {
  const texts = [{ score: 1, bin: 2 }, { score: 3, bin: 3 }, { score: 2.5, bin: 3 }, { score: -1, bin: 0 }];
  assert.deepEqual(textsOf(texts, null).map(({ score }) => score), [3, 2.5, 1, -1]);
  assert.deepEqual(textsOf(texts, 3).map(({ score }) => score), [3, 2.5]);
  assert.deepEqual(textsOf(texts, 1), []);
});

test("words say how many answers there were, what they scored, and how many texts were kept", () => {
  const told = (histogram, mean) => scoresInWords({ histogram, mean }, "sd");
  assert.equal(told(HISTOGRAM, 0.8), "7 answers, scores \u22121 to +3 sd, mean +0.80.");
  assert.equal(told(HISTOGRAM, null), "7 answers, scores \u22121 to +3 sd.");
  assert.equal(told(ALIKE, 2), "5 answers, all with the score +2 sd.");
  assert.equal(told({ low: 2, high: 2, counts: [1] }, 2), "1 answer, score +2 sd.");
  assert.equal(told({ low: 0, high: 0, counts: [0] }, null), "No scores were kept of this update.");
  const bin = { low: 2.8, high: 3.1, count: 9 };
  assert.equal(rangeInWords(bin, "points"), "+2.80 to +3.10 points");
  assert.equal(keptInWords(3, bin, "sd"), "3 texts kept of the 9 answers in this bin (+2.80 to +3.10 sd).");
  assert.equal(keptInWords(1, { ...bin, count: 1 }, "sd"), "1 text kept of the only answer in this bin "
    + "(+2.80 to +3.10 sd).");
  assert.equal(keptInWords(0, bin, "sd"), "No texts kept of the 9 answers in this bin (+2.80 to +3.10 sd).");
  assert.equal(keptInWords(12, null, "sd"), "12 texts kept: the best, the worst, and some at random.");
});

test("arrows go from update to update, on a bar from bar to bar; p and n always change the update", () => {
  const act = (key, inside, more = {}) =>
    actOf({ key, ctrlKey: false, metaKey: false, altKey: false, ...more }, inside);
  assert.deepEqual([act("ArrowLeft", false), act("ArrowRight", false)], [{ to: "previous" }, { to: "next" }]);
  assert.deepEqual([act("p", true), act("n", true)], [{ to: "previous" }, { to: "next" }]);
  assert.deepEqual([act("ArrowLeft", true), act("ArrowRight", true)], [{ bar: -1 }, { bar: 1 }]);
  assert.deepEqual([act("Home", true), act("End", true)], [{ bar: -Infinity }, { bar: Infinity }]);
  assert.deepEqual([act("Home", false), act("Enter", true), act("n", true, { ctrlKey: true })], [null, null, null]);
});
