// The courses and their lessons, asked for once; and a link to one.

import { linkTo, go } from "../core/nav.js";
import { getJson } from "../core/server.js";

/** @type {Promise<Wire.Lessons> | null} */
let asked = null;

/** All courses. Without an answer the next one who asks tries again. */
export function courses() {
  asked ??= /** @type {Promise<Wire.Lessons>} */ (getJson("live/_lessons")).catch((error) => {
    asked = null;
    throw error;
  });
  return asked;
}

/** @param {string} name @param {Page.Child} content @param {Page.Attributes<HTMLAnchorElement>} attributes */
export function lessonLink(name, content, attributes = {}) {
  return linkTo(`?lesson=${encodeURIComponent(name)}`, () => openLesson(name), content, attributes);
}

/** @param {string} name */
export function openLesson(name) {
  go({ page: "train", lesson: name, run: "", preset: "" });
  scrollTo({ top: 0 });
}
