// The status panel: title, state in words, progress, time left, Pause, One step, Stop. What needs more words (how a run
// has ended, that it waits or does not answer) is in the notice below, see train/notice.js.

import { isWatching, rights, waiting } from "../core/access.js";
import { buttonOf, el, setHidden, setText, setWords, showButtons, showParts, showWrong, signOf } from "../core/dom.js";
import { answerOf, getJson, runPath } from "../core/server.js";
import { duration, stateOf, timeRange } from "../core/format.js";
import { headline } from "../core/counts.js";
import { home, refreshHome } from "../core/home.js";
import { inLesson } from "../core/in_lesson.js";
import { go, openRun, place } from "../core/nav.js";
import { isMotionWelcome } from "../core/player.js";
import { healthOf } from "./alerts.js";
import { emptyView, NONE } from "./empty.js";
import { Notice, noticeOf } from "./notice.js";
import { scrubber } from "./scrub.js";
import { stepParts } from "./step.js";
import { Steer } from "./steer.js";
import { effect } from "../core/signals.js";
import { clock, expectAttempt, live, replay, retry } from "../core/store.js";

const SPEAK_EVERY = 10; // updates between two announcements to a screen reader
const SEEN = 0.5; // of the score: a rise that one sees in its curve
const TIME_GLOSS = "The time is time at work: no pauses, no waiting for a device, nothing between two attempts";

/** @typedef {"stop" | "end" | "resume"} What can be asked of the server */
/** @typedef {{ title: string, tab: string, text: string, buttons: Page.Button[], phase?: string,
 *   recording?: string, share?: number }} View */

