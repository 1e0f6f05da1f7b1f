// A lesson in the place of the form: its question, then one step after the other; those behind are a line each. What
// was answered is kept by the browser (progress.js), so that a reload comes back to the same step.

import { buttonOf, el, setText } from "../core/dom.js";
import { go, place } from "../core/nav.js";
import { effect, signal, untracked } from "../core/signals.js";
import { live, open, player } from "../core/store.js";
import { choosePreset } from "../core/experiments.js";
import { opened, openSection } from "../core/sections.js";
import { ghost, inLesson, placeInLesson } from "../core/in_lesson.js";
import { snapshotOf } from "../core/server.js";
import { showBoards } from "./boards.js";
import { courses } from "./courses.js";
import { breakStep, endStep, explainStep, predictStep, transferStep } from "./steps.js";
import { LessonRuns } from "./runs.js";
import { because, predictionInWords } from "./predict.js";
import { answersOf, keep, newAnswers, newestRun, nextStep, stepOf, stepsOf, triesInVain } from "./progress.js";
import { courseStep } from "./questions.js";
import { runStep } from "./run_step.js";
import { leaveOpen } from "./way_back.js";

/** Parts of a lesson's `look` that are sections below the first screen. @type {Record<string, string>} */
const SECTION_OF = { curves: "curves", health: "health", "every-text": "texts", frontier: "frontier",
  update: "update" };
const HIGH = 0.6; // of the window: a heading above it is seen from the top of the page, where nothing is cut off

/**
 * A step as it stands in the panel: its heading and what follows; `before`: what is read first.
 * @typedef {{ title: string, parts: Page.Child[], before?: Node }} Step
 */

export class LessonPanel {
  /** @param {HTMLElement} element @param {Page.Server} server */
  constructor(element, server) {
    this.name = "";
    this.server = server;
    this.lesson = /** @type {Wire.Lesson | null} */ (null);
    this.course = /** @type {Wire.Course | null} */ (null);
    this.all = /** @type {Wire.Course[]} */ ([]);
    this.answers = newAnswers();
    this.runs = new LessonRuns(this, server);
    this.shown = signal(0); // counts how often a step was shown
    this.refresh = () => {}; // draws what of the open step changes by itself
    this.sections = /** @type {string[]} */ ([]); // that this lesson has opened
    this.hintsRead = 0; // in the open step
    this.asksCourse = false; // the questions on the whole course stand in the place of the open step
    this.toShow = false; // a run has been started
    this.skipped = false; // the visitor waits for the end
    this.ghostOf = ""; // the run behind the curves
    this.ended = ""; // a run that has been seen: of its recording the end is shown
    this.root = el("section.lesson", { "aria-label": "Lesson" });
    this.speaker = el("div.visually-hidden", { role: "status", "aria-live": "polite" });
    this.toStep = buttonOf("button lesson-to-step", { onclick: () => {
      const heading = document.getElementById("lesson-step");
      heading?.focus({ preventScroll: true });
      heading?.scrollIntoView({ block: "start" });
    } });
    this.inSight = new IntersectionObserver((entries) => {
      this.toStep.classList.toggle("arrived", entries.at(-1).isIntersecting);
    });
    document.querySelector(".run-view")?.append(this.toStep);
    element.append(this.root, this.speaker);
    effect(() => this.follow());
  }

  /** Show a lesson; `focus`: it was opened from within the page. @param {string} name @param {boolean} focus */
  async open(name, focus) {
    this.close();
    this.name = name;
    Object.assign(this, { lesson: null, hintsRead: 0, asksCourse: false });
    setText(this.speaker, "");
    this.root.replaceChildren(el("p.muted", "Loading the lesson\u2026"));
    try {
      this.all = (await courses()).courses;
    } catch (error) {
      return this.cannot(name, error.message);
    }
    if (this.name !== name || place().lesson !== name) return;
    const course = this.all.find(({ lessons }) => lessons.some((one) => one.name === name));
    if (!course) return this.cannot(name, `There is no lesson called \u201c${name}\u201d here.`);
    this.course = course;
    this.lesson = course.lessons.find((one) => one.name === name);
    this.answers = answersOf(name);
    document.body.dataset.look = this.lesson.look.join(" ");
    this.sections = this.lesson.look.map((part) => SECTION_OF[part] ?? "")
      .filter((key) => key && !opened.value.has(key));
    for (const key of this.sections) openSection(key, true, false);
    const shown = newestRun(this.answers);
    this.ended = shown?.told ? shown.id : "";
    this.viewNewest();
    this.show(focus);
  }

  /** The lesson is left: what it has opened below the first screen is closed. */
  close() {
    for (const key of this.sections) openSection(key, false, false);
    this.sections = [];
    this.name = "";
    this.ghostOf = "";
    showBoards([]);
  }

