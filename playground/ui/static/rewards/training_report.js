// One training of a reward model: its state, its curves while it learns, and what it is worth in the end.

import { column, roundTicks, smooth } from "../charts/arithmetic.js";
import { lines, marginBars, numbers } from "../charts/small_plots.js";
import { buttonOf, el, setWords, showParts, withCode } from "../core/dom.js";
import { duration, number, percent, signed, stateOf } from "../core/format.js";
import { go } from "../core/nav.js";
import { whenThere } from "../train/all_settings.js";
import { progressBar, stateMark } from "../core/texts.js";

/** @typedef {(name: string) => void} Act */

export class TrainingReport {
  /**
   * What may be done with one, each by its name.
   * @param {{ stop: Act, remove: Act, test: Act }} actions
   */
  constructor({ stop, remove, test }) {
    this.actions = { stop, remove, test };
    this.problem = el("p.problem", { role: "status" });
    this.body = el("div.reward-report");
    this.root = el("div", this.problem, this.body);
  }

  show(/** @type {Wire.RewardTraining | null} */ data) {
    showParts(this.body, data ? this.parts(data) : [el("p.empty", "No reward model yet. With these settings "
      + "one takes about half a minute. Its curve appears here, then how often it is right.")]);
  }

  complain(/** @type {string} */ sentence) {
    setWords(this.problem, sentence);
  }

  parts(/** @type {Wire.RewardTraining} */ data) {
    const { card } = data;
    return [
      this.head(data),
      el("p.muted.small-text", `${data.pairs}, base ${data.base}; ${data.settings}`),
      data.ended ? null : progressBar("Steps done", data.step, data.num_steps, { tone: stateOf(data.state).tone }),
      data.message && !card ? el("p", { class: ["failed", "interrupted"].includes(data.state) ? "problem" : "muted" },
        withCode(data.message)) : null,
      card ? verdict(card) : null,
      data.training.step.length ? curves(data) : el("p.empty",
        data.ended ? "" : "The first point comes when the pairs are at hand and the model is loaded."),
      card ? reportPlots(card.report) : null,
      data.log ? el("details.folded", el("summary", "Log"), el("pre.log", data.log))
        : null,
    ].filter(Boolean);
  }

  /** Name, state, and what can be done with it. */
  head(/** @type {Wire.RewardTraining} */ { name, state, ended, card, phase, step, num_steps: steps, seconds }) {
    /** @param {string} what @param {string} kind @param {() => void} onclick */
    const button = (what, kind, onclick, off = false) =>
      buttonOf(kind, { "data-key": `${what} ${name}`, off, onclick }, what);
    const { stop, remove, test } = this.actions;
    const where = ended ? `after ${duration(seconds)}` : `${phase}${steps ? `, step ${step} of ${steps}` : ""}`;
    return el("div.status-head", el("div.status-names", el("h3", name),
      el("span", { role: "status" }, stateMark(state, {}, el("span.where", ` ${where}`)))), el("div.buttons",
      ended ? null : button("Stop", "button", () => stop(name), state === "stopping"),
      card ? [button("Use as reward on Train", "button strong", () => use(name, "train")),
        button("Try on texts", "button", () => use(name, "workbench")),
        button("Test", "button", () => test(name))] : null,
      ended ? button("Delete", "quiet-button delete", () => remove(name)) : null));
  }
}

/** What it is worth, in sentences. */
function verdict(/** @type {Wire.RewardCard} */ card) {
  const found = card.report;
  const interval = `${percent(found.accuracy_low)} to ${percent(found.accuracy_high)}`;
  const noisy = found.true_accuracy !== null && Math.abs(found.true_accuracy - found.accuracy) > 0.005;
  return el("div.verdict",
    el("p.outcome", `Right on ${percent(found.accuracy)} of ${found.num_pairs} held-out pairs, which `
      + `it was not trained on (95 % interval ${interval}).`),
    card.doubt ? el("p.panel-warning", card.doubt) : null,
    noisy ? el("p",
      `Against what the annotator truly prefers, without the wrong answers: ${percent(found.true_accuracy)}.`) : null,
    el("p.muted.small-text", `${card.counts} Scores of held-out answers: mean `
      + `${signed(found.score_mean)}, sd ${number(found.score_sd)}. Prompt format ${card.template}, at most `
      + `${card.max_length} tokens.`));
}

function curves(/** @type {Wire.RewardTraining} */ data) {
  const { training, held_out: held } = data;
  const losses = [...training.loss, ...held.loss].filter((value) => value !== null);
  const high = Math.max(0.8, Math.min(3, Math.ceil(Math.max(...losses, 0) * 5) / 5));
  const accuracies = [...training.accuracy, ...held.accuracy].filter((value) => value !== null);
  const low = Math.min(0.5, Math.floor(Math.min(...accuracies, 1) * 10) / 10);
  const series = (/** @type {"accuracy" | "loss"} */ name) => [
    { kind: "training", at: training.step, values: [...smooth(column({ ...training }, name), 0.7)] },
    { kind: "held-out", at: held.step, values: held[name] },
  ];
  const last = (/** @type {(number | null)[]} */ values) => values.filter((value) => value !== null).at(-1) ?? null;
  return el("div.small-plots",
    plot("Accuracy", "share of pairs in the right order", legend(),
      lines(`Accuracy on held-out pairs: ${percent(last(held.accuracy))}`, series("accuracy"),
      { low, high: 1, yTicks: [0, 0.25, 0.5, 0.75, 1].filter((value) => value >= low),
        tell: (value) => `${Math.round(value * 100)} %`, xName: "step" })),
    plot("Loss", "guessing gives 0.69", legend(), lines(`Loss on held-out pairs: ${number(last(held.loss))}`,
      series("loss"),
      { low: 0, high, yTicks: roundTicks(0, high, 5), xName: "step" })));
}

function legend() {
  return el("span", el("span.key.training", "training batches"), el("span.key.held-out", "held-out pairs"));
}

function reportPlots(/** @type {Wire.PairReport} */ found) {
  const { edges, counts } = found.margins;
  return el("div.small-plots",
    plot("Margins", "held-out pairs, by score of the chosen answer minus score of the rejected one",
      el("span", el("span.key.wrong", "wrong order"), el("span.key.right", "right order")),
      marginBars(`Margins: mean ${signed(found.margin_mean)}; ${percent(found.accuracy)} above 0`, found.margins,
        "margin"),
      numbers("Margins as numbers", ["from", "to", "pairs"],
        counts.map((count, index) => [signed(edges[index]), signed(edges[index + 1]), String(count)]))));
}

/** @param {string} title @param {string} note @param {Element} key @param {Element} drawing @param {Element} table */
function plot(title, note, key, drawing, table = null) {
  return el("figure.small-figure",
    el("figcaption", el("strong", title), el("span.muted", ` ${note}`)),
    el("div.keys.muted", key), drawing, table);
}

/** Put it into the reward picker of the form or of the workbench, which hears of it, and go there. */
function use(/** @type {string} */ name, /** @type {"train" | "workbench"} */ place) {
  const hand = () => document.dispatchEvent(new CustomEvent("playground-use-reward", { detail: { place,
    reward: { kind: "model", source: name } } }));
  if (place === "workbench") {
    go({ page: "rewards", part: "try" });
    hand();
  } else {
    go({ page: "train", settings: "all" }); // where the picker is
    document.body.classList.add("drawer-open");
    whenThere(() => document.querySelector("#field-rewards .rewards"), hand);
  }
}
