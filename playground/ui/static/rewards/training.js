// "Train a reward model": what to learn from and with, start and stop, the curve while it learns, and what it is worth
// in the end. All that is shown comes from the disk (`live/_rewards`), so a reload or another tab shows the same.

import { answerOf, confirmed, el, getJson, setAttribute, setText, showParts, signOf, withCode } from "../core/dom.js";
import { duration, number, percent, signed, stateOf, when } from "../core/format.js";
import { knobControl } from "../core/knob.js";
import { go, onPlace, place } from "../core/nav.js";
import { poll } from "../core/poll.js";
import { whenNew } from "../core/signals.js";
import { calibrationDots, lines, marginBars, numbers } from "../charts/small_plots.js";

const BUSY_MS = 1000;
const IDLE_MS = 6000;
const OTHER = "other"; // the choice that opens a text field

const about = (sentence) => el("p", { class: "muted" }, sentence);

export function mount(element, props, { watch, server }) {
  const form = new Form(props.form, start);
  const report = new Report({ stop, remove });
  const list = el("ul", { class: "reward-models" });
  const known = el("section", { class: "known-models", hidden: true }, el("h3", {}, "Trained here"), list);
  element.append(el("section", { class: "panel reward-training" },
    el("h2", {}, "Train a reward model"),
    el("p", { class: "muted small-text" }, "From pairs of answers of which somebody preferred one, a model learns to "
      + "give one number to any answer. PPO can then train against it."),
    el("div", { class: "reward-training-columns" }, form.root,
      el("div", { class: "reward-view" }, known, report.root))));
  if (!placeUpload()) {
    new MutationObserver((_, observer) => {
      if (placeUpload()) observer.disconnect();
    }).observe(document.body, { childList: true, subtree: true });
  }

  let chosen = null; // the reward model in view; null: the one in training, or the newest
  let overview = { living: null, run: null, models: [] };
  let lost = false; // the complaint is that nothing could be fetched

  /** Gradio's upload button among our own fields: whether it is there. */
  function placeUpload() {
    const button = document.getElementById("upload-pairs");
    if (button) form.uploadPlace.append(button);
    return Boolean(button);
  }

  const refresh = poll({
    async ask(signal) {
      const found = await getJson("live/_rewards", signal);
      const names = found.models.map((item) => item.name);
      const shown = names.includes(chosen) ? chosen : found.living ?? names[0] ?? null;
      const detail = shown ? await getJson(`live/_rewards/${encodeURIComponent(shown)}`, signal) : null;
      return { found, names, shown, detail };
    },
    tell({ found, names, shown, detail }) {
      overview = found;
      if (!names.includes(chosen)) chosen = null;
      form.know(found, names);
      known.hidden = !names.length;
      showList(found.models, shown);
      report.show(detail);
      if (lost) report.complain(""); // what came of a press on a button stays
      lost = false;
    },
    fail(error) {
      report.complain(error.message);
      lost = true;
    },
    every: () => (overview.living ? BUSY_MS : IDLE_MS),
    wanted: () => place().page === "rewards",
  });

  const showList = whenNew((models, shown) => showParts(list, models.map((item) => {
    const { icon, word } = stateOf(item.state);
    const told = item.accuracy === null ? ` ${word}` : ` ${percent(item.accuracy)}`;
    return el("li", { "data-key": item.name }, el("button", {
      type: "button", class: "quiet-button", "aria-pressed": String(item.name === shown), "data-name": item.name,
      title: `${word}, ${when(item.started_at)}`, onclick: () => {
        chosen = item.name;
        refresh();
      } }, el("span", { "aria-hidden": "true" }, `${icon} `), item.name, told));
  })));

  async function start(values, replace = false) {
    form.tell([]);
    form.setStarting(true, null);
    const answer = await answerOf(() => server.start_training({ values, replace }));
    if (answer.exists && !replace && (await confirmed(`Replace ${values.name}?`, about("There is a reward model of "
      + "that name. The new one takes its place; the present one is kept, and its name gets -before at the end."),
        "Replace it"))) {
      return start(values, true);
    }
    form.tell(answer.exists ? [] : answer.problems ?? [{ field: "", message: answer.error }]);
    form.setStarting(false, answer.name ?? null);
    if (answer.name) {
      chosen = answer.name;
      await refresh();
    }
    return undefined;
  }

  async function stop(name) {
    const answer = await answerOf(() => server.stop_training(name));
    report.complain(answer.error ?? "");
    await refresh();
  }

  async function remove(name) {
    if (!(await confirmed(`Delete ${name}?`, about("The reward model and the record of its training are deleted for "
      + "good. Runs that were trained against it keep their figures."), "Delete"))) return;
    const answer = await answerOf(() => server.delete_reward_model(name));
    report.complain(answer.error ?? "");
    chosen = null;
    await refresh();
  }

  watch("value", () => form.uploaded(props.value));
  onPlace(refresh);
}

