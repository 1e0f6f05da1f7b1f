// The boxes of the reward picker in which a person writes an expression or code, and the list of what an expression can
// use.

import { el, withCode } from "../core/dom.js";

/** @typedef {() => Promise<string>} Ask */

const PAUSE = 400; // milliseconds without a key before the server is asked

export class WrittenBox {
  /**
   * A box of several lines. `changed(value)` hears of it in the pauses of writing, `problem()` then says what is wrong
   * where nobody else does.
   * @param {Wire.RewardField} field @param {string} key
   * @param {{ changed: (value: string) => void, problem: Ask }} hears
   */
  constructor(field, key, { changed, problem }) {
    this.changed = changed;
    this.problem = problem;
    this.waiting = 0;
    this.wrong = el("p.own-problem", { role: "status" });
    this.box = el("textarea.written", { rows: field.lines, placeholder: field.hint, spellcheck: "false",
      autocapitalize: "off", autocomplete: "off", "data-key": key, oninput: () => this.soon(),
      onchange: () => this.tellNow() });
    this.root = el("div", { "data-key": `${key} box` }, el("label.own", field.label, this.box), this.wrong);
  }

  /** The value as it is now: what is being written stays. Returns the part. */
  take(/** @type {string} */ value) {
    if (!this.waiting && this.box.value !== value) {
      this.box.value = value;
      this.ask();
    }
    return this.root;
  }

  soon() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.tellNow(), PAUSE);
  }

  tellNow() {
    if (!this.waiting) return;
    clearTimeout(this.waiting);
    this.waiting = 0;
    this.changed(this.box.value);
    this.ask();
  }

  async ask() {
    const text = await this.problem();
    this.wrong.replaceChildren(...problemParts(text));
    this.box.setAttribute("aria-invalid", String(Boolean(text)));
  }
}

/** A problem in words, with its sign; nothing if there is none. */
export function problemParts(/** @type {string} */ text) {
  return text ? [el("span", { "aria-hidden": "true" }, "! "), ...withCode(text)] : [];
}

/** Every function with what it does, and the rules of the language in short. */
export function functionList(/** @type {Wire.Function[]} */ functions) {
  /** @param {string} written @param {string} help */
  const row = (written, help) => [el("dt", el("code", written)), el("dd", withCode(help))];
  return el("dl.functions",
    row("prompt, completion", "The two texts."),
    row("+ - * / // % **", "Arithmetic; + also joins texts."),
    row("== != < <= > >=", "1 if true, else 0. Also: \"thank\" in completion."),
    row("and or not", "1 or 0."),
    row("a if condition else b", "One of two."),
    row("nothing", "No opinion on this completion. Whatever is computed from it is nothing too."),
    functions.map(({ written, help }) => row(written, help)));
}
