// The boxes of the reward picker in which a person writes an expression or code, and the list of what an expression can
// use. Each opens in the wide editor too (editor.js), where it is tried on texts.

import { buttonOf, el, withCode } from "../core/dom.js";
import { writing } from "./lists.js";

const PAUSE = 400; // milliseconds without a key before the server is asked

/**
 * A box of several lines. `changed(value)` hears of it in the pauses of writing, `problem()` then says what is wrong
 * where nobody else does, `problemNow()` in any case; `reward()` is all of it; `functions` are those of an expression.
 */
export function writingField(field, value, key, { changed, problem, problemNow, reward, functions }) {
  let waiting = 0;
  const wrong = el("p", { class: "own-problem", role: "status" });
  const ask = async () => {
    const text = await problem();
    wrong.replaceChildren(...problemParts(text));
    box.setAttribute("aria-invalid", String(Boolean(text)));
  };
  const tell = () => {
    clearTimeout(waiting);
    waiting = 0;
    changed(box.value);
    ask();
  };
  const soon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(tell, PAUSE);
  };
  const box = el("textarea", { class: "written", rows: field.lines, placeholder: field.hint, spellcheck: "false",
    autocapitalize: "off", autocomplete: "off", "data-key": key, oninput: soon,
    onchange: () => {
      if (waiting) tell();
    } });
  const write = (text) => {
    box.value = text;
    soon();
  };
  const open = (trying) => () => {
    if (waiting) tell();
    writing.value = { field, text: box.value, write, done: () => waiting && tell(), problem: problemNow, reward,
      functions, trying };
  };
  box.value = value ?? "";
  if (box.value) ask();
  return el("div", {}, el("label", { class: "own" }, field.label, box), wrong, el("div", { class: "written-ways" },
    buttonOf("quiet-button", { "data-key": `${key} try`, onclick: open(true) }, "Try it on 8 real texts"),
    buttonOf("quiet-button", { "data-key": `${key} wide`, onclick: open(false) }, "Wide editor")));
}

/** A problem in words, with its sign; nothing if there is none. */
export function problemParts(text) {
  return text ? [el("span", { "aria-hidden": "true" }, "! "), ...withCode(text)] : [];
}

/** Every function with what it does, and the rules of the language in short. */
export function functionList(functions) {
  const row = (written, help) => [el("dt", {}, el("code", {}, written)), el("dd", {}, withCode(help))];
  return [
    el("dl", { class: "functions" },
      row("prompt, completion", "The two texts."),
      row("+ - * / // % **", "Arithmetic; + also joins texts."),
      row("== != < <= > >=", "1 if it is so, else 0. Also: \"thank\" in completion."),
      row("and or not", "1 or 0."),
      row("a if condition else b", "One of two."),
      row("nothing", "No opinion on this completion. What is computed from it is nothing too."),
      functions.flatMap(({ written, help }) => row(written, help))),
  ];
}
