// What a token can be coloured by: how each figure is read from a look, its unit, its range, its place between the two
// ends of the scale. Pure.

import { number } from "../core/format.js";

const NOTHING = 5e-5; // what is smaller is told as 0

/**
 * One for each choice of the switch. `of(look)` gives a number for each token, or null where the look has none of it.
 * The unit "score" is that of the run's score. What is `plain` is never below 0, so it needs no sign.
 * @typedef {{ key: string, label: string, unit: string, gloss: string, plain?: boolean,
 *   of: (look: Wire.TokensLook) => (number | null)[] | null }} Measure
 * @type {Measure[]}
 */
export const MEASURES = [
  { key: "ratio", label: "KL of the token", unit: "nats",
    gloss: "Log of policy over reference for the drawn token: what the leash charges for. Below 0 the reference found "
      + "it likelier.",
    of: (look) => minus(look.log_probs, look.reference_log_probs) },
  { key: "kl", label: "Exact KL of the position", unit: "nats", plain: true,
    gloss: "How differently the two models continue here, whichever token was drawn. These add up to the KL of the "
      + "text.",
    of: (look) => look.kl },
  { key: "change", label: "Change in probability", unit: "",
    gloss: "The drawn token's probability under the policy, less that under the reference.",
    of: (look) => minus(look.log_probs.map(exp), look.reference_log_probs.map(exp)) },
  { key: "entropy", label: "Entropy", unit: "nats", plain: true,
    gloss: "How open the choice of this token was; 0 is no choice.",
    of: (look) => look.entropies },
  { key: "reward", label: "Reward as paid", unit: "score",
    gloss: "The leash cost of each token, and on the last one the score too. Together: score less beta times KL.",
    of: (look) => look.rewards },
  { key: "leash", label: "Leash cost alone", unit: "score",
    gloss: "Minus beta times the KL of the token. Above 0 it is paid back.", of: (look) => look.leash },
  { key: "value", label: "Value", unit: "score",
    gloss: "What the critic expects, before this token is drawn, of the rewards from here to the end.",
    of: (look) => look.values },
  { key: "advantage", label: "Advantage", unit: "score",
    gloss: "How much better this token turned out than the critic expected (GAE, before whitening): what PPO would "
      + "learn from.",
    of: (look) => look.advantages },
];

export const NO_RATIO = "Ratio after the update is not among them: only a text that an update has learned from has "
  + "one, and these answers are never trained on.";

/**
 * The largest distance from 0 in any of the looks, so that a scale holds for all of them; 0 where there is nothing.
 * @param {Measure} measure @param {Wire.TokensLook[]} looks
 */
export function rangeOf(measure, looks) {
  const sizes = looks.flatMap((look) => measure.of(look) ?? []).filter(known).map(Math.abs);
  return sizes.length ? Math.max(...sizes) : 0;
}

/** How far a value lies towards its end of the scale, in percent, and on which side of 0. */
export function shadeOf(/** @type {number | null} */ value, /** @type {number} */ range) {
  if (!known(value) || !range || Math.abs(value) < range / 1000) return { side: "none", percent: 0 };
  return { side: value > 0 ? "above" : "below", percent: Math.round(100 * Math.min(1, Math.abs(value) / range)) };
}

/** A figure with its sign, and where one is given its unit. */
export function inWords(/** @type {number | null} */ value, unit = "", plain = false) {
  if (!known(value)) return "no figure";
  const nothing = Math.abs(value) < NOTHING;
  return `${!plain && !nothing && value > 0 ? "+" : ""}${nothing ? "0" : number(value)}${unit ? ` ${unit}` : ""}`;
}

/** The tokens worth showing of a place, by how much more likely the policy finds them: gained first, lost last. */
export function changes(/** @type {Wire.TokensLook["choices"][number]} */ choices) {
  return choices.map(([text, reference, policy], place) => ({ text, reference, policy, drawn: place === 0,
    change: known(policy) && known(reference) ? policy - reference : null }))
    .sort((a, b) => (b.change ?? 0) - (a.change ?? 0) || (b.policy ?? 0) - (a.policy ?? 0));
}

/** A sum over the tokens. */
export function sum(/** @type {(number | null)[] | null} */ values) {
  return (values ?? []).filter(known).reduce((total, value) => total + value, 0);
}

/** A token as it can be read: a space in front, a line break and what is empty get a sign. */
export function readable(/** @type {string} */ piece) {
  return piece.replaceAll("\n", "\u21b5").replaceAll("\t", "\u2192").replace(/^ +| +$/g, (spaces) =>
    "\u00b7".repeat(spaces.length)) || "(nothing)";
}

function known(/** @type {number | null} */ value) {
  return value !== null && value !== undefined && Number.isFinite(value);
}

function exp(/** @type {number | null} */ value) {
  return known(value) ? Math.exp(value) : null;
}

function minus(/** @type {(number | null)[]} */ one, /** @type {(number | null)[]} */ other) {
  return one.map((value, index) => (known(value) && known(other[index]) ? value - other[index] : null));
}
