// The courses and their lessons, asked for once; and links to what stands in the place of the form: a lesson, or a
// mystery run.

import { linkTo, go } from "../core/nav.js";
import { askedOnce } from "../core/server.js";

/** All courses. */
export const courses = /** @type {() => Promise<Wire.Lessons>} */ (askedOnce("live/_lessons"));

/** @typedef {"lesson" | "mystery"} Kind */

/** @param {string} name @param {Page.Child} content @param {Page.Attributes<HTMLAnchorElement>} attributes */
export function lessonLink(name, content, attributes = {}, kind = /** @type {Kind} */ ("lesson")) {
  return linkTo(`?${kind}=${encodeURIComponent(name)}`, () => openLesson(name, kind), content, attributes);
}

/** @param {string} name */
export function openLesson(name, kind = /** @type {Kind} */ ("lesson")) {
  go({ page: "train", [kind]: name, run: "", preset: "" });
  scrollTo({ top: 0 });
}
