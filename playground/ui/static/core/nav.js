// Which of the pages is in view, which run, with which other one it is compared (`with=a`), by which changed behaviour
// (`behaviour=polite`), on the Runs page which runs are overlaid (`overlay=a,b`) and which sweep is open (`sweep=a`),
// which part of the Rewards page (`part=train`), which lesson is worked on (`lesson=the-leash`) or which mystery run
// (`mystery=3`), whether the form shows all settings (`settings=all`), whether one follows the host of a class
// (`follow=1`), or is what a class has in front (`front=1`), and whether a lesson is alone in a frame of another page
// (`embed=1`). It is kept in the address, so that reload, back and a link work. The query says `tab`, because Gradio
// takes `page` for a page of its own.

import { el, runTitle } from "./dom.js";
import { recall, remember } from "./kept.js";
import { open } from "./store.js";

const PAGES = ["lessons", "train", "compare", "rewards", "runs"];
const VISITED = "playground-visited"; // where one was last, once another page than the lessons was in view
const PRESENTATION = "presentation";
const PARTS = ["try", "train", "test"]; // of the Rewards page
/** @type {Record<string, string>} */
const ONLY_ON = { with: "compare", behaviour: "compare", overlay: "runs", sweep: "runs", view: "train lessons",
  lesson: "train", mystery: "train", part: "rewards" };
const LASTING = ["tab", "lesson", "mystery", "part"]; // what one comes back to
/** Where the host of a class leads it. */
const LED = ["tab", "run", "with", "behaviour", "overlay", "sweep", "part"];
/** All that an address may ask for. */
const PLACES = ["follow", "tab", "run", "preset", "set", "settings", ...Object.keys(ONLY_ON)];
/** @typedef {ReturnType<typeof place>} Place */

/** @type {Set<(here: Place) => void>} */
const listeners = new Set();

/** Whether an address of a page may name something. @param {string} name @param {string} page */
function isOn(name, page) {
  return ONLY_ON[name].split(" ").includes(page);
}

/** Page, run and preset named by the address. */
export function place() {
  const query = new URLSearchParams(location.search);
  const tab = query.get("tab");
  const page = PAGES.includes(tab) ? tab : "train";
  const own = (/** @type {string} */ name) => (isOn(name, page) ? query.get(name) : null);
  return { page, run: query.get("run"), preset: query.get("preset"), with: own("with"), behaviour: own("behaviour"),
    follows: query.get("follow") === "1", lesson: own("lesson"), mystery: own("mystery"),
    embedded: Boolean(own("lesson")) && query.get("embed") === "1",
    present: own("view") === PRESENTATION, front: query.get("front") === "1",
    overlay: (own("overlay") ?? "").split(",").filter(Boolean), sweep: own("sweep"), settings: query.get("settings"),
    part: PARTS.includes(own("part")) ? own("part") : PARTS[0] };
}

/**
 * Go to a page, with a run if one is named, with another to compare it with ("" for none), by a behaviour, with a
 * preset in its place, with runs to overlay, with a sweep open ("" for none), and at a part of the Rewards page;
 * `replace` leaves no step in the browser's history. `present`: begin or end the presentation of the run in view, or
 * of the first page.
 * `settings`: "all" opens the whole form. `lesson`, `mystery`: its name; going anywhere else leaves it, but for a
 * presentation.
 * @param {{page?: string, run?: string, with?: string, behaviour?: string, preset?: string, overlay?: string[],
 *   sweep?: string, part?: string, settings?: string, lesson?: string, mystery?: string,
 *   present?: boolean, replace?: boolean}} where
 */
export function go({ page = place().page, run, preset, overlay, lesson, mystery, present, replace = false,
  ...others }) {
  const wanted = { tab: page === "train" ? "" : page, run: preset ? "" : run, preset, overlay: overlay?.join(","),
    lesson: lesson ?? (present === undefined ? "" : undefined),
    mystery: mystery ?? (present === undefined ? "" : undefined),
    view: present === undefined ? undefined : present ? PRESENTATION : "", ...others,
    behaviour: others.behaviour ?? "", part: others.part === PARTS[0] ? "" : others.part };
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(wanted)) {
    if (value) query.set(name, value);
    else if (value === "") query.delete(name);
  }
  for (const name of Object.keys(ONLY_ON)) if (!isOn(name, page)) query.delete(name);
  const left = document.body.dataset.page;
  const text = query.toString().replaceAll("%2C", ",");
  const address = location.pathname + (text ? `?${text}` : "");
  if (address !== location.pathname + location.search) {
    if (replace) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
  }
  show();
  if (present || page !== left) scrollTo(0, 0);
}

/** The Train page with a run in view. @param {string} run */
export function openRun(run) {
  go({ page: "train", run });
  open(run);
}

