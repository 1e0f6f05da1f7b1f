// The status panel: title, state in words, progress, time left, Pause, One step, Stop; what happened and what to do when a
// run has ended.

import { el, setText, url } from "./dom.js";
import { duration, stateOf } from "./format.js";
import { onHome } from "./home.js";
import { go } from "./nav.js";
import { Steer } from "./steer.js";
import { clock, live, onChange, open, replay } from "./store.js";

const SPEAK_EVERY = 10; // updates between two announcements to a screen reader

export class StatusPanel {
  /** `stop(run)` and `steer(run, command)` ask the server; each answers {error}. */
  constructor(element, { stop, steer }) {
    this.stop = stop;
    this.stopping = null;
    this.complaint = "";
    this.steer = new Steer(steer, (sentence) => {
      this.complaint = sentence;
      this.refresh();
    });
    this.spoken = "";
    this.living = null;
    this.build(element);
    onChange(() => this.refresh());
    onHome((home) => {
      this.living = home.living;
      this.refresh();
    });
    setInterval(() => this.tick(), 1000);
  }

  build(element) {
    this.title = el("h1", {}, "");
    this.badge = el("span", { class: "badge", hidden: true }, "recorded");
    this.state = el("span", { class: "state" });
    this.icon = el("span", { class: "icon", "aria-hidden": "true" });
    this.word = el("strong", {});
    this.where = el("span", { class: "where" });
    this.state.append(this.icon, this.word, this.where);
    this.phase = el("span", { class: "phase" });
    this.buttons = el("div", { class: "buttons" });
    this.fill = el("div", { class: "fill" });
    this.bar = el("div", { class: "progress", role: "progressbar", "aria-label": "Updates done", "aria-valuemin": 0 }, this.fill);
    this.line = el("p", { class: "line" });
    this.log = el("pre", { class: "log", hidden: true, tabindex: "0", "aria-label": "Worker log" });
    this.settings = el("dl", { class: "settings" });
    this.speaker = el("div", { class: "visually-hidden", role: "status", "aria-live": "polite" });
    const drawer = el("button", { type: "button", class: "button drawer-button",
      onclick: () => document.body.classList.add("drawer-open") }, "Set up a run");
    element.append(el("section", { class: "status", "aria-label": "Run" },
      el("div", { class: "status-head" },
        el("div", { class: "status-names" }, this.title, this.badge, this.state),
        this.steer.root, this.buttons, drawer),
      this.bar, el("div", { class: "status-foot" }, this.line, this.phase), this.settings, this.log, this.speaker));
  }

  refresh() {
    const { run, status } = live;
    this.badge.hidden = !run?.recorded;
    setText(this.title, run?.title ?? (live.runId ? "" : "No run yet"));
    if (!run || !status) return this.refreshEmpty();
    if (status.ended || this.stopping !== live.runId) this.stopping = status.ended ? null : this.stopping;
    const state = this.stopping === live.runId && !status.ended ? "stopping" : status.state;
    const { icon, word, tone } = stateOf(state);
    this.state.dataset.tone = tone;
    setText(this.icon, icon);
    setText(this.word, word);
    this.tick();
    const share = status.num_updates ? status.update / status.num_updates : 0;
    this.fill.style.transform = `scaleX(${share})`;
    this.fill.dataset.tone = tone;
    this.bar.setAttribute("aria-valuemax", status.num_updates);
    this.bar.setAttribute("aria-valuenow", status.update);
    const lost = live.connection === "lost";
    const phase = this.steer.phase(status) || status.phase;
    setText(this.phase, lost ? "Connection lost. Trying again; the run goes on." : status.ended || !phase ? "" : `Now: ${phase}`);
    this.phase.classList.toggle("problem", lost);
    this.refreshLine(run, status, state);
    this.steer.refresh(run, status, state);
    this.refreshButtons(run, status, state);
    this.refreshSettings(run);
    this.speak(run, status, word);
    document.title = this.tabTitle(run, status, state);
  }

  refreshEmpty() {
    const loading = live.runId && live.connection !== "failed";
    setText(this.word, "");
    setText(this.icon, "");
    setText(this.where, "");
    setText(this.phase, "");
    this.fill.style.transform = "scaleX(0)";
    this.settings.replaceChildren();
    this.buttons.replaceChildren();
    delete this.buttons.dataset.key;
    this.steer.refresh(null, null, "");
    this.log.hidden = true;
    if (live.connection === "failed") {
      setText(this.title, "Not found");
      setText(this.line, live.problem);
      this.buttons.append(el("button", { type: "button", class: "button", onclick: () => go({ page: "runs" }) }, "All runs"));
    } else setText(this.line, loading ? "Loading the run\u2026" : "Choose an experiment and press Start. Its curves and texts appear here.");
    document.title = "RLHF Playground";
  }

