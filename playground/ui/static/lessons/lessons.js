// The page of the lessons: courses, their lessons with what is done, and what to do next; the mystery runs; a page of
// all answers to hand in.

import { buttonOf, el, kept, setText, showParts, signOf } from "../core/dom.js";
import { effect } from "../core/signals.js";
import { courses, lessonLink } from "./courses.js";
import { handIn } from "./hand_in.js";
import { chalkboardPart } from "./chalkboard.js";
import { leashPart } from "./leash.js";
import { everyMystery, markOf as markOfMystery, mysteryCards, starterOf } from "./mysteries.js";
import { mysteries } from "../core/mysteries.js";
import { markOf, nextLesson, progress } from "./progress.js";

/** @type {Record<string, string[]>} */
const MARKS = { done: ["\u2713", "done"], begun: ["\u25D1", "predicted"] };

/** @param {HTMLElement} element @param {unknown} props @param {Pick<Page.Tools, "server">} page */
export async function mount(element, props, page) {
  const root = el("div.lessons", el("p.muted", "Loading the lessons\u2026"));
  element.append(root);
  try {
    const [{ courses: all }, cases] = await Promise.all([courses(), everyMystery()]);
    const [leash, chalkboard, starter] = [leashPart("lessons"), chalkboardPart("lessons"), starterOf(page.server)];
    effect(() => showParts(root, [intro(all), ...all.map(courseOf), mysteryCards(cases, starter), kept(leash),
      kept(chalkboard), handingIn(all, cases)]));
  } catch (error) {
    root.replaceChildren(el("p", { role: "alert" }, error.message), buttonOf("button", { onclick: () => {
      root.remove();
      mount(element, props, page);
    } }, "Try again"));
  }
}

/** @param {Wire.Course[]} all */
function intro(all) {
  const next = nextLesson(all, progress.value);
  const begun = Object.values(progress.value).some(markOf);
  const words = next && (begun ? `Go on with: ${next.title}` : `Start with lesson ${next.number}: ${next.title}`);
  return el("section.lessons-intro", { "data-key": "intro", "aria-labelledby": "lessons-title" },
    el("h1", { id: "lessons-title" }, "Train a language model, and see what it learns"),
    el("p", "Each lesson asks one question. You say what you expect, a small model is trained while you watch, and you "
      + "see whether it came out so. No account, no points, no clock."),
    el("div.lesson-buttons", next ? lessonLink(next.name, words, { class: "button strong", "data-key": "next" })
      : el("p", { "data-key": "all" }, signOf("\u2713 "), el("strong", "All lessons are done."))));
}

/** @param {Wire.Course} course */
function courseOf({ name, title, about, minutes, lessons }) {
  const done = lessons.filter((lesson) => markOf(progress.value[lesson.name]) === "done").length;
  return el("section.course", { "data-key": `course ${name}`, "aria-labelledby": `course-${name}` },
    el("div.course-head", el("h2", { id: `course-${name}` }, title),
      el("span.muted", `${lessons.length} lessons, about ${minutes} minutes${done ? `, ${done} done` : ""}`)),
    about ? el("p.course-about", about) : null,
    el("ol.course-lessons", lessons.map(lessonRow)));
}

/** @param {Wire.Lesson} lesson */
function lessonRow({ name, number, title, question, minutes }) {
  const mark = markOf(progress.value[name]);
  const [sign, word] = MARKS[mark] ?? ["", ""];
  return el("li", { "data-key": name }, lessonLink(name, [
    el("span.lesson-count", { "aria-hidden": "true" }, String(number)),
    el("span.lesson-words", el("strong", title), el("span.lesson-asks", question)),
    el("span.lesson-mark", { "data-mark": mark }, word ? [signOf(sign), ` ${word}`] : ""),
    el("span.lesson-minutes", `${minutes} min`)]));
}

/** @param {Wire.Course[]} all @param {Wire.Mysteries} cases */
function handingIn(all, cases) {
  const count = Object.values(progress.value).filter(markOf).length
    + Object.keys(mysteries.value).filter(markOfMystery).length;
  const told = el("span.muted", { role: "status" });
  return el("section.hand-in", { "data-key": "hand-in", "aria-labelledby": "hand-in-title" },
    el("h2", { id: "hand-in-title" }, "Hand in"),
    el("p", "Your predictions, your reasons and what happened are kept in this browser only. You can save them as a "
      + "page for your teacher, or for yourself. Nothing names you."),
    el("div.lesson-buttons", buttonOf("button", { off: !count, onclick: () => {
      handIn(all, progress.value, cases, mysteries.value);
      setText(told, "Saved in your downloads.");
    } }, "Save my answers as a page"), told,
    count ? null : el("span.muted", "There is nothing to hand in yet.")));
}
