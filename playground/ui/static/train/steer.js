// Pause, Resume and One step of a living run. What has been asked for shows at once; the truth comes from the run's
// folder.
//
// One button is Pause and Resume, so that a keyboard stays where it is; the space key does the same on the Train page.

import { answerOf, el, runTitle, setAttribute, setHidden, setText } from "../core/dom.js";
import { place } from "../core/nav.js";
import { recording } from "../inside/slow_motion.js";
import { live } from "../core/store.js";

const FACES = {
  pause: { icon: "\u2016", word: "Pause",
    title: "Pause: wait after the update it is in, until you resume (space key)" },
  pausing: { icon: "\u2016", word: "Pausing\u2026", title: "It pauses after the update it is in" },
  resume: { icon: "\u25B6", word: "Resume", title: "Resume: go on training (space key)" },
  resuming: { icon: "\u25B6", word: "Resuming\u2026", title: "It goes on in a moment" },
};

const RECORD = { icon: "\u25c9", word: "Record",
  title: "Record: the next update in slow motion, token by token (below the charts)" };
const RECORDING = { icon: "\u25c9", word: "Recording\u2026", title: "The next update is recorded" };

export class Steer {
  /** `ask(run, command)` asks the server; `complain(sentence)` shows what went wrong, or nothing. */
  constructor(ask, complain) {
    this.ask = ask;
    this.complain = complain;
    this.asked = null;
    this.main = this.button("steer-main", () => this.request(this.paused ? "resume" : "pause"));
    this.step = this.button("steer-step", () => this.request("step"));
    this.record = this.button("steer-record", () => this.requestTrace());
    this.root = el("div", { class: "buttons steer", role: "group", hidden: true, "aria-label": "Pause, step, record" },
      this.record.node, this.step.node, this.main.node);
    this.face(this.record, RECORD);
    this.face(this.step, { icon: "\u25B8|", word: "One step", title: "One step: make one update, then pause again" });
    document.addEventListener("keydown", (event) => {
      const elsewhere = /** @type {Element} */ (event.target)
        .closest("button, a, input, select, textarea, summary, dialog, [tabindex='0'], [contenteditable]");
      const free = !elsewhere && !event.repeat && !event.ctrlKey && !event.metaKey && !event.altKey;
      if (event.key !== " " || !free || place().page !== "train" || this.root.hidden
        || this.main.node.getAttribute("aria-disabled") === "true") return;
      event.preventDefault();
      this.request(this.paused ? "resume" : "pause");
    });
  }

  /** What to say the run does now, if a request of ours explains it better than its status. */
  phase(status) {
    if (this.asked?.command === "pause") return "pausing after this update";
    if (this.asked?.command === "step" && status.state !== "paused") return "one step, then a pause";
    return "";
  }

  refresh(run, status, state) {
    const shown = Boolean(run?.can_steer && status && !status.ended && state !== "stopping" && state !== "queued");
    setHidden(this.root, !shown, runTitle());
    if (!shown) {
      this.asked = null;
      return;
    }
    if (this.asked && this.isDone(status)) this.asked = null;
    const command = this.asked?.command;
    const stepping = command === "step";
    const pausing = command === "pause" || (!command && status.phase.startsWith("pausing"));
    this.paused = status.state === "paused" || stepping;
    this.face(this.main, FACES[command === "resume" ? "resuming" : pausing ? "pausing" : this.paused ? "resume"
      : "pause"]);
    const early = status.state !== "running" && status.state !== "paused";
    this.disable(this.main, early || Boolean(command) || pausing);
    this.disable(this.step, early || Boolean(command));
    setHidden(this.step.node, !this.paused, this.main.node);
    setHidden(this.record.node, Boolean(run.no_traces), this.main.node);
    this.face(this.record, recording.value === null ? RECORD : RECORDING);
    this.disable(this.record, recording.value !== null);
  }

  /** Whether the run has done what it was asked, or something else has happened since. */
  isDone({ state, update, ended }) {
    const { run, command, at } = this.asked;
    if (run !== live.runId || ended) return true;
    if (command === "pause") return state === "paused";
    if (command === "resume") return state !== "paused";
    return (state === "paused" && update > at) || update > at + 1;
  }

  async request(command) {
    const run = live.runId;
    this.asked = { run, command, at: live.status.update };
    this.complain("");
    const answer = await answerOf(() => this.ask(run, command), "; the run goes on as it was.");
    if (answer.error) {
      this.asked = null;
      this.complain(answer.error);
    }
  }

  /** A paused run makes one update for it. */
  async requestTrace() {
    const run = live.runId;
    recording.value = live.status.update;
    this.complain("");
    const answer = await answerOf(() => this.ask(run, "trace"), "; nothing is recorded.");
    if (answer.error) {
      recording.value = null;
      this.complain(answer.error);
    }
  }

  button(kind, action) {
    const icon = el("span", { class: "icon", "aria-hidden": "true" });
    const word = el("span", {});
    const node = el("button", { type: "button", class: `button ${kind}`, onclick: () => {
      if (node.getAttribute("aria-disabled") !== "true") action();
    } }, icon, " ", word);
    return { node, icon, word };
  }

  face({ node, icon, word }, face) {
    setText(icon, face.icon);
    setText(word, face.word);
    setAttribute(node, "title", face.title);
  }

  /** Not `disabled`, which would take the keyboard's focus away. */
  disable({ node }, off) {
    setAttribute(node, "aria-disabled", String(off));
  }
}
