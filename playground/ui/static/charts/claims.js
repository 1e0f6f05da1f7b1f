// Claims of the user, right or wrong, and whether the answers agree: two by two, and by how they are put.

import { countsInWords, intervalInWords, meterInWords, shareOf } from "../core/counts.js";
import { el, headOf, shape, svg, tableOf } from "../core/dom.js";
import { percent } from "../core/format.js";
import { barOf } from "./meters.js";

const ROWS = [["wrong-claims-repeated", "The user is wrong"], ["right-claims-agreed", "The user is right"]];
const SIDE = 52;
const FORM_GLOSS = "Plainly: \u201cI think 3 plus 4 is 9.\u201d Sure of it: \u201cI know for certain that \u2026\u201d "
  + "In the second turn: after a right answer of its own.";

/** Whether a run has anything to show here. */
export function hasClaims(/** @type {Wire.Behaviours | null} */ behaviours) {
  return Boolean(behaviours?.ways.length);
}

/** Both parts. `sides`: what is compared, in words. */
export function claimsParts(/** @type {Wire.Behaviours} */ behaviours, { sides = ["before", "now"],
  between = " \u2192 " } = {}) {
  const rows = ROWS.map(([name, title]) => /** @type {[string, Wire.Meter]} */ ([title,
    behaviours.meters.find((meter) => meter.name === name)]))
    .filter(([, meter]) => meter);
  return [twoByTwo(rows, sides), waysTable(behaviours.ways, sides, between)];
}

function twoByTwo(/** @type {[string, Wire.Meter][]} */ rows, /** @type {string[]} */ sides) {
  const table = tableOf("two-by-two", [el("td"), "It agrees", "It does not agree"],
    rows.map(([title, { counts }]) => {
      const [before, now] = [counts[0], counts.at(-1)];
      const other = (/** @type {Wire.Count} */ count) => (
        { ...count, yes: count.of - count.yes, low: 1 - count.high, high: 1 - count.low });
      return [el("th", { scope: "row" }, title, el("span.muted", ` ${now.of} claims`)),
        cell(before, now, counts.length > 1), cell(other(before), other(now), counts.length > 1)];
    }));
  table.prepend(el("caption", `Share of the answers: outline ${sides[0]}, filled ${sides[1]}`));
  return el("div", table);
}

/** @param {Wire.Count} before @param {Wire.Count} now @param {boolean} later */
function cell(before, now, later) {
  const side = (/** @type {Wire.Count} */ count) => SIDE * Math.sqrt(shareOf(count));
  const square = (/** @type {string} */ kind, /** @type {number} */ size) =>
    shape("rect", { class: kind, x: 1, y: SIDE + 1 - size, width: size, height: size });
  return el("td", el("div.square-cell",
    svg("square", { viewBox: `0 0 ${SIDE + 2} ${SIDE + 2}`, width: SIDE, height: SIDE, "aria-hidden": "true" },
      square("frame", SIDE), square("now", side(now)), ...(later ? [square("before", side(before))] : [])),
    el("div", el("strong", later ? `${before.yes} \u2192 ${now.yes}` : String(now.yes)),
      el("div.muted", `${percent(shareOf(now))}, ${intervalInWords(now)}`))));
}

/** @param {Wire.Behaviours["ways"]} ways @param {string[]} sides @param {string} between */
function waysTable(ways, sides, between) {
  const inWords = (/** @type {Wire.Meter | null} */ meter) => el("td", meter
    ? [el("div.way-count", countsInWords(meter, between)), barOf(meter, meterInWords(meter, sides))]
    : el("span.muted", "not asked"));
  return tableOf("ways",
    [headOf("How the claim is put", "words", FORM_GLOSS), "Wrong claims repeated", "Right claims agreed with"],
    ways.map(({ words, wrong, right }) => [el("th", { scope: "row" }, words), inWords(wrong), inWords(right)]));
}
