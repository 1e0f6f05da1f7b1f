// Behaviours that are counted, in words: how often, how sure that is, and what has become of it. Pure.

import { percent } from "./format.js";

/**
 * What was counted until an update; what the end tells is not known then.
 * @param {Wire.Behaviours | null} behaviours @param {number} update @returns {Wire.Behaviours | null}
 */
export function upTo(behaviours, update) {
  if (!behaviours) return null;
  const until = (/** @type {Wire.Meter | null} */ meter) => {
    const looks = meter?.updates.filter((look) => look <= update).length;
    return looks ? { ...meter, updates: meter.updates.slice(0, looks), counts: meter.counts.slice(0, looks),
      changes: meter.changes.slice(0, looks) } : null;
  };
  return { ...behaviours, paid: [], meters: behaviours.meters.map(until).filter(Boolean),
    ways: behaviours.ways.map((way) => ({ ...way, wrong: until(way.wrong), right: until(way.right) })) };
}

/** @typedef {{ yes: number, of: number }} Count */

/** "12 \u2192 25 of 29"; `between`: what stands between the two sides. @param {{ counts: Count[] }} meter */
export function countsInWords({ counts }, between = " \u2192 ") {
  const [before, after] = [counts[0], counts.at(-1)];
  if (counts.length < 2) return `${before.yes} of ${before.of}`;
  if (before.of !== after.of) return `${before.yes} of ${before.of}${between}${after.yes} of ${after.of}`;
  return `${before.yes}${between}${after.yes} of ${after.of}`;
}

export const shareOf = (/** @type {Count} */ { yes, of }) => yes / of;

const TENTHS = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

const TENTH = " of ten";
const FEW = 10; // fewer answers than these have no tenths

/** A share in plain words: "nine of ten"; "nearly all" and "hardly any" are not all and none. @param {number} share */
export function shareInWords(share) {
  const tenths = Math.round(share * 10);
  if (share === 1 || share === 0) return share ? "all" : "none";
  if (tenths === 10 || tenths === 0) return tenths ? "nearly all" : "hardly any";
  return TENTHS[tenths] + TENTH;
}

const REWARD = "trained_reward"; // a count of its own, where no behaviour is what the reward pays for

/** What leads stays first; then what has clearly changed. @param {Wire.Meter[]} meters */
export function firstOf([lead, ...others]) {
  const changed = (/** @type {Wire.Meter} */ { changes }) => Number(!changes.at(-1));
  return [lead, ...others.toSorted((a, b) => changed(a) - changed(b))].filter(Boolean);
}

/** What the signs of a bar mean. */
export const BAR_KEY = "In a bar of the counts: the upright line is the count before, the bar is the count now, and "
  + "the thin line across its end says how far chance may have moved it (95 % interval).";

const LINE = 140; // characters for which a line of the first screen has room

/**
 * What the model does now, in a line: the reward where it is counted, else the first behaviour that has clearly
 * changed, and, unless that is worse already, one that has become worse beside it (beside the reward any that has
 * changed). Without a clear change that is said; "" where nothing was counted.
 * `first`: what comes before that; `ended`: nothing more will change; `rose`: the score has, so that one sees it.
 * @param {Wire.Behaviours | null} behaviours
 */
export function headline(behaviours, { first: begin = "", ended = false, rose = true } = {}) {
  const meters = behaviours?.meters.filter(({ counts }) => counts.length > 1) ?? [];
  if (!meters.length) return begin;
  const before = begin && `${begin} `;
  const clear = meters.filter(({ changes }) => changes.at(-1));
  const most = Math.max(...meters.map(({ counts }) => counts.at(-1).of));
  const [{ words, counts }] = meters;
  const yet = ended ? "" : " yet";
  const rewarded = meters[0].name === REWARD;
  const [atFirst, now] = [counts[0], counts.at(-1)];
  if (!clear.length && atFirst.yes === now.yes && atFirst.of === now.of)
    return `${before}It ${words} in ${answersInWords(now, most)}, as before.${
      rewarded && rose ? " But the score rose." : ""}`;
  if (!clear.length) return `${before}No clear change${yet}: it ${words} in ${answersInWords(now, most)}.`;
  const [first, second] = clear;
  const worse = verdictOf(first).tone === "worse" ? null
    : clear.find((meter) => verdictOf(meter).tone === "worse");
  const also = rewarded && !worse && first === meters[0] ? second : null;
  const paid = behaviours.paid.some(({ name }) => [first, worse].some((meter) => meter?.name === name));
  const more = [worse ? `But it ${changeInWords(worse, most).replace(" answers", "")}.` : "",
    also ? `It ${changeInWords(also, most).replace(" answers", "")}.` : "",
    paid && rose ? "And the score rose." : ""].filter(Boolean);
  return more.reduce((said, sentence) => (`${said} ${sentence}`.length > LINE ? said : `${said} ${sentence}`),
    `${before}${rewarded && first !== meters[0] ? `No clear change of its reward${yet}. ` : ""}Now it ${
      changeInWords(first, most)}.`);
}

