// The boxes of the reward picker in which a person writes an expression or code, and the list of what an expression can
// use.

import { el, withCode } from "../core/dom.js";

const PAUSE = 400; // milliseconds without a key before the server is asked

/**
 * A box of several lines. `changed(value)` hears of it in the pauses of writing, `problem()` then says what is wrong.
 */
export function writingField(field, value, key, changed, problem) {
  let waiting = 0;
  const wrong = el("p", { class: "own-problem", role: "status" });
  const ask = async () => {
    const text = await problem();
    wrong.replaceChildren(...(text ? [el("span", { "aria-hidden": "true" }, "! "), ...withCode(text)] : []));
    box.setAttribute("aria-invalid", String(Boolean(text)));
  };
  const tell = () => {
    clearTimeout(waiting);
    waiting = 0;
    changed(box.value);
    ask();
  };
  const box = el("textarea", { class: "written", rows: field.lines, placeholder: field.hint, spellcheck: "false",
    autocapitalize: "off", autocomplete: "off", "data-key": key,
    oninput: () => {
      clearTimeout(waiting);
      waiting = setTimeout(tell, PAUSE);
    },
    onchange: () => {
      if (waiting) tell();
    } });
  box.value = value ?? "";
  if (box.value) ask();
  return el("div", {}, el("label", { class: "own" }, field.label, box), wrong);
}

/** Every function with what it does, and the rules of the language in short. */
export function functionList(functions) {
  const row = (written, help) => [el("dt", {}, el("code", {}, written)), el("dd", {}, help)];
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
