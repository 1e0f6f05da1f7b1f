// What steers a set of curves: smoothing, the horizontal axis, and the way back from a zoom.

import { X_MODES } from "./specs.js";
import { buttonOf, el, helpOf, menuOf } from "../core/dom.js";

/**
 * `of` names the curves for a screen reader, `raw` says what stays visible behind the smoothed line, `marks` what the
 * signs are. `weight` and `mode` are what is chosen; `changed(otherMode)` hears of both.
 * @typedef {{ of?: string, raw: string, marks?: string, changed: (otherMode: boolean) => void,
 *   reset: () => void }} Wanted
 */
export class CurveControls {
  constructor(/** @type {Wanted} */ { of = "", raw, marks = "", changed, reset }) {
    this.weight = 0.5;
    this.mode = "update";
    const smoothing = el("input", { type: "range", min: 0, max: 0.95, step: 0.05, value: this.weight,
      "aria-label": `Smoothing${of}`, oninput: () => {
        this.weight = Number(smoothing.value);
        changed(false);
      } });
    const modes = menuOf(Object.entries(X_MODES).map(([value, mode]) => [value, mode.label]), {
      "aria-label": `Horizontal axis${of}`, onchange: () => {
        this.mode = modes.value;
        changed(true);
      } });
    this.reset = buttonOf("quiet-button", { hidden: true, onclick: reset }, "Whole run");
    this.help = helpOf("in the curves", `A line is a moving average; the raw ${raw} stay visible behind it. Drag `
      + `across a chart to look closer, and double-click to see the whole run again. Click a point to open its update: `
      + `all its scores, and texts from it. By keyboard, the arrow keys choose a point and Enter opens it.${marks}`);
    this.smoothing = el("label.inline", "Smoothing", smoothing);
    this.over = el("label.inline", "Over", modes);
  }

  /** The column of the metrics that lies along the foot. */
  get column() {
    return X_MODES[this.mode].column;
  }
}
