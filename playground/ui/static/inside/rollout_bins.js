// The scores of one update in bins, {low, high, counts}, and the texts that were kept of each bin: what the window of
// an update (rollout.js) shows of them, in numbers and words. Pure.

import { number, signed } from "../core/format.js";

/**
 * @typedef {Wire.Histogram} Histogram
 * @typedef {{ low: number, high: number }} Scores
 * @typedef {Scores & { most: number }} Axes
 * @typedef {Scores & { bin: number, count: number }} Bin
 */

/** @type {Record<string, number>} */
const STEPS = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
/** @type {Record<string, "previous" | "next">} */
const UPDATES = { ArrowLeft: "previous", ArrowRight: "next", p: "previous", n: "next" };

/** The bins that hold answers, from the bottom up. @returns {Bin[]} */
export function filledBins(/** @type {Histogram} */ { low, high, counts }) {
  const width = (high - low) / counts.length;
  return counts.map((count, bin) => ({ bin, low: low + bin * width, high: low + (bin + 1) * width, count }))
    .filter(({ count }) => count > 0);
}

/**
 * Axes on which one more histogram has its place beside those that were there.
 * @param {Axes | null} axes @param {Histogram} histogram @returns {Axes}
 */
export function widened(axes, { low, high, counts }) {
  const most = Math.max(...counts);
  if (!axes) return { low, high, most };
  return { low: Math.min(axes.low, low), high: Math.max(axes.high, high), most: Math.max(axes.most, most) };
}

/** Such axes with some room, also where all scores are the same. */
export function drawnAxes(/** @type {Axes} */ { low, high, most }) {
  const room = high > low ? 0.02 * (high - low) : 0.5;
  return { low: low - room, high: high + room, most: most * 1.08 };
}

/**
 * Which bin stays chosen when another update is shown: the top one and the bottom one stay that, any other becomes the
 * one with the same scores; null where there is none.
 * @param {number} chosen @param {Histogram} before @param {Histogram} after
 */
export function sameBin(chosen, before, after) {
  const [was, is] = [before, after].map(filledBins);
  const old = was.find(({ bin }) => bin === chosen);
  if (!old || !is.length) return null;
  if (old === was.at(-1)) return is.at(-1).bin;
  if (old === was[0]) return is[0].bin;
  const middle = (old.low + old.high) / 2;
  return is.find(({ low, high }) => low <= middle && middle <= high)?.bin ?? null;
}

/** The texts of a bin, or all of them when it is null; the best first. */
export function textsOf(/** @type {Wire.RolloutText[]} */ texts, /** @type {number | null} */ bin) {
  return texts.filter((text) => bin === null || text.bin === bin).sort((one, other) => other.score - one.score);
}

/** Those in which all the words stand, in the prompt or in the answer. @param {Wire.RolloutText[]} texts */
export function textsWith(texts, /** @type {string} */ words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return texts.filter(({ prompt, completion }) => {
    const text = `${prompt} ${completion}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

/** "2.81 to 3.10 sd", or one number where both ends are the same. */
export function rangeInWords(/** @type {Scores} */ { low, high }, /** @type {string} */ unit) {
  const [from, to] = [signed(low), signed(high)];
  return from === to ? `${from} ${unit}` : `${from} to ${to} ${unit}`;
}

/** One sentence about all scores of an update. @param {Wire.Rollout} rollout @param {string} unit */
export function scoresInWords({ histogram, mean }, unit) {
  const answers = histogram.counts.reduce((sum, count) => sum + count, 0);
  if (!answers) return "No scores were kept of this update.";
  const written = `${number(answers)} ${answers === 1 ? "answer" : "answers"}`;
  const { low, high } = histogram;
  const alike = answers === 1 ? "score" : "all with the score";
  if (signed(low) === signed(high)) return `${written}, ${alike} ${signed(low)} ${unit}.`;
  const middle = Number.isFinite(mean) ? `, mean ${signed(mean)}` : "";
  return `${written}, scores ${rangeInWords({ low, high }, unit)}${middle}.`;
}

/**
 * How many texts are shown, and of how many answers; `bin` is null without a filter.
 * @param {number} shown @param {Bin | null} bin @param {string} unit @param {string} words that were looked for
 */
export function keptInWords(shown, bin, unit, words = "") {
  const texts = `${shown || "No"} ${shown === 1 ? "text" : "texts"}`;
  if (words.trim()) return `${texts} with \u201c${words.trim()}\u201d, of those that were kept.`;
  if (!bin) return `${texts} kept: the best, the worst, and some at random.`;
  const answers = bin.count === 1 ? "the only answer" : `the ${number(bin.count)} answers`;
  return `${texts} kept of ${answers} in this bin (${rangeInWords(bin, unit)}).`;
}

/**
 * What a key does in the window: {bar: how many to go on} in the histogram, {to: "previous" or "next" update}, or null.
 * @param {Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">} press @param {boolean} inHistogram
 * @returns {{ bar?: number, to?: "previous" | "next" } | null}
 */
export function actOf({ key, ctrlKey, metaKey, altKey }, inHistogram) {
  if (ctrlKey || metaKey || altKey) return null;
  if (inHistogram && STEPS[key]) return { bar: STEPS[key] };
  return UPDATES[key] ? { to: UPDATES[key] } : null;
}
