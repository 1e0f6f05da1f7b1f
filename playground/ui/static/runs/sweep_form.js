// What a new sweep is to be: the form of the Train page as it stands or a preset, one or two settings with their
// values, and how many seeds. Before it is started the server says how many runs that are and how long they take.

import { buttonOf, el, menuOf, optionsOf, setOff, setText, showParts, withCode } from "../core/dom.js";
import { form, settings } from "../core/form.js";
import { answerOf } from "../core/server.js";
import { effect } from "../core/signals.js";
import { timeRange } from "../core/format.js";

const WAIT_MS = 300; // after the last key
const FORM = ""; // in the place of a preset: the form as it stands

/**
 * @typedef {{ preset: string, changes: number, text: string | null }} Settings the form as it stands
 * @typedef {Pick<Wire.Problem, "label" | "message">} Told
 */

/**
 * The sentence before the start; `told` is what was understood.
 * @param {Partial<Pick<Wire.SweepAnswer, "count" | "seconds" | "beside" | "told">>} plan
 */
export function messageOf({ count, seconds, beside, told = "" }) {
  const runs = `${count} ${count === 1 ? "run" : "runs"}`;
  const time = seconds ? `, ${timeRange(...seconds)} one after the other on this machine` : "";
  const queue = beside ? `, behind ${beside} that ${beside === 1 ? "waits" : "wait"} already` : "";
  return `${told ? `${told}. ` : ""}${runs}${time}${queue}.`;
}

/**
 * What the form as it stands is called: with its preset, and how much was changed.
 * @param {Pick<Settings, "preset" | "changes">} settings @param {Wire.SweepChoices["presets"]} presets
 */
export function formTitle({ preset, changes }, presets) {
  const [, title = preset.replace(/^run:/, "settings of ")] = presets.flatMap(([, items]) => items)
    .find(([name]) => name === preset) ?? [];
  const told = [title.replace(/^\d+\. /, ""), changes ? `${changes} ${changes === 1 ? "change" : "changes"}` : ""];
  return ["The form as it stands", told.filter(Boolean).join(", ")].filter(Boolean).join(": ");
}

/**
 * Why the form as it stands cannot be swept, as problems; none where it can.
 * @param {Pick<Settings, "text">} settings @param {Told[]} problems @returns {Told[]}
 */
export function formProblems({ text }, problems) {
  if (text === null) return [{ label: "", message: "The form of the Train page is still being filled." }];
  return problems.map(({ label, message }) => ({ label: label ? `On the Train page, ${label}` : "", message }));
}

export class SweepForm {
  /**
   * `offered` is what can be chosen (ui/runs/sweeps_part.py), `server` its functions, `started` hears the name of what
   * was started, `closed` that the form is away.
   * @param {HTMLElement} element
   * @param {Wire.SweepChoices} offered
   * @param {Page.Server} server
   * @param {{started: (name: string) => void, closed: () => void}} hears
   */
  constructor(element, offered, server, { started, closed }) {
    this.server = server;
    this.started = started;
    this.closed = closed;
    this.turn = 0;
    this.build(offered);
    element.append(this.root);
  }