/** The form at the left. */
class Form {
  constructor(form, start) {
    this.form = form;
    this.knobs = [];
    this.names = [];
    this.touched = false; // the name was typed by a person
    this.starting = false; // a start was asked for and has not been answered
    this.living = null; // the name of the one in training
    const option = (value, label) => el("option", { value }, label);
    this.pairs = el("select", { id: "reward-pairs", onchange: () => this.changed() },
      form.annotators.map((item) => option(item.name, `${item.label} (pocket world)`)),
        option(OTHER, "A file or a dataset"));
    this.pairsHelp = el("p", { class: "help" });
    this.source = el("input", { type: "text", id: "reward-source", spellcheck: "false",
      placeholder: "/path/pairs.jsonl or owner/name", oninput: () => this.changed() });
    this.uploadPlace = el("div", { class: "upload-place" });
    this.sourceRow = el("div", { class: "own" },
      el("label", { for: "reward-source" }, "Path of a file, or id of a dataset"), this.source, this.uploadPlace,
      el("p", { class: "help" },
        "Lines of JSON or a table with prompt, chosen and rejected; or whole dialogues in chosen and rejected."));
    this.base = el("select", { id: "reward-base", onchange: () => this.changed() },
      form.bases.map((item) => option(item.name, `${item.label}, ${item.size.split(",")[0]}`)),
        option(OTHER, "Another model"));
    this.base.value = form.base;
    this.baseSource = el("input", { type: "text", id: "reward-base-source", spellcheck: "false",
      placeholder: "owner/name or a model folder", "aria-label": "Base model" });
    this.name = el("input", { type: "text", id: "reward-name", spellcheck: "false",
      oninput: () => { this.touched = this.name.value !== ""; } });
    this.template = el("select", { id: "reward-template" }, form.templates.map((item) => option(item, item)));
    this.lora = el("input", { type: "checkbox", id: "reward-lora" });
    this.button = el("button", { type: "submit", class: "button strong" }, "Train");
    this.problems = el("ul", { class: "problems", role: "alert" });
    this.beside = el("p", { class: "help" });
    this.root = el("form", { class: "reward-form", onsubmit: (event) => {
      event.preventDefault();
      if (!this.starting && !this.living) start(this.values());
    } },
      row("Preference pairs", this.pairs, this.pairsHelp), this.sourceRow,
      row("Base model", this.base, el("p", { class: "help" },
        "Becomes the reward model: its language head is replaced by one number."), this.baseSource),
      form.first.map((knob) => this.number(knob)),
      el("details", { class: "folded" }, el("summary", {}, "More settings"), form.more.map((knob) => this.number(knob)),
        row("Template", this.template, el("p", { class: "help" }, withCode(form.help.template))),
        el("label", { class: "own check" }, this.lora,
          el("span", {}, "LoRA: train small matrices beside the frozen weights"))),
      row("Name", this.name, el("p", { class: "help" }, form.help.name)),
      this.problems, this.button, this.beside);
    this.changed();
  }

  number(knob) {
    const item = { knob, value: knob.default ?? "" };
    item.control = knobControl(knob, `reward-${knob.field.replaceAll(".", "-")}`,
      { markWord: "default", onEdit: (value) => {
      item.value = value;
      item.control.show(value);
    } });
    item.control.setMark(knob.default ?? "");
    item.control.show(item.value);
    this.knobs.push(item);
    return item.control.root;
  }

