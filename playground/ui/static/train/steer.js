// Pause, Resume and One step of a living run. What has been asked for shows at once; the truth comes from the
// run's folder. One button is Pause and Resume, so that a keyboard stays where it is; the space key does the same on
// the Train page.

import { el, runTitle, setHidden, showButtons, signOf } from "../core/dom.js";
import { answerOf } from "../core/server.js";
import { place } from "../core/nav.js";
import { live } from "../core/store.js";

/** @type {Record<string, [sign: string, name: string, title: string]>} */
const FACES = {
  pause: ["\u2016", "Pause", "Pause: wait after the update it is in, until you resume (space key)"],
  pausing: ["\u2016", "Pausing\u2026", "It pauses after the update it is in"],
  resume: ["\u25B6", "Resume", "Resume: go on training (space key)"],
  resuming: ["\u25B6", "Resuming\u2026", "It goes on in a moment"],
  step: ["\u25B8|", "One step", "One step: make one update, then pause again"],
};

export class Steer {
  /**
   * `ask(run, command)` asks the server; `complain(sentence)` shows what went wrong, or nothing.
   * @param {(run: string, command: string) => Promise<Wire.Done>} ask @param {(sentence: string) => void} complain
   */
  constructor(ask, complain) {
    this.ask = ask;
    this.complain = complain;
    // until the run has done it
    this.asked = /** @type {{ run: string, command: string, at: number } | null} */ (null);
    this.paused = false;
    this.root = el("div.buttons.steer", { role: "group", hidden: true, "aria-label": "Pause, step" });
    document.addEventListener("keydown", (event) => {
      const elsewhere = /** @type {Element} */ (event.target)
        .closest("button, a, input, select, textarea, summary, dialog, [tabindex='0'], [contenteditable]");
      const free = !elsewhere && !event.repeat && !event.ctrlKey && !event.metaKey && !event.altKey;
      if (event.key !== " " || !free || place().page !== "train" || this.root.hidden || this.busy) return;
      event.preventDefault();
      this.request(this.paused ? "resume" : "pause");
    });
  }

  /**
   * What to say the run does now, if a request of ours explains it better than its status.
   * @param {Page.Status} status
   */
  phase(status) {
    if (this.asked?.command === "pause") return "pausing after this update";
    if (this.asked?.command === "step" && status.state !== "paused") return "one step, then a pause";
    return "";
  }

  /** @param {Wire.Run | null} run @param {Page.Status | null} status @param {string} state */
  refresh(run, status, state) {
    const shown = Boolean(run?.can_steer && status && !status.ended && state !== "stopping" && state !== "queued");
    setHidden(this.root, !shown, runTitle());
    if (!shown || (this.asked && this.isDone(status))) this.asked = null;
    if (!shown) return;
    const command = this.asked?.command;
    const pausing = command === "pause" || (!command && status.phase.startsWith("pausing"));
    const early = status.state !== "running" && status.state !== "paused";
    this.paused = status.state === "paused" || command === "step";
    this.busy = early || Boolean(command) || pausing;
    /** @param {string} key @param {string} face @param {boolean} off @param {() => void} act */
    const button = (key, face, off, act) => ({ key, kind: `steer-${key}`, off, act, title: FACES[face][2],
      text: [signOf(FACES[face][0]), " ", el("span", FACES[face][1])] });
    showButtons(this.root, [
      this.paused ? button("step", "step", early || Boolean(command), () => this.request("step")) : null,
      button("main", command === "resume" ? "resuming" : pausing ? "pausing" : this.paused ? "resume" : "pause",
        this.busy, () => this.request(this.paused ? "resume" : "pause")),
    ].filter(Boolean));
  }

  /** Whether the run has done what it was asked, or something else has happened since. @param {Page.Status} status */
  isDone({ state, update, ended }) {
    const { run, command, at } = this.asked;
    if (run !== live.runId || ended) return true;
    if (command === "pause") return state === "paused";
    if (command === "resume") return state !== "paused";
    return (state === "paused" && update > at) || update > at + 1;
  }

  /** @param {string} command */
  async request(command) {
    this.asked = { run: live.runId, command, at: live.status.update };
    if (!(await this.send(command, "; the run goes on as it was."))) this.asked = null;
  }

  /** Ask, and whether that was heard. @param {string} command @param {string} otherwise */
  async send(command, otherwise) {
    this.complain("");
    const run = live.runId;
    const { error = "" } = await answerOf(() => this.ask(run, command), otherwise);
    if (error) this.complain(error);
    return !error;
  }
}
