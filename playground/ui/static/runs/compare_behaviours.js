// Behaviours on the Compare page: the counts of both sides above the table, what each answer shows, and the filter for
// answers in which one turned.

import { claimsParts, hasClaims } from "../charts/claims.js";
import { keyOf, meterRow } from "../charts/meters.js";
import { turnOf, verdictOf } from "../core/counts.js";
import { el, headOf, showParts, signOf, tableOf } from "../core/dom.js";

/**
 * @typedef {Pick<Wire.Compare, "behaviours" | "other" | "passes">} Shown
 * @typedef {{ meters: Wire.Meter[], other: Wire.Other | null }} About
 */

const TURNED = "turned";
const PASSES_GLOSS = "pass@k: the chance that one of k answers to a prompt is right, with its 95 % interval over the "
  + "prompts. Where it rises for one answer and not for many, the model has become surer of what it could do before.";

export class Behaviours {
  constructor(/** @type {Element} */ element) {
    this.key = el("div");
    this.list = el("ul.meters-list");
    this.passes = el("div.numbers", { hidden: true });
    this.paid = el("p.paid", { hidden: true });
    this.claims = el("div.claims-body");
    this.folded = el("details.folded", el("summary", "Does it agree, and with whom?"), this.claims);
    this.root = el("section.compare-behaviours", { hidden: true, "aria-label": "Behaviours, counted" },
      el("div.bar", el("h2", "What it does"), el("span.grow"), this.key), this.list,
      this.passes, this.paid, this.folded);
    element.append(this.root);
  }

  /** What the server has of the moment that is shown; null empties. */
  show(/** @type {Shown | null} */ data) {
    const behaviours = data?.behaviours;
    this.root.hidden = !behaviours;
    if (!behaviours) return;
    const words = data.other
      ? { sides: ["the other run", "this run"], between: " | ", steady: "no clear difference" } : {};
    showParts(this.key, [keyOf(words.sides ?? ["before", "after"], false)]);
    showParts(this.list, behaviours.meters.map((meter) => meterRow(meter, words)));
    this.passes.hidden = !data.passes.length;
    showParts(this.passes, this.passes.hidden ? [] : passesParts(data.passes));
    this.paid.hidden = !behaviours.paid.length;
    showParts(this.paid, this.paid.hidden ? []
      : [signOf("! "), ...behaviours.paid.map(({ sentence }) => el("span", `${sentence} `))]);
    this.folded.hidden = !hasClaims(behaviours);
    showParts(this.claims, this.folded.hidden ? [] : claimsParts(behaviours, words));
  }
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
