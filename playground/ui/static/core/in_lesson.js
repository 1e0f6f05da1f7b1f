// What the open lesson says of the run in view: what it is called there, and which curves of the section are shown, by
// their columns; nothing where no lesson is open. lessons/lesson.js sets it.

import { buttonOf, signOf } from "./dom.js";
import { recall, remember } from "./kept.js";
import { alike, signal } from "./signals.js";

const NONE = { title: "", figures: /** @type {string[]} */ ([]) };

export const inLesson = signal(NONE, alike);

/** The metrics of the lesson's first run, behind the curves of a visitor's own try; null where there is none. */
export const ghost = signal(/** @type {Charts.Columns | null} */ (null));

/** The step of the open lesson, and the tries at its task in vain: what the desk of a class gets of it. */
export const placeInLesson = signal({ lesson: "", at: "", tries: 0 }, alike);

const HELP = "playground-asks-for-help";

/** Whether a person of a class asks for help, on any page of this browser. */
const asksForHelp = signal(recall(HELP) === "yes");

/** What a page tells a class of where it is, to be sent with its next question. @param {string} followed a lesson */
export function placeAsQuery(followed) {
  const { lesson, at, tries } = placeInLesson.value;
  return (asksForHelp.value ? "&help=1" : "")
    + (lesson && lesson === followed ? `&${new URLSearchParams({ lesson, at, tries: String(tries) })}` : "");
}

/** The raised hand. @param {() => void} tell at once @param {number} number by which the desk knows this browser */
export function helpButton(tell, number) {
  return buttonOf("quiet-button", { "data-key": "help", "aria-pressed": String(asksForHelp.value),
    title: `Your teacher's desk shows: number ${number} asks for help.`, onclick: () => {
      asksForHelp.value = !asksForHelp.value;
      remember(HELP, asksForHelp.value ? "yes" : "");
      tell();
    } }, signOf("! "), asksForHelp.value ? "You asked for help. Take it back" : "Ask for help");
}

/** No lesson is open. */
export function outOfLesson() {
  placeInLesson.value = { lesson: "", at: "", tries: 0 };
  inLesson.value = NONE;
  ghost.value = null;
}
