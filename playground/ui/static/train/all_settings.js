// All settings of the run in view, for those who have no form to see settings in: the configuration as it is exported.

import { el, runPath, setText, url } from "../core/dom.js";

export class AllSettings {
  constructor() {
    this.run = null;
    this.text = el("pre", { class: "written-down", tabindex: "0", "aria-label": "All settings" });
    this.root = el("details", { class: "all-settings", hidden: true, ontoggle: () => this.load() },
      el("summary", {}, "All settings of this run"), this.text);
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
    let text;
    try {
      text = await (await fetch(url(runPath(run, "export/yaml")))).text();
    } catch {
      text = "They cannot be read right now.";
    }
    if (run === this.run) setText(this.text, text);
  }
}
