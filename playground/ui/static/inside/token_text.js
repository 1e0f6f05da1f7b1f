// A completion as tokens: coloured, each with its number, walked with the arrow keys; and the same as a table.

import { el, setAttribute } from "../core/dom.js";
import { readable, shadeOf, told } from "./measures.js";

export class TokenText {
  /** `choose(place)` hears which token was chosen. */
  constructor(choose) {
    this.choose = choose;
    this.root = el("div", { class: "token-text", role: "listbox", "aria-orientation": "horizontal",
      "aria-label": "Tokens of this answer", onkeydown: (event) => this.walk(event) });
    this.nodes = [];
  }

  /** The tokens of a look, coloured by a measure, told in a unit; the one at `chosen` is marked. */
  show(look, measure, range, chosen, unit) {
    const values = measure.of(look) ?? [];
    const focused = this.nodes.includes(document.activeElement);
    this.nodes = look.pieces.map((piece, place) => {
      const { side, percent } = shadeOf(values[place], range);
      const words = `${measure.label}: ${told(values[place], unit, measure.plain)}`;
      const node = el("span", { class: `token ${side}`, role: "option", title: words, "aria-label":
        `${readable(piece)}, ${words}`, "aria-selected": String(place === chosen),
        tabindex: place === chosen ? 0 : -1, onclick: () => this.go(place) }, ...shown(piece));
      node.style.setProperty("--share", String(percent));
      return node;
    });
    this.root.replaceChildren(...this.nodes);
    if (focused) this.nodes[chosen]?.focus({ preventScroll: true });
  }

  go(place) {
    this.nodes.forEach((node, index) => {
      setAttribute(node, "aria-selected", String(index === place));
      setAttribute(node, "tabindex", index === place ? "0" : "-1");
    });
    this.nodes[place]?.focus();
    this.choose(place);
  }

  walk(event) {
    const here = this.nodes.indexOf(event.target);
    const last = this.nodes.length - 1;
    const next = { ArrowRight: here + 1, ArrowDown: here + 1, ArrowLeft: here - 1, ArrowUp: here - 1, Home: 0,
      End: last }[event.key];
    if (event.key === " ") event.preventDefault(); // it is chosen already, and nothing should scroll
    if (here < 0 || next === undefined) return;
    event.preventDefault();
    this.go(Math.max(0, Math.min(last, next)));
  }
}

/** All figures of all tokens, for who reads numbers; `measures` are those that there are, `unitOf` says in what. */
export function tableOf(look, measures, unitOf) {
  const columns = measures.map((measure) => ({ ...measure, unit: unitOf(measure), values: measure.of(look) ?? [] }));
  return el("table", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "words" }, "Token"), columns.map(({ label, unit }) =>
      el("th", { scope: "col" }, unit ? `${label}, ${unit}` : label)))),
    el("tbody", {}, look.pieces.map((piece, place) => el("tr", {},
      el("th", { scope: "row", class: "words output" }, readable(piece)),
      columns.map(({ values, plain }) => el("td", { title: values[place] ?? "" },
        told(values[place], "", plain)))))));
}

/** A line break stays one, and can be seen. */
function shown(piece) {
  return piece.includes("\n") ? [piece.replaceAll("\n", "\u21b5"), el("br", {})] : [piece || " "];
}
