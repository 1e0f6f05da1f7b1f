// What one experiment does at each of its leashes, in figures and in words. Pure.

import { zoneOf, ZONES } from "../core/knob.js";
import { number, signed } from "../core/format.js";

/** From here on a leash is drawn on the wide scale: nats. */
export const FAR = 40;

/** Where its runs ended. @param {Wire.BetaStop} stop */
export function endsOf({ runs }) {
  return runs.map(({ gain, kl }) => ({ kl, score: gain }));
}

/** @param {Wire.BetaStop} stop */
export function isFar(stop) {
  return meanOf(endsOf(stop)).kl > FAR;
}

/** A behaviour in all runs of a leash: { before, after, of }. @param {Wire.BetaStop} stop @param {string} name */
export function countOf({ runs }, name) {
  const sum = (/** @type {"before" | "after" | "of"} */ what) =>
    runs.reduce((total, { counts }) => total + counts[name][what], 0);
  return { before: sum("before"), after: sum("after"), of: sum("of") };
}

/** "0.25, holds" @param {Wire.Betas} data @param {Wire.BetaStop} stop */
export function leashName(data, { beta }) {
  return `${beta}, ${ZONES[zoneOf(beta, data)]}`;
}

/** A leash in a sentence, for the eye and the ear. @param {Wire.Betas} data @param {Wire.BetaStop} stop */
export function sentenceOf(data, stop) {
  const ends = endsOf(stop);
  const leash = stop.beta ? `With a leash of ${stop.beta}` : "Without a leash";
  const gain = span(ends.map(({ score }) => score), signed);
  const far = span(ends.map(({ kl }) => kl), number);
  const runs = ends.length > 1 ? ` (${ends.length} runs with different start values)` : " (one run)";
  const best = bestAt(data.possible, meanOf(ends).kl);
  const at = ends.length > 1 ? "their mean" : "that";
  return `${leash} the gain in score was ${gain} sd, at a distance of ${far} nats${runs}.`
    + (best === null ? "" : ` About ${signed(best)} sd is the best that any model could have at ${at} distance.`);
}

/**
 * The highest gain that is known to be possible at a distance; null beyond.
 * @param {Wire.BetaBest[]} possible @param {number} kl
 */
export function bestAt(possible, kl) {
  const line = [{ kl: 0, score: 0 }, ...possible.filter(({ known }) => known)];
  const next = line.findIndex((point) => point.kl >= kl);
  if (next < 1) return null;
  const [low, high] = [line[next - 1], line[next]];
  return low.score + ((high.score - low.score) * (kl - low.kl)) / (high.kl - low.kl || 1);
}

/**
 * Where the line of what is possible is as steep as a leash: there the best model would stop. Null where that part of
 * the line is not known.
 * @param {Wire.BetaBest[]} possible @param {number} beta
 */
export function bestStop(possible, beta) {
  const known = possible.filter((point) => point.known);
  const left = (/** @type {Wire.BetaBest} */ { score, kl }) => score - beta * kl;
  const best = known.reduce((one, other) => (left(other) > left(one) ? other : one), known[0]);
  return best && best !== known.at(-1) ? { kl: best.kl, score: best.score } : null;
}

/** The middle of some places. @param {import("./plane.js").Place[]} places */
export function meanOf(places) {
  const mean = (/** @type {"kl" | "score"} */ name) =>
    places.reduce((sum, place) => sum + place[name], 0) / places.length;
  return { kl: mean("kl"), score: mean("score") };
}

/**
 * "+3.15 to +3.46", or one of them where they read alike.
 * @param {number[]} values @param {(value: number) => string} tell
 */
function span(values, tell) {
  const [low, high] = [tell(Math.min(...values)), tell(Math.max(...values))];
  return low === high ? low : `${low} to ${high}`;
}
