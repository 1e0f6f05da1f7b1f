// The right side of the Train page: decides which run to show. The first screen has its state, what the model does now,
// three texts and two curves; all else is in sections that open in place.

import { showChanged } from "./changed.js";
import { Charts } from "../charts/run_charts.js";
import { rights } from "../core/access.js";
import { buttonOf, el, runTitle } from "../core/dom.js";
import { form, settings } from "../core/form.js";
import { newName } from "../core/server.js";
import { home, onHome, refreshHome, watchEnd } from "../core/home.js";
import { chosen, recordingOf } from "../core/experiments.js";
import { healthOf, showAlerts } from "./alerts.js";
import { showClaims, showCounts, showMeters } from "./meters.js";
import { go, onPlace, place } from "../core/nav.js";
import { showOutcome } from "./outcome.js";
import { showPresenting } from "./presenting.js";
import { StatusPanel } from "./status.js";
import { setSteering } from "./steering.js";
import { ForkPanel } from "../inside/fork.js";
import { sectionsIn, whenOpened } from "../core/sections.js";
import { showTextsNow } from "./texts_now.js";
import { alike, effect, untracked } from "../core/signals.js";
import { expectAttempt, hasEnded, live, open, retry } from "../core/store.js";

/** @typedef {{ value: { run?: string | null, request?: string }, can_save: boolean }} Props */

/** @param {Element} element @param {Props} props @param {Page.Tools} page */
export function mount(element, props, { trigger, watch, server }) {
  const root = el("div.run-view");
  element.append(root);
  new StatusPanel(root, {
    stop: (run) => server.stop_run(run),
    steer: (run, command) => server.steer_run({ run, command }),
    end: (run) => server.end_run(run),
    resume: (run) => server.resume_run(run),
  });
  showCounts(root);
  showTextsNow(root);
  const first = el("div.first-curves");
  root.append(first);
  showPresenting(root);
  addSections(root, first, props, server);

  drawer(root);

  nameNextStart(props);
  watch("value", () => takeStart(props));
  onPlace(({ run }) => {
    if (run && run !== live.runId) open(run);
  });
  document.addEventListener("playground-use-settings", ({ detail }) => {
    const isRecorded = Object.values(home.value?.recorded ?? {}).includes(live.runId); // known before the run is there
    if (!detail.changes || !isRecorded) return;
    go({ page: "train", run: "" });
    open(null); // it would play beside a form that holds something else
  });
  followHome(trigger);
  effect(() => showWhenKnown(root)); // not before the run that the address names is opened: an effect runs at once

  let wasEnded = true;
  effect(() => {
    if (!live.run || live.run.recorded) return;
    if (hasEnded.value && !wasEnded) watchEnd(live.runId);
    wasEnded = hasEnded.value;
  });
}

/**
 * What opens below the first screen; the large charts, which are one with the others, go into `first`.
 * @param {HTMLElement} root @param {HTMLElement} first @param {Props} props @param {Page.Server} server
 */
function addSections(root, first, props, server) {
  const section = sectionsIn(root);
  /** @param {string} run @param {Record<string, unknown>} changes */
  const change = (run, changes) => server.change_settings({ run, changes });
  setSteering(change);
  const known = () => (live.run ? {} : null);
  new Charts(first, section("curves", "More curves", known));
  showAlerts(section("health", "Is it healthy?", healthOf), change);
  const texts = section("texts", "Every text", known);
  showMeters(texts);
  showClaims(texts);
  showChanged(texts);
  const frontier = section("frontier", "Score against distance", known);
  whenOpened("frontier", async () => {
    const { Frontier } = await import("../inside/frontier.js");
    new Frontier(frontier, (run) => server.draw_frontier({ run }), (asked) => server.frontier_progress(asked));
  });
  const update = section("update", "One update", known);
  whenOpened("update", async () => {
    const { SlowMotion } = await import("../inside/slow_motion.js");
    new SlowMotion(update, (run, command) => server.steer_run({ run, command }));
  });
  const last = section("export", "Fork and export", known);
  new ForkPanel(last, (run) => server.fork_points(run), (asked) => server.fork_run(asked));
  showOutcome(last, props.can_save ? (run, kind) => server.save_model({ run, as: kind }) : null);
}

