// The way from a run that belongs to the story to the next experiment.

import { rights } from "../core/access.js";
import { el } from "../core/dom.js";
import { choosePreset, stepOf } from "../core/experiments.js";
import { linkTo, place } from "../core/nav.js";

/**
 * The parts of that line; null where the run is no part of the story, or has not ended.
 * @param {Wire.Run | null} run @param {Page.Status | null} status
 */
export function stepParts(run, status) {
  const step = run && (run.recorded || status?.ended) ? stepOf(run.preset) : null;
  if (!step) return null;
  // who has a form reads there what to look for
  return [rights.value.form ? null : el("span", { "data-key": "look" }, el("strong", "Look for: "), step.look),
    step.next ? nextLink(step.next) : null].filter(Boolean);
}

/**
 * The next preset comes into the form and its recording into view; who has no form goes to its address.
 * @param {Wire.Step} step
 */
function nextLink({ preset, number, title }) {
  const address = `?preset=${encodeURIComponent(preset)}${place().present ? "&view=presentation" : ""}`;
  return linkTo(address, () => {
    if (!rights.value.form) return location.assign(address);
    document.dispatchEvent(new CustomEvent("playground-use-preset", { detail: preset }));
    choosePreset(preset);
    scrollTo({ top: 0 });
  }, [`Next: ${number}`, el("span.next-title", `, ${title}`), " \u2192"], { class: "next" });
}
