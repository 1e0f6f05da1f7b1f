// The page where nothing trains: a list of experiments, the run view, Compare and the list of recordings, mounted here
// as Gradio does elsewhere.

import { mount as mountHeader } from "../core/header.js";
import { el } from "../core/dom.js";
import { recordingOf } from "../core/experiments.js";
import { recall } from "../core/kept.js";
import { go, onPlace, place, whenAt } from "../core/nav.js";
import { effect } from "../core/signals.js";
import { live } from "../core/store.js";
import { mount as mountPreset } from "../train/preset.js";
import { mount as mountRun } from "../train/run_view.js";
import { mount as mountStory } from "../train/story.js";

/** Its form is never shown. @type {Wire.SweepChoices} */
const NO_SWEEP = { presets: [], fields: [], values: {}, first: { field: "", values: "" }, seeds: 1, most: 1 };

/** @param {import("./answers.js").About} about */
export function show(about) {
  document.getElementById("not-yet").remove();
  if (!recall("playground-theme"))
    document.body.classList.toggle("dark", matchMedia("(prefers-color-scheme: dark)").matches);
  const header = document.getElementById("header");
  mountHeader(header, { pages: about.pages });
  if (about.notice) addNotice(header, about.notice);
  showExperiments(about);
  mountRun(document.getElementById("run-view"), { value: null, can_save: false },
    toolsOf());
  whenAt(({ page }) => page === "compare", async () => {
    const [{ mount }, { mount: mountRows }] = await Promise.all([import("../runs/compare.js"),
      import("../runs/compare_rows.js")]);
    mountRows(document.getElementById("compare-rows"));
    mount(document.getElementById("compare"), { value: "" }, toolsOf());
  });
  whenAt(({ page }) => page === "runs", async () => {
    const { mount } = await import("../runs/history.js");
    mount(document.getElementById("runs"), { sweep: NO_SWEEP }, toolsOf());
  });
  onPlace(({ page, lesson, mystery }) => {
    if (!about.pages.includes(page) || ((lesson || mystery) && !about.pages.includes("lessons")))
      go({ page: "train", replace: true });
  });
}

/**
 * What Gradio hands to a part, without Gradio. No part that is here asks a function of a server.
 * @param {(() => void)[]} hearing of another value of the part
 * @returns {Page.Tools}
 */
function toolsOf(hearing = []) {
  return { trigger: () => {}, watch: (_, heard) => hearing.push(heard), server: /** @type {Page.Server} */ ({}) };
}

/**
 * Mount a part whose value changes; what is returned sets it.
 * @template {{ value: unknown }} Props
 * @param {(props: Props, tools: Page.Tools) => void} mount
 * @param {Props} props
 */
function mounted(mount, props) {
  /** @type {(() => void)[]} */
  const hearing = [];
  mount(props, toolsOf(hearing));
  return (/** @type {Props["value"]} */ value) => {
    props.value = value;
    for (const heard of hearing) heard();
  };
}

/** @param {HTMLElement} header @param {string} notice */
function addNotice(header, notice) {
  header.after(el("p.access-banner", { role: "note" }, notice)); // it scrolls away: on a phone it has three lines
}

/**
 * The menu of experiments with what the chosen one teaches: that of the recording in view.
 * @param {import("./answers.js").About} about
 */
function showExperiments({ groups, steps, stories }) {
  document.body.classList.toggle("one-run", !groups.length);
  if (!groups.length) return;
  const boxes = [el("div", { id: "preset" }), el("div", { id: "story" })];
  document.getElementById("controls").append(...boxes);
  const givePreset = mounted((props, tools) => mountPreset(boxes[0], props, tools),
    { value: place().preset ?? "", groups, steps });
  const giveStory = mounted((props, tools) => mountStory(boxes[1], props, tools),
    { value: /** @type {Partial<Wire.Story>} */ ({}) });
  effect(() => {
    const shown = Object.keys(stories).find((name) => recordingOf(name) === live.runId);
    if (!shown) return;
    givePreset(shown);
    giveStory(stories[shown]);
  });
}
