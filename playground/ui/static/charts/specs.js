// What is drawn: one entry for each chart. `span` is the smallest range of the y axis, so that noise does not fill it
// and about a hundredth of it is the finest number shown. `exact`: a setting, which smoothing would blur. Colour means
// one thing everywhere: score teal, KL and leash amber, else that of the text. `remark` says what is strange about a
// value; `whole` is a y range that stays; `unit` and `note` may depend on the run.

const SMALLEST = 0.005; // what is less than this is not shown

/** The unit of the score of a run. */
export const scoreUnit = (run) => (run?.unit === "points" ? "points" : "sd");

/** @param {any} spec with words where they do not depend on the run @returns {any} */
const specOf = ({ unit = "", note, ...spec }) => ({ colour: "--pg-ink", ...spec,
  unit: typeof unit === "string" ? () => unit : unit, note: typeof note === "string" ? () => note : note });

export const CHARTS = [
  {
    key: "score", span: 2, large: true, title: "Score", column: "score_mean", band: ["score_p10", "score_p90"],
    colour: "--pg-score", zero: true, unit: scoreUnit,
    note: (run) => `training batches, ${run?.unit === "points" ? "raw points" : "sd"}`,
    gloss: "How much reward the completions of an update earned, on average. In sd, 0 is the reference. Eight in ten "
      + "completions are within the band; the mean can lie outside it, where a few earn far more or far less.",
    remark: (mean, low, high) => (mean > high + SMALLEST ? "a few high ones lift the mean"
      : mean < low - SMALLEST ? "a few low ones lower the mean" : ""),
  },
  {
    key: "kl", span: 1, large: true, title: "Distance (KL)", column: "kl_to_reference", colour: "--pg-kl",
    unit: "nats", note: "training batches, nats", floor: true,
    gloss: "How far the policy has drifted from the reference, in nats per completion: the sum of log-probability "
      + "ratios. It is estimated from the completions of the update, so near 0 it can fall below 0.",
    remark: (kl) => (kl < -SMALLEST ? "below 0 by chance: an estimate" : ""),
    guide: (run) => (run?.adaptive ? { value: run.target, label: "target" } : null),
  },
  {
    key: "penalised", span: 1, title: "Score minus leash cost", column: "penalised_reward", zero: true,
    unit: scoreUnit, note: "training batches, score \u2212 beta \u00d7 KL",
    gloss: "The score less what the drift costs. This is the number that PPO pushes up.",
  },
  {
    key: "beta", span: 0.1, title: "Leash (beta)", column: "kl_coef", colour: "--pg-kl", exact: true, floor: true,
    note: (run) => `${scoreUnit(run)} per nat`,
    gloss: "Price of one nat of KL. Fixed, or moved by the controller towards the target.",
  },
  {
    key: "entropy", span: 1, title: "Entropy", column: "entropy", unit: "nats", note: "nats per token", floor: true,
    gloss: "How open the next word is. Falling fast means the model always says the same.",
  },
  {
    key: "clip", span: 0.2, title: "Clip fraction", column: "clip_fraction", note: "share of tokens", floor: true,
    gloss: "Share of tokens on which PPO's clip held the update back. Above 0.3 the steps are large.",
  },
  {
    key: "length", span: 10, title: "Length", column: "completion_length", unit: "tokens", floor: true,
    note: "tokens per completion", gloss: "Mean length of a completion.",
  },
  {
    key: "fit", span: 1, title: "Value fit", column: "explained_variance", note: "explained variance",
    gloss: "How well the value head foresees the return: 1 is perfect, 0 no better than the mean, below 0 worse.",
  },
  {
    key: "strange", span: 0.5, title: "Strangeness", column: "perplexity_reference", colour: "--pg-reference",
    note: "its texts, to the reference",
    gloss: "Perplexity of the policy's texts under the reference: out of how many words the reference would have "
      + "to guess each next one. Rising means that the texts have become strange to it.",
  },
  {
    key: "forgetting", span: 0.5, title: "Forgetting", column: "perplexity_text", colour: "--pg-policy", sparse: true,
    note: "held-out text, to the policy",
    gloss: "Perplexity of the policy on ordinary text that it is not trained on. Rising means that it forgets what it "
      + "knew; the dashed line is the value before training.",
    guide: (run, live) => (live?.text.length ? { value: live.text[0].value, label: "before" } : null),
  },
].map(specOf);

/** Folded below the others: the machinery of an update. */
export const MORE_CHARTS = [
  {
    key: "policy_loss", span: 0.02, title: "Policy loss", column: "policy_loss", note: "mean over tokens and steps",
    gloss: "What the optimizer lowers: minus the probability ratio times the advantage, clipped. Advantages are scaled "
      + "to mean 0, so it stays near 0 however much is learned: a falling loss is no sign of success here.", zero: true,
  },
  {
    key: "value_loss", span: 0.2, title: "Value loss", column: "value_loss", note: "mean over tokens and steps",
    gloss: "How wrong the value head was, squared, in the unit of the reward. It rises with the spread of the "
      + "returns, so read it beside the value fit.", floor: true,
  },
  {
    key: "grad_norm", span: 0.2, title: "Gradient norm", column: "grad_norm", note: "of the policy, before clipping",
    gloss: "Length of the gradient before it is cut to the limit in the settings. A leap means that an update wanted "
      + "far more than the others.", floor: true,
  },
  {
    key: "learning_rate", span: 1e-6, title: "Learning rate", column: "learning_rate", note: "as its schedule says",
    gloss: "Size of each optimizer step in that update: the setting times what the schedule makes of it.", exact: true,
    floor: true,
  },
  {
    key: "update_kl", span: 0.002, title: "Update KL", column: "update_kl", colour: "--pg-kl", unit: "nats",
    note: "nats per token, new against old policy",
    gloss: "How far one update moves the policy from the one that wrote the texts. Not the distance from the "
      + "reference: that adds up over the run, this begins at 0 with each update.", floor: true,
  },
  {
    key: "same_score", span: 0.2, title: "Groups with one score", column: "groups_same_score",
    note: "share of prompts, RLOO and GRPO", floor: true,
    gloss: "Share of the prompts whose texts all scored the same. RLOO and GRPO learn from how the texts of one prompt "
      + "differ, so from these they learn nothing of the reward.",
  },
].map(specOf);

/** Lines of which there are several: each has a colour, a dash pattern and, for runs, a letter. */
export const LETTERS = ["A", "B", "C", "D", "E", "F"];
export const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 4], [5, 2, 1, 2]];
export const COLOURS = ["--pg-run-a", "--pg-run-b", "--pg-run-c", "--pg-run-d", "--pg-run-e", "--pg-run-f"];

export const X_MODES = {
  update: { column: "update", label: "update" },
  seconds: { column: "seconds", label: "seconds" },
  episodes: { column: "episodes", label: "episodes" },
};
