// A part of the page that is drawn from signals, and again when one of them has changed.

import { runTitle, setHidden, showParts } from "./dom.js";
import { effect } from "./signals.js";

/**
 * Draw what `draw` returns into a box, and hide the box while that is null. Returns the box.
 * @template {HTMLElement} Box @param {Box} box @param {() => (ChildNode | null | "")[] | null} draw
 */
export function part(box, draw) {
  effect(() => {
    const parts = draw();
    setHidden(box, !parts, runTitle());
    if (parts) showParts(box, /** @type {ChildNode[]} */ (parts.filter(Boolean)), runTitle());
  });
  return box;
}
