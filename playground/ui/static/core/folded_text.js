// A text that the server has of a run, folded, and asked for when it is unfolded.

import { el, runTitle, setHidden, setText } from "./dom.js";
import { getText, runPath } from "./server.js";

export class FoldedText {
  /** `what` of a run, by its address; `last`: no more than so many lines. @param {string} title @param {string} what */
  constructor(title, what, last = Infinity) {
    this.what = what;
    this.last = last;
    this.run = /** @type {string | null} */ (null);
    this.text = el("pre.log", { tabindex: "0", "aria-label": title });
    this.root = el("details.folded-text", { hidden: true, ontoggle: () => this.load() }, el("summary", title),
      this.text);
  }

  /** Of a run by its id, or of none. @param {string | null} run */
  show(run) {
    setHidden(this.root, !run, runTitle());
    if (run === this.run) return;
    this.run = run;
    setText(this.text, "");
    this.load();
  }

  async load() {
    const { run, what, last, root } = this;
    if (!run || !root.open) return;
    const text = await getText(runPath(run, what), "This cannot be read right now.");
    if (run === this.run) setText(this.text, text.trimEnd().split("\n").slice(-last).join("\n"));
    this.text.scrollTop = last === Infinity ? 0 : this.text.scrollHeight;
  }
}
