// What is drawn: one entry for each chart. `span` is the smallest range of the y axis, so that noise does not fill it
// and about a hundredth of it is the finest number shown. `exact`: a setting, which smoothing would blur. Colour means
// one thing everywhere: score teal, KL and leash amber, else that of the text. `remark` says what is strange about a
// value; `tested`: what of the fixed prompts its head tells; `whole` is a y range that stays; `unit` and
// `note` may depend on the run. `compared`: runs are laid over each other in it, as in the large ones.

const SMALLEST = 0.005; // what is less than this is not shown

/** The unit of the score of a run. */
export const scoreUnit = (/** @type {Charts.Run} */ run) => (run?.unit === "points" ? "points" : "sd");

/** @param {Charts.WrittenSpec} spec @returns {Charts.Spec} */
const specOf = ({ unit = "", note, ...spec }) => ({ colour: "--pg-ink", ...spec,
  unit: typeof unit === "string" ? () => unit : unit, note: typeof note === "string" ? () => note : note });

export const CHARTS = /** @type {Charts.WrittenSpec[]} */ ([
  {
    key: "score", span: 2, large: true, first: true, tested: "score", title: "Score", column: "score_mean",
    band: ["score_p10", "score_p90"], colour: "--pg-score", zero: true, unit: scoreUnit,
    note: (run) => `training batches, ${run?.unit === "points" ? "raw points" : "sd"}`,
    gloss: "How much reward the completions of an update earned, on average. In sd, the reference's texts have mean 0 "
      + "and spread 1. Eight of ten completions lie within the band; the mean can lie outside, where a few earn far "
      + "more or far less.",
    remark: (mean, low, high) => (mean > high + SMALLEST ? "a few high texts lift the mean"
      : mean < low - SMALLEST ? "a few low texts lower the mean" : ""),
  },
  {
    key: "kl", span: 1, large: true, first: true, tested: "kl", title: "Distance (KL)", column: "kl_to_reference",
    colour: "--pg-kl", unit: "nats", note: "training batches, nats", floor: true,
    gloss: "How far the model has moved from its old self: the KL to the reference, in nats per completion. It is no "
      + "true distance, for it differs by direction. Estimated from the update's completions, so near 0 it can fall "
      + "below 0. How much is healthy depends on the texts: about 8 in Kinder reviews, whose texts hold 20 nats of "
      + "choice; 200 in No leash, whose texts are nonsense.",
    remark: (kl) => (kl < -SMALLEST ? "below 0 by chance: an estimate" : ""),
    guide: (run) => (run?.adaptive ? { value: run.target, label: "target" } : null),
  },
  {
    key: "first_kl", span: 1, title: "Whole distance", column: "kl_to_first", colour: "--pg-kl",
    unit: "nats", note: "to the first reference", floor: true,
    gloss: "Where the reference moves, the distance and the leash are to the newest one. This is the KL to the first "
      + "one, in nats per completion, over the training batches. No leash holds it.",
  },
  {
    key: "penalised", span: 1, compared: true, title: "Score minus leash cost", column: "penalised_reward", zero: true,
    unit: scoreUnit, note: "training batches, score \u2212 beta \u00d7 KL",
    gloss: "The score minus what the distance costs (beta times KL). This is the number that PPO maximises.",
  },
  {
    key: "beta", span: 0.1, title: "Leash (beta)", column: "kl_coef", colour: "--pg-kl", exact: true, floor: true,
    note: (run) => `${scoreUnit(run)} per nat`,
    gloss: "How much score the model gives up for each nat of distance; the KL penalty of papers and code. Fixed, or "
      + "moved by the controller towards its target.",
  },
  {
    key: "entropy", span: 1, title: "Entropy", column: "entropy", unit: "nats", note: "nats per token", floor: true,
    gloss: "How open the choice of the next token is. Compare it with its own beginning: 1.2 to 1.4 throughout in "
      + "Kinder reviews, 0.1 to 0.2 on claims. Worry where it halves and the texts become strange: then the model "
      + "always says the same.",
  },
  {
    key: "clip", span: 0.2, title: "Clip fraction", column: "clip_fraction", note: "share of tokens", floor: true,
    gloss: "Share of tokens on which PPO's clip held the update back. 0 to 0.08 in the recorded runs (clip range 0.2, "
      + "two or three epochs); above 0.3 the steps are too bold.",
  },
  {
    key: "length", span: 10, title: "Length", column: "completion_length", unit: "tokens", floor: true,
    note: "tokens per completion", gloss: "Mean length of a completion.",
  },
  {
    key: "fit", span: 1, title: "Value fit", column: "explained_variance", note: "explained variance",
    gloss: "How well the value head predicts the return (explained variance): 1 is perfect, 0 no better than the mean, "
      + "below 0 worse. Up to 0.6 in Kinder reviews; around 0 on claims, which are learned all the same. Exactly 0 "
      + "throughout means that the head is not trained.",
  },
  {
    key: "strange", span: 0.5, title: "Strangeness", column: "perplexity_reference", colour: "--pg-reference",
    note: "its texts, under the reference",
    gloss: "Perplexity of the policy's texts under the reference: among how many tokens, as it were, the reference has "
      + "to guess each next one. Rising means that the texts have become strange to it.",
  },
  {
    key: "forgetting", span: 0.5, title: "Forgetting", column: "perplexity_text", colour: "--pg-policy", sparse: true,
    note: "held-out text, under the policy",
    gloss: "Perplexity of the policy on ordinary text that it is not trained on. Rising means that it forgets what it "
      + "knew; the dashed line marks the value before training.",
    guide: (run, live) => (live?.text.length ? { value: live.text[0].value, label: "before" } : null),
  },
]).map(specOf);

