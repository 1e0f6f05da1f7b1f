// "Go on from a checkpoint": a new run that begins with the state that this one had after an update, with other
// settings from there on. A lamp's remedy opens it with its own update and settings filled in.

import { rights } from "../core/access.js";
import { buttonOf, el, menuOf, optionsOf, runTitle, setHidden, setWords, showParts } from "../core/dom.js";
import { answerOf, newName } from "../core/server.js";
import { refreshHome } from "../core/home.js";
import { knobControls } from "../core/knob.js";
import { openRun } from "../core/nav.js";
import { openSection } from "../core/sections.js";
import { effect } from "../core/signals.js";
import { hasEnded, live } from "../core/store.js";

const UPDATES = "ppo.num_updates";
const ASKED = "playground-fork";

/** Whether the run in view has a checkpoint to go on from, and one may start runs here. */
export function canFork() {
  return Boolean(rights.value.start && live.run?.can_steer && live.events.some(({ kind }) => kind === "checkpoint"));
}

/**
 * Open the panel with an update (or the newest checkpoint before it) and settings filled in.
 * @param {number} update @param {Wire.OfferedRemedy["changes"]} changes
 */
export function askFork(update, changes) {
  document.dispatchEvent(new CustomEvent(ASKED, { detail: { update, changes } }));
}

/**
 * @typedef {import("../core/knob.js").Entered} Entered
 * @typedef {Record<string, unknown>} Drafts settings by field
 * @typedef {{ update: number, changes: Drafts }} Offer
 */

export class ForkPanel {
  /**
   * @param {Element} element @param {(run: string) => Promise<Wire.ForkPoints>} points
   * @param {(asked: { run: string, at: number, changes: Drafts, request: string }) => Promise<Wire.Started>} start
   */
  constructor(element, points, start) {
    this.points = points;
    this.start = start;
    this.drafts = /** @type {Drafts} */ ({}); // settings that are to differ, by field
    this.found = /** @type {Wire.ForkPoints | null} */ (null); // where it can part, and the words of what can be set
    this.controls = /** @type {ReturnType<typeof knobControls>} */ (new Map());
    this.loading = /** @type {Promise<void> | null} */ (null);
    this.request = /** @type {string | null} */ (null); // the name of this start: sent again, it starts once
    this.sending = false;
    this.where = menuOf([], { "aria-label": "After update", onchange: () => this.show() });
    this.grid = el("div.live-grid");
    this.note = el("p.fork-note", { role: "status", "aria-live": "polite" });
    this.button = buttonOf("button strong", { onclick: () => this.send() }, "Start the fork");
    this.body = el("div",
      el("p.muted", "A fork is a run of its own. It starts with the weights and the optimizer state of this run "
        + "after that update. With nothing changed it repeats this run bit by bit, so any difference comes from what "
        + "you change here."),
      el("p.fork-where", el("label", "After update ", this.where)), this.grid,
      el("p.fork-start", this.button), this.note);
    this.details = el("details", { ontoggle: () => this.details.open && this.load() },
      el("summary", "Fork: continue from a checkpoint with other settings"), this.body);
    this.root = el("section.fork", { hidden: true, "aria-label": "Fork" }, this.details);
    element.append(this.root);
    document.addEventListener(ASKED, (event) => this.offer(/** @type {CustomEvent<Offer>} */ (event).detail));
    let runId = "";
    effect(() => {
      if (runId !== live.runId) this.forget();
      runId = live.runId;
      const willKeep = rights.value.start && live.run?.keeps_checkpoints && live.run.can_steer && !hasEnded.value;
      setHidden(this.root, !canFork() && !willKeep, runTitle());
    });
  }

  forget() {
    this.drafts = {};
    this.found = null;
    this.loading = null;
    this.details.open = false;
    setWords(this.note, "");
  }

  async offer(/** @type {Offer} */ { update, changes }) {
    openSection("export");
    this.details.open = true;
    await this.load();
    if (!this.found) return;
    this.drafts = { ...changes };
    const before = this.found.points.filter((point) => point.update <= update);
    this.where.value = String((before.at(-1) ?? this.found.points[0]).update);
    this.show();
    this.root.scrollIntoView({ block: "nearest" });
    this.where.focus();
  }

  /** Where it can part is asked anew each time it is opened: a run that trains writes more checkpoints. */
  load() {
    this.loading ??= this.ask().finally(() => { this.loading = null; });
    return this.loading;
  }

  async ask() {
    const runId = live.runId;
    const answer = await answerOf(() => this.points(runId), ".");
    if (runId !== live.runId) return;
    const problem = answer.error || (answer.points.length ? "" : "There is no whole checkpoint here to go on from.");
    setWords(this.note, problem);
    this.body.classList.toggle("empty", Boolean(problem));
    if (problem) return;
    const chosen = this.where.value;
    const again = Boolean(this.found);
    this.found = answer;
    showParts(this.where, optionsOf(answer.points.map(({ update }) => [update, update])));
    const known = again && answer.points.some(({ update }) => String(update) === chosen);
    this.where.value = known ? chosen : String(answer.points.at(-1).update);
    if (!again) this.build();
    this.show();
  }

  build() {
    const { points: [{ values }], knobs } = this.found;
    this.controls = knobControls(knobs.filter(({ field }) => field in values), "fork", "there", (field, value) => {
      this.drafts[field] = value;
      this.show();
    });
    this.controls.get("kl.coef")?.setRegimes(live.regimes);
    this.grid.replaceChildren(...[...this.controls.values()].map(({ root }) => el("div.live-field", root)));
  }

  show() {
    const { values, update } = this.found.points.find((point) => String(point.update) === this.where.value);
    if (Number(values[UPDATES]) <= update) this.drafts[UPDATES] ??= 2 * update; // else nothing would be left to do
    for (const [name, control] of this.controls) {
      if (this.drafts[name] === values[name]) delete this.drafts[name];
      control.setMark(/** @type {Entered} */ (values[name]));
      control.show(/** @type {Entered} */ (this.drafts[name] ?? values[name]));
    }
  }

  async send() {
    if (this.sending || !this.found) return;
    this.sending = true;
    this.request ??= newName();
    const run = live.runId;
    setWords(this.note, "Starting it\u2026");
    const answer = await answerOf(() => this.start({ run, at: Number(this.where.value), changes: this.drafts,
      request: this.request }), "; press again: it starts once.");
    this.sending = false;
    if (answer.error || answer.problems?.length) {
      const problems = (answer.problems ?? []).map(({ label, message }) => `${label}: ${message}`);
      setWords(this.note, answer.error || problems.join(" "));
      return;
    }
    this.request = null;
    setWords(this.note, "");
    if (run === live.runId) openRun(answer.run);
    refreshHome();
  }
}
