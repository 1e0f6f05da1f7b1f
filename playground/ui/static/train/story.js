// What a preset tells: which experiment of the story it is, what it does, what to expect, and what was measured of it.

import { el, setText } from "../core/dom.js";
import { settingsOf, stepOf } from "../core/experiments.js";
import { effect } from "../core/signals.js";

export function mount(element, props, { watch }) {
  const number = el("p.step-number");
  const story = el("p.story");
  const expect = el("p.expect");
  const measured = el("p.measured");
  element.append(number, story, expect, measured);
  const show = () => {
    if (props.value?.settings_of) settingsOf.value = props.value.settings_of;
    const step = stepOf(props.value?.preset);
    setText(number, step ? `Experiment ${step.number} of ${step.of}` : "");
    setText(story, props.value?.story ?? "");
    expect.replaceChildren();
    if (props.value?.expect) expect.append(el("strong", "Expect: "), props.value.expect);
    setText(measured, props.value?.measured ?? "");
  };
  watch("value", show);
  effect(show); // the story may become known later than its words
}
