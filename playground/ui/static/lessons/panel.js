// Where a lesson stands on the Train page, in the place of the form, or a mystery run. Their scripts are loaded when
// the address names one.

import { el, setHidden } from "../core/dom.js";
import { home } from "../core/home.js";
import { onPlace } from "../core/nav.js";
import { live, open } from "../core/store.js";
import { outOfLesson } from "../core/in_lesson.js";
import { showWayBack } from "./way_back.js";

/** @param {HTMLElement} element @param {unknown} props @param {Pick<Page.Tools, "server">} page */
export function mount(element, props, { server }) {
  /** @type {Record<string, (room: HTMLElement) => Promise<Panel>>} */
  const makers = {
    lesson: (room) => import("./lesson.js").then((module) => new module.LessonPanel(room, server)),
    mystery: (room) => import("./mystery.js").then((module) => new module.MysteryPanel(room, server)) };
  /** @type {Record<string, Promise<Panel>>} */
  const panels = {};
  const rooms = Object.keys(makers).map((kind) => el("div", { "data-kind": kind, hidden: true }));
  element.append(...rooms);
  let shown = "";
  showWayBack();
  onPlace(({ lesson, mystery }) => {
    const [kind, name] = lesson ? ["lesson", lesson] : ["mystery", mystery ?? ""];
    const wanted = name && `${kind} ${name}`;
    if (wanted === shown) return;
    const first = !shown && !Object.keys(panels).length && document.activeElement === document.body;
    shown = wanted;
    for (const panel of Object.values(panels)) panel.then((made) => made.close());
    if (!name) return leave();
    for (const room of rooms) setHidden(room, room.dataset.kind !== kind, rooms[0]);
    panels[kind] ??= makers[kind](rooms.find((room) => room.dataset.kind === kind));
    panels[kind].then((made) => {
      if (shown === wanted) made.open(name, !first);
    });
  });
}

/** @typedef {{ open: (name: string, focus: boolean) => void, close: () => void }} Panel */

/** The rest of the page again; what had no run in view has one now. */
function leave() {
  delete document.body.dataset.look;
  outOfLesson();
  const { living = null, recorded = {} } = home.value ?? {};
  if (live.runId === null) open(living ?? Object.values(recorded)[0] ?? null);
}
