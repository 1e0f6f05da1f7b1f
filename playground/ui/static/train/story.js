// What an experiment teaches the model and what to look for, a line each; with all settings, what was measured too.

import { el, setText } from "../core/dom.js";
import { settingsOf, stepOf } from "../core/experiments.js";
import { effect } from "../core/signals.js";

export function mount(element, props, { watch }) {
  const [taught, look] = [el("span"), el("span")];
  const measured = el("p.measured");
  const lines = [el("p.taught", el("strong", "Taught: "), taught), el("p.look", el("strong", "Look for: "), look)];
  const what = el("p.what");
  element.append(...lines, what, measured);
  let title = null;
  const show = () => {
    const value = props.value ?? {};
    if (value.settings_of) settingsOf.value = value.settings_of;
    // with a setting changed there is less to say, and what is below stays where it is
    element.style.minHeight = value.title === title ? `${element.offsetHeight}px` : "";
    ({ title } = value);
    setText(taught, value.taught ?? "");
    setText(what, value.what ?? "");
    setText(look, stepOf(value.preset)?.look ?? value.expect ?? "");
    setText(measured, value.measured ?? "");
    lines[0].hidden = !value.taught;
    lines[1].hidden = !look.textContent;
  };
  watch("value", show);
  effect(show); // the story may become known later than its words
}
