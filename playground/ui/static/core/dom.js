// Building the page from text nodes. No data ever passes through innerHTML. Every other module uses this one.

import { withMinus } from "./format.js";
import { language, translated } from "./language.js";

const HELP_WIDTH = 300;
const HELP_EDGE = 12; // pixels that it keeps from the edge of the window
const HANDLERS = ["onclick", "onchange", "oninput"]; // of what `showParts` keeps
/** Attributes that are read. */
const WORDS = "title aria-label aria-valuetext aria-description placeholder abbr data-label".split(" ");

/**
 * An element: its tag with its classes, such as "p.muted"; attributes (title, aria-*, data-*, on<event>), where there
 * are any; then children. Strings become text nodes.
 * @template {string} What @param {What} what @param {...(Page.Child | Page.Attributes<Page.Made<What>>)} rest
 * @returns {Page.Made<What>}
 */
export function el(what, ...rest) {
  const [tag, ...classes] = what.split(".");
  const node = /** @type {HTMLElement & Record<string, unknown>} */ (document.createElement(tag));
  if (classes.length) node.className = classes.join(" ");
  if (language !== "en" && classes.includes("output") && !classes.includes("nothing")) node.lang = "en"; // a model's
  const { value: written, ...attributes } = attributesIn(rest);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on") || name === "checked") node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(WORDS.includes(name) ? translated(value) : value));
  }
  node.append(...nodesOf(rest));
  // last: a menu must have its options by then, a slider its ends
  if (written !== undefined && written !== null) node.value = written;
  return /** @type {Page.Made<What>} */ (/** @type {unknown} */ (node));
}

/** All that stands for something. @param {unknown[]} children */
function nodesOf(children) {
  const given = /** @type {(string | Node)[]} */ (children.flat(Infinity));
  return given.filter((child) => child !== null && child !== undefined && child !== "").map(translated);
}

/** Take the attributes off the front of what an element is made of. @param {unknown[]} rest */
function attributesIn(rest) {
  const [first] = rest;
  const found = typeof first === "object" && first !== null && !Array.isArray(first) && !(first instanceof Node);
  return /** @type {Record<string, unknown>} */ (found ? rest.shift() : {});
}

/**
 * A button that submits nothing; `kind` is its class. `off`: it does nothing and says so; it is not `disabled`, which
 * would take the keyboard's focus away.
 * @param {string} kind @param {Page.Attributes<HTMLButtonElement> & { off?: boolean }} attributes
 * @param {...Page.Child} children
 */
export function buttonOf(kind, { onclick = null, off = undefined, ...attributes }, ...children) {
  return el("button", { type: "button", class: kind, ...attributes,
    "aria-disabled": off === undefined ? null : String(off), onclick: onclick && ((event) => {
      if (event.currentTarget.getAttribute("aria-disabled") !== "true") onclick(event);
    }) }, ...children);
}

/** Switch such a button off, or on again. @param {Element} button @param {boolean} off */
export function setOff(button, off) {
  setAttribute(button, "aria-disabled", String(off));
}

/**
 * A menu of [value, name] pairs.
 * @param {(readonly unknown[])[]} pairs @param {Page.Attributes<HTMLSelectElement>} attributes
 */
export function menuOf(pairs, attributes = {}) {
  return el("select", attributes, optionsOf(pairs));
}

/** What such a menu holds. @param {(readonly unknown[])[]} pairs */
export function optionsOf(pairs) {
  return pairs.map(([value, name]) => el("option", { value }, String(name)));
}

/**
 * A table: its classes; words or cells of its head; then rows, each a list of cells or a whole `tr`.
 * @param {string} kind @param {(string | Element | null)[]} heads @param {(Element | Page.Child[])[]} rows
 */
export function tableOf(kind, heads, rows) {
  return el("table", { class: kind || null },
    el("thead", el("tr", heads.filter((head) => head !== null)
      .map((head) => (typeof head === "string" ? headOf(head) : head)))),
    el("tbody", rows.map((row) => (Array.isArray(row) ? el("tr", row) : row))));
}

/** A cell with a number. @param {...Page.Child} children */
export function figureOf(...children) {
  return el("td.figure", ...children);
}

/** A sign that only stands beside words, which say the same. @param {string} icon */
export function signOf(icon) {
  return el("span.icon", { "aria-hidden": "true" }, icon);
}

/** That a run is wrong on purpose, where it is. @param {HTMLElement} node @param {{wrong_on_purpose?: string}} run */
export function showWrong(node, run) {
  const words = translated(run?.wrong_on_purpose ?? "");
  node.hidden = !words;
  if (node.textContent !== `! ${words}`) node.replaceChildren(signOf("! "), words);
}

/** The head of a column; `gloss` explains it. @param {string} text @param {string | null} kind @param {string} gloss */
export function headOf(text, kind = null, gloss = "") {
  if (!gloss) return el("th", { scope: "col", class: kind }, text);
  return el("th", { scope: "col", class: kind, abbr: text }, text, " ", helpOf(text, gloss));
}

