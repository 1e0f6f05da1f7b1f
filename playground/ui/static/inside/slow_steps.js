// The seven steps of an update, in words: what each does to one token, its formula with that token's numbers put in,
// which figure stands under the tokens, and the function that computed it. Pure: every number was recorded by the
// trainer or computed by the server, nothing is computed here.
//
// A formula is a list of lines, a line a list of parts: text, {sub: text}, {hat: text} or {strong: text}.

import { number, percent, signed } from "../core/format.js";
import { readable } from "./measures.js";

/**
 * @typedef {Wire.Trace} Trace
 * @typedef {Wire.Episode} Episode
 * @typedef {Wire.Pass} Pass
 * @typedef {string | { sub?: string, hat?: string, strong?: string }} Part
 * @typedef {{ key: string, title: string, unit: string, figures: number[] | null, marks?: boolean[], words: string,
 *   formula: Part[][], code: string[][] }} Step
 */

const sub = (/** @type {string} */ text) => ({ sub: text });
const strong = (/** @type {number} */ value) => ({ strong: number(value) });
const T = sub("t");
const NEXT = sub("t+1");
const HAT = { hat: "A" };
const REF = sub("ref");
const OLD = sub("old");

/** How the KL of a token follows from d = log pi - log pi_ref. */
/** @type {Record<string, string[]>} */
const ESTIMATORS = {
  k1: ["d", "k1"], k2: ["d\u00b2 / 2", "k2"], k3: ["exp(\u2212d) \u2212 1 + d", "k3"],
  abs: ["|d|", "SAMPLED_ESTIMATORS"],
  full: ["the exact KL of this position", "full_kl"],
  k3_corrected: ["exp(\u2212d) \u2212 1 + d", "loss_kl"],
};

const NO_DIFFERENCE = 0.0005; // what is less is rounding of the arithmetic: no side of it is likelier

/** A number that follows a sign: a negative one in brackets. */
export function held(/** @type {number} */ value) {
  const text = number(value);
  return text.startsWith("\u2212") ? `(${text})` : text;
}

/**
 * All seven, in order.
 * @param {Trace} trace @param {Episode} episode @param {number} t
 * @param {Pass} pass of the episode in the chosen epoch
 * @param {string} scored the unit of the score
 * @returns {Step[]}
 */
export function stepsOf(trace, episode, t, pass, scored = "sd") {
  const critic = trace.settings.baseline === "value";
  const alone = !critic && !episode.group;
  return [
    write(episode, t),
    score(episode, t, scored),
    leash(trace, episode, t, scored),
    critic ? value(trace, episode, t, scored) : alone ? nothing(episode, scored) : others(trace, episode, scored),
    critic ? advantage(trace, episode, t) : alone ? toGo(trace, episode, t) : groupAdvantage(trace, episode, t),
    clip(trace, episode, t, pass),
    step(trace, episode, t, pass),
  ];
}

/** @param {Episode} episode @param {number} t */
const tokenName = (episode, t) => `\u201c${readable(episode.pieces[t])}\u201d`;

function write(/** @type {Episode} */ episode, /** @type {number} */ t) {
  return {
    key: "write", title: "Write", unit: "log-prob, nats", figures: episode.log_probs,
    words: `The policy drew ${tokenName(episode, t)} as token ${t + 1} of ${episode.pieces.length}; it had given it a `
      + `probability of ${percent(episode.probabilities[t])}. Entropy of its choice here: `
      + `${number(episode.entropies[t])} nats.`,
    formula: [["log \u03c0(y", T, ") = log ", number(episode.probabilities[t]), " \u2248 ",
      strong(episode.log_probs[t])]],
    code: [["token_log_probs", "playground/ppo/logprobs.py"], ["sample", "playground/training/loop/sampling.py"]],
  };
}

/** @param {Episode} episode @param {number} t @param {string} scored */
function score(episode, t, scored) {
  const last = t === episode.pieces.length - 1;
  const raw = episode.raw_score === null ? "" : ` (raw ${number(episode.raw_score)}, before it was scaled)`;
  return {
    key: "score", title: "Score", unit: `score paid, ${scored}`, figures: episode.score_paid,
    words: `The whole text got one score, ${signed(episode.score)}${raw}. It is paid at the last token; `
      + (last ? "this is it." : "all others, this one too, get none of it."),
    formula: [["score paid at t = ", last ? "score" : "0, since t is not the last token", " = ",
      strong(episode.score_paid[t])]],
    code: [["token_rewards", "playground/ppo/advantages.py"], ["Scorer", "playground/training/loop/scoring.py"]],
  };
}

