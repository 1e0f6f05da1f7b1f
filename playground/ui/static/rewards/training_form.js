// The form of "Train a reward model": what to learn from and with, and what is wrong with it.

import { el, menuOf, setOff, setText, setWords, withCode } from "../core/dom.js";
import { knobControls } from "../core/knob.js";

const OTHER = "other"; // the choice that opens a text field

/**
 * @typedef {import("../core/knob.js").Entered} Entered
 * @typedef {Record<string, Entered>} Values
 */

export class TrainingForm {
  /** @param {Wire.RewardForm} form @param {(values: Values & { name: string }) => void} start */
  constructor(form, start) {
    this.form = form;
    this.names = /** @type {string[]} */ ([]);
    this.takenAt = 0; // when the upload that is shown was taken
    this.touched = false; // the name was typed by a person
    this.starting = false; // a start was asked for and has not been answered
    this.living = /** @type {string | null} */ (null); // the name of the one in training
    this.makeChoices(form);
    this.makeKnobs([...form.first, ...form.more]);
    this.button = el("button.button.strong", { type: "submit" }, "Train");
    this.problems = el("ul.problems", { role: "alert" });
    const numbers = (/** @type {Wire.Knob[]} */ knobs) => knobs.map(({ field }) => this.controls.get(field).root);
    this.root = el("form.reward-form", { onsubmit: (event) => {
      event.preventDefault();
      if (!this.starting && !this.living) start(this.values());
    } },
      row("Preference pairs", this.pairs, this.pairsHelp), this.sourceRow,
      row("Base model", this.base, help("The model to start from; a single number replaces its language head."),
        this.baseSource),
      numbers(form.first),
      el("details.folded", el("summary", "More settings"), numbers(form.more),
        row("Prompt format", this.template, help(withCode(form.help.template))),
        el("label.own.check", this.lora,
          el("span", "LoRA: train small matrices beside the frozen weights"))),
      row("Name", this.name, help(withCode(form.help.name))),
      this.problems, this.button);
    this.changed();
  }

  makeChoices(/** @type {Wire.RewardForm} */ form) {
    /** @param {string} id @param {Page.Attributes<HTMLInputElement>} attributes */
    const text = (id, attributes) => el("input", { type: "text", id, spellcheck: "false", ...attributes });
    const changed = () => this.changed();
    this.pairs = menuOf([...form.annotators.map(({ name, label }) => [name, `${label} (pocket world)`]),
      [OTHER, "A file or a dataset"]], { id: "reward-pairs", onchange: changed });
    this.pairsHelp = help("");
    this.source = text("reward-source", { placeholder: "/path/pairs.jsonl or owner/name", oninput: changed });
    this.uploadPlace = el("div.upload-place");
    this.uploadedNote = el("p.help", { role: "status" });
    this.sourceRow = row("Path of a file, or id of a dataset", this.source, this.uploadPlace, this.uploadedNote,
      help("JSON lines, or a table, with prompt, chosen and rejected; or whole dialogues in chosen and rejected."));
    this.base = menuOf([...form.bases.map(({ name, label, size }) => [name, `${label}, ${size.split(",")[0]}`]),
      [OTHER, "Another model"]], { id: "reward-base", value: form.base, onchange: changed });
    this.baseSource = text("reward-base-source",
      { placeholder: "owner/name or a model folder", "aria-label": "Base model" });
    /** @type {HTMLInputElement} */
    this.name = text("reward-name", { oninput: () => { this.touched = this.name.value !== ""; } });
    this.template = menuOf(form.templates.map((name) => [name, name]), { id: "reward-template" });
    this.lora = el("input", { type: "checkbox", id: "reward-lora" });
  }

  makeKnobs(/** @type {Wire.Knob[]} */ knobs) {
    this.knobs = knobs;
    this.numbers = Object.fromEntries(knobs.map((knob) => [knob.field, /** @type {Entered} */ (knob.default ?? "")]));
    /** @type {ReturnType<typeof knobControls>} */
    this.controls = knobControls(knobs, "reward", "default", (field, value) => {
      this.numbers[field] = value;
      this.controls.get(field).show(value);
    });
    for (const [field, control] of this.controls) {
      control.setMark(this.numbers[field]);
      control.show(this.numbers[field]);
    }
  }

  /** What depends on another choice is shown or hidden. */
  changed() {
    const other = this.pairs.value === OTHER;
    this.sourceRow.hidden = !other;
    const annotator = this.form.annotators.find((item) => item.name === this.pairs.value);
    setText(this.pairsHelp, annotator ? `${annotator.help} It judges pairs written by a pocket model.` : "");
    this.baseSource.hidden = this.base.value !== OTHER;
    for (const { field, pocket } of this.knobs) {
      this.controls.get(field).root.hidden = (pocket && other)
        || (field === "pairs.majority" && this.pairs.value !== "divided");
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

  know(/** @type {Wire.RewardModels} */ overview, /** @type {string[]} */ names) {
    const changed = names.join() !== this.names.join();
    this.names = names;
    if (changed && document.activeElement !== this.name) this.propose();
    this.living = overview.living;
    this.showButton();
  }

  values() {
    return {
      "pairs.source": this.pairs.value === OTHER ? this.source.value.trim() : this.pairs.value,
      base: this.base.value === OTHER ? this.baseSource.value.trim() : this.base.value,
      name: this.name.value.trim(),
      template: this.template.value,
      "adapter.kind": this.lora.checked ? "lora" : "none",
      ...this.numbers,
    };
  }

  /** A start was asked for, or answered: then with the name of what is in training now. */
  setStarting(/** @type {boolean} */ starting, /** @type {string | null} */ living) {
    this.starting = starting;
    this.living = living;
    if (living) this.touched = false; // a name for the next one is proposed
    this.showButton();
  }

  showButton() {
    setText(this.button, this.starting ? "Starting\u2026" : this.living ? `${this.living} is being trained` : "Train");
    setOff(this.button, this.starting || Boolean(this.living));
  }

  tell(/** @type {Wire.Problem[]} */ problems) {
    /** @type {Record<string, string>} */
    const labels = { ...Object.fromEntries(this.knobs.map(({ field, label }) => [field, label])),
      "pairs.source": "Preference pairs", base: "Base model", name: "Name", template: "Prompt format" };
    this.problems.replaceChildren(...problems.map(({ field, message }) =>
      el("li.problem", field ? el("strong", `${labels[field] ?? field}: `) : null,
        withCode(message))));
  }

  uploaded(/** @type {Wire.UploadedPairs | null} */ value) {
    if (!value || value.at === this.takenAt) return;
    this.takenAt = value.at;
    this.sayOfUpload(value.problem || value.sentence || "", Boolean(value.problem));
    if (value.uploaded) {
      this.tell([]);
      this.source.value = value.uploaded;
      this.changed();
    }
  }

  sayOfUpload(/** @type {string} */ sentence, /** @type {boolean} */ isProblem) {
    const kept = isProblem && this.source.value ? " The pairs are still those of the path above." : "";
    this.uploadedNote.classList.toggle("field-problem", isProblem);
    setWords(this.uploadedNote, sentence + kept);
  }
}

function help(/** @type {Page.Child[]} */ ...words) {
  return el("p.help", words);
}

/** @param {string} label @param {HTMLElement} control @param {Page.Child[]} more */
function row(label, control, ...more) {
  return el("div.own", el("label", { for: control.id }, label), control, more);
}
