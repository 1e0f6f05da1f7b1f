// All settings of the run in view, for those who have no form to see settings in: the configuration as it is exported.

import { el, setText } from "../core/dom.js";
import { getText, runPath } from "../core/server.js";

export class AllSettings {
  constructor() {
    this.run = null;
    this.text = el("pre.written-down", { tabindex: "0", "aria-label": "All settings" });
    this.root = el("details.all-settings", { hidden: true, ontoggle: () => this.load() },
      el("summary", "All settings of this run"), this.text);
  }

  /** @param {string | null} run its id */
  show(run) {
    this.root.hidden = !run;
    if (run === this.run) return;
    this.run = run;
    setText(this.text, "");
    this.load();
  }

  async load() {
    const { run } = this;
    if (!run || !this.root.open || this.text.textContent) return;
    const text = await getText(runPath(run, "export/yaml"), "They cannot be read right now.");
    if (run === this.run) setText(this.text, text);
  }
}
