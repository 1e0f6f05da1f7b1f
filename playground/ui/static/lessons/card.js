// The answer card of a lesson: folded, and then one step after the other; on paper all of them.

import { buttonOf, el } from "../core/dom.js";
import { formulaOf } from "./formula.js";

/** @param {Wire.WorkedCard} card */
export function cardOf(card) {
  const steps = stepsOf(card);
  for (const step of steps.slice(1)) step.classList.add("later");
  const more = buttonOf("button", { onclick: () => {
    const next = steps.find((step) => step.classList.contains("later"));
    next.classList.remove("later");
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
    more.hidden = next === steps.at(-1);
  } }, "Next step");
  more.hidden = steps.length < 2;
  const kind = card.steps.some(({ math, numbers }) => math || numbers) ? "Work it out: " : "To think about: ";
  return el("details.lesson-card", el("summary", el("strong", kind), card.title),
    el("ol.lesson-card-steps", steps), more);
}

/** Each step: its words, its formula, and that with the numbers of the run. @param {Wire.WorkedCard} card */
export function stepsOf({ steps }) {
  return steps.map(({ say, math, numbers }) => el("li", { tabindex: "-1" }, el("p", say),
    math ? el("p.formula", formulaOf(math)) : "",
    numbers ? el("p.formula.in-numbers", el("span.muted", "This run: "), formulaOf(numbers)) : ""));
}
