// A button that opens a menu of what else can be done. Escape, Tab, scrolling and a press elsewhere close it; the arrow
// keys walk through it. It is a popover, above everything, and stays open while the list around it is drawn anew.

import { buttonOf, el } from "./dom.js";

const EDGE = 8; // pixels that it keeps from the edge of the window

/**
 * Button and menu. `items` are buttons and links, or headings of them; `id` tells this menu from all others.
 * @param {string} id @param {string} name @param {string} label @param {HTMLElement[]} items
 */
export function menuButton(id, name, label, items, { off = false } = {}) {
  for (const item of items) {
    if (item.matches("button, a")) item.setAttribute("role", "menuitem");
  }
  const menu = el("div.menu", { id: `menu-${id}`, popover: "auto", role: "menu", "aria-label": label,
    "data-key": `menu ${id}`, onbeforetoggle: placeMenu, ontoggle: enter, onkeydown: walk }, items);
  // before what is chosen acts: a dialog that opens gives the focus back to the button, not into the closed menu
  menu.addEventListener("click", () => menu.hidePopover(), true);
  return [buttonOf("quiet-button more-button", { "data-key": `more ${id}`, popovertarget: menu.id, off,
    "aria-haspopup": "menu", "aria-label": `${name}: ${label}` }, name), menu];
}

/**
 * The place is kept with the page: an attribute of the menu would be gone when its row is drawn anew.
 * @param {ToggleEvent & { target: HTMLElement }} event
 */
function placeMenu({ target, newState }) {
  if (newState !== "open") return;
  const button = target.previousElementSibling.getBoundingClientRect();
  const below = button.bottom < innerHeight / 2;
  const { style } = document.documentElement;
  const place = { "--menu-right": `${Math.max(EDGE, document.documentElement.clientWidth - button.right)}px`,
    "--menu-top": below ? `${button.bottom + 4}px` : "auto",
    "--menu-bottom": below ? "auto" : `${innerHeight - button.top + 4}px`,
    "--menu-room": `${(below ? innerHeight - button.bottom : button.top) - 2 * EDGE}px` };
  for (const [property, value] of Object.entries(place)) style.setProperty(property, value);
}

/** @param {ToggleEvent & { target: HTMLElement }} event */
function enter({ target, newState }) {
  if (newState !== "open") return;
  itemsOf(target)[0]?.focus({ preventScroll: true });
  const leaving = new AbortController();
  const close = (/** @type {Event} */ event) => {
    if (target.contains(/** @type {Node} */ (event.target))) return; // a long one scrolls by itself
    leaving.abort();
    if (target.matches(":popover-open")) target.hidePopover();
  };
  addEventListener("scroll", close, { capture: true, signal: leaving.signal });
}

/** @param {KeyboardEvent & { currentTarget: HTMLElement }} event */
function walk(event) {
  const menu = event.currentTarget;
  const items = itemsOf(menu);
  const at = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  /** @type {Record<string, number>} */
  const ways = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Home: 0, End: items.length - 1 };
  const to = ways[event.key];
  if (event.key === "Tab") menu.hidePopover(); // and on from the button
  if (to === undefined) return;
  event.preventDefault();
  items[to % items.length]?.focus({ preventScroll: false });
}

/** Those that one may use: the others are hidden by css/access.css. @param {HTMLElement} menu */
function itemsOf(menu) {
  const items = /** @type {NodeListOf<HTMLElement>} */ (menu.querySelectorAll("[role='menuitem']"));
  return [...items].filter((item) => item.checkVisibility());
}