  /** What depends on another choice is shown or hidden. */
  changed() {
    const other = this.pairs.value === OTHER;
    this.sourceRow.hidden = !other;
    const annotator = this.form.annotators.find((item) => item.name === this.pairs.value);
    setText(this.pairsHelp, annotator ? `${annotator.help} It judges pairs that a pocket model writes.` : "");
    this.baseSource.hidden = this.base.value !== OTHER;
    for (const { knob, control } of this.knobs) {
      control.root.hidden = (knob.pocket && other)
        || (knob.field === "pairs.majority" && this.pairs.value !== "divided");
    }
    this.propose();
  }

  /** A free name, as long as the person has typed none. */
  propose() {
    if (this.touched) return;
    const stem = (this.pairs.value === OTHER ? this.source.value.split("/").at(-1).split(".")[0] : this.pairs.value)
      .toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 50) || "my-judge";
    let name = stem;
    for (let count = 2; this.names.includes(name); count += 1) name = `${stem}-${count}`;
    this.name.value = name;
  }

  know(overview, names) {
    const changed = JSON.stringify(names) !== JSON.stringify(this.names);
    this.names = names;
    if (changed && document.activeElement !== this.name) this.propose();
    this.living = overview.living;
    this.showButton();
    setText(this.beside, overview.run && !overview.living
      ? "A PPO run is on. Both work beside each other, each more slowly." : "");
  }

  values() {
    const values = {
      "pairs.source": this.pairs.value === OTHER ? this.source.value.trim() : this.pairs.value,
      base: this.base.value === OTHER ? this.baseSource.value.trim() : this.base.value,
      name: this.name.value.trim(),
      template: this.template.value,
      "adapter.kind": this.lora.checked ? "lora" : "none",
    };
    for (const { knob, value } of this.knobs) values[knob.field] = value;
    return values;
  }

  /** A start was asked for, or answered: then with the name of what is in training now. */
  setStarting(starting, living) {
    this.starting = starting;
    this.living = living;
    if (living) this.touched = false; // a name for the next one is proposed
    this.showButton();
  }

  showButton() {
    setText(this.button, this.starting ? "Starting\u2026" : this.living ? `${this.living} is in training` : "Train");
    // not `disabled`, which would take the focus away
    setAttribute(this.button, "aria-disabled", String(this.starting || Boolean(this.living)));
  }

  tell(problems) {
    const labels = Object.fromEntries(this.knobs.map(({ knob }) => [knob.field, knob.label]));
    Object.assign(labels, { "pairs.source": "Preference pairs", base: "Base model", name: "Name",
      template: "Template" });
    this.problems.replaceChildren(...problems.map(({ field, message }) =>
      el("li", { class: "problem" }, field ? el("strong", {}, `${labels[field] ?? field}: `) : null, message)));
  }

  uploaded(value) {
    if (value?.problem) this.tell([{ field: "pairs.source", message: value.problem }]);
    if (value?.uploaded) {
      this.tell([]);
      this.source.value = value.uploaded;
      this.changed();
    }
  }
}

function row(label, control, ...more) {
  return el("div", { class: "own" }, el("label", { for: control.id }, label), control, more);
}

/** One training at the right: state, curve, report. */
class Report {
  constructor({ stop, remove }) {
    this.actions = { stop, remove };
    this.problem = el("p", { class: "problem", role: "status" });
    this.body = el("div", { class: "reward-report" });
    this.root = el("div", {}, this.problem, this.body);
    this.show = whenNew((data) => showParts(this.body, data ? this.parts(data) : [el("p", { class: "empty" },
      "No reward model was trained here yet. With the settings at the left one takes about half a minute: its curve "
      + "appears here, and then how far it can be trusted.")]));
  }

  complain(sentence) {
    setText(this.problem, sentence);
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
      data.card ? button("Use it as reward", "button strong", () => use(data.name)) : null,
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
          data.message) : null,
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
    { kind: "training", at: training.step, values: smoothed(training[name]) },
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

/** A running mean, because a batch of a few pairs jumps. */
function smoothed(values) {
  let sum = 0;
  let weight = 0;
  return values.map((value) => {
    if (value === null) return null;
    sum = 0.7 * sum + 0.3 * value;
    weight = 0.7 * weight + 0.3;
    return sum / weight;
  });
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

/** Put it into the reward picker of the Train page, which hears of it, and go there. */
function use(name) {
  document.dispatchEvent(new CustomEvent("playground-use-reward", { detail: { kind: "model", source: name } }));
  go({ page: "train" });
  document.body.classList.add("drawer-open");
}
