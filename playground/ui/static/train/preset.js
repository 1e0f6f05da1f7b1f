// The menu of experiments: presets by what they take, those of the story numbered. A run whose settings are in the form
// is a choice of its own.

import { el } from "../core/dom.js";
import { choosePreset, experiments, RUN_PREFIX, settingsOf } from "../core/experiments.js";
import { effect } from "../core/signals.js";
import { filling } from "./notes.js";

/**
 * @param {Element} element @param {{ value: string, steps: Wire.Step[], groups: Wire.SweepChoices["presets"] }} props
 * @param {Page.Tools} page
 */
export function mount(element, props, { trigger, watch }) {
  experiments.value = props.steps;
  const own = el("optgroup", { label: "Settings of a run" });
  const groups = props.groups.map(([title, presets]) =>
    el("optgroup", { label: title }, presets.map(([value, name]) => el("option", { value }, name))));
  const menu = el("select", { id: "preset-menu", onchange: () => {
    props.value = menu.value;
    filling.value = menu.value;
    trigger("input");
    if (!menu.value.startsWith(RUN_PREFIX)) choosePreset(menu.value);
  } }, groups);
  element.append(el("label.label", { for: "preset-menu" }, "Experiment"), menu);

  function show() {
    const chosen = String(props.value ?? "");
    const name = settingsOf.value || chosen.slice(RUN_PREFIX.length);
    if (chosen.startsWith(RUN_PREFIX)) {
      own.replaceChildren(el("option", { value: chosen }, `Settings of ${name}`));
      menu.append(own);
    }
    menu.value = chosen;
  }
  watch("value", show);
  effect(show);
}
