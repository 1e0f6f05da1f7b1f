// Where a lesson stands on the Train page, in the place of the form. Its scripts are loaded when the address names one.

import { home } from "../core/home.js";
import { onPlace } from "../core/nav.js";
import { live, open } from "../core/store.js";
import { outOfLesson } from "../core/in_lesson.js";
import { showWayBack } from "./way_back.js";

/** @param {HTMLElement} element @param {unknown} props @param {Pick<Page.Tools, "server">} page */
export function mount(element, props, { server }) {
  /** @type {Promise<import("./lesson.js").LessonPanel> | null} */
  let panel = null;
  showWayBack();
  let name = /** @type {string | null} */ (null);
  onPlace(({ lesson }) => {
    if (lesson === name) return;
    const first = name === null && !panel && document.activeElement === document.body;
    name = lesson;
    if (!lesson) return leave(panel);
    panel ??= import("./lesson.js").then((module) => new module.LessonPanel(element, server));
    panel.then((made) => {
      if (name === lesson) made.open(lesson, !first);
    });
  });
}

/**
 * The rest of the page again; what had no run in view has one now.
 * @param {Promise<import("./lesson.js").LessonPanel> | null} panel
 */
function leave(panel) {
  panel?.then((made) => made.close());
  delete document.body.dataset.look;
  outOfLesson();
  const { living = null, recorded = {} } = home.value ?? {};
  if (live.runId === null) open(living ?? Object.values(recorded)[0] ?? null);
}
