// The wide editor of an expression or a Python reward: as wide as the page, and beside the text what it says of 8 texts
// that the model of the form writes before any training. Written.js opens it; what is written goes back there at once.

import { buttonOf, el, figureOf, headOf, setAttribute, setOff, setText, setWords, tableOf } from "../core/dom.js";
import { capital, number } from "../core/format.js";
import { effect } from "../core/signals.js";
import { writing } from "./lists.js";
import { functionList, problemParts } from "./written.js";

const PAUSE = 400; // milliseconds without a key before the server is asked what is wrong
/** @type {Record<string, number>} */
const LINES = { expression: 5, code: 12 };
const INDENT = "    ";

/** @param {Element} element @param {{ value: unknown }} props @param {Page.Tools} tools */
export function mount(element, props, { trigger, watch }) {
  const editor = new Editor((reward) => {
    props.value = { state: "asked", reward, at: Date.now() };
    trigger("input");
  });
  watch("value", () => editor.take(/** @type {Wire.Bench} */ (props.value)));
  effect(() => {
    if (writing.value) editor.open(writing.value);
  });
}

class Editor {
  /** `ask(reward)`: score the texts by it; what is found comes through `take`. */
  constructor(/** @type {(reward: Wire.Reward) => void} */ ask) {
    this.ask = ask;
    this.asking = false;
    this.waiting = 0;
    this.title = el("h2");
    this.box = el("textarea.written", { spellcheck: "false", autocapitalize: "off", autocomplete: "off",
      oninput: () => this.written(), onkeydown: (event) => this.indent(event) });
    this.wrong = el("p.own-problem", { role: "status" });
    this.button = buttonOf("button strong", { onclick: () => this.tryIt() }, "Try it on 8 real texts");
    this.line = el("p.muted.small-text", { role: "status" });
    this.table = el("div", { hidden: true });
    this.functions = el("div");
    this.help = el("details.folded", el("summary", "What an expression can use"), this.functions);
    this.dialog = el("dialog.confirm.editor", { "aria-label": "Wide editor", onclose: () => this.closed() },
      this.title, this.box, this.wrong, el("div.buttons", this.button,
        buttonOf("button", { onclick: () => this.dialog.close() }, "Back to the form")), this.line, this.table,
      this.help);
    document.body.append(this.dialog);
  }

  open(/** @type {import("./lists.js").Subject} */ subject) {
    this.subject = subject;
    const { field, text, functions, trying } = subject;
    setText(this.title, field.label);
    this.box.rows = LINES[field.name] ?? field.lines;
    this.box.value = text;
    setAttribute(this.box, "aria-label", field.label);
    this.code = field.name === "code";
    this.help.hidden = this.code;
    this.functions.replaceChildren(...(this.code ? [] : [functionList(functions)]));
    this.forget();
    this.dialog.showModal();
    this.box.focus();
    this.check();
    if (trying) this.tryIt();
  }

  closed() {
    clearTimeout(this.waiting);
    this.subject.done();
    writing.value = null;
  }

  /** What was found is of another text by now. */
  forget() {
    setText(this.line, this.asking ? "Still scoring with the text as it was; one moment\u2026"
      : "The untrained model of the form answers its prompts, and this scores the answers. Nothing is trained.");
    this.line.classList.remove("problem");
    this.table.hidden = true;
  }

  written() {
    this.subject.write(this.box.value);
    this.forget();
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.check(), PAUSE);
  }

  /** A new line of code begins where the one before it began, and further right after a colon. */
  indent(/** @type {KeyboardEvent} */ event) {
    if (!this.code || event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    const { value, selectionStart: start, selectionEnd: end } = this.box;
    const line = value.slice(value.lastIndexOf("\n", start - 1) + 1, start);
    const margin = /^ */.exec(line)[0] + (line.trimEnd().endsWith(":") ? INDENT : "");
    this.box.setRangeText(`\n${margin}`, start, end, "end");
    this.written();
  }

  async check() {
    const text = this.box.value;
    const found = await Promise.resolve(this.subject?.problem()).catch(() => "");
    if (this.box.value !== text) return;
    this.wrong.replaceChildren(...problemParts(found));
    setAttribute(this.box, "aria-invalid", String(Boolean(found)));
  }

  tryIt() {
    if (this.asking) return;
    this.subject.done();
    this.setAsking(true);
    setText(this.line, "Loading the model; the first time takes a few seconds\u2026");
    this.line.classList.remove("problem");
    this.tried = this.box.value;
    this.ask(this.subject.reward());
  }

  setAsking(/** @type {boolean} */ asking) {
    this.asking = asking;
    setOff(this.button, asking);
  }

  /** A new state from the server. */
  take(/** @type {Partial<Wire.Bench>} */ value) {
    const { state, phase = "", problems = [] } = value ?? {};
    if (state === "asking") setText(this.line, `${capital(phase)}\u2026`);
    if (state !== "done" && state !== "error") return;
    this.setAsking(false);
    if (this.box.value !== this.tried) return this.forget();
    this.table.hidden = state === "error";
    this.line.classList.toggle("problem", state === "error");
    if (state === "error") setWords(this.line, problems.join(" "));
    else this.showFound(value);
  }

  showFound(/** @type {Partial<Wire.Bench>} */ { samples, reference, names, about }) {
    const scores = reference[names[0]];
    const known = scores.filter((score) => score !== null);
    const alike = known.length > 1 && new Set(known).size === 1;
    setText(this.line, `${samples.length} texts by the untrained ${about.model} on ${about.prompts}, each with this `
      + `reward's score before weight and scale.${alike ? " All scores are the same: nothing can be learned from it."
        : known.length ? "" : " It has no opinion on any of them."}`);
    this.line.classList.toggle("problem", alike || !known.length);
    this.table.replaceChildren(tableOf("tried", [headOf("Score", "figure"), "Prompt and completion"],
      samples.map(({ prompt, completion }, index) => [
        figureOf(scores[index] === null ? "no opinion" : number(scores[index])),
        el("td.output", el("span.muted", prompt), completion)])));
  }
}
