// Which of the pages is in view, which run, with which other one it is compared (`with=a`), by which changed behaviour
// (`behaviour=polite`), and on the Runs page which runs are overlaid (`overlay=a,b`) and which sweep is open
// (`sweep=a`).
// It is kept in the address, so that reload, back and a link work.
// The query says `tab`, because Gradio takes `page` for a page of its own.

import { el, runTitle } from "./dom.js";
import { open } from "./store.js";

const PAGES = ["train", "compare", "rewards", "runs"];
const PRESENTATION = "presentation";
const listeners = new Set();

/** Page, run and preset named by the address. */
export function place() {
  const query = new URLSearchParams(location.search);
  const page = query.get("tab");
  const overlay = page === "runs" ? (query.get("overlay") ?? "").split(",").filter(Boolean) : [];
  const [other, behaviour] = ["with", "behaviour"].map((name) => (page === "compare" ? query.get(name) : null));
  const present = query.get("view") === PRESENTATION && !PAGES.slice(1).includes(page);
  return { page: PAGES.includes(page) ? page : "train", run: query.get("run"), with: other, behaviour,
    preset: query.get("preset"), present, overlay, sweep: page === "runs" ? query.get("sweep") : null };
}

/**
 * Go to a page, with a run if one is named, with another to compare it with ("" for none), by a behaviour, with a
 * preset in its place, with runs to overlay, and with a sweep open ("" for none); `replace` leaves no step in the
 * browser's history. `present`: begin or end the presentation of the run in view.
 * @param {{page?: string, run?: string, with?: string, behaviour?: string, preset?: string, overlay?: string[],
 *   sweep?: string, present?: boolean, replace?: boolean}} where
 */
export function go({ page, run, with: other, behaviour, preset, overlay, sweep, present, replace = false }) {
  const query = new URLSearchParams(location.search);
  const wanted = page ?? place().page;
  if (wanted === "train") query.delete("tab");
  else query.set("tab", wanted);
  if (run) query.set("run", run);
  if (present) query.set("view", PRESENTATION);
  else if (present === false || wanted !== "train") query.delete("view");
  if (preset) {
    query.set("preset", preset);
    query.delete("run");
  }
  if (other) query.set("with", other);
  else if (other === "" || wanted !== "compare") query.delete("with");
  if (behaviour) query.set("behaviour", behaviour);
  else query.delete("behaviour");
  if (overlay?.length) query.set("overlay", overlay.join(","));
  else if (overlay || wanted !== "runs") query.delete("overlay");
  if (sweep) query.set("sweep", sweep);
  else if (sweep === "" || wanted !== "runs") query.delete("sweep");
  const text = query.toString().replaceAll("%2C", ",");
  const address = location.pathname + (text ? `?${text}` : "");
  if (address !== location.pathname + location.search) {
    if (replace) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
  }
  show();
}

/** The Train page with a run in view. */
export function openRun(run) {
  go({ page: "train", run });
  open(run);
}

/**
 * A link to a page, or to a run: a plain click stays in this document.
 * @param {{page?: string, run?: string}} where
 */
export function link({ page = "train", run }, content, attributes = {}) {
  const address = run ? `?run=${encodeURIComponent(run)}` : page === "train" ? "?" : `?tab=${page}`;
  return el("a", { href: address, "data-key": address, ...attributes, onclick: (event) => {
    if (event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    if (run) openRun(run);
    else go({ page });
  } }, content);
}

/** Call back now and at every change of place. */
export function onPlace(callback) {
  listeners.add(callback);
  callback(place());
}

function show() {
  const here = place();
  const left = document.activeElement?.closest(".page");
  document.body.dataset.page = here.page;
  document.body.classList.toggle("presentation", here.present);
  for (const callback of listeners) callback(here);
  if (left && left.id !== `page-${here.page}`) enter(here.page);
}

/** Who was in a page that is no longer in view goes on from the beginning of the one that is. */
function enter(page) {
  const start = (page === "train" && runTitle()) || document.getElementById(`page-${page}`);
  if (!start) return;
  start.tabIndex = -1;
  start.focus({ preventScroll: true });
}

addEventListener("popstate", show);
show();
