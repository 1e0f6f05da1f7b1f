// A prediction held against what the run did, in words.

import { el, signOf } from "../core/dom.js";
import { capital } from "../core/format.js";
import { because, predictionInWords } from "./predict.js";
import { seriesOf } from "./shapes.js";

/** @typedef {{ tone: "right" | "close" | "other" | "", said: string, more: string[] }} Verdict */

/** @type {Record<string, string[]>} */
const SIGNS = { right: ["\u2713", "As you said"], close: ["\u2248", "Nearly"],
  other: ["\u2260", "Not what you predicted"] };

/**
 * The verdict as a part of the page, with the reason that was given, if any.
 * @param {Wire.Prediction} predict @param {import("./progress.js").Prediction} given @param {Wire.Reveal} told
 */
export function verdictBox(predict, given, told, why = "") {
  const { tone, said, more } = verdictOf(predict, given, told);
  const [sign, word] = SIGNS[tone] ?? ["", ""];
  return el("div.lesson-verdict", { "data-tone": tone },
    word ? el("p.lesson-tone", signOf(sign), ` ${word}`) : "", el("p", said),
    why ? el("p.muted.lesson-why", `You said so ${because(why)}`) : "", more.map((words) => el("p", words)));
}

/**
 * `tone`: "right" where it came true, "close" where nearly, "other" where not; "" for who only looked.
 * @param {Wire.Prediction} predict @param {import("./progress.js").Prediction} given @param {Wire.Reveal} told
 * @returns {Verdict}
 */
export function verdictOf(predict, given, told) {
  const looked = given.choice === undefined && given.number === undefined && given.shape === undefined;
  const words = looked ? "" : predictionInWords(predict, given);
  if (predict.kind === "choice") return ofChoice(predict, given, told, words);
  if (predict.kind === "number") return ofNumber(predict, given, told, words);
  const { name } = seriesOf(predict.column);
  const went = `${capital(name)} ${told.shape}`;
  if (looked) return { tone: "", said: `${went}.`, more: [] };
  if (given.shape === told.shape) return { tone: "right", said: `You said: ${words}. So it does.`, more: [] };
  const [one, other] = [given.shape, told.shape].map((shape) => shape.replace(", then stays", ""));
  return { tone: one === other ? "close" : "other", said: `You said: ${words}. It ${told.shape}.`, more: [] };
}

/** @param {Wire.Prediction} predict @param {import("./progress.js").Prediction} given @param {Wire.Reveal} told
 * @param {string} words @returns {Verdict} */
function ofChoice({ options }, { choice }, { held, beliefs }, words) {
  const so = held === null ? "" : `\u201c${options[held]?.say}\u201d`;
  if (choice === undefined)
    return { tone: "", said: so ? `What happened: ${so}` : "None of the answers fits this run.", more: [] };
  if (held === choice) return { tone: "right", said: `You said: \u201c${words}\u201d. And so it is.`, more: [] };
  return { tone: "other", said: `You said: \u201c${words}\u201d`,
    more: [so ? `What happened: ${so}` : "None of the answers fits this run.", beliefs[choice] ?? ""]
      .filter(Boolean) };
}

/** @param {Wire.Prediction} predict @param {import("./progress.js").Prediction} given @param {Wire.Reveal} told
 * @param {string} words @returns {Verdict} */
function ofNumber({ near }, { number: guess }, { value, words: is }, words) {
  if (guess === undefined || value === null) return { tone: "", said: `It is ${is}.`, more: [] };
  const read = near < 1 ? value : Math.round(value); // as a reader has it: a share of 79.7 % is told as 80 %
  const close = Math.abs(guess - read) <= near;
  const exact = Math.abs(guess - read) < near / 20;
  return { tone: exact ? "right" : close ? "close" : "other", more: [],
    said: `You said ${words}, and it is ${is}.${close ? "" : read > guess ? " It is more." : " It is less."}` };
}
