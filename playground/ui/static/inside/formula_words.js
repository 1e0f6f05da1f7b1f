// The formulas of six methods in words: each written with symbols, and what a symbol is for the token in hand. Pure:
// which parts a formula has follows from its settings, and every number is the server's.
//
// A formula is a list of lines, a line a list of parts: text, {sub: text}, {sup: text}, {strong: text}, or a symbol,
// {symbol: key, text}.

import { number, signed } from "../core/format.js";

/**
 * @typedef {Wire.TracedFormula} Formula
 * @typedef {Wire.FormulaText} Pushed
 * @typedef {string | { sub?: string, strong?: string, symbol?: string, text?: string }} Part
 * @typedef {{ key: string, sign: string, value: string, words: string }} Meaning
 */

/** By name: its title, and where it is from. @type {Record<string, string[]>} */
export const NAMES = {
  own: ["This run", "as it is set"],
  reinforce: ["REINFORCE", "Williams 1992"],
  ppo: ["PPO", "Schulman et al. 2017"],
  grpo: ["GRPO", "as published: Shao et al. 2024"],
  dr_grpo: ["Dr. GRPO", "Liu et al. 2025"],
  dapo: ["DAPO", "Yu et al. 2025"],
  gspo: ["GSPO", "Zheng et al. 2025"],
};

/** @param {string} symbol @param {string} text @returns {Part} */
const link = (symbol, text) => ({ symbol, text });
const A = link("advantage", "\u00c2");
const EPS = link("clip", "\u03b5");
const HIGH = link("clip", "\u03b5\u2191");
const LEASH = link("leash", "\u03b2 KL");
const PUSH = link("push", "push");
/** @type {Record<string, string>} */
const MEANS = { token: "1/T \u03a3", text: "1/(n |y|) \u03a3", constant: "1/(n L) \u03a3" };
const COUNTED = {
  token: "Every token counts the same: 1 over the tokens of its minibatch (T).",
  text: "Every text counts the same, so a token of a long one counts less: 1 over the texts of its minibatch (n) and "
    + "over the tokens of its text (|y|).",
  constant: "Every token counts the same: 1 over the texts of its minibatch (n) and over the longest length (L).",
};

/** Whether a formula takes each text as just written: nothing is compared, nothing clipped. */
const isFresh = (/** @type {Formula} */ { name }) => name === "reinforce";
const isInLoss = (/** @type {Formula} */ { settings }) => settings.where === "loss" && settings.kl_coef > 0;

/** Its loss, its advantage, and what it pushes the token in hand by. @param {Formula} formula @param {Pushed} pushed
 * @param {number} t @returns {Part[][]} */
export function formulaOf(formula, pushed, t) {
  const { settings } = formula;
  const mean = link("weight", MEANS[settings.loss_mean]);
  const ratio = link("ratio", settings.ratio === "text" ? "s" : "r");
  const high = settings.clip_range_high === null ? EPS : HIGH;
  const objective = isFresh(formula) ? [A, " log \u03c0"]
    : ["min(", ratio, " ", A, ", clip(", ratio, ", 1 \u2212 ", EPS, ", 1 + ", high, ") ", A, ")"];
  const leash = isInLoss(formula) ? [" \u2212 ", LEASH] : [];
  return [
    ["loss = \u2212", mean, leash.length ? " [" : " ", ...objective, ...leash, leash.length ? "]" : ""],
    [A, " = ", ...advantageOf(formula)],
    [PUSH, " = ", ...pushOf(formula, pushed, t), " = ", { strong: signedNumber(pushed.pushes[t]) }],
  ];
}

/** @param {Formula} formula @returns {Part[]} */
function advantageOf({ settings: { baseline, advantage_scale: scale } }) {
  const whole = { value: "GAE, measured against the critic", none: "R of this token and those after it",
    leave_one_out: "R \u2212 mean of the others", group: scale === "none" ? "R \u2212 mean" : "(R \u2212 mean) / sd" };
  return [whole[baseline], scale === "batch" ? ", then scaled over the batch" : ""];
}

/** @param {Formula} formula @param {Pushed} pushed @param {number} t @returns {Part[]} */
function pushOf(formula, pushed, t) {
  const weight = link("weight", number(pushed.weight));
  const advantage = link("advantage", bracketed(pushed.advantages[t]));
  const ratio = link("ratio", number(pushed.ratios[t]));
  const leash = isInLoss(formula) ? [" + ", link("leash", bracketed(pushed.leash[t]))] : [];
  if (pushed.clipped[t]) return [link("clip", "0, clipped"), ...leash];
  return [weight, ...(isFresh(formula) ? [] : [" \u00b7 ", ratio]), " \u00b7 ", advantage, ...leash];
}

/** What each symbol of a formula is for a token. @param {Formula} formula @param {Pushed} pushed @param {number} t
 * @returns {Meaning[]} */
