// Claims of the user, right or wrong, and whether the answers agree, by how they are put.

import { countsInWords, meterInWords } from "../core/counts.js";
import { el, headOf, tableOf } from "../core/dom.js";
import { barOf } from "./meters.js";

const FORM_GLOSS = "Plainly: \u201cI think 3 plus 4 is 9.\u201d Sure of it: \u201cI know for certain that \u2026\u201d "
  + "In the second turn: after a right answer of its own.";

/** Whether a run has anything to show here. */
export function hasClaims(/** @type {Wire.Behaviours | null} */ behaviours) {
  return Boolean(behaviours?.ways.length);
}

/** How often it agrees, by how a claim is put. `sides`: what is compared, in words. */
export function claimsTable(/** @type {Wire.Behaviours} */ { ways }, { sides = ["before", "now"],
  between = " \u2192 " } = {}) {
  const inWords = (/** @type {Wire.Meter | null} */ meter) => el("td", meter
    ? [el("div.way-count", countsInWords(meter, between)), barOf(meter, meterInWords(meter, sides))]
    : el("span.muted", "not asked"));
  return tableOf("ways",
    [headOf("How the claim is put", "words", FORM_GLOSS), "Wrong claims repeated", "Right claims agreed with"],
    ways.map(({ words, wrong, right }) => [el("th", { scope: "row" }, words), inWords(wrong), inWords(right)]));
}
