// Under the choice of the engine: where it says how TRL's PPO differs, or why it cannot be chosen here.

import { el } from "../core/dom.js";

export function mount(element, props) {
  element.append(el("p.muted.small-text", props.value ? `TRL's engine cannot be chosen here. ${props.value}`
    : "docs/trl.md lists how TRL's PPO differs from ours."));
}
