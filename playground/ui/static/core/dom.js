// Building the page from text nodes. No data ever passes through innerHTML. Every other module uses this one.

const UNREACHED = "The page cannot reach the playground";
const STILL_RUNNING = ". Is it still running?";
const HELP_WIDTH = 300;
const HELP_EDGE = 12; // pixels that it keeps from the edge of the window

/** An element: attributes (class, title, aria-*, data-*, on<event>), then children; strings become text nodes. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

/** A button that submits nothing; `kind` is its class. */
export function buttonOf(kind, attributes, ...children) {
  return el("button", { type: "button", class: kind, ...attributes }, ...children);
}

/** A sign that only stands beside words, which say the same. */
export function signOf(icon) {
  return el("span", { class: "icon", "aria-hidden": "true" }, icon);
}

/** That a run is wrong on purpose, where it is. */
export function showWrong(node, run) {
  const words = run?.wrong_on_purpose ?? "";
  node.hidden = !words;
  if (node.textContent !== `! ${words}`) node.replaceChildren(signOf("! "), words);
}

/** The head of a column; `gloss` explains it. */
export function headOf(text, kind = null, gloss = "") {
  if (!gloss) return el("th", { scope: "col", class: kind }, text);
  return el("th", { scope: "col", class: kind, abbr: text }, text, " ", helpOf(text, gloss));
}

/**
 * A "?" that explains a word, by a click, a touch or a key; Escape, scrolling and a press elsewhere take the sentence
 * away. It is a popover, above everything, so that no panel cuts it off.
 */
export function helpOf(word, gloss) {
  helps += 1;
  const id = `help-${helps}`;
  return el("span", { class: "help-mark" },
    el("button", { type: "button", class: "help-button", popovertarget: id, "aria-label": `What is ${word}?`,
      "aria-describedby": id }, "?"),
    el("span", { class: "help-text", id, popover: "auto", onbeforetoggle: placeHelp }, gloss));
}

let helps = 0;

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

/** Set a text only when it changed, so that nothing repaints and a screen reader stays calm. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** The same for a sentence of ours, in which something may stand between backticks. */
export function setWords(node, sentence) {
  const parts = withCode(sentence).filter((part) => part !== "");
  const shown = parts.map((part) => part.textContent ?? part).join("");
  if (node.textContent !== shown || node.childNodes.length !== parts.length) node.replaceChildren(...parts);
}