/** Folded below the others: the machinery of an update. */
export const MORE_CHARTS = /** @type {Charts.WrittenSpec[]} */ ([
  {
    key: "policy_loss", span: 0.4, title: "Policy loss", column: "policy_loss", note: "mean over tokens and steps",
    gloss: "A loss at 0, below 0 or rising means nothing by itself: watch score, distance and texts. It is minus the "
      + "probability ratio times the advantage, clipped; advantages have mean 0, so it stays near 0 however much is "
      + "learned.", zero: true,
  },
  {
    key: "value_loss", span: 0.2, title: "Value loss", column: "value_loss", note: "mean over tokens and steps",
    needs: "explained_variance",
    gloss: "A loss at 0 or rising means nothing by itself: watch score, distance and texts. It is the squared error of "
      + "the value head, which grows with the spread of the returns; the value fit tells how good the head is.",
    floor: true,
  },
  {
    key: "grad_norm", span: 0.2, title: "Gradient norm", column: "grad_norm", note: "of the policy, before clipping",
    gloss: "Length of the gradient before it is clipped to the limit in the settings. A jump means that one update "
      + "asked for far more than the others.", floor: true,
  },
  {
    key: "learning_rate", span: 1e-6, title: "Learning rate", column: "learning_rate", note: "as its schedule says",
    gloss: "Size of each optimizer step in that update: the setting times the schedule.", exact: true,
    floor: true,
  },
  {
    key: "update_kl", span: 0.002, title: "Update KL", column: "update_kl", colour: "--pg-kl", unit: "nats",
    note: "nats per token, new against old policy",
    gloss: "How far one update moves the policy from the one that wrote the texts. Not the distance from the "
      + "reference: that adds up over the run, while this starts at 0 in every update.", floor: true,
  },
  {
    key: "distinct_2", span: 0.2, title: "Different word pairs", column: "distinct_2", note: "share of word pairs",
    gloss: "Of all pairs of neighbouring words in the texts of an update, the share that are different from others. "
      + "It falls where texts repeat each other or themselves, and a little where they become longer.", floor: true,
  },
  {
    key: "same_score", span: 0.2, title: "Groups with one score", column: "groups_same_score",
    note: "share of prompts, RLOO and GRPO", floor: true,
    gloss: "Share of the prompts whose texts all scored the same. RLOO and GRPO learn from how the texts of one prompt "
      + "differ, so from these they learn nothing of the reward.",
  },
  {
    key: "disagreement", span: 0.5, title: "Disagreement", column: "disagreement", unit: scoreUnit, floor: true,
    note: "of the learned rewards", colour: "--pg-score",
    gloss: "How far apart the learned rewards of an ensemble are on a text (standard deviation), mean over the texts "
      + "of an update. It rises where texts become unlike those that they learned from; then their score means less.",
  },
  {
    key: "left_out", span: 0.2, title: "Texts left out", column: "left_out", note: "share of texts", floor: true,
    gloss: "Share of the texts of an update that were not learned from: of prompts whose texts all scored the same, or "
      + "cut off before their end, as the settings say.",
  },
]).map(specOf);

/** Lines of which there are several: each has a colour, a dash pattern and, for runs, a letter. */
export const LETTERS = ["A", "B", "C", "D", "E", "F"];
/** @type {number[][]} */
export const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 4], [5, 2, 1, 2]];
export const COLOURS = ["--pg-run-a", "--pg-run-b", "--pg-run-c", "--pg-run-d", "--pg-run-e", "--pg-run-f"];

/** @type {Record<string, { column: string, label: string }>} */
export const X_MODES = {
  update: { column: "update", label: "update" },
  seconds: { column: "seconds", label: "seconds" },
  episodes: { column: "episodes", label: "episodes" },
};
