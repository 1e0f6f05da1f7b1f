// The leash of the first page, drawn at once: before Gradio, whose start takes longer than all of this, has begun. The
// page of the lessons takes it over as it stands.

import { el } from "../core/dom.js";
import { recall } from "../core/kept.js";
import { leashPart } from "./leash.js";

/** @type {HTMLElement | null} */
let early = null;

/** Draw it over the page that is to come. */
export function drawEarly() {
  if (document.querySelector("#lessons .lessons")) return; // the page was quicker
  const theme = new URLSearchParams(location.search).get("__theme") ?? recall("playground-theme")
    ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  document.body.classList.toggle("dark", theme === "dark");
  const sheet = document.querySelector("link[href$='/page.css']"); // ours, not one of Gradio's
  document.head.append(el("link", { rel: "stylesheet", href: sheet.getAttribute("href") })); // as Gradio will, later
  early = el("main.first-light", el("div.lessons", firstLeash()));
  document.body.prepend(early);
}

/** The part, the early one if it is there: who is in it stays in it, once it stands in its place. */
export function firstLeash() {
  const drawn = /** @type {HTMLElement | null} */ (early?.querySelector(".leash-board"));
  const focused = /** @type {HTMLElement | null} */ (drawn?.querySelector(":focus"));
  early?.remove();
  if (focused) queueMicrotask(() => focused.focus({ preventScroll: true }));
  early = null;
  return drawn ?? leashPart("lessons", { first: true });
}