/** Replace an attribute only when it changed. */
export function setAttribute(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/**
 * Show buttons, [{key, text, title, kind, off, expanded, act}], in a box. One that is shown already stays the same
 * element, and if the one with the keyboard's focus goes, its neighbour gets it: who steers by keyboard never falls
 * out.
 */
export function showButtons(box, wanted) {
  const old = [...box.children];
  const nodes = wanted.map((spec) => old.find((node) => node.dataset.key === spec.key) ?? madeButton(spec.key));
  nodes.forEach((node, index) => {
    const { text, title = null, kind = "", off = false, expanded, act } = wanted[index];
    node.act = act;
    setText(node, text);
    if (title) setAttribute(node, "title", title);
    else node.removeAttribute("title");
    setAttribute(node, "class", `button ${kind}`.trim());
    setAttribute(node, "aria-disabled", String(off)); // not `disabled`, which would take the focus away
    if (expanded !== undefined) setAttribute(node, "aria-expanded", String(expanded));
  });
  if (nodes.length === old.length && nodes.every((node, index) => node === old[index])) return;
  const focused = old.indexOf(document.activeElement);
  box.replaceChildren(...nodes);
  if (focused < 0) return;
  const next = nodes.includes(old[focused]) ? old[focused] : nodes[Math.min(focused, nodes.length - 1)] ?? runTitle();
  next?.focus({ preventScroll: true });
}

/**
 * Show elements in a box, and keep those that are there already, down to each of their parts: they are told apart by
 * their `data-key`, or else by their place, and only what looks different is changed. So nobody who is in there with
 * the keyboard or a screen reader is thrown out by what changes beside them. What a part does when it is pressed must
 * follow from its key. If the control with the focus goes, the next one in the box gets it, or else `heir`.
 */
export function showParts(box, wanted, heir = null) {
  const focused = box.contains(document.activeElement) ? document.activeElement : null;
  const place = focused ? controlsIn(box).indexOf(focused) : -1;
  renewParts(box, wanted);
  if (!focused || box.contains(document.activeElement)) return;
  const controls = controlsIn(box);
  (controls[Math.min(place, controls.length - 1)] ?? heir)?.focus({ preventScroll: true });
}

function controlsIn(box) {
  return [...box.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")];
}

function renewParts(box, wanted) {
  const old = [...box.childNodes];
  const nodes = wanted.map((node, index) => {
    const key = node.dataset?.key;
    const known = key ? old.find((part) => part.dataset?.key === key) : old[index];
    return known?.nodeName === node.nodeName && known.dataset?.key === key ? renewed(known, node) : node;
  });
  for (const part of old) if (!nodes.includes(part)) part.remove();
  nodes.forEach((node, index) => {
    if (box.childNodes[index] !== node) box.insertBefore(node, box.childNodes[index] ?? null);
  });
}

function renewed(known, node) {
  if (known.nodeType === Node.TEXT_NODE) {
    setText(known, node.textContent);
    return known;
  }
  for (const { name, value } of node.attributes) setAttribute(known, name, value);
  for (const name of known.getAttributeNames()) {
    // what a person has unfolded stays open
    if (!node.hasAttribute(name) && name !== "open") known.removeAttribute(name);
  }
  if (known.type === "checkbox") known.checked = node.checked; // which the attribute no longer tells once it was ticked
  renewParts(known, [...node.childNodes]);
  return known;
}

/** Hide a part, or show it; who is in it with the keyboard goes to `heir`. */
export function setHidden(part, hidden, heir) {
  const focused = hidden && part.contains(document.activeElement);
  part.hidden = hidden;
  if (focused) heir?.focus({ preventScroll: true });
}

/** Where the focus goes when a part of the run in view is no longer there. */
export function runTitle() {
  return document.getElementById("run-title");
}

function madeButton(key) {
  const node = el("button", { type: "button", "data-key": key, onclick: () => {
    if (node.getAttribute("aria-disabled") !== "true") node.act(node);
  } });
  return node;
}

/** What the server has of a run, relative to the page. */
export function runPath(run, what) {
  return `live/${encodeURIComponent(run)}/${what}`;
}

/** An address relative to the page, so that the app works under a sub-path. */
export function url(path) {
  return new URL(path, document.baseURI).toString();
}

/** Fetch JSON; an answer that is not ok becomes an Error with the server's own sentence. */
export async function getJson(path, signal = null) {
  let response;
  try {
    response = await fetch(url(path), { cache: "no-store", signal });
  } catch {
    throw new Error(UNREACHED + STILL_RUNNING);
  }
  let data = null;
  try {
    data = await response.json();
  } catch {
    if (response.ok) throw new Error(UNREACHED + STILL_RUNNING); // it broke off on its way
    // else it has no sentence for us
  }
  if (!response.ok) throw new Error(data?.error ?? `The playground answered with error ${response.status}.`);
  return data;
}

/**
 * The functions of the server that a part may call, but one that gets no answer fails: Gradio's own come back with
 * nothing then, as if all were well.
 */
export function answering(server) {
  return Object.fromEntries(Object.entries(server ?? {}).map(([name, call]) => [name, async (...given) => {
    const answer = await call(...given);
    if (answer === undefined) throw new Error(UNREACHED + STILL_RUNNING);
    return answer;
  }]));
}

/** What the server answers to something a person asked of it; without an answer {error}, which ends in `so`. */
export async function answerOf(call, so = STILL_RUNNING) {
  try {
    return (await call()) ?? {};
  } catch {
    return { error: UNREACHED + so };
  }
}

/**
 * Ask a person to confirm, or to fill in what is in `parts` (Enter says yes there): resolves to true or false. `parts`
 * say what it is about.
 */
export function confirmed(title, parts, yes, { no = "Keep it", kind = "danger" } = {}) {
  return new Promise((resolve) => {
    const end = (answer) => {
      resolve(answer);
      dialog.close();
    };
    const button = (look, text, answer) => buttonOf(`button ${look}`, { onclick: () => end(answer) }, text);
    const dialog = el("dialog", { class: "confirm", "aria-label": title, onclose: () => {
      resolve(false);
      dialog.remove();
    }, onkeydown: (event) => {
      if (event.key !== "Enter" || event.target.tagName !== "INPUT") return;
      event.preventDefault();
      end(true);
    } }, el("h2", {}, title), parts,
    el("div", { class: "buttons" }, button("", no, false), button(kind, yes, true)));
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Value of a CSS custom property where the element stands (Gradio scopes its themes). */
export function cssValue(name, node = document.body) {
  return getComputedStyle(node).getPropertyValue(name).trim();
}

/** A drawing with what is in it; attributes as given. */
export function svg(attributes, ...shapes) {
  return drawn("svg", attributes, shapes);
}

/** One shape of a drawing, for example a line, with its words or its title. */
export function shape(name, attributes, ...children) {
  return drawn(name, attributes, children);
}

function drawn(name, attributes, children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/** A sentence of ours as nodes: what stands between two backticks is code; one by itself is a character. */
export function withCode(sentence) {
  const parts = sentence.split("`");
  if (parts.length % 2 === 0) parts.push(parts.splice(-2).join("`"));
  return parts.map((part, index) => (index % 2 ? el("code", {}, part) : part));
}
