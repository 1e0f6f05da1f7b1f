// One training of a reward model: its state, its curves while it learns, and what it is worth in the end.

import { column, smooth } from "../charts/arithmetic.js";
import { calibrationDots, lines, marginBars, numbers } from "../charts/small_plots.js";
import { el, setWords, showParts, signOf, withCode } from "../core/dom.js";
import { duration, number, percent, signed, stateOf } from "../core/format.js";
import { go } from "../core/nav.js";
import { whenNew } from "../core/signals.js";

export class TrainingReport {
  /** What may be done with one, each by its name. */
  constructor({ stop, remove, test }) {
    this.actions = { stop, remove, test };
    this.problem = el("p", { class: "problem", role: "status" });
    this.body = el("div", { class: "reward-report" });
    this.root = el("div", {}, this.problem, this.body);
    this.show = whenNew((data) => showParts(this.body, data ? this.parts(data) : [el("p", { class: "empty" },
      "No reward model was trained here yet. With the settings beside this one takes about half a minute: its curve "
      + "appears here, and then how far it can be trusted.")]));
  }

  complain(sentence) {
    setWords(this.problem, sentence);
  }

  parts(data) {
    const { icon, word, tone } = stateOf(data.state);
    const running = !data.ended;
    const share = data.num_steps ? data.step / data.num_steps : 0;
    const fill = el("div", { class: "fill", "data-tone": tone });
    fill.style.transform = `scaleX(${share})`;
    const button = (what, kind, act, off = false) =>
      el("button", { type: "button", class: kind, "data-key": `${what} ${data.name}`,
        "aria-disabled": off ? "true" : null,
      onclick: (event) => {
        if (event.currentTarget.getAttribute("aria-disabled") !== "true") act();
      } }, what);
    const buttons = el("div", { class: "buttons" },
      running ? button("Stop", "button", () => this.actions.stop(data.name), data.state === "stopping") : null,
      data.card ? button("Use it as reward", "button strong", () => use(data.name, "train")) : null,
      data.card ? button("Try it on texts", "button", () => use(data.name, "workbench")) : null,
      data.card ? button("Test it", "button", () => this.actions.test(data.name)) : null,
      running ? null : button("Delete", "quiet-button delete", () => this.actions.remove(data.name)));
    const where = running ? `${data.phase}${data.num_steps ? `, step ${data.step} of ${data.num_steps}` : ""}`
      : `after ${duration(data.seconds)}`;
    return [
      el("div", { class: "status-head" }, el("div", { class: "status-names" }, el("h3", {}, data.name),
        el("span", { class: "state", "data-tone": tone }, signOf(icon), el("strong", { role: "status" }, word),
          el("span", { class: "where" }, ` ${where}`))), buttons),
      el("p", { class: "muted small-text" }, `${data.pairs}, base ${data.base}; ${data.settings}`),
      data.ended ? null
        : el("div", { class: "progress", role: "progressbar", "aria-label": "Steps done", "aria-valuemin": 0,
          "aria-valuemax": data.num_steps, "aria-valuenow": data.step }, fill),
      data.message && !data.card
        ? el("p", { class: data.state === "failed" || data.state === "interrupted" ? "problem" : "muted" },
          withCode(data.message)) : null,
      data.card ? verdict(data.card) : null,
      data.training.step.length ? curves(data) : el("p", { class: "empty" },
        running ? "The first point comes after the pairs are written and the model is loaded." : ""),
      data.card ? reportPlots(data.card.report) : null,
      data.log ? el("details", { class: "folded" }, el("summary", {}, "Log"), el("pre", { class: "log" }, data.log))
        : null,
    ].filter(Boolean);
  }
}

/** What it is worth, in sentences. */
function verdict(card) {
  const found = card.report;
  const interval = `${percent(found.accuracy_low)} to ${percent(found.accuracy_high)}`;
  const noisy = found.true_accuracy !== null && Math.abs(found.true_accuracy - found.accuracy) > 0.005;
  return el("div", { class: "verdict" },
    el("p", { class: "outcome" }, `Right on ${percent(found.accuracy)} of ${found.num_pairs} pairs that it has not `
      + `seen (95 % interval ${interval}).`),
    noisy ? el("p", {},
      `Against what the annotator truly prefers, wrong answers set aside: ${percent(found.true_accuracy)}.`) : null,
    el("p", { class: "muted small-text" }, `${card.counts} Scores of held-out answers: mean `
      + `${signed(found.score_mean)}, sd ${number(found.score_sd)}. Template ${card.template}, at most `
      + `${card.max_length} tokens.`));
}

