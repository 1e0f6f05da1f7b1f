// The recordings that ship, on the Runs page as long as there is no run of one's own: each opens, and lies over the one
// that it is to be held against.

import { el, showParts } from "../core/dom.js";
import { experiments, recordingOf, stepOf } from "../core/experiments.js";
import { go, linkTo } from "../core/nav.js";
import { effect, signal } from "../core/signals.js";

/** Whether they are wanted. */
export const hasRuns = signal(true);

/** The part, hidden while there are runs. */
export function recordedPart() {
  const list = el("ul.recorded-list");
  const root = el("section.recorded-runs", { hidden: true, "aria-label": "Recorded examples" },
    el("h3", "Recorded examples"), list);
  effect(() => {
    const steps = experiments.value.filter(({ preset }) => recordingOf(preset));
    root.hidden = hasRuns.value || !steps.length;
    showParts(list, steps.map(lineOf));
  });
  return root;
}

/** @param {Wire.Step} step */
function lineOf({ preset, number, title, against, look }) {
  const run = recordingOf(preset);
  const earlier = stepOf(against);
  const overlay = [recordingOf(against), run];
  return el("li", { "data-key": preset },
    linkTo(`?run=${run}`, () => go({ page: "train", run }), `${number}. ${title}`, { class: "recorded-title" }),
    el("span.muted", look),
    earlier && overlay[0] ? linkTo(`?tab=runs&overlay=${overlay}`, () => go({ page: "runs", overlay }),
      `Overlay with ${earlier.number}`, { class: "quiet-button" }) : null);
}
