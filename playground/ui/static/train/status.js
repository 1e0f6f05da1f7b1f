// The status panel: title, state in words, progress, time left, Pause, One step, Stop. What needs more words (how a run
// has ended, that it waits or does not answer) is in the notice below, see train/notice.js.

import { rights } from "../core/access.js";
import { answerOf, buttonOf, el, setText, setWords, showButtons, showWrong } from "../core/dom.js";
import { duration, stateOf, timeRange } from "../core/format.js";
import { home, refreshHome } from "../core/home.js";
import { go, openRun } from "../core/nav.js";
import { AllSettings } from "./all_settings.js";
import { Notice, noticeOf, resumeOffer } from "./notice.js";
import { StepLine } from "./step.js";
import { Steer } from "./steer.js";
import { effect, whenNew } from "../core/signals.js";
import { clock, expectAttempt, live, replay, retry } from "../core/store.js";

const SPEAK_EVERY = 10; // updates between two announcements to a screen reader

export class StatusPanel {
  /**
   * What the server can be asked, each answers {error}: `stop(run)`, `steer(run, command)`, `end(run)`, `resume(run)`.
   */
  constructor(element, { stop, steer, end, resume }) {
    this.ask = { stop, end, resume };
    this.asked = null; // {run, what, at}: what this page has asked for and not seen happen
    this.complaint = "";
    this.told = null; // {run, attempt, text}: what came of ending it by force
    this.runId = null;
    this.offer = null;
    this.steer = new Steer(steer, (sentence) => {
      this.complaint = sentence;
      this.refresh();
    });
    this.notice = new Notice({
      retry: () => ({ text: "Try now", act: () => this.retryNow() }),
      takeOut: () => ({ text: this.isAsked("stop") ? "Taking it out\u2026" : "Take out of the queue", kind: "danger",
        off: this.isAsked("stop"), act: () => this.askFor("stop") }),
      end: () => ({ text: this.isAsked("end") ? "Ending it\u2026" : "End it now", kind: "danger",
        off: this.isAsked("end"), act: () => this.askFor("end") }),
      resume: () => this.resumeButton(),
      again: () => ({ text: "Put its settings into the form", act: () => this.reuse(),
        title: "Nothing starts by that: change what is needed in the form, then press Start" }),
    });
    this.build(element);
    effect(() => {
      if (this.runId !== live.runId) this.complaint = "";
      this.runId = live.runId;
      this.findOffer();
      this.refresh();
    });
    setInterval(() => this.tick(), 1000);
  }

  build(element) {
    this.title = el("h1", { id: "run-title", tabindex: "-1" }, "");
    this.badge = el("span", { class: "badge", hidden: true }, "recorded");
    this.wrong = el("p", { class: "wrong-note", role: "note", hidden: true });
    this.state = el("span", { class: "state" });
    this.icon = el("span", { class: "icon", "aria-hidden": "true" });
    this.word = el("strong", {});
    this.where = el("span", { class: "where",
      title: "The time is time at work: no pauses, no waiting for a device, nothing between two attempts" });
    this.state.append(this.icon, this.word, this.where);
    this.phase = el("span", { class: "phase" });
    this.buttons = el("div", { class: "buttons" });
    this.fill = el("div", { class: "fill" });
    this.bar = el("div", { class: "progress", role: "progressbar", "aria-label": "Updates done", "aria-valuemin": 0 },
      this.fill);
    this.said = el("span", {});
    this.recording = el("span", { class: "recording" });
    this.line = el("p", { class: "line" }, this.said, this.recording);
    this.step = new StepLine();
    this.all = new AllSettings();
    // those that matter most; changed in mid-run, one shows both values
    this.settings = el("dl", { class: "settings" });
    this.showSettings = whenNew((settings, now) => this.settings.replaceChildren(
      ...settings.map(({ field, label, value, unit }) => el("div", {}, el("dt", {}, label),
        el("dd", {}, field in now ? `${value} \u2192 ${Number(now[field].toPrecision(3))}` : value,
          unit ? el("span", { class: "unit" }, ` ${unit}`) : "")))));
    this.speaker = el("div", { class: "visually-hidden", role: "status", "aria-live": "polite" });
    const drawer = buttonOf("button drawer-button", { onclick: () => document.body.classList.add("drawer-open") },
      "Set up a run");
    element.append(el("section", { class: "status", "aria-label": "Run" },
      el("div", { class: "status-head" },
        el("div", { class: "status-names" }, this.title, this.badge, this.state),
        this.steer.root, this.buttons, drawer),
      this.wrong, this.bar, el("div", { class: "status-foot" }, this.line, this.phase), this.step.root,
      this.notice.root,
      this.settings, this.all.root,
      this.speaker));
  }

