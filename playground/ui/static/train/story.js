// The preset's one-line story and what to expect.

import { el, setText } from "../core/dom.js";

export function mount(element, props, { watch }) {
  const story = el("p", { class: "story" });
  const expect = el("p", { class: "expect" });
  element.append(story, expect);
  const show = () => {
    setText(story, props.value?.story ?? "");
    expect.replaceChildren();
    if (props.value?.expect) expect.append(el("strong", {}, "Expect: "), props.value.expect);
  };
  watch("value", show);
  show();
}