  /** @param {string} name @param {string} why */
  cannot(name, why) {
    if (this.name !== name) return;
    this.root.replaceChildren(el("p", { role: "alert" }, why), el("div.lesson-buttons",
      buttonOf("button", { onclick: () => this.open(name, true) }, "Try again"),
      place().embedded ? "" : buttonOf("button", { onclick: () => go({ page: "lessons" }) }, "All lessons")));
  }

  get step() {
    return stepOf(this.lesson, this.answers);
  }

  /**
   * Keep what was answered, and show it. `scroll`: what is open now comes into sight, else there is a way to it.
   * @param {Partial<import("./progress.js").Answers>} change
   */
  answer(change, said = "", scroll = true) {
    this.answers = { ...this.answers, ...change };
    keep(this.name, this.answers);
    this.viewNewest();
    this.show(true, scroll);
    if (said) setText(this.speaker, said);
  }

  /** Go on to the next step. @param {Partial<import("./progress.js").Answers>} change */
  next(change = {}, said = "") {
    this.hintsRead = 0;
    const at = nextStep(this.lesson, this.step);
    this.answer({ ...change, at, done: at === "end" ? new Date().toISOString() : this.answers.done }, said);
  }

  /** From the beginning, as if it had never been opened. */
  again() {
    keep(this.name, null);
    this.answers = newAnswers();
    this.viewNewest();
    this.show(true);
  }

  /** The lesson's newest run comes into view, and no other one. */
  viewNewest() {
    this.view(newestRun(this.answers)?.id ?? null, this.titleInView());
  }

  /** @param {string | null} run @param {string} title what it is called here */
  view(run, title) {
    go({ page: "train", lesson: this.name, run: run ?? "", present: place().present, replace: true });
    inLesson.value = { title, figures: this.lesson.figures };
    this.showGhost();
    if (live.runId !== run) open(run);
  }

  /** Behind a try of one's own lies the lesson's first run, whose settings it changes. */
  async showGhost() {
    const { name, answers } = this;
    const first = answers.tries.length ? answers.runs[0]?.id ?? "" : "";
    if (first === this.ghostOf) return;
    this.ghostOf = first;
    ghost.value = null;
    if (!first) return;
    const snapshot = await snapshotOf(first);
    if (this.name === name && this.ghostOf === first) ghost.value = snapshot?.metrics ?? null;
  }

  /** Ways to each run of the lesson that is not in view, once all have said what they have to say. */
  waysToRuns() {
    const { lesson: { runs }, answers, step } = this;
    if (runs.length < 2 || !runs.every((_, index) => answers.runs[index]?.told)) return "";
    if (this.asksCourse || (step === "break" && answers.tries.length)) return "";
    return el("p.lesson-note.lesson-again", "Look again: ", runs.map(({ title }, index) => {
      const { id } = answers.runs[index];
      return buttonOf("quiet-button", { "aria-pressed": String(live.runId === id), onclick: () => {
        this.ended = id;
        this.view(id, title);
        this.show();
        setText(this.speaker, `In view: ${title}`);
        this.toShow = true;
      } }, title);
    }));
  }

  /** The run in view comes into sight, where it lies below the panel or has been scrolled away: when it is there. */
  showRun() {
    const view = document.getElementById("run-view");
    const { top } = view.getBoundingClientRect();
    this.toShow = false;
    const head = document.querySelector("header.top")?.getBoundingClientRect().bottom ?? 0;
    if (top < head || top > innerHeight / 2) view.scrollIntoView({ block: "start" });
  }

  /** What the run in view is called in the lesson: the title of its experiment may say what comes of it. */
  titleInView() {
    const { lesson: { runs }, answers } = this;
    if (answers.tries.length) return "Your own try";
    return answers.runs.length ? runs[answers.runs.length - 1].title : "";
  }