  refresh() {
    const { run, status } = live;
    this.badge.hidden = !run?.recorded;
    showWrong(this.wrong, run);
    this.step.show(run, status);
    this.all.show(run ? live.runId : null);
    setText(this.title, run?.title ?? (live.runId ? "" : "No run yet"));
    if (this.asked && this.hasHappened(status)) this.asked = null;
    if (!run || !status) return this.refreshEmpty();
    const state = this.isAsked("stop") && !status.ended && status.state !== "queued" ? "stopping" : status.state;
    const { word, tone } = this.face(state);
    this.state.dataset.tone = tone;
    this.tick();
    const share = status.num_updates ? status.update / status.num_updates : 0;
    this.fill.style.transform = `scaleX(${share})`;
    this.fill.dataset.tone = tone;
    this.bar.setAttribute("aria-valuemax", status.num_updates);
    this.bar.setAttribute("aria-valuenow", status.update);
    const phase = this.steer.phase(status) || status.phase;
    const heard = clock().silent === null ? "Now" : "Last heard";
    setText(this.phase, status.ended || state === "stopping" || !phase ? "" : `${heard}: ${phase}`);
    this.refreshLine(run, status, state);
    this.steer.refresh(run, status, state);
    this.refreshButtons(run, status, state);
    const edits = live.events.filter(({ kind }) => kind === "edit");
    const what = status.ended && run.told !== run.title ? run.told : ""; // while it goes on, the line above says it
    const words = [["Experiment", what], ["Note", run.note]].filter(([, value]) => value)
      .map(([label, value]) => ({ field: label, label, value }));
    this.showSettings([...words, ...run.settings],
      Object.fromEntries(edits.map(({ field, value }) => [field, value])));
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
    setText(this.recording, "");
    this.showSettings([], {});
    this.steer.refresh(null, null, "");
    this.refreshNotice();
    if (live.connection === "failed") {
      setText(this.title, "Not found");
      setWords(this.said, live.problem);
    } else setWords(this.said, loading ? "Loading the run\u2026"
      : rights.value.start ? "Choose an experiment and press Start. Its curves and texts appear here."
        : "The curves and texts of a run appear here as soon as there is one.");
    showButtons(this.buttons, live.connection === "failed"
      ? [{ key: "runs", text: "All runs", act: () => go({ page: "runs" }) }] : []);
    document.title = "RLHF Playground";
  }

  /** Icon, word and colour of a state; a worker that has fallen silent is not what its last word says. */
  face(state) {
    return clock().silent !== null ? { icon: "!", word: "not answering", tone: "bad" } : stateOf(state);
  }

  /** The line under the bar: what this is, or what came of it. */
  refreshLine(run, status, state) {
    let text = run.story;
    let tone = "";
    const attempt = attemptOf(run, status);
    const resumed = live.events.findLast((event) => (attempt > 1 ? event.kind === "resumed" && event.attempt === attempt
      : event.kind === "fork"));
    if (run.recorded) {
      text = status.ended ? status.outcome : run.story;
    } else if (status.ended) text = status.outcome || (state === "finished" ? "Finished." : "");
    else if (state === "stopping") text = "Stopping: saving the weights. What was learned so far is kept.";
    else if (state === "paused")
      text = "Paused. Nothing is lost: read the curves, change a setting, go on when you like.";
    else if (resumed) text = `${resumed.message} ${run.story}`;
    else if (attempt > 1) text = `Going on with it (attempt ${attempt}). ${run.story}`;
    if (this.told?.run === live.runId && this.told.attempt === status.attempt)
      text = [this.told.text, text].filter(Boolean).join(" ");
    if (this.complaint) [text, tone] = [this.complaint, "problem"];
    setText(this.recording, !run.recorded || tone === "problem" ? "" : " A recording of a real run, played fast."
      + (rights.value.start ? " Press Start to train your own." : ""));
    setWords(this.said, text);
    this.line.className = `line ${tone}`;
  }

  refreshButtons(run, status, state) {
    const buttons = [];
    const living = home.value?.living;
    if (living && living !== live.runId && !home.value.training?.some(({ id }) => id === live.runId)) {
      buttons.push({ key: "watch", text: "Watch the run that is training", act: () => openRun(living) });
    }
    if (run.recorded && status.ended) buttons.push({ key: "replay", text: "Play again", act: replay });
    const { newest } = home.value ?? {};
    if (run.recorded && newest && !living)
      buttons.push({ key: "newest", text: "Newest run", title: "The run that was started last here",
        act: () => openRun(newest) });
    if (status.ended && live.updates.length > 1) {
      buttons.push({ key: "compare", text: "Compare before and after",
        kind: state === "finished" || run.recorded ? "strong" : "",
        act: () => go({ page: "compare", run: live.runId }) });
    } else if (!status.ended && !run.recorded && state !== "queued") {
      buttons.push({ key: "stop", text: state === "stopping" ? "Stopping\u2026" : "Stop", kind: "danger",
        off: state === "stopping",
        title: "Stop: end the run after the current step and keep what was learned", act: () => this.askFor("stop") });
    }
    showButtons(this.buttons, buttons);
  }

  isAsked(what) {
    return this.asked?.what === what && this.asked.run === live.runId;
  }

