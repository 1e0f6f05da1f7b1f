// Behaviours on the Compare page: the counts of both sides above the table, what each answer shows, and the filter for
// answers in which one turned.

import { claimsTable, hasClaims } from "../charts/claims.js";
import { keyOf, meterRow } from "../charts/meters.js";
import { turnOf, verdictOf } from "../core/counts.js";
import { el, headOf, signOf, tableOf } from "../core/dom.js";

/**
 * @typedef {Pick<Wire.Compare, "behaviours" | "other" | "passes">} Shown
 * @typedef {{ meters: Wire.Meter[], other: Wire.Other | null }} About
 */

const TURNED = "turned";
const PASSES_GLOSS = "pass@k: the chance that one of k answers to a prompt is right, with its 95 % interval over the "
  + "prompts. Where it rises for one answer and not for many, the model has become surer of what it could do before.";

/** The counts of the moment that is shown; null where there are none. */
export function behavioursPart(/** @type {Shown} */ { behaviours, other, passes }) {
  if (!behaviours) return null;
  const words = other
    ? { sides: ["the other run", "this run"], between: " | ", steady: "no clear difference" } : {};
  return el("section.compare-behaviours", { "data-key": "behaviours", "aria-label": "Behaviours, counted" },
    el("div.bar", el("h2", "What it does"), el("span.grow"),
      el("div", keyOf(words.sides ?? ["before", "after"], false))),
    el("ul.meters-list", behaviours.meters.map((meter) => meterRow(meter, words))),
    passes.length ? el("div.numbers.passes", passesParts(passes)) : null,
    behaviours.paid.length ? el("p.paid", signOf("! "), behaviours.paid.map(({ sentence }) =>
      el("span", `${sentence} `))) : null,
    hasClaims(behaviours) ? el("details.folded", el("summary", "Does it agree, and with whom?"),
      el("div.claims-body", claimsTable(behaviours, words))) : null);
}

/** The table of pass@k. @param {Wire.Compare["passes"]} passes */
function passesParts(passes) {
  return [tableOf("", [headOf("One of k answers is right", "words"), "Before", "After", "Change"],
    passes.map(([name, ...cells]) => [el("th.words", { scope: "row" }, name), ...cells.map((cell) => el("td", cell))])),
  el("p.muted.small-text", PASSES_GLOSS)];
}

/**
 * What the filter offers for these behaviours: [[value, name], ...].
 * @param {Wire.Behaviours | null} behaviours @returns {string[][]}
 */
export function turnChoices(behaviours) {
  const meters = behaviours?.meters ?? [];
  if (!meters.length) return [];
  return [[TURNED, "changed behaviour"], ...meters.map(({ name, words }) => [turned(name), `changed: ${words}`])];
}

/** The choice for one behaviour. */
export function turned(/** @type {string} */ name) {
  return `${TURNED}:${name}`;
}

/** Whether a row fits a choice of `turnChoices`. */
export function hasTurned(/** @type {Wire.Pair} */ row, /** @type {string} */ choice) {
  const [, name] = choice.split(":");
  return (name ? [name] : Object.keys(row.after.shows)).some((one) => turnOf(row, one) !== 0);
}

/**
 * What one side of a row shows; the later one says what turned.
 * @param {Wire.Pair} row @param {"before" | "after"} side @param {About} about
 */
export function showsLine(row, side, { meters, other }) {
  const found = meters.filter(({ name }) => row[side].shows[name] !== undefined);
  if (!found.length) return null;
  return el("p.shows", found.map(({ name, words, aim }) => {
    const yes = row[side].shows[name];
    const turn = side === "after" ? turnOf(row, name) : 0;
    const { tone } = verdictOf({ aim, changes: [turn] });
    const told = turn === 0 || other ? "" : turn > 0 ? " (new)" : " (no longer)";
    return el("span", { class: turn ? `turned ${tone}` : null }, signOf(yes ? "\u2713" : "\u2715"),
      el("span.visually-hidden", yes ? " yes: " : " no: "), ` ${words}${told}`,
      turn && tone ? `: ${tone}` : "");
  }));
}
