// Fills the form with the settings of a run or of a preset, for whichever part of the page asks for it: an alert's
// remedy, a run that has ended, the list of runs, the next experiment. Where it was asked for, the training starts too.

import { runTitle } from "../core/dom.js";
import { form } from "../core/form.js";
import { go } from "../core/nav.js";

let starts = false; // once the form is filled

/** @param {Element} element @param {{ value: unknown }} props @param {Page.Tools} page */
export function mount(element, props, { trigger }) {
  const fill = (/** @type {object} */ wanted) => {
    props.value = { ...wanted, at: Date.now() };
    trigger("input");
  };
  document.addEventListener("playground-use-settings", ({ detail: { start = false, ...wanted } }) => {
    starts = start;
    fill(wanted);
    go({ page: "train" });
    document.body.classList.toggle("drawer-open", !start);
  });
  document.addEventListener("playground-use-preset", (event) => fill({ preset: event.detail }));
}

/** The values have arrived. What keeps them from being trained stands in the form. */
export function filled() {
  if (!starts) return;
  starts = false;
  requestAnimationFrame(() => setTimeout(() => { // in which the parts of the page hear of them
    const start = document.getElementById("start");
    if (form.value.problems.length) document.body.classList.add("drawer-open");
    else start.click();
    (form.value.problems.length ? start : runTitle())?.focus({ preventScroll: true });
  }));
}