function curves(data) {
  const { training, held_out: held } = data;
  const losses = [...training.loss, ...held.loss].filter((value) => value !== null);
  const high = Math.max(0.8, Math.min(3, Math.ceil(Math.max(...losses, 0) * 5) / 5));
  const step = high > 1.6 ? 0.5 : 0.2;
  const lossTicks = Array.from({ length: Math.floor(high / step) + 1 },
    (_, index) => Number((index * step).toFixed(1)));
  const accuracies = [...training.accuracy, ...held.accuracy].filter((value) => value !== null);
  const low = Math.min(0.5, Math.floor(Math.min(...accuracies, 1) * 10) / 10);
  const series = (name) => [
    { kind: "training", at: training.step, values: smooth(column(training, name), 0.7) },
    { kind: "held-out", at: held.step, values: held[name] },
  ];
  const last = (values) => values.filter((value) => value !== null).at(-1) ?? null;
  return el("div", { class: "small-plots" },
    plot("Accuracy", "share of pairs in the right order", legend(),
      lines(`Accuracy on held-out pairs: ${percent(last(held.accuracy))}`, series("accuracy"),
      { low, high: 1, yTicks: [0, 0.25, 0.5, 0.75, 1].filter((value) => value >= low),
        tell: (value) => `${Math.round(value * 100)} %`, xName: "step" })),
    plot("Loss", "0.69 is a coin", legend(), lines(`Loss on held-out pairs: ${number(last(held.loss))}`, series("loss"),
      { low: 0, high, yTicks: lossTicks, xName: "step" })));
}

function legend() {
  return el("span", {}, el("span", { class: "key training" }, "training batches"),
    el("span", { class: "key held-out" }, "held-out pairs"));
}

function reportPlots(found) {
  const known = found.calibration.some((bin) => bin.known !== null);
  const { edges, counts } = found.margins;
  const told = (value) => percent(value);
  return el("div", { class: "small-plots" },
    plot("Margins", "held-out pairs by score of the chosen minus score of the rejected",
      el("span", {}, el("span", { class: "key wrong" }, "wrong order"),
        el("span", { class: "key right" }, "right order")),
      marginBars(`Margins: mean ${signed(found.margin_mean)}; ${percent(found.accuracy)} above 0`, found.margins,
        "margin"),
      numbers("Margins as numbers", ["from", "to", "pairs"],
        counts.map((count, index) => [signed(edges[index]), signed(edges[index + 1]), String(count)]))),
    plot("Calibration", "how often it is right where it is so sure",
      el("span", {}, el("span", { class: "key held-out" }, "observed, 95 % interval"),
        known ? el("span", { class: "key known" }, "the annotator") : null),
      calibrationDots(`Calibration error ${number(found.calibration_error)}`, found.calibration,
        "how sure: sigma(margin)"),
      numbers("Calibration as numbers", ["promised", "observed", "95 % interval", known ? "annotator" : null,
        "pairs"].filter(Boolean),
        found.calibration.map((bin) => [told(bin.predicted), told(bin.observed),
          `${told(bin.low)} to ${told(bin.high)}`, known ? told(bin.known) : null,
          String(bin.count)].filter((cell) => cell !== null)))));
}

function plot(title, note, key, drawing, table = null) {
  return el("figure", { class: "small-figure" },
    el("figcaption", {}, el("strong", {}, title), el("span", { class: "muted" }, ` ${note}`)),
    el("div", { class: "keys muted" }, key), drawing, table);
}

/** Put it into the reward picker of the form or of the workbench, which hears of it, and go there. */
function use(name, place) {
  document.dispatchEvent(new CustomEvent("playground-use-reward", { detail: { place,
    reward: { kind: "model", source: name } } }));
  if (place === "workbench") document.getElementById("workbench")?.scrollIntoView({ block: "start" });
  else {
    go({ page: "train" });
    document.body.classList.add("drawer-open");
  }
}
