// A completion as tokens in a row, of which one is chosen: by a click, or by the arrow keys, Home and End once one has
// the focus. The microscope colours them by a measure, slow motion has a figure under each.

import { el, showParts, tableOf } from "../core/dom.js";
import { rounded } from "../core/format.js";
import { readable, shadeOf, inWords } from "./measures.js";

/** @typedef {import("./measures.js").Measure} Measure @typedef {Wire.TokensLook} Look */

/** @type {Record<string, number>} */
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };

export class Tokens {
  /** `choose(place)` hears which token was chosen, and shows them anew; `attributes` are those of the row. */
  /** @param {Record<string, string>} attributes @param {(place: number) => void} choose */
  constructor(attributes, choose) {
    this.choose = choose;
    this.root = el("div", { ...attributes, onkeydown: (event) => this.walk(event) });
  }

  /** The tokens, of which one is in the order of the Tab key. */
  show(/** @type {HTMLElement[]} */ tokens, /** @type {number} */ chosen) {
    tokens.forEach((token, place) => {
      token.tabIndex = place === chosen ? 0 : -1;
      token.onclick = () => this.go(place);
    });
    showParts(this.root, tokens);
  }

  go(/** @type {number} */ place) {
    this.choose(place);
    this.focus(place);
  }

  focus(/** @type {number} */ place) {
    /** @type {HTMLElement} */ (this.root.children[place])?.focus({ preventScroll: true });
  }

  walk(/** @type {KeyboardEvent & { target: HTMLElement }} */ event) {
    const tokens = [...this.root.children];
    const here = tokens.indexOf(event.target);
    const step = STEPS[event.key];
    // an option is chosen already, and nothing should scroll
    if (event.key === " " && event.target.tagName !== "BUTTON") event.preventDefault();
    if (here < 0 || !step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.go(Math.max(0, Math.min(tokens.length - 1, here + step)));
  }
}

/**
 * The tokens of a look, coloured by a measure, told in a unit.
 * @param {Look} look @param {Measure} measure @param {number} range @param {number} chosen @param {string} unit
 */
export function colouredTokens(look, measure, range, chosen, unit) {
  const values = measure.of(look) ?? [];
  return look.pieces.map((piece, place) => {
    const { side, percent } = shadeOf(values[place], range);
    const words = `${measure.label}: ${inWords(values[place], unit, measure.plain)}`;
    return el("span", { class: `token ${side}`, role: "option", title: words, style: `--share: ${percent}`,
      "aria-label": `${readable(piece)}, ${words}`, "aria-selected": String(place === chosen) }, shown(piece));
  });
}

/**
 * Tokens with a figure under each, tinted by it. `marks` are the clipped ones of a step whose figures are ratios.
 * @param {string[]} pieces @param {{ figures: number[] | null, marks?: boolean[] }} step @param {number} chosen
 */
export function figuredTokens(pieces, { figures, marks = null }, chosen) {
  // how far a figure is from doing nothing: a ratio from 1, all else from 0
  const far = (figures ?? []).map((value) => (marks ? value - 1 : value));
  const most = Math.max(1e-9, ...far.map(Math.abs));
  return pieces.map((piece, index) => {
    const share = (far[index] ?? 0) / most;
    const kind = ["token", share > 0 ? "up" : share < 0 ? "down" : "", marks?.[index] ? "cut" : ""].filter(Boolean);
    return el("button", { type: "button", class: kind.join(" "), "aria-pressed": String(index === chosen),
      style: `--share: ${Math.abs(share)}` }, el("span.piece", readable(piece)),
    el("span.token-figure",
      figures ? `${rounded(figures[index], 0.001)}${marks?.[index] ? " clipped" : ""}` : ""));
  });
}

/**
 * All figures of all tokens, for who reads numbers; `measures` are those that there are, `unitOf` says in what.
 * @param {Look} look @param {Measure[]} measures @param {(measure: Measure) => string} unitOf
 */
export function tokenTable(look, measures, unitOf) {
  const columns = measures.map((measure) => ({ ...measure, unit: unitOf(measure), values: measure.of(look) ?? [] }));
  return tableOf("", [el("th.words", { scope: "col" }, "Token"),
    ...columns.map(({ label, unit }) => (unit ? `${label}, ${unit}` : label))],
  look.pieces.map((piece, place) => [el("th.words.output", { scope: "row" }, readable(piece)),
    columns.map(({ values, plain }) => el("td", { title: values[place] ?? "" }, inWords(values[place], "", plain)))]));
}

/** A line break stays one, and can be seen. */
function shown(/** @type {string} */ piece) {
  return piece.includes("\n") ? [piece.replaceAll("\n", "\u21b5"), el("br")] : piece || " ";
}
