// Completions of one's own prompt, by the model before training and by the policy, side by side, as they come from the
// model service.

import { el, headOf, setWords, showParts, tableOf } from "../core/dom.js";
import { rounded } from "../core/format.js";
import { beforeAndNow, KL_GLOSS, KL_HEAD, pairRow, promptText, scoresOf, sideHeads, textPair } from "../core/texts.js";
import { shown } from "./compare.js";

/** @param {Element} element @param {{ value: Wire.Answers }} props @param {Page.Tools} tools */
export function mount(element, props, { watch }) {
  const line = el("p.muted.answers-line", { role: "status" });
  const body = el("div");
  element.append(line, body);

  function show() {
    const { state, message, samples = [], count, prompt = "" } = props.value ?? {};
    line.classList.toggle("problem", state === "error");
    setWords(line, state === "error" ? message
      : state === "asking" ? (samples.length ? `Writing: ${samples.length} of ${2 * count} texts`
        : "Loading the model for the first question.")
      : state === "done" ? "In each row both sides use the same random numbers." : "");
    const indices = [...new Set(samples.map((sample) => sample.index))].sort((a, b) => a - b);
    const heads = [...sideHeads(), headOf(`Score, ${shown.value?.run.unit ?? "sd"}`, "figure"),
      headOf(KL_HEAD, "figure", KL_GLOSS)];
    const rows = indices.map((index) => row(samples.filter((sample) => sample.index === index)));
    if (!rows.length) return showParts(body, []);
    const parts = [el("p.output", { "data-key": "prompt" }, promptText(prompt)), tableOf("pairs", heads, rows)];
    if (samples.every(isUnscored))
      parts.push(el("p.muted", { "data-key": "unscored" }, "Not scored: the reward has no opinion on this prompt."));
    showParts(body, parts);
  }

  watch("value", show);
  show();
}

/** Whether no term of the reward could be told, as of a prompt whose true answer is not known. */
function isUnscored(/** @type {Wire.GeneratedSample} */ { scores }) {
  const values = Object.values(scores);
  return values.length > 0 && values.every((value) => value === null);
}

function row(/** @type {Wire.GeneratedSample[]} */ samples) {
  const [reference, policy] = ["reference", "policy"].map((side) => samples.find((sample) => sample.side === side));
  const [left, right] = reference && policy ? textPair(reference.completion, policy.completion)
    : [reference, policy].map((sample) => (sample ? textPair(null, sample.completion)[1]
      : el("p.output.nothing", "\u2026")));
  return pairRow({ sides: beforeAndNow(left, right),
    score: samples.every(isUnscored) ? "\u2013" : scoresOf(reference?.score, policy?.score),
    kl: policy ? rounded(policy.kl) : "" });
}
