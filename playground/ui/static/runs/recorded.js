// The recordings that ship, on the Runs page, folded once there are runs of one's own: each opens, and lies over the
// one that it is to be held against.

import { el, showParts } from "../core/dom.js";
import { experiments, recordingOf, stepOf } from "../core/experiments.js";
import { go, linkTo } from "../core/nav.js";
import { alike, effect, signal } from "../core/signals.js";

/** How they are shown: not to those who only watch, and unfolded where there are no runs of one's own. */
export const shownAs = signal({ hidden: true, open: false }, alike);

export function recordedPart() {
  const list = el("ul.recorded-list");
  const root = el("details.recorded-runs", { hidden: true }, el("summary", "Recorded examples"), list);
  effect(() => {
    const steps = experiments.value.filter(({ preset }) => recordingOf(preset));
    root.hidden = shownAs.value.hidden || !steps.length;
    root.open = shownAs.value.open;
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
