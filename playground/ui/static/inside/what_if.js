// What if: gamma, lambda, beta and clip range of a recorded update as sliders. The server computes the update again
// with them, by the same functions as training; here they are only asked for.

import { buttonOf, el, setHidden, setText } from "../core/dom.js";
import { knobControl, write } from "../core/knob.js";

const EXPLAINED = "The same tokens, scores and values, paid and credited in another way. What the model did stays as "
  + "it was: what it wrote, the ratios of each step, the gradient norms.";
const PARTLY = (kept, all) => ` Whitened over the ${kept} of ${all} episodes that were kept.`;

export class WhatIf {
  /** `ask()` is called when somebody has set something. */
  constructor(ask) {
    this.ask = ask;
    this.asked = {};
    this.knobs = new Map();
    this.words = el("p", { class: "muted" }, EXPLAINED);
    this.grid = el("div", { class: "live-grid" });
    this.reset = buttonOf("button", { hidden: true, onclick: () => {
      this.forget();
      this.ask();
      this.title.focus();
    } }, "Back to what was recorded");
    this.title = el("summary", {}, "What if: another gamma, lambda, beta or clip range");
    this.root = el("details", { class: "folded what-if" }, this.title, this.words, this.grid, this.reset);
  }

  /** Nothing is asked any more. */
  forget() {
    this.asked = {};
  }

  /** What is asked, as the end of an address. */
  query() {
    const pairs = new URLSearchParams(this.asked).toString();
    return pairs && `?${pairs}`;
  }

  show(trace) {
    const { settings, recorded, batch, no_what_if: refused, knobs } = trace;
    setText(this.words, refused || `${EXPLAINED}${batch.complete ? "" : PARTLY(batch.kept, batch.episodes)}`);
    setHidden(this.grid, Boolean(refused), this.title);
    setHidden(this.reset, !trace.changed, this.title);
    for (const knob of knobs) this.knobOf(knob, settings.baseline).show(settings[knob.name]);
    for (const [name, control] of this.knobs) control.setMark(recorded[name]);
  }

  knobOf(knob, baseline) {
    const known = this.knobs.get(knob.name);
    const used = baseline === "value" || !["gamma", "gae_lambda"].includes(knob.name);
    const control = known ?? knobControl({ ...knob, low: "", high: "" }, `what-if-${knob.name}`, {
      markWord: "recorded",
      onEdit: (value) => {
        if (typeof value !== "number") return;
        this.asked = { ...this.asked, [knob.name]: write(value) };
        this.ask();
      } });
    if (!known) {
      this.knobs.set(knob.name, control);
      this.grid.append(el("div", { class: "live-field" }, control.root));
    }
    control.root.hidden = !used; // without a critic nothing is discounted
    return control;
  }
}
