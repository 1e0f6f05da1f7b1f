// The tokens of a completion in a row, each with one figure under it. One of them is chosen: by a click, or by the
// arrow keys, Home and End once one has the focus.

import { el, setAttribute, setText } from "../core/dom.js";
import { rounded } from "../core/format.js";
import { readable } from "./measures.js";

const KEYS = { ArrowRight: (at) => at + 1, ArrowLeft: (at) => at - 1, Home: () => 0, End: (at, last) => last };

export class TokenRow {
  /** `choose(index)` hears which token somebody wants to look at. */
  constructor(choose) {
    this.choose = choose;
    this.caption = el("p", { class: "muted" });
    this.row = el("div", { class: "tokens", role: "group", "aria-label": "Tokens: the arrow keys choose one",
      onkeydown: (event) => this.moved(event) });
    this.root = el("div", { class: "token-row" }, this.caption, this.row);
  }

  /** @param {string[]} pieces @param {any} step of `stepsOf` @param {number} chosen */
  show(pieces, { figures, unit, marks = null }, chosen) {
    setText(this.caption, `Under each token: ${unit}`);
    const most = Math.max(1e-9, ...(figures ?? []).map((value) => Math.abs(distance(value, marks))));
    while (this.row.childElementCount > pieces.length) this.row.lastElementChild.remove();
    while (this.row.childElementCount < pieces.length) this.row.append(this.made(this.row.childElementCount));
    pieces.forEach((piece, index) => {
      const node = /** @type {HTMLElement} */ (this.row.children[index]);
      const value = figures ? figures[index] : null;
      const far = value === null ? 0 : distance(value, marks) / most;
      setText(node.children[0], readable(piece));
      setText(node.children[1], figures ? `${rounded(value, 0.001)}${marks?.[index] ? " clipped" : ""}` : "");
      setAttribute(node, "tabindex", index === chosen ? "0" : "-1");
      setAttribute(node, "aria-pressed", String(index === chosen));
      setAttribute(node, "class", `token ${far > 0 ? "up" : far < 0 ? "down" : ""}${marks?.[index] ? " cut" : ""}`);
      node.style.setProperty("--share", String(Math.abs(far)));
    });
  }

  made(index) {
    return el("button", { type: "button", onclick: () => this.choose(index) }, el("span", { class: "piece" }),
      el("span", { class: "token-figure" }));
  }

  moved(event) {
    const at = [...this.row.children].indexOf(/** @type {Element} */ (document.activeElement));
    const next = at >= 0 && KEYS[event.key]?.(at, this.row.childElementCount - 1);
    const node = /** @type {HTMLElement} */ (this.row.children[next]);
    if (!node || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.choose(next);
    node.focus();
  }
}

/** How far a figure is from doing nothing: a ratio from 1, all else from 0. Only for the tint behind the number. */
function distance(value, marks) {
  return marks ? value - 1 : value;
}
