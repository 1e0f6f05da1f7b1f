// What a run came to: the plateau and the perplexities in words, what it cost, and what can be taken along: the model,
// its settings, its tables. There is no push to the hub from here, only the command for it.

import { buttonOf, el, headOf, runTitle, setHidden, setWords, showParts, tableOf,
  withCode } from "../core/dom.js";
import { answerOf } from "../core/server.js";
import { duration, number, percent } from "../core/format.js";
import { alike, computed, effect, untracked } from "../core/signals.js";
import { fetchOutcome, live } from "../core/store.js";
import { fileLinks } from "../core/texts.js";
import { showFacts } from "./run_facts.js";

/** @typedef {"merged" | "adapter"} Kind */

export class Outcome {
  /**
   * `save(run, kind)` asks the server to write the model; null where it may not.
   * @param {Element} element @param {((run: string, kind: Kind) => Promise<Wire.Saved>) | null} save
   */
  constructor(element, save) {
    this.save = save;
    this.asking = "";
    this.saving = ""; // what is being saved
    this.told = el("p.take-told", { role: "status" });
    this.words = el("ul.outcome-words");
    this.cost = el("div");
    this.buttons = el("div.take-buttons");
    this.commands = el("div.take-commands");
    this.otherwise = el("details", { hidden: true });
    this.exact = el("p.outcome-exact");
    this.facts = el("div.run-facts");
    showFacts(this.facts);
    this.root = el("section.changed.outcome-panel", { hidden: true },
      el("div.chart-bar", el("h2", "Outcome")), this.exact, this.words,
      el("div.outcome-columns", this.cost,
        el("div", el("h3", "Export"), this.buttons, this.otherwise, this.told, this.commands)), this.facts);
    element.append(this.root);
    effect(() => this.look());
    effect(() => {
      setHidden(this.root, !live.run, runTitle());
      setWords(this.exact, live.status?.outcome || (live.run?.recorded ? "Known at the end of the recording."
        : "The run is still going. Its outcome appears here when it ends."));
    });
    const shown = computed(() => ({ run: live.runId, known: Boolean(live.run),
      data: live.status?.ended ? live.outcome : null }), alike);
    effect(() => {
      const { data } = shown.value;
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

  /** @param {Wire.Outcome | null} data */
  show(data) {
    const sentences = data?.sentences ?? [];
    this.words.hidden = !sentences.length;
    showParts(this.words, sentences.map((sentence) => el("li", withCode(sentence))));
    showParts(this.cost, data?.compute ? costOf(data.compute) : []);
    setWords(this.told, "");
    if (live.run) this.showTaking(data ?? { adapter: false, weights: false });
    const differences = data?.trl ?? [];
    showParts(this.otherwise, differences.length ? [el("summary", "What the TRL script does otherwise"),
      el("ul", differences.map((sentence) => el("li", withCode(sentence))))] : []);
    this.otherwise.hidden = !differences.length;
  }

  /** @param {Pick<Wire.Outcome, "adapter" | "weights">} data */
  showTaking({ adapter, weights }) {
    const { runId, run } = live;
    const canSave = this.save && !run.recorded && weights;
    /** @param {Kind} kind @param {string} name @param {string} title */
    const saving = (kind, name, title) => buttonOf("button", { "data-key": kind, title, off: this.saving === kind,
      onclick: () => this.saveAs(kind) }, this.saving === kind ? "Saving\u2026" : name);
    showParts(this.buttons, [
      canSave ? saving("merged", "Save the model", "A folder that transformers loads, with card, curves and settings")
        : null,
      canSave && adapter ? saving("adapter", "Save the adapter", "The LoRA weights alone, for peft") : null,
      ...fileLinks(runId, run.watched)].filter(Boolean));
    const commands = run.recorded ? [] : [
      ...(run.watched ? [] : [
        ["Push it to the Hugging Face hub", `python -m playground push ${runId} --to OWNER/NAME`]]),
      ["See the curves in TensorBoard", `python -m playground export ${runId} --as tensorboard`],
      ...(this.save || run.watched ? []
        : [["Save the model, where the playground runs", `python -m playground save ${runId}`]]),
    ];
    this.commands.replaceChildren(...commands.map(([what, command]) => el("div.take-command",
      el("span.muted", what), el("code", command))));
  }

  /** @param {Kind} kind */
  async saveAs(kind) {
    const run = live.runId;
    const data = live.outcome;
    this.saving = kind;
    this.showTaking(data);
    setWords(this.told, "Loading the weights and writing them; a large model takes a minute.");
    const answer = await answerOf(() => this.save(run, kind), "; nothing was saved.");
    this.saving = "";
    if (live.runId !== run) return;
    this.showTaking(data);
    this.told.classList.toggle("problem", Boolean(answer.error));
    setWords(this.told, answer.error || answer.sentence || "");
  }
}

/** What it cost, in a sentence and phase by phase. @param {Wire.Compute} compute */
function costOf({ sentence, phases, parameters, trained }) {
  const size = parameters ? ` ${number(parameters / 1e6)} million `
    + `weights${trained < parameters ? `, ${number(trained / 1e6)} million of them trained` : ""}.` : "";
  const table = tableOf("", [headOf("Phase", "words"), "Time", "Share",
    headOf("Operations", null, "Counted from the number of weights and tokens, not measured")],
  phases.map(({ name, seconds, share, operations }) => [el("td.words", name),
    [duration(seconds), percent(share), operations].map((cell) => el("td", cell))]));
  return [el("h3", "What it cost"), el("p.muted", withCode(sentence + size)),
    el("div.numbers.ledger", { tabindex: "0", role: "region", "aria-label": "Compute" }, table)];
}
