// What if: gamma, lambda, beta and clip range of a recorded update as sliders. The model service computes the update
// again with them, by the same functions as training; here they are only asked for.

import { rights } from "../core/access.js";
import { buttonOf, el, setHidden, setText } from "../core/dom.js";
import { knobControls, write } from "../core/knob.js";

const EXPLAINED = "The same tokens, scores and values, rewarded and credited in another way. What the model did stays "
  + "as it was: what it wrote, the ratios of each step, the gradient norms. The first question takes a few seconds.";
/** @param {number} kept @param {number} all */
const PARTLY = (kept, all) => ` Whitened over the ${kept} of ${all} episodes that were kept.`;
const DISCOUNTS = ["gamma", "gae_lambda"]; // without a critic nothing is discounted

export class WhatIf {
  /** `ask()` is called when somebody has set something. */
  constructor(/** @type {() => void} */ ask) {
    this.ask = ask;
    this.asked = /** @type {Record<string, string>} */ ({});
    this.knobs = /** @type {ReturnType<typeof knobControls>} */ (null); // until the first trace says which there are
    this.words = el("p.muted", EXPLAINED);
    this.grid = el("div.live-grid");
    this.reset = buttonOf("button", { hidden: true, onclick: () => {
      this.forget();
      this.ask();
      this.title.focus();
    } }, "Back to what was recorded");
    this.title = el("summary", "What if: another gamma, lambda, beta or clip range");
    this.root = el("details.folded.what-if", this.title, this.words, this.grid, this.reset);
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

  show(/** @type {Wire.Trace} */ { settings, recorded, changed, batch, no_what_if: refused, knobs }) {
    setText(this.words, refused || `${EXPLAINED}${batch.complete ? "" : PARTLY(batch.kept, batch.episodes)}`);
    this.root.hidden = rights.value.measure === false; // it takes the model service
    setHidden(this.grid, Boolean(refused), this.title);
    setHidden(this.reset, !changed, this.title);
    this.knobs ??= this.build(knobs);
    for (const [field, control] of this.knobs) {
      const name = /** @type {keyof Wire.WhatIf} */ (field);
      control.setMark(recorded[name]);
      control.show(settings[name]);
      control.root.hidden = settings.baseline !== "value" && DISCOUNTS.includes(name);
    }
  }

  build(/** @type {Wire.TraceKnob[]} */ knobs) {
    const plain = knobs.map((knob) => ({ ...knob, field: knob.name, low: "", high: "" }));
    const controls = knobControls(plain, "what-if", "recorded", (name, value) => {
      if (typeof value !== "number") return;
      this.asked = { ...this.asked, [name]: write(value) };
      this.ask();
    });
    this.grid.append(...[...controls.values()].map(({ root }) => el("div.live-field", root)));
    return controls;
  }
}