/**
 * A link to a page, or to a run.
 * @param {{page?: string, run?: string}} where @param {Page.Child} content
 * @param {Page.Attributes<HTMLAnchorElement>} attributes
 */
export function link({ page = "train", run }, content, attributes = {}) {
  const address = run ? `?run=${encodeURIComponent(run)}` : page === "train" ? "?" : `?tab=${page}`;
  return linkTo(address, () => (run ? openRun(run) : go({ page })), content, attributes);
}

/**
 * A link to an address of the page: a plain click stays in this document, and does what `act` does.
 * @param {string} address @param {() => void} act @param {Page.Child} content
 * @param {Page.Attributes<HTMLAnchorElement>} attributes
 */
export function linkTo(address, act, content, attributes = {}) {
  return el("a", { href: address, "data-key": address, ...attributes, onclick: (event) => {
    if (event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    act();
  } }, content);
}

/** Call back now and at every change of place. @param {(here: Place) => void} callback */
export function onPlace(callback) {
  listeners.add(callback);
  callback(place());
}

/**
 * Do something when a place is in view for the first time.
 * @param {(here: Place) => boolean} isIt @param {() => void} act
 */
export function whenAt(isIt, act) {
  let isDone = false;
  onPlace((here) => {
    if (isDone || !isIt(here)) return;
    isDone = true;
    act();
  });
}

/** Where this page is, as a query that leads others there. @param {string | null} run the one in view */
export function whereabouts(run = null) {
  const query = new URLSearchParams(location.search);
  const found = LED.map((name) => [name, (name === "run" && run) || query.get(name)]).filter(([, value]) => value);
  return new URLSearchParams(found).toString();
}

/**
 * Follow the host of a class from now on, to where such a query leads, or no longer. It leaves no step in the browser's
 * history, and a reload comes back to where it is.
 * @param {boolean} follows @param {string | null} to
 */
export function follow(follows, to = null) {
  const query = new URLSearchParams(to ?? location.search);
  const found = [...query].filter(([name]) => to === null ? name !== "follow" : LED.includes(name));
  if (follows) found.push(["follow", "1"]);
  const text = new URLSearchParams(found).toString().replaceAll("%2C", ",");
  history.replaceState(null, "", location.pathname + (text ? `?${text}` : ""));
  show();
}

function show() {
  const here = place();
  const left = document.activeElement?.closest(".page");
  document.body.dataset.page = here.page;
  document.body.dataset.part = here.part;
  document.body.classList.toggle("presentation", here.present);
  document.body.classList.toggle("in-front", here.front);
  document.body.classList.toggle("embedded", here.embedded);
  const { mystery } = here;
  const learning = here.lesson ?? (mystery && "mystery"); // either stands in the place of the form
  if (learning) document.body.dataset.lesson = learning;
  else delete document.body.dataset.lesson;
  document.body.classList.toggle("mystery", Boolean(mystery));
  if (!here.embedded && (recall(VISITED) || (here.page !== "lessons" && !learning))) remember(VISITED, lastPlace());
  for (const callback of listeners) callback(here);
  if (left && left.id !== `page-${here.page}`) enter(here.page);
}

/** Which page, or lesson, as a query. */
function lastPlace() {
  const query = new URLSearchParams(location.search);
  return new URLSearchParams(LASTING.flatMap((name) => (query.has(name) ? [[name, query.get(name)]] : []))).toString()
    || "tab=train";
}

/** Whoever comes back without a word of where to is where they were. */
function comeBack() {
  const query = new URLSearchParams(location.search);
  const last = new URLSearchParams(recall(VISITED) ?? "");
  const wanted = LASTING.filter((name) => last.has(name));
  if (PLACES.some((name) => query.has(name)) || !wanted.length || last.get("tab") === "train") return;
  for (const name of wanted) query.set(name, last.get(name));
  history.replaceState(null, "", `${location.pathname}?${query}`);
}

/** Whether nothing was opened before, and the address asks for nothing: what a Space adds to it does not count. */
function isNewcomer() {
  const query = new URLSearchParams(location.search);
  return !PLACES.some((name) => query.has(name)) && !recall(VISITED)
    && document.querySelector("meta[name='newcomers'][content='lessons']") !== null;
}

/** Who was in a page that is no longer in view goes on from the beginning of the one that is. @param {string} page */
export function enter(page) {
  const start = (page === "train" && runTitle()) || document.getElementById(`page-${page}`);
  if (!start) return;
  start.tabIndex = -1;
  start.focus({ preventScroll: true });
}

addEventListener("popstate", show);
if (isNewcomer()) go({ page: "lessons", replace: true });
else {
  comeBack();
  show();
}
