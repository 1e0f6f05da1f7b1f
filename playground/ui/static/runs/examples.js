// Beside the prompt of one's own: what the model knows, and a few prompts of the run, of which a click puts one into
// the box.

import { rights } from "../core/access.js";
import { el, setText, showParts } from "../core/dom.js";
import { effect } from "../core/signals.js";
import { promptText } from "../core/texts.js";
import { hasNone, shown } from "./compare.js";

const EXAMPLES = 4;

/** @param {Element} element @param {{ value: string }} props @param {Page.Tools} tools */
export function mount(element, props, { trigger }) {
  const knows = el("p.muted.knows");
  const chips = el("div.chips", { role: "group", "aria-label": "Prompts to begin with" });
  element.append(knows, chips);
  const chip = (/** @type {string} */ prompt) => el("button.quiet-button.chip", { type: "button",
    title: promptText(prompt), "data-key": prompt, onclick: () => {
      props.value = prompt;
      trigger("input");
    } }, el("span", promptText(prompt)));
  effect(() => {
    const prompts = [...new Set((shown.value?.rows ?? []).map((row) => row.prompt))].slice(0, EXAMPLES);
    const { run, knows: words = "" } = shown.value ?? {};
    const lacking = run?.recorded && rights.value.start
      ? "This recording comes without its weights: ask a run that you have trained here." : "";
    const panel = document.getElementById("ask");
    panel.classList.toggle("recorded", Boolean(run?.recorded || run?.watched)); // it has no model to ask
    panel.classList.toggle("none", hasNone.value);
    setText(knows, [lacking, words].filter(Boolean).join(" "));
    showParts(chips, prompts.length ? [el("span.muted", { "data-key": "" }, "For example"), ...prompts.map(chip)] : []);
  });
}
