// The first page: a leash to turn, and three ways on; below them the courses, their lessons with what is done, the
// mystery runs, and a page of all answers to hand in.

import { buttonOf, el, kept, setText, showParts } from "../core/dom.js";
import { effect, signal } from "../core/signals.js";
import { courses, lessonLink } from "./courses.js";
import { doorsPart } from "./doors.js";
import { firstLeash } from "./first.js";
import { handIn } from "./hand_in.js";
import { chalkboardPart } from "./chalkboard.js";
import { everyMystery, markOf as markOfMystery, markPart, mysteryCards, starterOf } from "./mysteries.js";
import { mysteries } from "../core/mysteries.js";
import { markOf, progress } from "./progress.js";
import { courseAnswers, resultOf, returningPart } from "./questions.js";

/** Whether they are handed in too. */
const withQuestions = signal(false);

/** @param {HTMLElement} element @param {unknown} props @param {Pick<Page.Tools, "server">} page */
export function mount(element, props, page) {
  const courseList = el("div.course-list", { "data-key": "courses" });
  const list = signal(/** @type {Wire.Course[]} */ ([]));
  const doors = doorsPart(list, page.server);
  element.append(el("div.lessons", firstLeash(), doors, courseList));
  const load = async () => {
    try {
      const [{ courses: all }, cases] = await Promise.all([courses(), everyMystery()]);
      const starter = starterOf(page.server);
      const chalkboard = boardFolded();
      list.value = all;
      const returning = returningPart(all, doors.querySelector("a, button"));
      if (returning) doors.after(returning);
      effect(() => showParts(courseList, [el("h2", { "data-key": "title" }, "Lessons"),
        ...all.map(courseOf), mysteryCards(cases, starter), chalkboard, handingIn(all, cases)]));
    } catch (error) {
      courseList.replaceChildren(el("p", { role: "alert" }, error.message),
        buttonOf("button", { onclick: load }, "Try again"));
    }
  };
  return load();
}

/** @param {Wire.Course} course */
function courseOf(course) {
  const { name, title, about, minutes, lessons } = course;
  const result = resultOf(course);
  const done = lessons.filter((lesson) => markOf(progress.value[lesson.name]) === "done").length;
  const begun = lessons.some((lesson) => markOf(progress.value[lesson.name])) && done < lessons.length;
  return el("details.course", { "data-key": `course ${name}`, open: begun },
    el("summary", el("span.course-head", el("strong", title),
      el("span.muted", `${lessons.length} lessons, about ${minutes} minutes${done ? `, ${done} done` : ""}`))),
    about ? el("p.course-about", about) : null,
    result ? el("p.course-about", `The questions on this course: ${result}. Only you see this.`) : null,
    el("ol.course-lessons", lessons.map(lessonRow)));
}

/** @param {Wire.Lesson} lesson */
function lessonRow({ name, number, title, question, minutes }) {
  return el("li", { "data-key": name }, lessonLink(name, [
    el("span.lesson-count", { "aria-hidden": "true" }, String(number)),
    el("span.lesson-words", el("strong", title), el("span.lesson-asks", question)),
    markPart(markOf(progress.value[name]).replace("begun", "predicted")),
    el("span.lesson-minutes", `${minutes} min`)]));
}

/** The chalkboard, made once it is opened. */
function boardFolded() {
  const folded = foldedOf("chalkboard", "The chalkboard", "the best model for any leash, worked out");
  folded.addEventListener("toggle", () => folded.append(chalkboardPart("lessons")), { once: true });
  return kept(folded);
}

/** A line to open, as those of the courses. @param {string} key @param {string} title @param {string} about */
function foldedOf(key, title, about) {
  return el("details.course", { "data-key": key },
    el("summary", el("span.course-head", el("strong", title), el("span.muted", about))));
}

/** @param {Wire.Course[]} all @param {Wire.Mysteries} cases */
function handingIn(all, cases) {
  const count = Object.values(progress.value).filter(markOf).length
    + Object.keys(mysteries.value).filter(markOfMystery).length;
  const told = el("span.muted", { role: "status" });
  const isAsked = all.some(({ name }) => courseAnswers.value[name]?.before || courseAnswers.value[name]?.after);
  const folded = foldedOf("hand-in", "Hand in", "your answers as a page");
  folded.append(el("div.hand-in",
    el("p", "Your predictions, your reasons and what happened are kept in this browser only. You can save them as a "
      + "page for your teacher, or for yourself. Nothing names you."),
    isAsked ? el("label.hand-in-more", el("input", { type: "checkbox", checked: withQuestions.value,
      onchange: ({ target }) => { withQuestions.value = target.checked; } }),
    " With my answers to the questions before and after a course") : null,
    el("div.lesson-buttons", buttonOf("button", { off: !count, onclick: () => {
      handIn(all, progress.value, cases, mysteries.value, withQuestions.value ? courseAnswers.value : {});
      setText(told, "Saved in your downloads.");
    } }, "Save my answers as a page"), told,
    count ? null : el("span.muted", "There is nothing to hand in yet."))));
  return folded;
}
