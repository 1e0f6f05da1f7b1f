// What changed: the same prompts with the same random numbers, before and now, with a slider over the evaluated
// updates.

import { buttonOf, el, headOf, setHidden, setText, setWords, showParts, tableOf } from "../core/dom.js";
import { number, percent, rounded, signed } from "../core/format.js";
import { wantedTrace } from "../core/opened.js";
import { openSection } from "../core/sections.js";
import { effect } from "../core/signals.js";
import { hasEnded, live, moment } from "../core/store.js";
import { facts, KL_GLOSS, pairRow, scoresOf, systemPart, textPair } from "../core/texts.js";
import { tokensButton } from "../inside/microscope.js";

const FIRST_ROWS = 6;

export class Changed {
  /** @param {Element} element */
  constructor(element) {
    this.follow = true;
    this.all = false;
    this.slider = el("input", { type: "range", min: 0, max: 0, step: 1, value: 0,
      "aria-label": "Evaluation to show", oninput: () => {
        this.follow = Number(this.slider.value) === this.later().length - 1;
        this.refresh();
      } });
    this.at = el("output.at");
    this.every = el("span.muted");
    this.more = buttonOf("quiet-button", { hidden: true, onclick: () => {
      this.all = !this.all;
      this.refresh();
    } });
    this.traced = buttonOf("quiet-button", { hidden: true, title: "Texts that were learned from, token by token",
      onclick: () => {
        openSection("update");
        wantedTrace.value = lastTraced();
      } }, "Training texts under six formulas");
    this.summary = el("p.summary");
    this.system = el("div");
    this.table = el("div");
    element.append(el("section.changed",
      el("div.chart-bar",
        el("h2", "Every text"), this.every, this.traced,
        el("span.grow"), el("label.inline.slider-label", this.at, this.slider)),
      this.system, this.summary, this.table, this.more));
    /** @type {number | undefined} */
    let snapshot;
    effect(() => {
      if (live.snapshots !== snapshot) this.follow = true;
      snapshot = live.snapshots;
      this.refresh();
    });
  }

  /** Evaluated updates after the first look; before there are any, the first look itself. */
  later() {
    const later = live.updates.filter((update) => update > 0);
    return later.length ? later : live.updates;
  }

  async refresh() {
    const later = this.later();
    const before = live.moments.get(0);
    const { run } = live;
    setHidden(this.traced, lastTraced() === null, this.slider);
    showParts(this.system, systemPart(run));
    const ended = hasEnded.value;
    this.slider.max = String(Math.max(0, later.length - 1));
    this.slider.disabled = later.length < 2;
    if (this.follow) this.slider.value = String(later.length - 1);
    const update = later[Number(this.slider.value)];
    if (update === undefined || !before) return this.refreshEmpty();
    /** @type {Wire.Moment} */
    let now;
    try {
      now = await moment(update);
    } catch (error) {
      setWords(this.summary, error.message);
      return;
    }
    if (update !== later[Number(this.slider.value)]) return; // the slider moved on meanwhile
    setText(this.at, update === 0 ? "before training" : `after update ${update}`);
    this.slider.setAttribute("aria-valuetext", this.at.textContent);
    const same = "the same prompts with the same random numbers";
    setText(this.every, !run ? "" : run.watched ? "the same prompts" : `${same}, every ${run.every} updates`);
    this.fillSummary(before, now);
    this.fillRows(before, now, this.follow && !ended ? "Now" : `After update ${update}`);
  }

  refreshEmpty() {
    this.more.hidden = true;
    setText(this.summary, "");
    setText(this.at, "");
    showParts(this.table, [el("p.empty", !live.runId
      ? "The fixed prompts appear here, each answered before and after training."
      : live.connection === "failed" || !live.status ? ""
      : hasEnded.value ? "The run ended before the fixed prompts were answered."
      : live.status.state === "queued" ? "The untrained model answers the fixed prompts when the run has started."
      : "The untrained model is about to answer the fixed prompts.")]);
  }

  /** @param {Wire.Moment} before @param {Wire.Moment} now */
  fillSummary(before, now) {
    const { summary } = now;
    const was = before.summary;
    const later = now.update > 0;
    /** @param {string} name @param {number} from @param {number} to @returns {[string, string]} */
    const raw = (name, from, to) => [`${name}, raw`, later ? `${rounded(from)} \u2192 ${rounded(to)}` : rounded(to)];
    this.summary.replaceChildren(...facts([
      later ? ["score", `${signed(was.score)} \u2192 ${signed(summary.score)} ${live.run?.unit ?? "sd"} (gain ${
        signed(summary.score - was.score)})`] : null,
      ...Object.entries(summary.terms).map(([name, value]) => raw(name, was.terms[name], value)),
      ...Object.entries(summary.judges ?? {}).map(([name, value]) => raw(`judge ${name}`, was.judges?.[name], value)),
      ["KL", `${rounded(summary.kl)} nats`],
      ["different texts", `${summary.unique} of ${summary.count}`],
      summary.ended === null ? null : ["ends by itself", percent(summary.ended)],
      summary.length === null ? null : ["length", `${number(summary.length)} tokens`],
    ]));
  }

  /** @param {Wire.Moment} before @param {Wire.Moment} now @param {string} nowName */
  fillRows(before, now, nowName) {
    const prompts = new Map(live.prompts.map((prompt) => [prompt.id, prompt.text]));
    const earlier = new Map(before.rows.map((row) => [row.id, row]));
    const rows = this.all ? now.rows : now.rows.slice(0, FIRST_ROWS);
    showParts(this.table, [tableOf("pairs", [headOf("Prompt", "prompt"), headOf("Before", "before"),
      headOf(nowName, "now"), headOf(`Score, ${live.run?.unit ?? "sd"}`, "figure"), headOf("KL", "figure", KL_GLOSS)],
    rows.map((row) => rowOf(prompts.get(row.id) ?? "", earlier.get(row.id), row, now.update)))]);
    this.more.hidden = now.rows.length <= FIRST_ROWS;
    setText(this.more, this.all ? `Show ${FIRST_ROWS} prompts` : `Show all ${now.rows.length} prompts`);
  }
}

/** @param {string} prompt @param {Wire.Answer | undefined} before @param {Wire.Answer} now @param {number} update */
function rowOf(prompt, before, now, update) {
  const [left, right] = textPair(before?.text ?? "", now.text);
  const tokens = (/** @type {number} */ of) => tokensButton(of ? `after update ${of}` : "before training", prompt,
    () => ({ run: live.runId, promptId: now.id, update: of }));
  const both = update > 0 && Number.isFinite(before?.score) && Number.isFinite(now.score);
  return pairRow({ prompt, sides: [{ label: "Before", parts: [left, tokens(0)] },
    { label: "Now", parts: update ? [right, tokens(update)] : el("p.output.nothing", "\u2026") }],
  score: both ? scoresOf(before.score, now.score) : signed(before?.score), kl: update ? rounded(now.kl) : "0" });
}

/** The last update that was recorded in slow motion. */
function lastTraced() {
  return live.events.findLast(({ kind }) => kind === "trace")?.update ?? null;
}
