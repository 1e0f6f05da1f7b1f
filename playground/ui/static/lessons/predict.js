// What a visitor expects before a run: one of some answers, a number, or the shape of a curve; and what was expected in
// words.

import { el, setAttribute, setText } from "../core/dom.js";
import { number } from "../core/format.js";
import { pictureOf, seriesOf } from "./shapes.js";

/** @typedef {import("./progress.js").Prediction} Prediction */

/**
 * The part that asks. `changed(prediction)` hears of each answer, and null while there is none; `given` was answered
 * before.
 * @param {Wire.Prediction} predict @param {(prediction: Prediction | null) => void} changed
 * @param {Prediction} given
 */
export function asking(predict, changed, given = {}) {
  if (predict.kind === "choice")
    return options("lesson-choice", predict.ask, predict.options, (choice) => changed({ choice }), given.choice);
  return predict.kind === "number" ? slider(predict, changed, given) : shapeOptions(predict, changed, given);
}

/**
 * Answers of which one is chosen.
 * @param {string} name @param {string} ask @param {Wire.Option[]} answers @param {(index: number) => void} chosen
 * @param {number} [given] is chosen already
 */
export function options(name, ask, answers, chosen, given) {
  return el("fieldset.lesson-options", el("legend", ask), answers.map(({ say }, index) =>
    el("label", el("input", { type: "radio", name, value: index, checked: index === given,
      onchange: () => chosen(index) }), el("span", say))));
}

/**
 * @param {Wire.Prediction} predict @param {(prediction: Prediction | null) => void} changed
 * @param {Prediction} given
 */
function slider({ ask, low, high, step, unit }, changed, given) {
  const value = el("output.lesson-number", { for: "lesson-slider" }, "?");
  const range = el("input.knob-slider", { type: "range", id: "lesson-slider", min: low, max: high, step,
    value: given.number ?? (low + high) / 2, "aria-label": ask, "aria-valuetext": "nothing chosen yet" });
  const show = () => {
    const chosen = Number(range.value);
    setText(value, numberInWords(chosen, unit));
    setAttribute(range, "aria-valuetext", numberInWords(chosen, unit));
    range.style.setProperty("--share", String((chosen - low) / (high - low)));
    range.classList.remove("unset");
  };
  if (given.number === undefined) range.classList.add("unset");
  else show();
  for (const event of ["input", "change", "pointerup"]) range.addEventListener(event, () => {
    show();
    changed({ number: Number(range.value) });
  });
  return el("div.lesson-slider", el("p.lesson-ask", ask), value, el("div.track", range),
    el("div.lesson-ends", { "aria-hidden": "true" }, el("span", numberInWords(low, unit)),
      el("span", numberInWords(high, unit))));
}

/**
 * Shapes with their pictures. With one of them in focus, the key of its number chooses a shape.
 * @param {Wire.Prediction} predict @param {(prediction: Prediction) => void} changed @param {Prediction} given
 */
function shapeOptions({ ask, shapes }, changed, given) {
  const answers = shapes.map((name) => ({ say: `It ${name}` }));
  const form = options("lesson-shape", ask, answers, (index) => changed({ shape: shapes[index] }),
    shapes.indexOf(given.shape));
  const inputs = form.querySelectorAll("input");
  inputs.forEach((input, index) => {
    const key = String(index + 1);
    setAttribute(input, "aria-keyshortcuts", key);
    input.parentElement.append(pictureOf(shapes[index]), el("kbd", { "aria-hidden": "true" }, key));
  });
  form.addEventListener("keydown", ({ key }) => {
    const input = inputs[Number(key) - 1];
    input?.focus();
    input?.click();
  });
  return form;
}

/** @param {number} value @param {string} unit */
function numberInWords(value, unit) {
  return `${number(value)}${unit ? ` ${unit}` : ""}`;
}

/** What was predicted, to go on with "You predicted: ". @param {Wire.Prediction} predict @param {Prediction} given */
export function predictionInWords(predict, { choice, number: value, shape }) {
  if (choice !== undefined) return predict.options[choice]?.say ?? "";
  if (value !== undefined) return numberInWords(value, predict.unit);
  return shape === undefined ? "" : `${seriesOf(predict.column).name} ${shape}`;
}

/** A reason, as it was typed, to go on a sentence. @param {string} why */
export function because(why) {
  return `because ${why.replace(/^because\b:? */i, "")}`;
}
