// The form of "Train a reward model": what to learn from and with, and what is wrong with it.

import { el, setAttribute, setText, setWords, withCode } from "../core/dom.js";
import { knobControl } from "../core/knob.js";

const OTHER = "other"; // the choice that opens a text field

export class TrainingForm {
  constructor(form, start) {
    this.form = form;
    this.knobs = [];
    this.names = [];
    this.takenAt = 0; // when the upload that is shown was taken
    this.touched = false; // the name was typed by a person
    this.starting = false; // a start was asked for and has not been answered
    this.living = null; // the name of the one in training
    const option = (value, label) => el("option", { value }, label);
    this.pairs = el("select", { id: "reward-pairs", onchange: () => this.changed() },
      form.annotators.map((item) => option(item.name, `${item.label} (pocket world)`)),
        option(OTHER, "A file or a dataset"));
    this.pairsHelp = el("p", { class: "help" });
    this.source = el("input", { type: "text", id: "reward-source", spellcheck: "false",
      placeholder: "/path/pairs.jsonl or owner/name", oninput: () => this.changed() });
    this.uploadPlace = el("div", { class: "upload-place" });
    this.uploadedNote = el("p", { class: "help", role: "status" });
    this.sourceRow = el("div", { class: "own" },
      el("label", { for: "reward-source" }, "Path of a file, or id of a dataset"), this.source, this.uploadPlace,
      this.uploadedNote,
      el("p", { class: "help" },
        "Lines of JSON or a table with prompt, chosen and rejected; or whole dialogues in chosen and rejected."));
    this.base = el("select", { id: "reward-base", onchange: () => this.changed() },
      form.bases.map((item) => option(item.name, `${item.label}, ${item.size.split(",")[0]}`)),
        option(OTHER, "Another model"));
    this.base.value = form.base;
    this.baseSource = el("input", { type: "text", id: "reward-base-source", spellcheck: "false",
      placeholder: "owner/name or a model folder", "aria-label": "Base model" });
    this.name = el("input", { type: "text", id: "reward-name", spellcheck: "false",
      oninput: () => { this.touched = this.name.value !== ""; } });
    this.template = el("select", { id: "reward-template" }, form.templates.map((item) => option(item, item)));
    this.lora = el("input", { type: "checkbox", id: "reward-lora" });
    this.button = el("button", { type: "submit", class: "button strong" }, "Train");
    this.problems = el("ul", { class: "problems", role: "alert" });
    this.beside = el("p", { class: "help" });
    this.root = el("form", { class: "reward-form", onsubmit: (event) => {
      event.preventDefault();
      if (!this.starting && !this.living) start(this.values());
    } },
      row("Preference pairs", this.pairs, this.pairsHelp), this.sourceRow,
      row("Base model", this.base, el("p", { class: "help" },
        "Becomes the reward model: its language head is replaced by one number."), this.baseSource),
      form.first.map((knob) => this.number(knob)),
      el("details", { class: "folded" }, el("summary", {}, "More settings"), form.more.map((knob) => this.number(knob)),
        row("Template", this.template, el("p", { class: "help" }, withCode(form.help.template))),
        el("label", { class: "own check" }, this.lora,
          el("span", {}, "LoRA: train small matrices beside the frozen weights"))),
      row("Name", this.name, el("p", { class: "help" }, withCode(form.help.name))),
      this.problems, this.button, this.beside);
    this.changed();
  }

  number(knob) {
    const item = { knob, value: knob.default ?? "" };
    item.control = knobControl(knob, `reward-${knob.field.replaceAll(".", "-")}`,
      { markWord: "default", onEdit: (value) => {
      item.value = value;
      item.control.show(value);
    } });
    item.control.setMark(knob.default ?? "");
    item.control.show(item.value);
    this.knobs.push(item);
    return item.control.root;
  }

  /** What depends on another choice is shown or hidden. */
  changed() {
    const other = this.pairs.value === OTHER;
    this.sourceRow.hidden = !other;
    const annotator = this.form.annotators.find((item) => item.name === this.pairs.value);
    setText(this.pairsHelp, annotator ? `${annotator.help} It judges pairs that a pocket model writes.` : "");
    this.baseSource.hidden = this.base.value !== OTHER;
    for (const { knob, control } of this.knobs) {
      control.root.hidden = (knob.pocket && other)
        || (knob.field === "pairs.majority" && this.pairs.value !== "divided");
    }
    this.propose();
  }

  /** A free name, as long as the person has typed none. */
  propose() {
    if (this.touched) return;
    const stem = (this.pairs.value === OTHER ? this.source.value.split("/").at(-1).split(".")[0] : this.pairs.value)
      .toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 50) || "my-judge";
    let name = stem;
    for (let count = 2; this.names.includes(name); count += 1) name = `${stem}-${count}`;
    this.name.value = name;
  }

  know(overview, names) {
    const changed = JSON.stringify(names) !== JSON.stringify(this.names);
    this.names = names;
    if (changed && document.activeElement !== this.name) this.propose();
    this.living = overview.living;
    this.showButton();
    setText(this.beside, overview.run && !overview.living
      ? "A PPO run is on. Both work beside each other, each more slowly." : "");
  }

  values() {
    const values = {
      "pairs.source": this.pairs.value === OTHER ? this.source.value.trim() : this.pairs.value,
      base: this.base.value === OTHER ? this.baseSource.value.trim() : this.base.value,
      name: this.name.value.trim(),
      template: this.template.value,
      "adapter.kind": this.lora.checked ? "lora" : "none",
    };
    for (const { knob, value } of this.knobs) values[knob.field] = value;
    return values;
  }

  /** A start was asked for, or answered: then with the name of what is in training now. */
  setStarting(starting, living) {
    this.starting = starting;
    this.living = living;
    if (living) this.touched = false; // a name for the next one is proposed
    this.showButton();
  }

  showButton() {
    setText(this.button, this.starting ? "Starting\u2026" : this.living ? `${this.living} is in training` : "Train");
    // not `disabled`, which would take the focus away
    setAttribute(this.button, "aria-disabled", String(this.starting || Boolean(this.living)));
  }

  tell(problems) {
    const labels = Object.fromEntries(this.knobs.map(({ knob }) => [knob.field, knob.label]));
    Object.assign(labels, { "pairs.source": "Preference pairs", base: "Base model", name: "Name",
      template: "Template" });
    this.problems.replaceChildren(...problems.map(({ field, message }) =>
      el("li", { class: "problem" }, field ? el("strong", {}, `${labels[field] ?? field}: `) : null,
        withCode(message))));
  }

  uploaded(value) {
    if (!value || value.at === this.takenAt) return;
    this.takenAt = value.at;
    if (value.problem) this.tell([{ field: "pairs.source", message: value.problem }]);
    setWords(this.uploadedNote, value.sentence ?? "");
    if (value.uploaded) {
      this.tell([]);
      this.source.value = value.uploaded;
      this.changed();
    }
  }
}

function row(label, control, ...more) {
  return el("div", { class: "own" }, el("label", { for: control.id }, label), control, more);
}