/** @param {Trace} trace @param {Episode} episode @param {number} t @param {string} scored */
function leash({ settings }, episode, t, scored) {
  const [how, name] = ESTIMATORS[settings.estimator] ?? ["d", "k1"];
  const d = episode.log_ratios[t];
  const plain = settings.estimator === "k1";
  const dearer = episode.leash[t] < 0;
  if (settings.where === "loss") return leashInLoss(settings, episode, t);
  return {
    key: "leash", title: "Leash", unit: `leash, ${scored}`, figures: episode.leash,
    words: Math.abs(d) < NO_DIFFERENCE ? "The policy still finds this token as likely as the reference does."
      : `The policy now finds this token ${d > 0 ? "likelier" : "less likely"} than the reference does, by `
      + `${number(Math.abs(d))} nats. At beta ${number(settings.kl_coef)} that `
      + `${dearer ? "costs" : "brings"} ${number(Math.abs(episode.leash[t]))} ${scored}.`,
    formula: [
      ["d = log \u03c0 \u2212 log \u03c0", REF, " = ", number(episode.log_probs[t]), " \u2212 ",
        held(episode.reference_log_probs[t]), " = ", strong(d)],
      ...(plain ? [] : [[`KL (${settings.estimator}) = ${how} = `, strong(episode.token_kl[t])]]),
      ["leash", T, ` = \u2212\u03b2 \u00b7 ${plain ? "d" : "KL"} = \u2212`, number(settings.kl_coef), " \u00b7 ",
        held(episode.token_kl[t]), " = ", strong(episode.leash[t])],
      ["r", T, " = leash", T, " + score paid = ", number(episode.leash[t]), " + ", held(episode.score_paid[t]), " = ",
        strong(episode.rewards[t])],
    ],
    code: [[name, "playground/ppo/kl.py"], ["token_rewards", "playground/ppo/advantages.py"]],
  };
}

/** @param {Trace["settings"]} settings @param {Episode} episode @param {number} t */
function leashInLoss(settings, episode, t) {
  const [how, name] = ESTIMATORS[settings.estimator];
  return {
    key: "leash", title: "Leash", unit: `KL of the token (${settings.estimator}), nats`, figures: episode.token_kl,
    words: "The leash is in the loss here, not in the reward: nothing is taken from what this token is paid. When the "
      + "update began, its KL was what stands here; Step has what it adds to the loss.",
    formula: [
      ["d = log \u03c0 \u2212 log \u03c0", REF, " = ", number(episode.log_probs[t]), " \u2212 ",
        held(episode.reference_log_probs[t]), " = ", strong(episode.log_ratios[t])],
      [`KL (${settings.estimator}) = ${how} = `, strong(episode.token_kl[t])],
    ],
    code: [[name, "playground/ppo/kl.py"], ["loss_kl", "playground/ppo/kl.py"]].slice(name === "loss_kl" ? 1 : 0),
  };
}

/** @param {Episode} episode @param {string} scored @returns {Step} */
function nothing(episode, scored) {
  return {
    key: "value", title: "Value", unit: `token reward, ${scored}`, figures: episode.rewards,
    words: "There is no critic in this run and no other text of the prompt: what a token is paid is compared with "
      + "nothing.",
    formula: [], code: [["advantages_of", "playground/ppo/advantages.py"]],
  };
}

/** @param {Trace} trace @param {Episode} episode @param {number} t */
function toGo(trace, episode, t) {
  return {
    key: "advantage", title: "Advantage", unit: "advantage, scaled", figures: episode.whitened,
    words: `What this token and those after it are paid${scaling(trace)}. It says: make this token `
      + `${wanted(episode.whitened[t])}.`,
    formula: [["A", T, " = \u03a3 r from t on = ", strong(episode.advantages[t])], whitening(trace, episode, t)],
    code: [["rewards_to_go", "playground/ppo/advantages.py"], ["whiten", "playground/ppo/masked.py"]],
  };
}

/** @param {Trace} trace @param {Episode} episode @param {number} t @param {string} scored */
function value({ settings }, episode, t, scored) {
  const next = t + 1 < episode.values.length ? episode.values[t + 1] : 0;
  const delta = episode.deltas[t];
  const told = `${delta > 0 ? "better" : "worse"} than expected by ${number(Math.abs(delta))}`;
  return {
    key: "value", title: "Value", unit: `value V, ${scored}`, figures: episode.values,
    words: `Before this token the critic expected ${number(episode.values[t])} still to come, after it `
      + `${t + 1 < episode.values.length ? number(next) : "nothing, as the text ends"}. With what the token was paid `
      + `it came out ${Math.abs(delta) < NO_DIFFERENCE ? "as expected" : told}.`,
    formula: [["\u03b4", T, " = r", T, " + \u03b3 V", NEXT, " \u2212 V", T, " = ", number(episode.rewards[t]), " + ",
      number(settings.gamma), " \u00b7 ", held(next), " \u2212 ", held(episode.values[t]), " = ",
      strong(episode.deltas[t])]],
    code: [["generalised_advantages", "playground/ppo/advantages.py"], ["Critic",
      "playground/training/models/language_model.py"]],
  };
}