  /** Whether what was asked for shows in the run by now, so that the page need not say it by itself any more. */
  hasHappened(status) {
    if (this.asked.run !== live.runId) return true;
    return Boolean(status) && (this.asked.what === "resume" ? status.attempt > this.asked.attempt : status.ended);
  }

  /** Ask the server: stop, end or resume; until its answer has come, the button says so and does nothing. */
  async askFor(what) {
    const run = live.runId;
    const asked = { run, what, attempt: live.status.attempt };
    this.asked = asked;
    this.complaint = "";
    this.refresh();
    const answer = await answerOf(() => this.ask[what](run), "; nothing was asked of the run. Try again in a moment.");
    if (answer.error && this.asked === asked) this.asked = null;
    if (what === "end" && !answer.error) this.told = { run, attempt: asked.attempt, text: answer.sentence };
    if (live.runId !== run) return;
    this.complaint = answer.error ?? "";
    if (what === "resume" && !answer.error) expectAttempt(answer.attempt);
    this.refresh();
    refreshHome();
  }

  resumeButton() {
    const from = this.offer?.data?.from;
    const text = from ? `Resume from update ${from}` : "Start again from the beginning";
    return { text: this.isAsked("resume") ? "Resuming\u2026" : text, kind: "strong", off: this.isAsked("resume"),
      act: () => this.askFor("resume"),
      title: from ? "Goes on from its last checkpoint, in this same run"
        : "It has no checkpoint that can be used: this same run starts over" };
  }

  /** Ask once for each end where the run would go on. */
  async findOffer() {
    const { runId, run, status } = live;
    if (!run || run.recorded || !status?.ended || status.state === "finished") return;
    const key = `${runId} ${status.attempt} ${status.state} ${status.reason}`;
    if (this.offer?.key === key) return;
    const offer = { key, data: null };
    this.offer = offer;
    try {
      offer.data = await resumeOffer(runId);
    } catch {
      if (this.offer === offer) this.offer = null; // asked again with the next news
    }
    this.refresh();
  }

  /** Its settings go into the form; runs/history.js, which has the way to the server, does it. */
  reuse() {
    document.dispatchEvent(new CustomEvent("playground-use-settings", { detail: { run: live.runId } }));
    document.getElementById("start")?.focus();
  }

  retryNow() {
    retry();
    refreshHome();
  }

  refreshNotice() {
    const { silent, stopping, retryIn } = clock();
    const lost = live.connection === "lost" ? retryIn : home.value?.connected === false ? 0 : null;
    const { run, status } = live;
    const known = run && `${live.runId} ${status?.attempt} ${status?.state} ${status?.reason}` === this.offer?.key;
    this.notice.show(noticeOf({ run, status, lost, silent, stopping, offer: known ? this.offer.data : null }),
      live.runId);
  }

  /** Once a second: times count on. */
  tick() {
    this.refreshNotice();
    const { run, status } = live;
    if (!run || !status) return;
    const { elapsed, left, silent } = clock();
    const state = this.isAsked("stop") && !status.ended && status.state !== "queued" ? "stopping" : status.state;
    const { icon, word, tone } = this.face(state);
    this.state.dataset.tone = tone;
    setText(this.icon, icon);
    setText(this.word, silent === null ? word : `${word} for ${duration(Math.round(silent))}`);
    const parts = [`update ${status.update} of ${status.num_updates}`];
    if (attemptOf(run, status) > 1) parts.push(`attempt ${attemptOf(run, status)}`);
    if ((!run.recorded || status.ended) && state !== "queued") parts.push(duration(Math.round(elapsed)));
    if (left !== null && !status.ended && state === "running" && silent === null && !this.steer.phase(status))
      parts.push(left[1] < 2 ? "almost done" : `${timeRange(...left)} left`);
    setText(this.where, parts.join(" \u00b7 "));
  }

  /** To a screen reader: the state, now and then the progress, and every notice once, whatever its seconds do. */
  speak(run, status, word) {
    const step = Math.floor(status.update / SPEAK_EVERY) * SPEAK_EVERY;
    const notice = this.notice.notice;
    const key = `${run.id} ${word} ${run.recorded ? 0 : step} ${notice?.key}`;
    if (key === this.spoken) return;
    this.spoken = key;
    const said = notice ? `${notice.title}. ${notice.lines.join(" ")}` : status.ended ? this.said.textContent : "";
    setText(this.speaker, `${run.title}: ${word}, update ${status.update} of ${status.num_updates}. ${said}`);
  }

  tabTitle(run, status, state) {
    if (run.recorded) return "RLHF Playground";
    const { icon } = stateOf(state);
    if (status.ended) return `${icon} ${run.title}`;
    return `${state === "paused" ? `${icon} ` : ""}${status.update}/${status.num_updates} ${run.title}`;
  }
}

/** Which attempt this is, as a person counts: the one with which a fork began is its first. */
function attemptOf(run, status) {
  return status.attempt - Number(run.forked);
}