/**
 * `most`: of how many answers all are; what is asked of some prompts only is told in cases.
 * @param {Wire.Meter} meter @param {number} most
 */
function changeInWords({ words, counts }, most) {
  const [was, is] = [counts[0], counts.at(-1)];
  const [before, now] = [was, is].map((count) => shareInWords(shareOf(count)));
  if (before === now || is.of < FEW)
    return `${words} in ${is.yes} of ${is.of} ${nounOf(is, most)} (before: ${was.yes} of ${was.of})`;
  const short = now.endsWith(TENTH) ? before.replace(TENTH, "") : before;
  return `${words} in ${answersInWords(is, most)} (before: ${short})`;
}

/** @param {Count} count @param {number} most */
function answersInWords(count, most) {
  const noun = nounOf(count, most);
  if (count.of < FEW && count.yes && count.yes < count.of) return `${count.yes} of ${count.of} ${noun}`;
  return count.yes ? `${shareInWords(shareOf(count))} ${noun}` : `none of the ${noun}`;
}

const nounOf = (/** @type {Count} */ { of }, /** @type {number} */ most) => (of < most ? "cases" : "answers");

/** "69 to 95 %": the 95 % interval. @param {{ low: number, high: number }} count */
export function intervalInWords({ low, high }) {
  return `${Math.round(low * 100)} to ${percent(high)}`;
}

/**
 * What has become of a behaviour: a sign, words, `better` or `worse` where one way is. `steady`: if nothing has.
 * @param {Pick<Wire.Meter, "aim" | "changes">} meter
 */
export function verdictOf({ aim, changes }, steady = "no clear change") {
  const change = changes.at(-1);
  if (!change) return { sign: "=", text: steady, tone: "" };
  const tone = aim === "neither" ? "" : (change > 0) === (aim === "more") ? "better" : "worse";
  return { sign: change > 0 ? "\u25B2" : "\u25BC", tone, text: `${change > 0 ? "up" : "down"}${tone && `: ${tone}`}` };
}

/**
 * Whether a completion's behaviour turned, from one side of a pair to the other: 1, -1 or 0.
 * @param {Pick<Wire.Pair, "before" | "after">} pair @param {string} name
 */
export function turnOf({ before, after }, name) {
  const [was, is] = [before.shows[name], after.shows[name]];
  return was === undefined || is === undefined ? 0 : Number(is) - Number(was);
}

/** One meter in a sentence, for those who do not see it. `sides`: what is compared. @param {Wire.Meter} meter */
export function meterInWords(meter, sides = ["before", "now"]) {
  const [before, now] = [meter.counts[0], meter.counts.at(-1)];
  const later = meter.counts.length > 1;
  const inWords = (/** @type {Wire.Count} */ count) =>
    `${count.yes} of ${count.of}, ${percent(shareOf(count))}, 95 % interval ${intervalInWords(count)}`;
  const band = meter.band ? `. Expected from other seeds: ${bandInWords(meter.band)}` : "";
  return `${meter.words}: ${later ? `${sides[1]} ${inWords(now)}; ` : ""}${sides[0]} ${inWords(before)}${band}.`;
}

/** @param {number[]} band its ends */
export function bandInWords([low, high]) {
  return percent(low) === percent(high) ? percent(low) : intervalInWords({ low, high });
}