/** @param {Trace} trace @param {Episode} episode @param {string} scored */
function others({ settings }, episode, scored) {
  const { group } = episode;
  const all = settings.baseline === "group";
  return {
    key: "value", title: "Value", unit: `token reward, ${scored}`, figures: episode.rewards,
    words: `There is no critic in this run. Instead of a value, the ${group.earned.length} completions of the same `
      + `prompt are the measure: they earned ${group.earned.map(number).join(", ")}; this one, number `
      + `${group.place + 1}, ${number(group.earned[group.place])}.`,
    formula: [["R = \u03a3 r", T, " = ", strong(group.earned[group.place])],
      [all ? "mean of all = " : "mean of the others = ", strong(all ? group.mean : group.others_mean),
        ...(all ? [", sd = ", strong(group.sd)] : [])]],
    code: [["group_advantages", "playground/ppo/advantages.py"]],
  };
}

/** @param {Trace} trace @param {Episode} episode @param {number} t */
function whitening({ batch, settings }, episode, t) {
  if (settings.advantage_scale !== "batch") return [HAT, T, " = A", T, " = ", strong(episode.whitened[t])];
  return [HAT, T, " = (A", T, " \u2212 mean) / sd = (", number(episode.advantages[t]), " \u2212 ", held(batch.mean),
    ") / ", number(batch.sd), " = ", strong(episode.whitened[t])];
}

/** What the advantage of a token is scaled with, as the end of a sentence. @param {Trace} trace */
const scaling = ({ batch, settings }) => (settings.advantage_scale === "batch"
  ? `; then scaled with mean and sd of all ${batch.tokens} tokens of the batch` : "");

const wanted = (/** @type {number} */ value) =>
  (value > 0 ? "likelier" : value < 0 ? "less likely" : "neither likelier nor less likely");

/** @param {Trace} trace @param {Episode} episode @param {number} t */
function advantage(trace, episode, t) {
  const { settings } = trace;
  const next = t + 1 < episode.advantages.length ? episode.advantages[t + 1] : 0;
  return {
    key: "advantage", title: "Advantage", unit: "advantage, whitened", figures: episode.whitened,
    words: "This token's surprise and those of the tokens after it, each counted less by \u03b3\u03bb"
      + `${scaling(trace)}. It says: make this token ${wanted(episode.whitened[t])}.`,
    formula: [
      ["A", T, " = \u03b4", T, " + \u03b3\u03bb A", NEXT, " = ", number(episode.deltas[t]), " + ",
        number(settings.gamma), " \u00b7 ", number(settings.gae_lambda), " \u00b7 ", held(next), " = ",
        strong(episode.advantages[t])],
      whitening(trace, episode, t),
      ["R", T, " = A", T, " + V", T, " = ", number(episode.advantages[t]), " + ", held(episode.values[t]), " = ",
        strong(episode.returns[t]), " (what the critic is to foresee)"],
    ],
    code: [["generalised_advantages", "playground/ppo/advantages.py"], ["whiten", "playground/ppo/masked.py"]],
  };
}

/** @param {Trace} trace @param {Episode} episode @param {number} t */
function groupAdvantage(trace, episode, t) {
  const { settings } = trace;
  const { group } = episode;
  const earned = number(group.earned[group.place]);
  return {
    key: "advantage", title: "Advantage", unit: "advantage, whitened", figures: episode.whitened,
    words: "Every token of this text has the same advantage: how much more the text earned than the others of its "
      + `prompt${scaling(trace)}. It says: make this token ${wanted(episode.whitened[t])}.`,
    formula: [
      settings.baseline === "group" && settings.advantage_scale === "none"
        ? ["A = R \u2212 mean = ", earned, " \u2212 ", held(group.mean), " = ", strong(episode.advantages[t])]
        : settings.baseline === "group"
        ? ["A = (R \u2212 mean) / sd = (", earned, " \u2212 ", held(group.mean), ") / ", number(group.sd), " = ",
          strong(episode.advantages[t])]
        : ["A = R \u2212 mean of the others = ", earned, " \u2212 ", held(group.others_mean), " = ",
          strong(episode.advantages[t])],
      whitening(trace, episode, t),
    ],
    code: [["group_advantages", "playground/ppo/advantages.py"], ["whiten", "playground/ppo/masked.py"]],
  };
}

