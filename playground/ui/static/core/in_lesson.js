// What the open lesson says of the run in view: what it is called there, and which curves of the section are shown, by
// their columns; nothing where no lesson is open. lessons/lesson.js sets it.

import { alike, signal } from "./signals.js";

const NONE = { title: "", figures: /** @type {string[]} */ ([]) };

export const inLesson = signal(NONE, alike);

/** The metrics of the lesson's first run, behind the curves of a visitor's own try; null where there is none. */
export const ghost = signal(/** @type {Charts.Columns | null} */ (null));

/** No lesson is open. */
export function outOfLesson() {
  inLesson.value = NONE;
  ghost.value = null;
}
