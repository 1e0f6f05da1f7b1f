// The courses and their lessons, asked for once; and a link to one.

import { linkTo, go } from "../core/nav.js";
import { askedOnce } from "../core/server.js";

/** All courses. */
export const courses = /** @type {() => Promise<Wire.Lessons>} */ (askedOnce("live/_lessons"));

/** @param {string} name @param {Page.Child} content @param {Page.Attributes<HTMLAnchorElement>} attributes */
export function lessonLink(name, content, attributes = {}) {
  return linkTo(`?lesson=${encodeURIComponent(name)}`, () => openLesson(name), content, attributes);
}

/** @param {string} name */
export function openLesson(name) {
  go({ page: "train", lesson: name, run: "", preset: "" });
  scrollTo({ top: 0 });
}
