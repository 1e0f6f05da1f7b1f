// Under the status line of a run that belongs to the story: what to look for in it, and the way to the next one.

import { rights } from "../core/access.js";
import { el } from "../core/dom.js";
import { choosePreset, recordingOf, stepOf } from "../core/experiments.js";
import { go, linkTo } from "../core/nav.js";

/** The parts of that line; null where the run is no part of the story, or has not ended. */
export function stepParts(run, status) {
  const step = run && (run.recorded || status?.ended) ? stepOf(run.preset) : null;
  if (!step) return null;
  const { earlier, next, look, number, of } = step;
  const against = earlier ? `Against ${earlier.number}, ${earlier.title}: ` : "Look for: ";
  const before = earlier && recordingOf(earlier.preset);
  return [
    // what to look for in a recording; somebody's own run may be about something else by now
    el("p", { "data-key": "look" }, el("span.muted", `Experiment ${number} of ${of}. `),
      run.recorded ? [el("strong", against), look] : []),
    el("div.step-links", { "data-key": "links" },
      before ? linkTo(`?tab=runs&overlay=${before},${run.id}`, () => go({ page: "runs", overlay: [before, run.id] }),
        `Lay it over ${earlier.number}, ${earlier.title}`) : null,
      next ? nextLink(next) : null)];
}

/** The next preset comes into the form and its recording into view; who has no form goes to its address. */
function nextLink({ preset, number, title }) {
  const address = `?preset=${encodeURIComponent(preset)}`;
  return linkTo(address, () => {
    if (!rights.value.form) return location.assign(address);
    document.dispatchEvent(new CustomEvent("playground-use-preset", { detail: preset }));
    choosePreset(preset);
    scrollTo({ top: 0 });
  }, `Next experiment: ${number}, ${title} \u2192`, { class: "next" });
}
