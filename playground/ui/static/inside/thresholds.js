// From where on a lamp lights: every threshold with its usual value, to be changed for this page. They change no
// training; where one differs, the server is asked again what is lit by it.

import { buttonOf, el, setWords } from "../core/dom.js";
import { getJson, runPath } from "../core/server.js";
import { read, write } from "../core/knob.js";

export class Thresholds {
  /** `changed(lamps)` hears what is lit by other thresholds than the usual ones; null: by those. */
  constructor(changed) {
    this.changed = changed;
    this.values = {}; // those that differ
    this.seen = null; // the lamps of the live feed for which it was asked
    this.fields = new Map();
    this.grid = el("div.threshold-grid");
    this.note = el("p.problem", { role: "status" });
    this.reset = buttonOf("quiet-button", { hidden: true, onclick: () => this.set({}) }, "Back to the usual ones");
    this.root = el("details.thresholds", { "data-key": "thresholds", ontoggle: () => this.root.open && this.ask() },
      el("summary", "Thresholds"),
      el("p.muted", "From where on a lamp lights. They change what this page says, and no training."),
      this.grid, this.note, this.reset);
  }

  /** New lamps have come, or another run is in view. */
  follow({ runId, lamps }) {
    const other = runId !== this.runId;
    this.runId = runId;
    if (other) this.changed(null);
    if ((other || lamps !== this.seen) && Object.keys(this.values).length) this.ask();
    this.seen = lamps;
  }

  async ask() {
    const { runId } = this;
    if (!runId) return;
    try {
      const found = await getJson(`${runPath(runId, "lamps")}?${new URLSearchParams(this.values)}`);
      if (runId !== this.runId) return;
      if (found.problems) return setWords(this.note, found.problems.map(({ message }) => message).join(" "));
      setWords(this.note, "");
      this.show(found.thresholds);
      this.changed(Object.keys(this.values).length ? found.lamps : null);
    } catch (error) {
      setWords(this.note, error.message);
    }
  }

  show(thresholds) {
    for (const { name, words, usual, value } of thresholds) {
      if (!this.fields.has(name)) {
        const field = el("input", { type: "text", inputmode: "decimal", autocomplete: "off",
          onchange: () => this.set({ ...this.values, [name]: read(field.value) }) });
        this.fields.set(name, { field, usual });
        this.grid.append(el("label", el("span", words), field));
      }
      const { field } = this.fields.get(name);
      if (document.activeElement !== field) field.value = write(value);
      field.classList.toggle("differs", value !== usual);
    }
    this.reset.hidden = !Object.keys(this.values).length;
  }

  set(values) {
    this.values = Object.fromEntries(Object.entries(values)
      .filter(([name, value]) => value !== "" && value !== this.fields.get(name).usual));
    this.ask();
  }
}