/** A start has been answered: the run comes into view. @param {Props} props */
function takeStart(props) {
  const run = props.value?.run;
  if (props.value?.request) return; // our own word, see nameNextStart
  nameNextStart(props);
  if (!run) return;
  document.body.classList.remove("drawer-open");
  go({ page: "train", run });
  if (live.runId !== run) open(run);
  scrollTo({ top: 0, behavior: "smooth" });
  if (document.activeElement?.matches("body, #start, .present-start"))
    runTitle()?.focus({ preventScroll: true }); // else the space key, which pauses here, would press Start once more
  refreshHome();
}

/**
 * Which run to show where the address names none; and what trains and waits, on which the form's button depends.
 * @param {Page.Tools["trigger"]} trigger
 */
function followHome(trigger) {
  let connected = true;
  /** @type {unknown} */
  let busy;
  onHome((home) => {
    if (!home.connected && home.living === null && home.newest === null) return; // nothing is known yet
    const first = busy === undefined;
    const now = [home.training?.map(({ id }) => id), home.waiting];
    const isFree = !home.training?.length && !home.waiting?.length;
    const saysBusy = Boolean(untracked(() => form.value.queue)); // it may have been asked a moment before the end
    if (!first && (!alike(busy, now) || (isFree && saysBusy))) trigger("input");
    busy = now;
    if (home.connected && live.status?.ended) { // somebody else may have taken it up again
      const again = home.waiting?.includes(live.runId) ? live.status.attempt + 1
        : home.training?.find(({ id }) => id === live.runId)?.attempt;
      if (again > live.status.attempt) expectAttempt(again);
    }
    if (home.connected && !connected) retry(); // a stream that broke without a word is replaced
    connected = home.connected;
    if (place().run || place().lesson || place().mystery) return; // a lesson says itself which run is to be seen
    const wanted = home.living ?? (first ? exampleOf(home) : live.runId);
    if (wanted !== live.runId || first) open(wanted); // a page that shows a recorded run turns to a run that starts
  });
}

/**
 * The recording of the experiment in the form; none beside a form that holds something else.
 * @param {Pick<Wire.Home, "shown" | "recorded">} home
 */
function exampleOf({ shown, recorded }) {
  if (settings.value.changes || new URLSearchParams(location.search).has("set")) return null;
  return chosen.value ? recordingOf(chosen.value) : shown ?? Object.values(recorded)[0] ?? null;
}

/**
 * What stands below the status takes its place when the run is known, and what one may do with it: all at once, so that
 * nothing jumps.
 * @param {HTMLElement} root
 */
function showWhenKnown(root) {
  const none = live.runId === null && home.value?.connected;
  const known = (live.run || none || live.connection === "failed") && Object.keys(rights.value).length;
  const within = [...root.children].find((part) => part.contains(document.activeElement));
  if (!known && within && !within.matches(".status")) runTitle()?.focus({ preventScroll: true });
  root.classList.toggle("opening", !known);
  root.classList.toggle("nothing", live.connection === "failed");
  root.dataset.run = known ? live.runId ?? "" : "";
}

/**
 * A name for the next press on Start, sent with it: however often that press arrives at the server, it starts one run.
 * A new name is made when the answer has come; without an answer the next press is the same start.
 * @param {Props} props
 */
function nameNextStart(props) {
  props.value = { run: props.value?.run ?? null, request: newName() };
}

/**
 * On a narrow screen the form is a drawer: it closes by its button, by Escape and by a tap beside it. The focus goes
 * into it and comes back.
 * @param {Element} root
 */
function drawer(root) {
  const close = () => document.body.classList.remove("drawer-open");
  const controls = document.getElementById("controls");
  const closing = buttonOf("icon-button", { "aria-label": "Close", onclick: close }, "\u00d7");
  root.append(el("div.backdrop", { onclick: close }));
  controls.prepend(el("div.drawer-head", el("strong", "Set up a run"), closing));
  let open = false;
  new MutationObserver(() => { // several parts of the page open it
    if (document.body.classList.contains("drawer-open") === open) return;
    open = !open;
    setTimeout(() => { // as soon as the one is visible, or the other is not
      const within = controls.contains(document.activeElement);
      if (open && !within) closing.focus();
      if (!open && within) /** @type {HTMLElement} */ (root.querySelector(".drawer-button")).focus();
    });
  }).observe(document.body, { attributeFilter: ["class"] });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented) close();
  });
}
