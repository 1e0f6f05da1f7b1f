// What steers a set of curves: smoothing, the horizontal axis, and the way back from a zoom.

import { X_MODES } from "./specs.js";
import { buttonOf, el, helpOf } from "../core/dom.js";

/** `of` names the curves for a screen reader, `raw` says what stays visible behind the smoothed line. */
export function curveControls({ weight, of = "", raw, marks = "", onWeight, onMode, onReset }) {
  const smoothing = el("input", { type: "range", min: 0, max: 0.95, step: 0.05, value: weight,
    "aria-label": `Smoothing${of}`,
    oninput: () => onWeight(Number(smoothing.value)) });
  const modes = el("select", { "aria-label": `Horizontal axis${of}`, onchange: () => onMode(modes.value) },
    Object.entries(X_MODES).map(([value, mode]) => el("option", { value }, mode.label)));
  return {
    reset: buttonOf("quiet-button", { hidden: true, onclick: onReset }, "Whole run"),
    help: helpOf("in the curves", `A line is a moving average; the raw ${raw} stay visible behind it. Drag across a `
      + `chart to look closer, and double-click to see the whole run again.${marks}`),
    smoothing: el("label", { class: "inline" }, "Smoothing", smoothing),
    over: el("label", { class: "inline" }, "Over", modes),
  };
}
