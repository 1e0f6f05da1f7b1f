// What changed: the same prompts with the same random numbers, before and now, with a slider over the evaluated
// updates.

import { buttonOf, el, headOf, tableOf, withCode } from "../core/dom.js";
import { number, percent, rounded, signed } from "../core/format.js";
import { wantedTrace } from "../core/opened.js";
import { part } from "../core/part.js";
import { openSection } from "../core/sections.js";
import { effect, signal } from "../core/signals.js";
import { hasEnded, live, moment } from "../core/store.js";
import { beforeAndNow, facts, KL_GLOSS, pairRow, scoresOf, sideHeads, systemPart, textPair } from "../core/texts.js";
import { tokensButton } from "../inside/microscope.js";

const FIRST_ROWS = 6;

/** @param {Element} element */
export function showChanged(element) {
  const wanted = signal(/** @type {number | null} */ (null)); // an evaluated update; null: the newest
  const now = signal(/** @type {Wire.Moment | null} */ (null));
  const problem = signal("");
  const all = signal(false);
  /** @type {number | undefined} */
  let snapshot;
  effect(() => {
    if (live.snapshots !== snapshot) wanted.value = null;
    snapshot = live.snapshots;
    const update = wanted.value ?? later().at(-1);
    if (update === undefined || !live.moments.has(0)) return void (now.value = null);
    moment(update).then((found) => {
      if (update !== (wanted.value ?? later().at(-1))) return; // the slider moved on meanwhile
      problem.value = "";
      now.value = found;
    }, (error) => { problem.value = error.message; });
  });
  element.append(part(el("section.changed"), () => {
    const { run } = live;
    const updates = later();
    const before = live.moments.get(0);
    const shown = before && now.value;
    const at = !shown ? "" : shown.update === 0 ? "before training" : `after update ${shown.update}`;
    const same = "the same prompts with the same random numbers";
    const every = !shown || !run ? "" : run.watched ? "the same prompts" : `${same}, every ${run.every} updates`;
    const name = wanted.value === null && !hasEnded.value ? "Now" : `After update ${shown?.update}`;
    const count = shown ? shown.rows.length : 0;
    return [
      el("div.chart-bar", el("h2", "Every text"), el("span.muted", every), tracedButton(), el("span.grow"),
        el("label.inline.slider-label", el("output.at", at), el("input", { type: "range", min: 0,
          max: Math.max(0, updates.length - 1), step: 1, disabled: updates.length < 2,
          value: wanted.value === null ? updates.length - 1 : updates.indexOf(wanted.value),
          "aria-label": "Evaluation to show", "aria-valuetext": at, oninput: ({ target }) => {
            const index = Number(target.value);
            wanted.value = index === later().length - 1 ? null : later()[index];
          } }))),
      el("div", systemPart(run)),
      el("p.summary", withCode(problem.value), shown ? summaryOf(before, shown) : null),
      el("div", shown ? tableOf("pairs", [headOf("Prompt", "prompt"), ...sideHeads(name),
        headOf(`Score, ${run?.unit ?? "sd"}`, "figure"), headOf("KL", "figure", KL_GLOSS)],
      rowsOf(before, all.value ? shown : { ...shown, rows: shown.rows.slice(0, FIRST_ROWS) }))
        : el("p.empty", emptyWords())),
      count > FIRST_ROWS ? buttonOf("quiet-button", { "data-key": "more", onclick: () => {
        all.value = !all.value;
      } }, all.value ? `Show ${FIRST_ROWS} prompts` : `Show all ${count} prompts`) : null];
  }));
}

/** Evaluated updates after the first look; before there are any, the first look itself. */
function later() {
  const updates = live.updates.filter((update) => update > 0);
  return updates.length ? updates : live.updates;
}

/** What is said in the place of the texts. */
export function emptyWords() {
  if (!live.runId) return "The fixed prompts appear here, each answered before and after training.";
  if (live.connection === "failed" || !live.status) return "";
  if (hasEnded.value) return "The run ended before the fixed prompts were answered.";
  return live.status.state === "queued" ? "The untrained model answers the fixed prompts when the run has started."
    : "The untrained model is about to answer the fixed prompts.";
}

/** @param {Wire.Moment} before @param {Wire.Moment} now */
function summaryOf({ summary: was }, { summary, update }) {
  /** @param {string} name @param {number} from @param {number} to @returns {[string, string]} */
  const raw = (name, from, to) => [`${name}, raw`, update ? `${rounded(from)} \u2192 ${rounded(to)}` : rounded(to)];
  return facts([
    update ? ["score", `${signed(was.score)} \u2192 ${signed(summary.score)} ${live.run?.unit ?? "sd"} (gain ${
      signed(summary.score - was.score)})`] : null,
    ...Object.entries(summary.terms).map(([name, value]) => raw(name, was.terms[name], value)),
    ...Object.entries(summary.judges ?? {}).map(([name, value]) => raw(`judge ${name}`, was.judges?.[name], value)),
    ["KL", `${rounded(summary.kl)} nats`],
    ["different texts", `${summary.unique} of ${summary.count}`],
    summary.ended === null ? null : ["ends by itself", percent(summary.ended)],
    summary.length === null ? null : ["length", `${number(summary.length)} tokens`],
  ]);
}

/** @param {Wire.Moment} before @param {Wire.Moment} now */
function rowsOf(before, { rows, update }) {
  const prompts = new Map(live.prompts.map((prompt) => [prompt.id, prompt.text]));
  const earlier = new Map(before.rows.map((row) => [row.id, row]));
  return rows.map((row) => rowOf(prompts.get(row.id) ?? "", earlier.get(row.id), row, update));
}

/** @param {string} prompt @param {Wire.Answer | undefined} before @param {Wire.Answer} now @param {number} update */
function rowOf(prompt, before, now, update) {
  const [left, right] = textPair(before?.text ?? "", now.text);
  const tokens = (/** @type {number} */ of) => tokensButton(of ? `after update ${of}` : "before training", prompt,
    () => ({ run: live.runId, promptId: now.id, update: of }));
  const both = update > 0 && Number.isFinite(before?.score) && Number.isFinite(now.score);
  return pairRow({ prompt,
    sides: beforeAndNow([left, tokens(0)], update ? [right, tokens(update)] : el("p.output.nothing", "\u2026")),
  score: both ? scoresOf(before.score, now.score) : signed(before?.score), kl: update ? rounded(now.kl) : "0" });
}

/** To the newest update that was recorded in slow motion; null without one. */
function tracedButton() {
  const traced = live.events.findLast(({ kind }) => kind === "trace")?.update ?? null;
  return traced === null ? null : buttonOf("quiet-button", { "data-key": "traced",
    title: "Texts that were learned from, token by token", onclick: () => {
      openSection("update");
      wantedTrace.value = traced;
    } }, "Training texts under six formulas");
}
