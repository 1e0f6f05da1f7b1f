// The bar that leads back to a lesson whose visitor has asked for the whole page. It stays until the visitor goes back,
// closes it, or opens the lessons.

import { buttonOf, el, runTitle, setHidden, setText } from "../core/dom.js";
import { onPlace } from "../core/nav.js";
import { effect, signal } from "../core/signals.js";
import { openLesson } from "./courses.js";

const left = signal(/** @type {{ name: string, title: string } | null} */ (null));

/** The whole page is shown; the bar leads back to this lesson. @param {string} name @param {string} title */
export function leaveOpen(name, title) {
  left.value = { name, title };
}

/** From now on there is the bar, wherever it is needed. */
export function showWayBack() {
  const title = el("span.way-back-title");
  const bar = el("div.way-back", { role: "navigation", "aria-label": "Open lesson", hidden: true }, title,
    buttonOf("button", { onclick: () => openLesson(left.value.name) }, "Back to the lesson"),
    buttonOf("icon-button", { "aria-label": "Leave the lesson", title: "Leave the lesson", onclick: () => {
      left.value = null;
    } }, "\u00d7"));
  onPlace(({ page, lesson }) => {
    if (lesson || page === "lessons") left.value = null;
  });
  effect(() => {
    const { value } = left;
    if (value) setText(title, `Lesson: ${value.title}`);
    if (value && !bar.isConnected) document.getElementById("header").append(bar);
    setHidden(bar, !value, runTitle());
  });
}
