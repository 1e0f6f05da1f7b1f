// What a run came to: the knee and the perplexities in words, what it cost, and what can be taken along: the model, its
// settings, its tables. There is no push to the hub from here, only the command for it.

import { answerOf, buttonOf, el, headOf, runPath, runTitle, setAttribute, setHidden, setText, setWords,
  url, withCode } from "../core/dom.js";
import { duration, number, percent } from "../core/format.js";
import { computed, effect, untracked } from "../core/signals.js";
import { fetchOutcome, live } from "../core/store.js";

const FILES = [
  ["Report, HTML", "export/html", "All of it as one page for any browser, with charts and texts; nothing is fetched"],
  ["YAML", "export/yaml", "Settings, for the command python -m playground train"],
  ["TRL script", "export/trl", "This run as a Python script for TRL 1.12"],
  ["Metrics, CSV", "metrics.csv", "A row for each update, also under TRL's names"],
  ["Texts, CSV", "samples.csv", "A row for each completion of a fixed prompt"],
];

export class Outcome {
  /**
   * `save(run, kind)` asks the server to write the model and answers {error, folder, sentence}; null where it may not.
   */
  constructor(element, save) {
    this.save = save;
    this.asking = "";
    this.title = el("h2", {}, "What came of it");
    this.words = el("ul", { class: "outcome-words" });
    this.cost = el("p", { class: "muted" });
    this.rows = el("tbody", {});
    const columns = ["What it spent its time on", "Time", "Share", "Operations"];
    const counted = "Counted from the number of weights and tokens, not measured";
    const heads = columns.map((name, index) => headOf(name, index ? null : "words", index === 3 ? counted : null));
    this.ledger = el("div", { class: "numbers ledger", tabindex: "0", role: "region", "aria-label": "Compute" },
      el("table", {}, el("thead", {}, el("tr", {}, heads)), this.rows));
    this.buttons = el("div", { class: "take-buttons" });
    this.told = el("p", { class: "take-told", role: "status" });
    this.commands = el("div", { class: "take-commands" });
    const found = el("div", {}, el("h3", {}, "What it cost"), this.cost, this.ledger);
    const take = el("div", {}, el("h3", {}, "Take it with you"), this.buttons, this.told, this.commands);
    this.root = el("section", { class: "changed outcome-panel", hidden: true },
      el("div", { class: "chart-bar" }, this.title),
      this.words, el("div", { class: "outcome-columns" }, found, take));
    element.append(this.root);
    effect(() => this.look());
    const outcome = computed(() => (live.status?.ended ? live.outcome : null));
    effect(() => {
      const data = outcome.value;
      untracked(() => this.show(data));
    });
  }

  /** Ask for a run that has ended, and again when it is opened or played anew. */
  look() {
    if (!live.run || !live.status?.ended || live.outcome) return;
    const end = `${live.runId} ${live.status.attempt}`;
    if (this.asking === end) return;
    this.asking = end;
    fetchOutcome().catch(() => {}).finally(() => {
      if (this.asking === end) this.asking = "";
    });
  }

  show(data) {
    setHidden(this.root, !data?.compute, runTitle());
    if (this.root.hidden) return;
    this.words.replaceChildren(...data.sentences.map((sentence) => el("li", {}, withCode(sentence))));
    this.words.hidden = !data.sentences.length;
    const { sentence, phases, parameters, trained } = data.compute;
    const size = parameters ? ` ${number(parameters / 1e6)} million `
      + `weights${trained < parameters ? `, ${number(trained / 1e6)} million of them trained` : ""}.` : "";
    setWords(this.cost, sentence + size);
    this.rows.replaceChildren(...phases.map((phase) => el("tr", {}, el("td", { class: "words" }, phase.name),
      el("td", {}, duration(phase.seconds)), el("td", {}, percent(phase.share)), el("td", {}, phase.operations))));
    this.refreshTaking(data);
  }

  refreshTaking({ adapter, weights }) {
    const { runId, run } = live;
    setWords(this.told, "");
    const saving = (kind, name, title) => {
      const button = buttonOf("button", { title, onclick: () => this.saveAs(kind, button) }, name);
      return button;
    };
    const canSave = this.save && !run.recorded && weights;
    const files = FILES.map(([name, path, title]) =>
      el("a", { class: "quiet-button", href: url(runPath(runId, `${path}`)), download: "", title }, name));
    this.buttons.replaceChildren(
      ...(canSave
        ? [saving("merged", "Save the model", "A folder that transformers loads, with card, curves and settings")]
        : []),
      ...(canSave && adapter ? [saving("adapter", "Save the adapter", "The LoRA weights alone, for peft")] : []),
        ...files);
    const commands = run.recorded ? [] : [
      ["Push it to the Hugging Face hub", `python -m playground push ${runId} --to OWNER/NAME`],
      ["See the curves in TensorBoard", `python -m playground export ${runId} --as tensorboard`],
      ...(this.save ? [] : [["Save the model, where the playground runs", `python -m playground save ${runId}`]]),
    ];
    this.commands.replaceChildren(...commands.map(([what, command]) => el("div", { class: "take-command" },
      el("span", { class: "muted" }, what), el("code", {}, command),
      buttonOf("quiet-button", { "aria-label": `Copy: ${command}`, onclick: (event) => copy(event.target, command) },
        "Copy"))));
  }

  async saveAs(kind, button) {
    const run = live.runId;
    if (button.getAttribute("aria-disabled") === "true") return;
    const name = button.textContent;
    setAttribute(button, "aria-disabled", "true"); // not `disabled`, which would take the focus away
    setText(button, "Saving\u2026");
    setWords(this.told, "Loading the weights and writing them; a large model takes a minute.");
    const answer = await answerOf(() => this.save(run, kind), "; nothing was saved.");
    setAttribute(button, "aria-disabled", "false");
    setText(button, name);
    if (live.runId !== run) return;
    this.told.classList.toggle("problem", Boolean(answer.error));
    setWords(this.told, answer.error || answer.sentence || "");
  }
}

async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    setText(button, "Copied");
  } catch {
    setText(button, "Select it and copy");
  }
  setTimeout(() => setText(button, "Copy"), 2000);
}