/**
 * A "?" that explains a word, by a click, a touch or a key; Escape, scrolling and a press elsewhere take the sentence
 * away. It is a popover, above everything, so that no panel cuts it off.
 * @param {string} word @param {Page.Child} gloss
 */
export function helpOf(word, gloss) {
  helps += 1;
  const id = `help-${helps}`;
  return el("span.help-mark",
    el("button.help-button", { type: "button", popovertarget: id, "aria-label": `What is ${word}?`,
      "aria-describedby": id }, "?"),
    el("span.help-text", { id, popover: "auto", onbeforetoggle: placeHelp }, gloss));
}

let helps = 0;

/** @param {ToggleEvent & { target: HTMLElement }} event */
function placeHelp({ target, newState }) {
  if (newState !== "open") return;
  const place = () => target.previousElementSibling.getBoundingClientRect();
  const mark = place();
  const width = Math.min(HELP_WIDTH, innerWidth - 2 * HELP_EDGE);
  const left = Math.max(HELP_EDGE, Math.min(mark.left - HELP_EDGE, innerWidth - width - HELP_EDGE));
  const below = mark.bottom < innerHeight * 0.6;
  Object.assign(target.style, { left: `${left}px`, width: `${width}px`, top: below ? `${mark.bottom + 6}px` : "auto",
    bottom: below ? "auto" : `${innerHeight - mark.top + 6}px` });
  // a live page grows above, and the browser scrolls to keep what is read in its place: then the sentence stays too
  const leaving = new AbortController();
  addEventListener("scroll", () => {
    if (target.matches(":popover-open") && Math.abs(place().top - mark.top) < HELP_EDGE) return;
    leaving.abort();
    if (target.matches(":popover-open")) target.hidePopover();
  }, { capture: true, signal: leaving.signal });
}

/**
 * Set a text only when it changed: nothing repaints, a screen reader stays calm.
 * @param {Node} node @param {string} text
 */
export function setText(node, text) {
  const words = translated(text);
  if (node.textContent !== words) node.textContent = words;
}

/** The same for a sentence of ours, with backticks. @param {Element} node @param {string} sentence */
export function setWords(node, sentence) {
  const parts = withCode(sentence).filter((part) => part !== "");
  const shown = parts.map((part) => (typeof part === "string" ? part : part.textContent)).join("");
  if (node.textContent !== shown || node.childNodes.length !== parts.length) node.replaceChildren(...parts);
}

/** Replace an attribute only when it changed. @param {Element} node @param {string} name @param {string} value */
export function setAttribute(node, name, value) {
  const words = WORDS.includes(name) ? translated(value) : value;
  if (node.getAttribute(name) !== words) node.setAttribute(name, words);
}

/** Show buttons in a box, as `showParts` does. @param {Element} box @param {Page.Button[]} wanted */
export function showButtons(box, wanted) {
  showParts(box, wanted.map(({ key, text, title, kind = "", off = false, expanded, act }) =>
    buttonOf(`button ${kind}`.trim(), { "data-key": key, title: title || null, off, onclick: act,
      "aria-expanded": expanded === undefined ? null : String(expanded) }, text)), runTitle());
}

/**
 * Show elements in a box, and keep those that are there already, down to each of their parts: they are told apart by
 * their `data-key`, or else by their place, and only what looks different is changed. So nobody who is in there with
 * the keyboard or a screen reader is thrown out by what changes beside them. If the control with the focus goes, the
 * next one in the box gets it, or else `heir`.
 * @param {Element} box @param {ChildNode[]} wanted @param {HTMLElement | null} heir
 */
export function showParts(box, wanted, heir = null) {
  const focused = box.contains(document.activeElement) ? document.activeElement : null;
  const place = controlsIn(box).findIndex((control) => control === focused);
  renewParts(box, wanted);
  if (!focused || box.contains(document.activeElement)) return;
  const controls = controlsIn(box);
  (controls[Math.min(place, controls.length - 1)] ?? heir)?.focus({ preventScroll: true });
}

/**
 * Of what `showParts` draws anew, a part that lives on its own: it has a `data-key`, and stays where it is.
 * @param {HTMLElement} element
 */
export function kept(element) {
  return element.isConnected
    ? el(element.localName, { "data-key": element.dataset.key, "data-kept": "yes" }) : element;
}