export class StatusPanel {
  /**
   * @param {Element} element
   * @param {Record<What, (run: string) => Promise<Wire.Done & Wire.Resumed>>
   *   & { steer: (run: string, command: string) => Promise<Wire.Done> }} ask
   */
  constructor(element, { stop, steer, end, resume }) {
    this.ask = { stop, end, resume };
    // what this page has asked for and not seen happen
    this.asked = /** @type {{ run: string, what: What, attempt: number } | null} */ (null);
    this.complaint = "";
    // what came of ending it by force
    this.told = /** @type {{ run: string, attempt: number, text: string } | null} */ (null);
    this.runId = /** @type {string | null} */ (null);
    this.offer = /** @type {{ key: string, data: Wire.ResumeOffer | null } | null} */ (null);
    this.spoken = "";
    this.steer = new Steer(steer, (sentence) => {
      this.complaint = sentence;
      this.refresh();
    });
    this.notice = new Notice({
      retry: () => ({ text: "Try now", act: () => this.retryNow() }),
      takeOut: () => this.pending("stop", "Taking it out\u2026", "Take out of the queue", { kind: "danger" }),
      end: () => this.pending("end", "Ending it\u2026", "End it now", { kind: "danger" }),
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

  /** @param {Element} element */
  build(element) {
    this.title = el("h1", { id: "run-title", tabindex: "-1" }, "");
    this.badge = el("span.badge", { hidden: true }, "example, recorded");
    this.wrong = el("p.wrong-note", { role: "note", hidden: true });
    this.state = el("span.state");
    this.phase = el("span.phase");
    this.buttons = el("div.buttons");
    this.fill = el("div.fill");
    this.bar = el("div.progress", { role: "progressbar", "aria-label": "Updates done", "aria-valuemin": 0 }, this.fill);
    this.said = el("span");
    this.recording = el("span.recording");
    this.line = el("p.line", this.said, this.recording);
    this.step = el("div.step", { hidden: true });
    this.speaker = el("div.visually-hidden", { role: "status", "aria-live": "polite" });
    const drawer = buttonOf("button drawer-button", { onclick: () => document.body.classList.add("drawer-open") },
      "Set up a run");
    element.append(el("section.status", { "aria-label": "Run" },
      el("div.status-head",
        el("div.status-names", this.title, this.state),
        this.step, this.steer.root, this.buttons, drawer),
      this.wrong, this.bar, el("div.status-foot", this.line, this.phase, scrubber()),
      this.notice.root, this.speaker));
  }

  refresh() {
    const { run, status } = live;
    if (this.asked && this.hasHappened(status)) this.asked = null;
    const known = Boolean(run && status);
    const state = known ? this.stateOf(status) : "";
    showWrong(this.wrong, run);
    const step = stepParts(run, status);
    setHidden(this.step, !step, this.title);
    if (step) showParts(this.step, step, this.title);
    this.tick();
    this.steer.refresh(known ? run : null, status, state);
    const view = known ? this.viewOf(run, status, state) : emptyView(run);
    setText(this.title, view.title);
    setText(this.phase, view.phase ?? "");
    setWords(this.said, view.text);
    setText(this.recording, view.recording ?? "");
    this.line.className = `line ${this.complaint && known ? "problem" : ""}`;
    this.fill.style.transform = `scaleX(${view.share ?? 0})`;
    showButtons(this.buttons, view.buttons);
    document.title = view.tab;
    if (!known) return;
    this.bar.setAttribute("aria-valuemax", String(status.num_updates));
    this.bar.setAttribute("aria-valuenow", String(status.update));
    this.speak(run, status, this.face(state).word);
  }

  /** @param {Wire.Run} run @param {Page.Status} status @param {string} state @returns {View} */
  viewOf(run, status, state) {
    const phase = this.steer.phase(status) || status.phase;
    const heard = clock().silent === null ? "Now" : "Last heard";
    const recorded = run.recorded && !this.complaint;
    return { title: titleOf(run), text: this.complaint || this.sentence(run, status, state),
      phase: status.ended || state === "stopping" || !phase || phase === "training" ? "" : `${heard}: ${phase}`,
      recording: !recorded || place().follows ? "" : isWatching() ? ` ${waiting(home.value)}`
        : rights.value.start && !headline(live.behaviours) ? " Press Start to train your own." : "",
      share: status.num_updates ? status.update / status.num_updates : 0,
      buttons: this.buttonsOf(run, status, state), tab: tabTitle(run, status, state) };
  }

  /** What state it is in, as far as this page knows. @param {Page.Status} status */
  stateOf(status) {
    return this.isAsked("stop") && !status.ended && status.state !== "queued" ? "stopping" : status.state;
  }

  /**
   * Icon, word and colour of a state; a worker that has fallen silent is not what its last word says.
   * @param {string} state
   */
  face(state) {
    return clock().silent !== null ? { icon: "!", word: "not answering", tone: "bad" } : stateOf(state);
  }

  /**
   * The line under the bar: what this is, or what came of it.
   * @param {Wire.Run} run @param {Page.Status} status @param {string} state
   */
  sentence(run, status, state) {
    const attempt = attemptOf(run, status);
    const resumed = live.events.findLast((event) => (attempt > 1 ? event.kind === "resumed" && event.attempt === attempt
      : event.kind === "fork"));
    const [was, is] = [0, live.updates.at(-1)].map((at) => live.moments.get(at)?.summary.score ?? 0);
    const first = status.ended && !inLesson.value.title ? healthOf()?.plain : ""; // a lesson asks for it
    const done = headline(live.behaviours, { first, ended: status.ended, rose: is - was > SEEN });
    let text = done || (inLesson.value.title ? "" : run.story); // it tells what comes of the run
    if (status.ended) text = done || status.outcome || (state === "finished" ? "Finished." : "");
    else if (state === "stopping") text = "Stopping: saving the weights. What was learned so far is kept.";
    else if (state === "paused")
      text = "Paused. Nothing is lost: read the curves, change a setting, go on when you like.";
    else if (resumed) text = `${resumed.message} ${text}`;
    else if (attempt > 1) text = `Continued (attempt ${attempt}). ${text}`;
    const told = this.told?.run === live.runId && this.told.attempt === status.attempt ? this.told.text : "";
    return [told, text].filter(Boolean).join(" ");
  }

  /** @param {Wire.Run} run @param {Page.Status} status @param {string} state */
  buttonsOf(run, status, state) {
    const { living, training } = /** @type {Partial<Wire.Home>} */ (home.value ?? {});
    /** @type {Page.Button[]} */
    const buttons = [];
    if (living && living !== live.runId && !training?.some(({ id }) => id === live.runId))
      buttons.push({ key: "watch", text: "Watch the run that is training", act: () => openRun(living) });
    if (run.recorded && status.ended && isMotionWelcome())
      buttons.push({ key: "replay", text: "Play again", act: replay });
    if (status.ended && live.updates.length > 1)
      buttons.push({ key: "compare", text: "Compare", title: "Read all answers before and after, side by side",
        kind: state === "finished" || run.recorded ? "strong" : "",
        act: () => go({ page: "compare", run: live.runId }) });
    else if (!status.ended && run.can_steer && state !== "queued")
      buttons.push({ key: "stop", text: state === "stopping" ? "Stopping\u2026" : "Stop", kind: "danger",
        off: state === "stopping", title: "Stop: end the run after the current step and keep what was learned",
        act: () => this.askFor("stop") });
    return buttons;
  }

  /** @param {What} what */
  isAsked(what) {
    return this.asked?.what === what && this.asked.run === live.runId;
  }

  /**
   * Whether what was asked for shows in the run by now, so that the page need not say it by itself any more.
   * @param {Page.Status} status
   */
  hasHappened(status) {
    if (this.asked.run !== live.runId) return true;
    return Boolean(status) && (this.asked.what === "resume" ? status.attempt > this.asked.attempt : status.ended);
  }

  /**
   * Ask the server: stop, end or resume; until its answer has come, the button says so and does nothing.
   * @param {What} what
   */
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

  /**
   * A button that asks the server, and says so while it does.
   * @param {What} what @param {string} busy @param {string} text @param {{ kind: string, title?: string }} more
   */
  pending(what, busy, text, more) {
    return { text: this.isAsked(what) ? busy : text, off: this.isAsked(what), act: () => this.askFor(what), ...more };
  }

  resumeButton() {
    const from = this.offer?.data?.from;
    const text = from ? `Resume from update ${from}` : "Start again from the beginning";
    return this.pending("resume", "Resuming\u2026", text, { kind: "strong",
      title: from ? "Goes on from its last checkpoint, in this same run"
        : "It has no checkpoint that can be used: this same run starts over" });
  }

  /** Ask once for each end where the run would go on. */
  async findOffer() {
    const { runId, run, status } = live;
    if (!run || run.recorded || !status?.ended || (status.state === "finished" && !status.reason)) return;
    const key = endOf(runId, status);
    if (this.offer?.key === key) return;
    const offer = { key, data: /** @type {Wire.ResumeOffer | null} */ (null) };
    this.offer = offer;
    try {
      offer.data = await getJson(runPath(runId, "resume"));
    } catch {
      if (this.offer === offer) this.offer = null; // asked again with the next news
    }
    this.refresh();
  }

  /** Its settings go into the form: train/filler.js does it. */
  reuse() {
    document.dispatchEvent(new CustomEvent("playground-use-settings", { detail: { run: live.runId } }));
    document.getElementById("start")?.focus();
  }

  retryNow() {
    retry();
    refreshHome();
  }

  /** Once a second: times count on. */
  tick() {
    const { run, status } = live;
    const { elapsed, left, silent, stopping, retryIn } = clock();
    const lost = live.connection === "lost" ? retryIn : home.value?.connected === false ? 0 : null;
    const known = run && status && endOf(live.runId, status) === this.offer?.key;
    this.notice.show(noticeOf({ run, status, lost, silent, stopping, offer: known ? this.offer.data : null }),
      live.runId);
    if (!run || !status) return showParts(this.state, []);
    const state = this.stateOf(status);
    const { icon, word, tone } = this.face(state);
    const parts = [`update ${status.update} of ${status.num_updates}`];
    if (attemptOf(run, status) > 1) parts.push(`attempt ${attemptOf(run, status)}`);
    const timed = run.recorded ? status.ended && !inLesson.value.title : state !== "queued";
    if (timed) parts.push(duration(Math.round(elapsed)));
    if (left !== null && !status.ended && state === "running" && silent === null && !this.steer.phase(status))
      parts.push(left[1] < 2 ? "almost done" : `${timeRange(left[0], left[1])} left`);
    this.state.dataset.tone = this.fill.dataset.tone = tone;
    showParts(this.state, [signOf(icon),
      el("strong", silent === null ? word : `${word} for ${duration(Math.round(silent))}`),
      el("span.where", { title: TIME_GLOSS }, parts.join(" \u00b7 "))]);
  }

  /**
   * To a screen reader: the state, now and then the progress, and every notice once, whatever its seconds do.
   * @param {Wire.Run} run @param {Page.Status} status @param {string} word
   */
  speak(run, status, word) {
    const step = Math.floor(status.update / SPEAK_EVERY) * SPEAK_EVERY;
    const notice = this.notice.notice;
    const key = `${run.id} ${word} ${run.recorded ? 0 : step} ${notice?.key}`;
    if (key === this.spoken) return;
    this.spoken = key;
    const said = notice ? `${notice.title}. ${notice.lines.join(" ")}` : status.ended ? this.said.textContent : "";
    const at = run.recorded ? "" : `, update ${status.update} of ${status.num_updates}`;
    setText(this.speaker, `${titleOf(run)}: ${word}${at}. ${said}`);
  }
}

/** What it is called here: in a lesson, as the lesson calls it. @param {Wire.Run} run */
function titleOf(run) {
  const { title } = inLesson.value;
  return title && !run.title.startsWith(`${title}: `) ? title : run.title; // an own try's title says more
}

/** @param {Wire.Run} run @param {Page.Status} status @param {string} state */
function tabTitle(run, status, state) {
  if (run.recorded) return NONE;
  const { icon } = stateOf(state);
  if (status.ended) return `${icon} ${titleOf(run)}`;
  return `${state === "paused" ? `${icon} ` : ""}${status.update}/${status.num_updates} ${titleOf(run)}`;
}

/** What tells one end of a run from another. @param {string} runId @param {Page.Status} status */
function endOf(runId, status) {
  return `${runId} ${status.attempt} ${status.state} ${status.reason}`;
}

/**
 * Which attempt this is, as a person counts: a fork began with its first.
 * @param {Wire.Run} run @param {Page.Status} status
 */
function attemptOf(run, status) {
  return status.attempt - Number(run.forked);
}
