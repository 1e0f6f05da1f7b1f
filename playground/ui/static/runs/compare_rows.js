// The place of the histograms and of the table of Compare, below the prompt of one's own.

import { below } from "./compare.js";

export function mount(element) {
  element.append(below);
}
