// One line of answer to a button: what it has done.

import { el, setWords } from "./dom.js";

/** @param {HTMLElement} element @param {{ value: unknown }} props @param {Page.Tools} page */
export function mount(element, props, { watch }) {
  const line = el("p.muted.told-line", { role: "status" });
  element.append(line);
  const show = () => setWords(line, typeof props.value === "string" ? props.value : "");
  watch("value", show);
  show();
}
