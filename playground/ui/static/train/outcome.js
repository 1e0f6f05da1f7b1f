// What a run came to: the plateau and the perplexities in words, what it cost, and what can be taken along: the model,
// its settings, its tables. There is no push to the hub from here, only the command for it.

import { buttonOf, el, headOf, tableOf, withCode } from "../core/dom.js";
import { answerOf } from "../core/server.js";
import { duration, number, percent } from "../core/format.js";
import { part } from "../core/part.js";
import { effect, signal } from "../core/signals.js";
import { fetchOutcome, live } from "../core/store.js";
import { fileLinks } from "../core/texts.js";
import { showFacts } from "./run_facts.js";

/** @typedef {"merged" | "adapter"} Kind */

const NOTHING = { run: "", kind: "", words: "", isProblem: false }; // `kind`: what is being saved
const FOLDER = "A folder that transformers loads, with card, curves and settings";

/**
 * `save(run, kind)` asks the server to write the model; null where it may not.
 * @param {Element} element @param {((run: string, kind: Kind) => Promise<Wire.Saved>) | null} save
 */
export function showOutcome(element, save) {
  const saved = signal(NOTHING);
  const facts = el("div.run-facts");
  showFacts(facts);
  let asking = "";
  effect(() => { // of a run that has ended, and again when it is opened or played anew
    if (!live.run || !live.status?.ended || live.outcome) return;
    const end = `${live.runId} ${live.status.attempt}`;
    if (asking === end) return;
    asking = end;
    fetchOutcome().catch(() => {}).finally(() => {
      if (asking === end) asking = "";
    });
  });
  /** @param {string} kind */
  const saveAs = async (kind) => {
    const run = live.runId;
    saved.value = { run, kind, words: "Loading the weights and writing them; a large model takes a minute.",
      isProblem: false };
    const { error, sentence } = await answerOf(() => save(run, /** @type {Kind} */ (kind)), "; nothing was saved.");
    saved.value = { run, kind: "", words: error || sentence || "", isProblem: Boolean(error) };
  };
  element.append(part(el("section.changed.outcome-panel"), () => {
    const { run, runId, status } = live;
    if (!run) return null;
    const data = status?.ended ? live.outcome : null;
    const { kind, words, isProblem } = saved.value.run === runId ? saved.value : NOTHING;
    /** @param {Kind} which @param {string} name @param {string} title */
    const saving = (which, name, title) => buttonOf("button", { "data-key": which, title, off: kind === which,
      onclick: () => saveAs(which) }, kind === which ? "Saving\u2026" : name);
    const canSave = save && !run.recorded && data?.weights;
    return [el("div.chart-bar", el("h2", "Outcome")),
      el("p.outcome-exact", withCode(status?.outcome || (run.recorded ? "Known at the end of the recording."
        : "The run is still going. Its outcome appears here when it ends."))),
      data?.sentences.length ? el("ul.outcome-words", data.sentences.map((told) => el("li", withCode(told)))) : null,
      el("div.outcome-columns", { "data-key": "columns" },
        el("div", data?.compute ? costOf(data.compute) : []),
        el("div", el("h3", "Export"), el("div.take-buttons",
          canSave ? saving("merged", "Save the model", FOLDER) : null,
          canSave && data.adapter ? saving("adapter", "Save the adapter", "The LoRA weights alone, for peft") : null,
          fileLinks(runId, run.watched)),
        data?.trl?.length ? el("details", { "data-key": "trl" }, el("summary", "What the TRL script does otherwise"),
          el("ul", data.trl.map((told) => el("li", withCode(told))))) : null,
        el("p", { "data-key": "told", class: `take-told ${isProblem ? "problem" : ""}`, role: "status" },
          withCode(words)),
        el("div.take-commands", { "data-key": "commands" }, commandsOf(run, runId, Boolean(save)).map(
          ([what, command]) => el("div.take-command", el("span.muted", what), el("code", command)))))), facts];
  }));
}

/** What can be done in a terminal. @param {Wire.Run} run @param {string} id @param {boolean} saves the page does */
function commandsOf({ recorded, watched }, id, saves) {
  return recorded ? [] : [
    watched ? null : ["Push it to the Hugging Face hub", `python -m playground push ${id} --to OWNER/NAME`],
    ["See the curves in TensorBoard", `python -m playground export ${id} --as tensorboard`],
    saves || watched ? null : ["Save the model, where the playground runs", `python -m playground save ${id}`],
  ].filter(Boolean);
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