  /** The line under the bar: what this is, or how it ended and what to do. */
  refreshLine(run, status, state) {
    let text = run.story;
    let tone = "";
    if (run.recorded) {
      text = status.ended ? `${status.outcome} This is a recording; press Start to train your own.`
        : `${run.story} A recording of a real run, played fast. Press Start to train your own.`;
    } else if (state === "failed" || state === "interrupted") {
      text = status.message || "The run ended without saying why.";
      tone = "problem";
    } else if (state === "stopped") {
      text = [status.message || "Stopped.", status.outcome].filter(Boolean).join(" ");
    } else if (state === "finished") text = status.outcome || "Finished.";
    else if (state === "stopping") text = "Stopping after the current step; what was learned so far is kept.";
    else if (state === "paused") text = "Paused. Nothing is lost: read the curves, change a setting, go on when you like.";
    if (this.complaint && !status.ended) [text, tone] = [this.complaint, "problem"];
    setText(this.line, text);
    this.line.className = `line ${tone}`;
  }

  refreshButtons(run, status, state) {
    const key = `${live.runId} ${state} ${status.ended} ${this.living}`;
    if (this.buttons.dataset.key === key) return;
    this.buttons.dataset.key = key;
    this.log.hidden = true;
    const button = (text, action, kind = "") => el("button", { type: "button", class: `button ${kind}`, onclick: action }, text);
    const nodes = [];
    if (this.living && this.living !== live.runId) {
      nodes.push(button("Watch the run that is training", () => {
        go({ page: "train", run: this.living });
        open(this.living);
      }));
    }
    if (run.recorded && status.ended) nodes.push(button("Play again", replay));
    if (status.ended) {
      if (state !== "recorded" || run.recorded) {
        nodes.push(button("Compare before and after", () => go({ page: "compare", run: live.runId }),
          state === "finished" || run.recorded ? "strong" : ""));
      }
      if (state === "failed" || state === "interrupted") nodes.push(button("Show log", (event) => this.toggleLog(event.target)));
    } else if (!run.recorded) {
      const stop = button(state === "stopping" ? "Stopping\u2026" : "Stop", () => this.askStop(), "danger");
      stop.title = "Stop: end the run after the current step and keep what was learned";
      stop.disabled = state === "stopping";
      nodes.push(stop);
    }
    this.buttons.replaceChildren(...nodes);
  }

  /** The settings that matter most; one that was changed in mid-run shows both values. */
  refreshSettings(run) {
    const now = Object.fromEntries(live.events.filter(({ kind }) => kind === "edit").map(({ field, value }) => [field, value]));
    const key = JSON.stringify([run.id, now]);
    if (this.settings.dataset.key === key && this.settings.childElementCount) return;
    this.settings.dataset.key = key;
    this.settings.replaceChildren(...run.settings.map(({ field, label, value, unit }) =>
      el("div", {}, el("dt", {}, label), el("dd", { title: unit || null }, field in now ? `${value} \u2192 ${Number(now[field].toPrecision(3))}` : value))));
  }

  async askStop() {
    const run = live.runId;
    this.stopping = run;
    this.complaint = "";
    this.refresh();
    let answer;
    try {
      answer = await this.stop(run);
    } catch {
      answer = { error: "The page cannot reach the playground; the run was not asked to stop." };
    }
    if (answer?.error) {
      this.stopping = null;
      this.complaint = answer.error;
      this.refresh();
    }
  }

  async toggleLog(button) {
    this.log.hidden = !this.log.hidden;
    setText(button, this.log.hidden ? "Show log" : "Hide log");
    if (this.log.hidden) return;
    try {
      const response = await fetch(url(`live/${encodeURIComponent(live.runId)}/log`));
      setText(this.log, await response.text());
    } catch {
      setText(this.log, "The log cannot be read right now.");
    }
    this.log.scrollTop = this.log.scrollHeight;
  }

  /** Once a second: times count on. */
  tick() {
    const { run, status } = live;
    if (!run || !status) return;
    const { elapsed, left } = clock();
    const parts = [`update ${status.update} of ${status.num_updates}`];
    if (!run.recorded || status.ended) parts.push(duration(elapsed));
    if (left !== null && !status.ended && status.state === "running" && !this.steer.phase(status)) parts.push(left < 1 ? "almost done" : `about ${duration(left)} left`);
    setText(this.where, parts.join(" \u00b7 "));
  }

  speak(run, status, word) {
    const step = Math.floor(status.update / SPEAK_EVERY) * SPEAK_EVERY;
    const key = `${run.id} ${word} ${run.recorded ? 0 : step}`;
    if (key === this.spoken) return;
    this.spoken = key;
    setText(this.speaker, `${run.title}: ${word}, update ${status.update} of ${status.num_updates}. ${status.ended ? this.line.textContent : ""}`);
  }

  tabTitle(run, status, state) {
    if (run.recorded) return "RLHF Playground";
    if (!status.ended) return `${state === "paused" ? `${stateOf(state).icon} ` : ""}${status.update}/${status.num_updates} ${run.title}`;
    const { icon } = stateOf(state);
    return `${icon} ${run.title}`;
  }
}
