// Completions of one's own prompt, by the model before training and by the policy, side by side, as they come from the
// model service.

import { el, headOf, setText, setWords } from "../core/dom.js";
import { directionOf, rounded, signed } from "../core/format.js";
import { KL_GLOSS, textPair } from "../core/texts.js";
import { shown } from "./compare.js";
import { tokensButton } from "../inside/microscope.js";

export function mount(element, props, { watch }) {
  const line = el("p", { class: "muted answers-line", role: "status" });
  const body = el("tbody", {});
  const score = headOf("Score, sd", "figure");
  const table = el("table", { class: "pairs", hidden: true },
    el("thead", {}, el("tr", {}, headOf("Before", "before"), headOf("Policy", "now"),
      score, headOf("KL", "figure", KL_GLOSS))), body);
  element.append(line, table);

  function show() {
    const { state, message, samples = [], count, prompt, run, seed } = props.value ?? {};
    setText(score, `Score, ${shown.value?.run.unit ?? "sd"}`);
    line.classList.toggle("problem", state === "error");
    setWords(line, state === "error" ? message
      : state === "asking" ? (samples.length ? `Writing: ${samples.length} of ${2 * count} texts`
        : "Waking up the model; the first question takes a few seconds.")
      : state === "done" ? `Row by row the same random numbers on both sides.` : "");
    const indices = [...new Set(samples.map((sample) => sample.index))].sort((a, b) => a - b);
    table.hidden = !indices.length;
    body.replaceChildren(...indices.map((index) => row(samples.filter((sample) => sample.index === index),
      state === "done" ? { run, prompt, seed, index } : null)));
  }

  watch("value", show);
  show();
}

/** @param {any} question what the answers of this row were asked with, once all have come */
function row(samples, question) {
  const tokens = (side) => (question ? tokensButton(side === "policy" ? "the policy" : "before training",
    question.prompt, () => ({ ...question, side })) : null);
  const reference = samples.find((sample) => sample.side === "reference");
  const policy = samples.find((sample) => sample.side === "policy");
  const both = reference && policy;
  const [left, right] = both ? textPair(reference.completion, policy.completion)
    : [reference, policy].map((sample) => (sample ? textPair(null, sample.completion)[1]
      : el("p", { class: "output nothing" }, "\u2026")));
  return el("tr", {},
    el("td", { class: "before", "data-label": "Before" }, left, reference ? tokens("reference") : null),
    el("td", { class: "now", "data-label": "Policy" }, right, policy ? tokens("policy") : null),
    el("td", { class: "figure score nowrap", "data-label": "Score" }, reference ? signed(reference.score) : "",
      both ? " \u2192 " : "",
      el("strong", { class: directionOf(reference?.score, policy?.score) }, policy ? signed(policy.score) : "")),
    el("td", { class: "figure", "data-label": "KL, nats" }, policy ? rounded(policy.kl) : ""));
}
