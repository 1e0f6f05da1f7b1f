// The page where nothing trains: a list of experiments, the run view, Compare and the list of recordings, mounted here
// as Gradio does elsewhere.

import { mount as mountHeader } from "../core/header.js";
import { el } from "../core/dom.js";
import { recordingOf } from "../core/experiments.js";
import { recall } from "../core/kept.js";
import { go, onPlace, place } from "../core/nav.js";
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
    partOf(null).page);
  whenOpened("compare", async () => {
    const [{ mount }, { mount: mountRows }] = await Promise.all([import("../runs/compare.js"),
      import("../runs/compare_rows.js")]);
    mountRows(document.getElementById("compare-rows"));
    mount(document.getElementById("compare"), { value: "" }, partOf(null).page);
  });
  whenOpened("runs", async () => {
    const { mount } = await import("../runs/history.js");
    mount(document.getElementById("runs"), { sweep: NO_SWEEP }, partOf(null).page);
  });
  onPlace(({ page }) => {
    if (!about.pages.includes(page)) go({ page: "train", replace: true });
  });
}

/**
 * What Gradio hands to a part, without Gradio: `give` sets its value. No part that is here asks a function of a server.
 * @template {{ value: any } | null} Props
 * @param {Props} props
 */
function partOf(props) {
  /** @type {(() => void)[]} */
  const hearing = [];
  /** @type {Page.Tools} */
  const page = { trigger: () => {}, watch: (_, heard) => hearing.push(heard), server: /** @type {any} */ ({}) };
  return { props, page, give: (/** @type {NonNullable<Props>["value"]} */ value) => {
    props.value = value;
    for (const heard of hearing) heard();
  } };
}

/** @param {string} page @param {() => void} act */
function whenOpened(page, act) {
  let opened = false;
  onPlace((here) => {
    if (opened || here.page !== page) return;
    opened = true;
    act();
  });
}

/** @param {HTMLElement} header @param {string} notice */
function addNotice(header, notice) {
  const banner = el("p.access-banner", { role: "note" }, notice);
  header.append(banner);
  const tell = () => document.documentElement.style.setProperty("--pg-banner", `${banner.offsetHeight}px`);
  new ResizeObserver(tell).observe(banner); // what sticks below the header has that much less room
}

/**
 * The menu of experiments with what the chosen one teaches: that of the recording in view.
 * @param {import("./answers.js").About} about
 */
function showExperiments({ groups, steps, stories }) {
  document.body.classList.toggle("one-run", !groups.length);
  if (!groups.length) return;
  const preset = partOf({ value: place().preset, groups, steps });
  const story = partOf({ value: /** @type {Partial<Wire.Story>} */ ({}) });
  const boxes = [el("div", { id: "preset" }), el("div", { id: "story" })];
  document.getElementById("controls").append(...boxes);
  mountPreset(boxes[0], preset.props, preset.page);
  mountStory(boxes[1], story.props, story.page);
  effect(() => {
    const shown = Object.keys(stories).find((name) => recordingOf(name) === live.runId);
    if (!shown) return;
    preset.give(shown);
    story.give(stories[shown]);
  });
}