const AS_TRAINED = " Means and norms are as trained, not what if.";
/** @type {Pick<Step, "figures" | "words" | "formula">} */
const NOTHING = { figures: null, formula: [],
  words: "The epochs of this update ended before this one, because the policy had moved far enough." };

/** @param {Trace} trace @param {Episode} episode @param {number} t @param {Pass} pass */
function clip({ settings, steps }, episode, t, pass) {
 const shown = { key: "clip", title: "Clip", unit: "ratio to the policy that wrote it",
    code: [["policy_loss", "playground/ppo/losses.py"], ["clipped_tokens", "playground/ppo/losses.py"]] };
  if (!pass) return { ...shown, ...NOTHING };
  const { epoch } = steps[pass.step];
  const ratio = pass.ratios[t];
  const moved = Math.abs(ratio - 1) < 0.005 ? "as likely as" : `${number(ratio)} times as likely as`;
  const ofText = settings.ratio === "text";
  const what = ofText ? "a token of this text, on average," : "this token";
  return {
    ...shown, figures: pass.ratios, marks: pass.clipped,
    words: `In epoch ${epoch} the policy finds ${what} ${moved} when it was written, and it is to become `
      + `${wanted(episode.whitened[t])}. ${pass.clipped[t]
        ? "It has gone past the clip range that way: the loss is flat here, and the token pulls no more."
        : "It has not gone too far that way: the token pulls."}`,
    formula: [
      [...(ofText ? ["r = exp(mean of log \u03c0 \u2212 log \u03c0", OLD, ") = "]
        : ["r = \u03c0 / \u03c0", OLD, " = "]),
        strong(ratio), ", clip(r, 1 \u2212 \u03b5, 1 + \u03b5) = ",
        strong(pass.clamped[t]), ` with \u03b5 = ${number(settings.clip_range)}${settings.clip_range_high === null ? ""
          : `, above 1 ${number(settings.clip_range_high)}`}`],
      ["loss = \u2212min(r ", HAT, ", clip(r) ", HAT, ") = \u2212min(", number(ratio), " \u00b7 ",
        held(episode.whitened[t]), ", ", number(pass.clamped[t]), " \u00b7 ", held(episode.whitened[t]),
        ") = \u2212min(", number(pass.free[t]), ", ", number(pass.held[t]), ") = ", strong(pass.policy_losses[t])],
    ],
  };
}

/** @param {Trace} trace @param {Episode} episode @param {number} t @param {Pass} pass */
function step({ settings, steps, changed }, episode, t, pass) {
  const shown = { key: "step", title: "Step", unit: "part of the loss",
    code: [["value_loss", "playground/ppo/losses.py"],
      ["PPOTrainer.step, PPOTrainer.apply_gradient", "playground/training/loop/trainer.py"]] };
  if (!pass) return { ...shown, ...NOTHING };
  const { epoch, minibatch, tokens, grad_norm: norm, policy_loss: policy, value_loss: critic } = steps[pass.step];
  const cut = norm > settings.max_grad_norm;
  const hasCritic = settings.baseline === "value";
  return {
    ...shown, figures: pass.policy_losses,
    words: `In epoch ${epoch}, minibatch ${minibatch}, the losses of ${tokens} tokens were averaged${
      { token: "", text: ", text by text", constant: ", as if each text had the longest length" }[settings.loss_mean]
    }, and one step was `
      + `taken: gradient norm ${number(norm)}${cut ? `, shortened to ${number(settings.max_grad_norm)}` : ""}, `
      + `learning rate ${number(settings.learning_rate)}.${changed ? AS_TRAINED : ""}`,
    formula: [
      ...(hasCritic ? [["value loss", T, settings.value_clip_range === null ? " = \u00bd (V \u2212 R)\u00b2 = \u00bd ("
        : " = \u00bd max((V \u2212 R)\u00b2, clipped) with (V \u2212 R) = (", number(pass.values[t]), " \u2212 ",
      held(episode.returns[t]), settings.value_clip_range === null ? ")\u00b2 = " : "), = ",
      strong(pass.value_losses[t])]] : []),
      ...(pass.kl_losses.length
        ? [["leash in the loss", T, " = \u03b2 KL = ", number(settings.kl_coef), " \u00b7 ", held(pass.loss_kls[t]),
          " = ", strong(pass.kl_losses[t])]] : []),
      ["mean policy loss = ", strong(policy), ...(hasCritic ? [", mean value loss = ", strong(critic),
        `, weighed ${number(settings.value_coef)}`] : []),
      settings.entropy_coef ? `, less ${number(settings.entropy_coef)} \u00b7 entropy` : ""],
    ],
  };
}
