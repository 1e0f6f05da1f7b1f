// The runs of the lesson that is open: start one or play its recording, and ask what it says of the lesson when it has
// ended.

import { rights } from "../core/access.js";
import { home, refreshHome, watchEnd } from "../core/home.js";
import { recordingOf } from "../core/experiments.js";
import { translated } from "../core/language.js";
import { answerOf, getJson, newName, runPath } from "../core/server.js";
import { withMinus } from "../core/format.js";
import { signal, untracked } from "../core/signals.js";
import { live } from "../core/store.js";

const AGAIN_MS = 1000; // until what a run says is asked for again, where the run has not quite ended
const TRIES = 20;
const NOT_KEPT = ". Start it again, or play its recording.";

export class LessonRuns {
  /** @param {import("./lesson.js").LessonPanel} panel @param {Page.Server} server */
  constructor(panel, server) {
    this.panel = panel;
    this.server = server;
    this.request = newName();
    this.asked = ""; // of which end of which run it was asked
    this.starting = signal(false);
    this.complaint = signal("");
  }

  /** What can be done here: {start, refused, waits, twin}. @param {number} index */
  offered(index) {
    const run = this.panel.lesson.runs[index];
    const twin = run?.twin ? recordingOf(run.preset) : null;
    const refused = Boolean(run?.planted) && document.documentElement.dataset.mode === "space";
    return { start: Boolean(rights.value.start && this.server.start_lesson) && !refused, refused, twin,
      waits: Boolean(home.value?.training?.length) };
  }

  /**
   * Ask the server to start a run; it comes into view. `index` as many as there are runs: the task to break it.
   * @param {number} index @param {Record<string, number | string>} values
   */
  async start(index, values = {}) {
    const { panel } = this;
    const { name } = panel;
    if (this.starting.value) return;
    this.starting.value = true;
    this.complaint.value = "";
    const answer = await answerOf(() => this.server.start_lesson({ lesson: name, index, values,
      request: this.request }));
    this.starting.value = false;
    if (panel.name !== name) return;
    this.complaint.value = answer.error ?? "";
    if (!answer.run) return;
    this.request = newName();
    refreshHome();
    this.take(index, { id: answer.run, recorded: false, values, waits: answer.sentence });
  }

  /** @param {number} index */
  play(index) {
    this.complaint.value = "";
    this.take(index, { id: recordingOf(this.panel.lesson.runs[index].preset), recorded: true });
  }

  /** @param {number} index @param {import("./progress.js").Ran} ran */
  take(index, ran) {
    const { answers, lesson } = this.panel;
    this.asked = "";
    const said = ran.recorded ? "The recording plays." : ran.waits ? "The run waits for its turn."
      : "The run has been started.";
    if (index >= lesson.runs.length) this.panel.answer({ tries: [...answers.tries, ran] }, said);
    else this.panel.answer({ runs: [...answers.runs.slice(0, index), ran] }, said);
    this.panel.toShow = true;
  }

  /** Take back a run that is gone or has failed. @param {number} index */
  forget(index) {
    const { answers, lesson } = this.panel;
    this.complaint.value = "";
    if (index >= lesson.runs.length) this.panel.answer({ tries: answers.tries.slice(0, -1) });
    else this.panel.answer({ runs: answers.runs.slice(0, index), tries: [], at: `run-${index}` });
  }

  /** The run of the open step, if it has been made, and which one it is. */
  ofStep() {
    const { lesson, answers, step } = this.panel;
    const index = step === "break" ? lesson.runs.length : step.startsWith("run-") ? Number(step.split("-")[1]) : -1;
    const ran = step === "break" ? answers.tries.at(-1) : answers.runs[index];
    return ran ? { index, ran } : null;
  }

  /** Reads what an effect is to hear of: the end of the run in view. */
  follow() {
    const { runId, status, run } = live;
    if (!status?.ended || !run) return;
    untracked(() => {
      const found = this.ofStep();
      const end = `${runId} ${status.attempt} ${status.state}`;
      if (!found || found.ran.told || found.ran.id !== runId || this.asked === end) return;
      if (["failed", "interrupted"].includes(status.state)) return; // the step says so
      this.asked = end;
      if (!run.recorded) watchEnd(runId);
      this.ask(found.index, found.ran, end, TRIES);
    });
  }

  /**
   * @param {number} index @param {import("./progress.js").Ran} ran @param {string} end @param {number} tries
   * @returns {Promise<void>}
   */
  async ask(index, ran, end, tries) {
    const { panel } = this;
    const { name, answers, lesson } = panel;
    const first = index ? `?first=${encodeURIComponent(answers.runs[0].id)}` : "";
    const still = () => panel.name === name && this.asked === end;
    try {
      const told = /** @type {Wire.Reveal} */ (
        await getJson(runPath(ran.id, `lesson/${encodeURIComponent(name)}/${index}${first}`)));
      if (!still()) return;
      if (!told.ready && tries) return void setTimeout(() => still() && this.ask(index, ran, end, tries - 1), AGAIN_MS);
      told.said = told.said.map(withMinus);
      const now = { ...ran, told };
      const said = told.said.map(translated).join(" ");
      if (index >= lesson.runs.length) panel.answer({ tries: [...panel.answers.tries.slice(0, -1), now] }, said, false);
      else panel.answer({ runs: [...panel.answers.runs.slice(0, index), now] }, said, panel.skipped);
      panel.skipped = false;
    } catch (error) {
      if (still()) this.complaint.value = `${error.message.replace(/\.$/, "")}${NOT_KEPT}`;
    }
  }
}