  show(focus = false, scroll = true) {
    const { lesson, course, step } = this;
    const steps = stepsOf(lesson);
    const behind = steps.slice(0, steps.indexOf(step)).map((name) => this.lineOf(name)).filter(Boolean);
    this.refresh = () => {};
    placeInLesson.value = { lesson: this.name, at: step, tries: triesInVain(this.answers) };
    const now = this.stepParts(step);
    const heading = el("h3", { tabindex: "-1", id: "lesson-step" }, now.title);
    const title = el("h2.lesson-title", { tabindex: "-1" }, lesson.title);
    this.root.replaceChildren(
      el("div.lesson-bar", el("span.muted", `${course.title}, lesson ${lesson.number}`),
        el("span.lesson-ways", this.waysOut())),
      title, el("p.lesson-question", lesson.question), now.before ?? "",
      behind.length ? el("ol.lesson-behind", { "aria-label": "Behind you" }, behind) : "",
      el("section.lesson-step", { "aria-labelledby": "lesson-step", "data-step": step }, heading, ...now.parts,
        this.waysToRuns()));
    this.inSight.disconnect();
    this.inSight.observe(heading);
    showBoards(this.answers.runs[0]?.told ? lesson.look : []);
    this.refresh();
    this.shown.value += 1;
    const { told } = this.runs.ofStep()?.ran ?? {};
    setText(this.toStep, told ? "It has ended: what came of it" : "Back to the question");
    this.toStep.classList.toggle("strong", Boolean(told));
    if (!focus) return;
    (now.before ? title : heading).focus({ preventScroll: true });
    if (!scroll) return;
    const { top } = heading.getBoundingClientRect();
    if (top + window.scrollY < innerHeight * HIGH) scrollTo({ top: 0 });
    else if (top < 70 || top > innerHeight - 160) heading.scrollIntoView({ block: "start" });
  }

  /** Ways to other pages; from a frame of another page into a window of its own. */
  waysOut() {
    if (place().embedded) return el("a.quiet-button", { href: `?lesson=${encodeURIComponent(this.name)}`,
      target: "_blank", rel: "noopener" }, "Open in the playground");
    return [buttonOf("quiet-button present-begin", { onclick: () => go({ page: "train", present: true }),
      title: "Question, step and run on one screen, in large letters" }, "Present"),
    buttonOf("quiet-button", { onclick: () => this.showEverything(),
      title: "The whole page, with this run in view. The lesson stays as far as you are." }, "Open in Train"),
    buttonOf("quiet-button", { onclick: () => go({ page: "lessons" }) }, "Leave the lesson")];
  }

  /** @param {string} step @returns {Step} */
  stepParts(step) {
    if (this.asksCourse) return courseStep(this);
    if (step === "predict") return predictStep(this);
    if (step === "explain") return explainStep(this);
    if (step === "break") return breakStep(this);
    if (step === "transfer") return transferStep(this);
    return step === "end" ? endStep(this) : runStep(this, Number(step.split("-")[1]));
  }

  /** What a step behind one has come to, in a line; what there is to read again unfolds. @param {string} step */
  lineOf(step) {
    const { lesson, answers } = this;
    if (step === "predict") {
      const words = predictionInWords(lesson.predict, answers.prediction ?? {});
      return el("li", el("details", el("summary", el("strong", words ? "You predicted: " : "No prediction."), words,
        answers.why ? el("span.muted.lesson-why", ` \u2013 ${because(answers.why)}`) : ""),
      el("p", lesson.situation), el("p", lesson.predict.ask)));
    }
    if (step.startsWith("run-")) {
      const index = Number(step.split("-")[1]);
      const told = answers.runs[index]?.told;
      const { parts } = runStep(this, index, true);
      return told && el("li", el("details", el("summary", el("strong", `${lesson.runs[index].title}: `),
        firstSentence(told.said[0] ?? told.words)), parts));
    }
    if (step === "explain")
      return el("li", el("details", el("summary", el("strong", "Why")), explainStep(this, true).parts));
    if (step === "break") {
      const word = !answers.tries.length ? "Skipped: "
        : answers.tries.some(({ told }) => told?.reached) ? "Done: " : "Tried: ";
      return el("li", el("p", el("strong", word), lesson.break_it.ask));
    }
    const chosen = lesson.transfer.options[answers.transfer];
    return chosen ? el("li", el("p", el("strong", "You answered: "), chosen.say, " ",
      el("span.muted", chosen.right ? "Right." : "Not right."))) : null;
  }

  /** The whole page, with the run in view; without one, with the lesson's experiment. */
  showEverything() {
    const { runId } = live;
    const { preset } = this.lesson.runs[0];
    document.dispatchEvent(new CustomEvent("playground-use-preset", { detail: preset }));
    leaveOpen(this.name, this.lesson.title);
    if (runId) go({ page: "train", run: runId });
    else choosePreset(preset);
    scrollTo({ top: 0 });
  }

  /** Again whenever something has changed that the open step says: its run, what runs elsewhere, what one may do. */
  follow() {
    if (!this.shown.value || !this.lesson || place().lesson !== this.name) return;
    this.refresh();
    this.runs.follow();
    if (this.toShow && live.run) requestAnimationFrame(() => this.showRun());
    const { value: playing } = player;
    if (!playing || this.ended !== live.runId) return;
    this.ended = "";
    untracked(() => playing.seek(playing.updates.length));
  }
}

/** @param {string} text */
function firstSentence(text) {
  return text.match(/^.*?[.?!](?= [A-Z(]|$)/)?.[0] ?? text;
}
