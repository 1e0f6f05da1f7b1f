// Fills the form with the settings of a run or of a preset, for whichever part of the page asks for it: an alert's
// remedy, a run that has ended, the list of runs, the next experiment.

import { go } from "../core/nav.js";

/** @param {Element} element @param {{ value: unknown }} props @param {Page.Tools} page */
export function mount(element, props, { trigger }) {
  const fill = (/** @type {object} */ wanted) => {
    props.value = { ...wanted, at: Date.now() };
    trigger("input");
  };
  document.addEventListener("playground-use-settings", (event) => {
    fill(event.detail);
    go({ page: "train" });
    document.body.classList.add("drawer-open");
  });
  document.addEventListener("playground-use-preset", (event) => fill({ preset: event.detail }));
}
