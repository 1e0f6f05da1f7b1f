// Below a step of slow motion: the lines of examples/minimal_rlhf.py that compute it, unfolded where they are wanted.
// They stay unfolded from step to step.

import { el, setText } from "../core/dom.js";
import { MINIMAL } from "./minimal_code.js";

/** @typedef {keyof typeof MINIMAL} StepKey */

export class MinimalPart {
  constructor() {
    this.name = el("code");
    this.lines = el("pre");
    this.root = el("details.folded.slow-minimal",
      el("summary", "In one file: ", this.name, " of examples/minimal_rlhf.py"), this.lines);
  }

  /**
   * Show a step's lines, where that file computes the step as this run did: with a critic, and the KL as k1.
   * @param {Wire.Trace} trace @param {string} key
   */
  show({ settings }, key) {
    this.root.hidden = settings.baseline !== "value" || (key === "leash" && settings.estimator !== "k1");
    const { function: name, lines } = MINIMAL[/** @type {StepKey} */ (key)];
    setText(this.name, name);
    setText(this.lines, lines.join("\n"));
  }
}
