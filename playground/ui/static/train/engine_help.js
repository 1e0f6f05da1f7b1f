// How TRL's PPO differs from ours, or why it cannot be chosen here: a fold under the choice of the engine.

import { el, withCode } from "../core/dom.js";

export function mount(element, props) {
  const { absent, differences } = props.value;
  const note = absent ? el("p.absent", `TRL's engine cannot be chosen here. ${absent}`) : "";
  element.append(el("div.engine-help", note,
    el("details", el("summary", `How TRL's PPO differs (${differences.length})`),
      el("dl", differences.map(({ title, sentence }) => [el("dt", title), el("dd", withCode(sentence))])))));
}
