// Three ways on from the leash that was turned: ask the model that was trained at it, train one, or take a lesson.

import { isWatching, rights } from "../core/access.js";
import { buttonOf, el, headOf, menuOf, setText, showParts, tableOf } from "../core/dom.js";
import { recordingOf } from "../core/experiments.js";
import { form, runSeconds, settings } from "../core/form.js";
import { timeRange } from "../core/format.js";
import { link } from "../core/nav.js";
import { answerOf } from "../core/server.js";
import { effect } from "../core/signals.js";
import { beforeAndNow, pairRow, sideHeads, textPair } from "../core/texts.js";
import { lessonLink } from "./courses.js";
import { asking, turned } from "./leash.js";
import { markOf, nextLesson, progress } from "./progress.js";

/** The experiment of the first page. */
export const PRESET = "kinder-reviews";
/** @type {Record<string, string>} */
const BEGINNINGS = { "Review of the film:": "The plot was", "Review of the book:": "The hero was",
  "Review of the cafe:": "The bread was", "Review of the game:": "The music was",
  "Review of the phone:": "The camera was" };
const [[TOPIC, BEGINNING]] = Object.entries(BEGINNINGS);
const WORLD = "This small model knows such reviews, and little else: to anything else it answers nonsense.";
const ELSEWHERE = "To ask the model or to train one, run the playground on a computer of your own: `make run`.";

/** @param {{ value: Wire.Course[] }} list of courses, once they are there @param {Page.Server} server */
export function doorsPart(list, server) {
  const box = el("div.doors-row");
  const question = el("form.doors-ask", { id: "doors-ask", hidden: true });
  const ask = buttonOf("button", { "aria-expanded": "false", "aria-controls": "doors-ask", "data-key": "ask",
    onclick: () => {
      asking.value = !asking.value;
    } });
  effect(() => {
    question.hidden = !asking.value;
    ask.setAttribute("aria-expanded", String(asking.value));
    if (!asking.value) return;
    requestAnimationFrame(() => { // the page may have to come into view first
      question.querySelector("input")?.focus({ preventScroll: true });
      question.scrollIntoView({ block: "center" });
    });
  });
  const train = buttonOf("button", { "data-key": "train",
    onclick: () => trainNow({ "kl.coef": turned.value.beta }) });
  const waits = el("p.muted", { role: "status" });
  const canAsk = Boolean(server.ask_policy);
  if (canAsk) fillQuestion(question, server);
  effect(() => {
    const trains = canAsk && !isWatching() && rights.value.start !== false;
    const { queue } = form.value;
    const { beta = "" } = turned.value ?? {};
    setText(ask, askWords(turned.value));
    setText(train, queue ? "Add a training to the queue" : `Train at leash ${beta}${timeHere()}`);
    setText(waits, trains ? queue : "");
    showParts(box, [canAsk ? ask : null, trains ? train : recordedDoor(), lessonDoor(list.value)].filter(Boolean));
  });
  return el("section.doors", { "aria-label": "What next" }, box, waits, question,
    canAsk ? null : el("p.muted", ELSEWHERE));
}

/** @param {{ beta: number, asked: number } | null} leash */
function askWords(leash) {
  if (!leash) return "Let it write";
  return leash.asked === leash.beta ? `Let it write at leash ${leash.beta}`
    : `Let it write (nearest kept leash: ${leash.asked})`;
}

/** Where nothing can be trained: to watch it. */
function recordedDoor() {
  const run = recordingOf(PRESET);
  return run && link({ run }, "Watch a training, recorded", { class: "button", "data-key": "recorded" });
}

/** How long that takes, where the form holds the same run but for its leash. */
function timeHere() {
  const { preset, changes } = settings.value;
  return runSeconds.value && preset === PRESET && !changes ? `: ${timeRange(...runSeconds.value)}` : "";
}

/**
 * Train the experiment of the first page but for some settings. Where it cannot start, the form says why.
 * @param {Record<string, unknown>} changes
 */
export function trainNow(changes) {
  document.dispatchEvent(new CustomEvent("playground-use-settings",
    { detail: { preset: PRESET, changes, start: true } }));
  scrollTo({ top: 0 });
}

/** @param {Wire.Course[]} all */
function lessonDoor(all) {
  if (!all.length) return el("span.button", { "data-key": "coming", "aria-busy": "true" }, "Lessons\u2026");
  const next = nextLesson(all, progress.value);
  if (!next) return el("p", { "data-key": "lesson" }, el("strong", "All lessons are done."));
  const begun = Object.values(progress.value).some(markOf);
  return lessonLink(next.name, begun ? `Go on with: ${next.title}` : `Lesson ${next.number}: ${next.title}`,
    { class: "button", "data-key": "lesson" });
}

/** @param {HTMLFormElement} question @param {Page.Server} server */
function fillQuestion(question, server) {
  const input = el("input", { type: "text", id: "doors-prompt", value: BEGINNING, maxlength: "200",
    autocomplete: "off" });
  const topic = menuOf(Object.keys(BEGINNINGS).map((words) => [words, words]),
    { "aria-label": "What it is a review of", value: TOPIC, onchange: () => {
      input.value = BEGINNINGS[topic.value];
    } });
  const button = buttonOf("button strong", { type: "submit" }, "Write");
  const line = el("p.muted", { role: "status" });
  const answers = el("div");
  const about = el("p.muted.small-text");
  let answered = /** @type {number | null} */ (null); // at which leash
  effect(() => {
    if (!turned.value) return;
    setText(about, aboutOf(turned.value));
    if (answered === null) return;
    setText(line, turned.value.asked === answered ? "" : "Press Write for an answer at this leash.");
  });
  question.append(el("label", { for: "doors-prompt" }, "Begin a review"),
    el("div.doors-question", topic, input, button), el("p.muted.small-text", WORLD), about, line, answers);
  let number = 0;
  question.addEventListener("submit", async (event) => {
    event.preventDefault();
    const mine = number += 1;
    setText(line, number > 1 ? "Writing\u2026" : "Loading the model: the first answer takes some seconds.");
    const prompt = input.value.trim() && `${topic.value} ${input.value}`;
    const { asked: beta } = turned.value;
    const answer = await answerOf(() => server.ask_policy({ beta, prompt, seed: mine }));
    if (mine !== number) return;
    setText(line, answer.error ?? "");
    answered = answer.error ? null : beta;
    showParts(answers, answer.error ? [] : [answerTable(answer, prompt, beta)]);
  });
}

/** @param {Wire.PolicyAnswer} answer @param {string} prompt @param {number} beta of the model that wrote it */
function answerTable(answer, prompt, beta) {
  const [left, right] = textPair(answer.before, answer.now);
  const now = `Now, at leash ${beta}`;
  return tableOf("pairs", [headOf("Prompt", "prompt"), ...sideHeads(now)],
    [pairRow({ prompt, sides: beforeAndNow(left, right, now) })]);
}

/** Which model answers. @param {{ beta: number, asked: number }} leash */
function aboutOf({ beta, asked }) {
  const who = `The model before training answers, and the one that was trained with a leash of ${asked}.`;
  return beta === asked ? who : `${who} Of the models that are kept, its leash is the nearest to ${beta}.`;
}