/** @param {Element} box */
function controlsIn(box) {
  return /** @type {HTMLElement[]} */ (
    [...box.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")]);
}

/** @typedef {HTMLInputElement & Record<string, unknown>} Part a text, or any element */

/** @param {Element} box @param {ChildNode[]} wanted */
function renewParts(box, wanted) {
  const old = /** @type {Part[]} */ ([...box.childNodes]);
  const nodes = /** @type {Part[]} */ (wanted).map((node, index) => {
    if (old.includes(node)) return node;
    const key = node.dataset?.key;
    const known = key ? old.find((part) => part.dataset?.key === key) : old[index];
    return known?.nodeName === node.nodeName && known.dataset?.key === key ? renewed(known, node) : node;
  });
  for (const part of old) if (!nodes.includes(part)) part.remove();
  nodes.forEach((node, index) => {
    if (box.childNodes[index] !== node) box.insertBefore(node, box.childNodes[index] ?? null);
  });
}

/** @param {Part} known @param {Part} node */
function renewed(known, node) {
  if (node.dataset?.kept || isSameHelp(known, node)) return known;
  if (known.nodeType === Node.TEXT_NODE) {
    setText(known, node.textContent);
    return known;
  }
  for (const { name, value } of node.attributes) setAttribute(known, name, value);
  for (const name of known.getAttributeNames()) {
    // what a person has unfolded stays open
    if (!node.hasAttribute(name) && name !== "open") known.removeAttribute(name);
  }
  for (const name of HANDLERS) if (known[name] !== node[name]) known[name] = node[name];
  const { value } = node; // before its options move
  renewParts(known, [...node.childNodes]);
  if (known.type === "checkbox") known.checked = node.checked; // which the attribute no longer tells once it was ticked
  // what somebody is writing stays
  else if (known.matches("input, select") && known.value !== value
    && !(known.type === "text" && known === document.activeElement)) known.value = value;
  return known;
}

/** A sentence that is open stays where it is. @param {Part} known @param {Part} node */
function isSameHelp(known, node) {
  return node.classList?.contains("help-mark") && known.textContent === node.textContent;
}

/**
 * Hide a part, or show it; who is in it with the keyboard goes to `heir`.
 * @param {HTMLElement} part @param {boolean} hidden @param {HTMLElement} heir
 */
export function setHidden(part, hidden, heir) {
  const focused = hidden && part.contains(document.activeElement);
  part.hidden = hidden;
  if (focused) heir?.focus({ preventScroll: true });
}

/** Where the focus goes when a part of the run in view is no longer there. */
export function runTitle() {
  return document.getElementById("run-title");
}

/** Whether a text got into the clipboard: not where that is forbidden, or without https. @param {string} text */
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Have the browser save a file. @param {Blob} file @param {string} name */
export function saveFile(file, name) {
  const href = URL.createObjectURL(file);
  el("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 5000);
}

/**
 * Ask a person to confirm, or to fill in what is in `parts` (Enter says yes there). `parts` say what it is about.
 * @param {string} title @param {Page.Child} parts @param {string} yes @returns {Promise<boolean>}
 */
export function confirmed(title, parts, yes, { no = "Keep it", kind = "danger" } = {}) {
  return new Promise((resolve) => {
    const end = (/** @type {boolean} */ answer) => {
      resolve(answer);
      dialog.close();
    };
    /** @param {string} look @param {string} text @param {boolean} answer */
    const button = (look, text, answer) => buttonOf(`button ${look}`, { onclick: () => end(answer) }, text);
    const dialog = el("dialog.confirm", { "aria-label": title, onclose: () => {
      resolve(false);
      dialog.remove();
    }, onkeydown: (event) => {
      if (event.key !== "Enter" || event.target.tagName !== "INPUT") return;
      event.preventDefault();
      end(true);
    } }, el("h2", title), parts,
    el("div.buttons", button("", no, false), button(kind, yes, true)));
    document.body.append(dialog);
    dialog.showModal();
  });
}

/**
 * Show something over the page until it is closed. `kind`: the class of the window. A `long` one begins at its title.
 * @param {string} title @param {Page.Child} parts
 */
export function openDialog(title, parts, { kind = "wide", long = false } = {}) {
  const heading = el("h2", long ? { tabindex: "-1", autofocus: true } : {}, title);
  const dialog = el("dialog", { class: `confirm ${kind}`, "aria-label": title, onclose: () => dialog.remove() },
    heading, parts, el("div.buttons", buttonOf("button", { onclick: () => dialog.close() }, "Close")));
  document.body.append(dialog);
  dialog.showModal();
}

/** Value of a CSS custom property where the element stands (Gradio scopes its themes). @param {string} name */
export function cssValue(name, node = document.body) {
  return getComputedStyle(node).getPropertyValue(name).trim();
}

/** A drawing with what is in it. @param {string} what @param {...(Page.Child | Page.Attributes)} rest */
export function svg(what, ...rest) {
  return shape(`svg.${what}`, ...rest);
}

/**
 * One shape of a drawing, such as "line.grid", with its attributes, and with its words or its title.
 * @param {string} what @param {...(Page.Child | Page.Attributes)} rest
 */
export function shape(what, ...rest) {
  const [name, ...classes] = what.split(".").filter(Boolean);
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  if (classes.length) node.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(attributesIn(rest))) setAttribute(node, key, String(value));
  node.append(...nodesOf(rest));
  return node;
}

/**
 * A sentence of ours as nodes: what stands between two backticks is code, one is a character.
 * @param {string} sentence
 */
export function withCode(sentence) {
  const parts = translated(sentence).split("`");
  if (parts.length % 2 === 0) parts.push(parts.splice(-2).join("`"));
  return parts.map((part, index) => (index % 2 ? el("code", part) : withMinus(part)));
}
