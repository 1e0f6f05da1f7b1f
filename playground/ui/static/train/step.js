// Under the status line of a run that belongs to the story: what to look for in it, and the way to the next one.

import { rights } from "../core/access.js";
import { el, runTitle, setHidden, showParts } from "../core/dom.js";
import { choosePreset, recordingOf, stepOf } from "../core/experiments.js";
import { go } from "../core/nav.js";

export class StepLine {
  constructor() {
    this.root = el("div", { class: "step", hidden: true });
  }

  /** @param {any} run @param {any} status */
  show(run, status) {
    const step = run && (run.recorded || status?.ended) ? stepOf(run.preset) : null;
    setHidden(this.root, !step, runTitle());
    if (step) showParts(this.root, [this.words(step, run), this.links(step, run)], runTitle());
  }

  /** Of a recording; somebody's own run may be about something else by now. */
  words(step, run) {
    const { earlier, look } = step;
    const against = earlier ? `Against ${earlier.number}, ${earlier.title}: ` : "Look for: ";
    const told = run.recorded ? [el("strong", {}, against), look] : [];
    return el("p", { "data-key": "look" }, el("span", { class: "muted" },
      `Experiment ${step.number} of ${step.of}. `), told);
  }

  links({ earlier, next }, run) {
    const before = earlier && recordingOf(earlier.preset);
    return el("div", { class: "step-links", "data-key": "links" },
      before ? overlayLink(before, run.id, `Lay it over ${earlier.number}, ${earlier.title}`) : null,
      next ? nextLink(next) : null);
  }
}

function overlayLink(before, run, text) {
  return el("a", { href: `?tab=runs&overlay=${before},${run}`, "data-key": `overlay ${before} ${run}`,
    onclick: (event) => here(event, () => go({ page: "runs", overlay: [before, run] })) }, text);
}

/** The next preset comes into the form and its recording into view; who has no form goes to its address. */
function nextLink({ preset, number, title }) {
  return el("a", { href: `?preset=${encodeURIComponent(preset)}`, "data-key": `next ${preset}`, class: "next",
    onclick: (event) => rights.value.form && here(event, () => {
      document.dispatchEvent(new CustomEvent("playground-use-preset", { detail: preset }));
      choosePreset(preset);
      scrollTo({ top: 0 });
    }) }, `Next experiment: ${number}, ${title} \u2192`);
}

/** A plain click stays in this document. */
function here(event, act) {
  if (event.metaKey || event.ctrlKey) return;
  event.preventDefault();
  act();
}