  build(/** @type {Wire.SweepChoices} */ { presets, fields, values: words, first, seeds, most }) {
    const changed = { oninput: () => this.plan(WAIT_MS), onchange: () => this.plan(0) };
    const asItStands = el("option", { value: FORM });
    this.preset = el("select", changed, asItStands, presets.map(([title, items]) =>
      el("optgroup", { label: title }, optionsOf(items))));
    this.preset.value = FORM;
    this.fields = [0, 1].map((at) => {
      const values = el("input", { ...changed, type: "text", value: at ? "" : first.values, placeholder: "1, 2, 3",
        spellcheck: "false", autocomplete: "off", "aria-label": at ? "Values of the second setting" : "Values" });
      const field = menuOf([["", at ? "none" : "none: only the seed"], ...fields], { value: at ? "" : first.field,
        "aria-label": at ? "Second setting" : "Setting", onchange: () => {
          values.value = ""; // those of another setting mean nothing here
          values.placeholder = words[field.value] ?? (field.value ? "1, 2, 3" : "");
          this.plan(0);
        } });
      return { field, values };
    });
    this.seeds = el("input", { ...changed, type: "number", min: 1, max: most, value: seeds });
    this.name = el("input", { ...changed, type: "text", maxlength: 50, placeholder: "chosen for you",
      spellcheck: "false", autocomplete: "off" });
    this.told = el("p.sweep-told", { role: "status" });
    this.problems = el("ul.problem.sweep-problems", { role: "status" });
    this.go = buttonOf("button strong", { onclick: () => this.start() }, "Start sweep");
    const row = (/** @type {string} */ label, /** @type {HTMLElement} */ part) => el("label", el("span", label), part);
    this.root = el("section.panel.sweep-form", { "aria-label": "New sweep", hidden: true,
      onkeydown: (event) => {
        if (event.key === "Escape") this.open(false);
        if (event.key === "Enter" && event.target.tagName === "INPUT") this.start();
      } },
    el("h2", "New sweep"),
    el("p.muted", "Several runs that differ in one or two settings: every value of the first with every value of "
      + "the second, for each seed. They wait in the queue like other runs."),
    el("div.sweep-fields", row("What to vary", this.preset),
      ...this.fields.flatMap(({ field, values }, at) => [
        row(at ? "Second setting" : "Setting", field),
        row("Its values, separated by commas", values)]),
      row("Seeds", this.seeds), row("Name", this.name)),
    this.told, this.problems,
    el("div.buttons", this.go, buttonOf("button", { onclick: () => this.open(false) }, "Cancel")));
    effect(() => {
      setText(asItStands, formTitle(settings.value, presets));
      if (form.value && !this.root.hidden && this.preset.value === FORM) this.plan(0);
    });
  }

  /** Show the form, or put it away. */
  open(/** @type {boolean} */ shown) {
    this.root.hidden = !shown;
    if (!shown) return this.closed();
    this.plan(0);
    this.preset.focus();
  }

  asked() {
    const base = this.preset.value === FORM ? { preset: settings.value.preset, settings: settings.value.text }
      : { preset: this.preset.value };
    return { ...base, seeds: Number(this.seeds.value), name: this.name.value.trim(),
      vary: this.fields.map(({ field, values }) => ({ field: field.value, values: values.value })) };
  }

  problemsOfForm() {
    return this.preset.value === FORM ? formProblems(settings.value, form.value.problems) : [];
  }

  /** Ask what it would be, a moment after the last change. */
  plan(/** @type {number} */ wait) {
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      this.turn += 1;
      const mine = this.turn;
      const problems = this.problemsOfForm();
      const answer = problems.length ? { problems } : await answerOf(() => this.server.plan_sweep(this.asked()));
      if (mine === this.turn && !this.busy) this.show(answer);
    }, wait);
  }

  show(/** @type {Partial<Omit<Wire.SweepAnswer, "problems">> & { problems?: Told[] }} */ answer) {
    const { error, problems = [], count = 0 } = answer;
    const ready = !error && !problems.length && count > 0;
    setText(this.told, ready ? messageOf(answer) : "");
    const told = [...(error ? [{ label: "", message: error }] : []), ...problems];
    showParts(this.problems, told.map(({ label, message }) =>
      el("li", label ? `${label}: ` : null, withCode(message))));
    setOff(this.go, !ready);
  }

  async start() {
    if (this.busy) return;
    const problems = this.problemsOfForm();
    if (problems.length) return this.show({ problems });
    this.busy = true;
    setText(this.go, "Starting\u2026");
    this.turn += 1; // what is still on its way says no more
    const answer = await answerOf(() => this.server.start_sweep(this.asked()), "; look again before you repeat it.");
    this.busy = false;
    setText(this.go, "Start sweep");
    if (answer.error || answer.problems?.length) return this.show({ ...answer, count: 0 });
    this.name.value = "";
    this.open(false);
    this.started(answer.name);
  }
}