export function meaningsOf(formula, pushed, t) {
  const { settings } = formula;
  return [
    { key: "advantage", sign: "\u00c2", value: signedNumber(pushed.advantages[t]), words: advantageWords(formula) },
    isFresh(formula) ? null : { key: "ratio", sign: settings.ratio === "text" ? "s" : "r",
      value: number(pushed.ratios[t]), words: settings.ratio === "text"
        ? "Ratio of the whole text: how much likelier a token of it has become since it was written, on average."
        : "Ratio: how many times as likely as when it was written the policy finds this token now." },
    isFresh(formula) ? null : { key: "clip", sign: "\u03b5", value: clipRange(settings), words: pushed.clipped[t]
      ? "Clip range. The ratio has left it in the wanted direction, so the loss is flat here: no push."
      : "Clip range. The ratio has not left it in the wanted direction, so the token is pushed." },
    { key: "weight", sign: MEANS[settings.loss_mean].replace(" \u03a3", ""), value: number(pushed.weight),
      words: COUNTED[settings.loss_mean] },
    isInLoss(formula) ? { key: "leash", sign: "\u03b2 KL", value: signedNumber(pushed.leash[t]),
      words: `The leash's part of the push, by ${settings.estimator} at beta ${number(settings.kl_coef)}: back `
        + "towards the reference." } : null,
    { key: "push", sign: "push", value: signedNumber(pushed.pushes[t]),
      words: "Minus the slope of the loss, per nat of this token\u2019s log-prob. Above 0: it is made likelier." },
  ].filter((meaning) => meaning !== null);
}

/** @param {Formula} formula */
function advantageWords({ settings }) {
  const paid = settings.where === "reward" && settings.kl_coef > 0
    ? `R is what is paid: score less the leash (beta ${number(settings.kl_coef)}).`
    : "R is the score; the leash is not in it.";
  const scaled = settings.advantage_scale === "batch" ? " Shifted and divided, so that the batch has mean 0 and sd 1."
    : "";
  return {
    value: "Advantage: how much better this token turned out than the critic foresaw.",
    none: "Advantage: what this token and those after it are paid, compared with nothing.",
    leave_one_out: "Advantage: what the text earned more than the others of its prompt.",
    group: "Advantage: what the text earned more than the mean of its prompt"
      + `${settings.advantage_scale === "none" ? "" : ", in spreads of the prompt\u2019s texts"}.`,
  }[settings.baseline] + ` ${paid}${scaled}`;
}

/** @param {Wire.TracedSettings} settings */
function clipRange({ clip_range: low, clip_range_high: high }) {
  return high === null ? number(low) : `${number(low)} below, ${number(high)} above`;
}

/** What is to be known of a formula in this update, in a sentence or two. @param {Formula} formula
 * @param {boolean} critic */
export function remarkOf(formula, critic) {
  const { name, settings, clipped, tokens } = formula;
  /** @type {Record<string, string>} */
  const remarks = {
    reinforce: "It takes every text as just written, so there is no ratio and no clip.",
    ppo: critic ? "" : "This run has no critic, so its forecast is 0 here.",
    dr_grpo: "As published it has no leash.",
    dapo: "As published it has no leash; prompts whose texts score alike are left out, and long texts lose score.",
    gspo: "A mean log-ratio is small, so its clip range is a tenth of that of tokens here; published, with far smaller "
      + "steps, 0.0003. Its formula has no leash.",
  };
  const stopped = isFresh(formula) ? ""
    : `The clip stops ${number(clipped)} of the ${number(tokens)} tokens of this update.`;
  return [remarks[name] ?? "", stopped,
    settings.where === "loss" && settings.kl_coef === 0 ? "Beta is 0: the leash pulls nothing." : ""]
    .filter(Boolean).join(" ");
}

/** Why the texts of a prompt teach what they do, by a formula of these settings.
 * @param {Wire.PromptGroup} group @param {string} unit
 * @param {Pick<Wire.TracedSettings, "baseline" | "where" | "kl_coef">} settings */
export function groupWords({ places, mean, sd, alike }, unit, { baseline, where, kl_coef: beta }) {
  const count = places.length;
  if (mean === null) return "This run writes one text for each prompt, so these are of different prompts: there is "
    + "nothing that a formula of groups could compare. The experiment Scores within a group writes eight.";
  if (alike) return `All ${count} texts of this prompt score ${signed(mean)} ${unit}. Compared with each other they `
    + "teach nothing: the score makes no advantage in such a group. DAPO leaves it out, unless its price on long texts "
    + "sets them apart.";
  const told = `${count} texts of this prompt: mean score ${signed(mean)} ${unit}, spread (sd) ${number(sd)} ${unit}. `;
  if (!["group", "leave_one_out"].includes(baseline))
    return `${told}This formula does not compare them with each other.`;
  const paid = where === "reward" && beta > 0 ? "Each is paid its score less the leash. What is paid" : "What scores";
  return `${told}${paid} more than the mean is pushed up, and the others down.`;
}

/** How a token is pushed: its kind for the style sheet, its sign, and in words. @param {Pushed} pushed
 * @param {number} t */
export function pushInWords(pushed, t) {
  const push = pushed.pushes[t];
  const side = push > 0 ? "above" : push < 0 ? "below" : "none";
  const towards = push > 0 ? "made likelier" : push < 0 ? "made less likely" : "not pushed";
  const stopped = pushed.clipped[t] ? ", stopped by the clip" : "";
  return { side, sign: pushed.clipped[t] ? "\u00d7" : push > 0 ? "+" : push < 0 ? "\u2212" : "",
    words: `${towards}${stopped}, ${signedNumber(push)} per nat` };
}

/** With a sign, however small it is. */
export function signedNumber(/** @type {number} */ value) {
  return `${value > 0 ? "+" : ""}${number(value)}`;
}

function bracketed(/** @type {number} */ value) {
  return value < 0 ? `(${number(value)})` : number(value);
}
