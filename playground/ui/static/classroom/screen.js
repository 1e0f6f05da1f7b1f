// What the projector shows: how one joins, the step that the class is at, and what came of it. It has no controls: the
// host's desk is another window.

import { el, kept, showParts } from "../core/dom.js";
import { asked } from "../core/poll.js";
import { getJson, url } from "../core/server.js";
import { effect } from "../core/signals.js";
import { ABOUT, codeOf, qrOf, typedAddress } from "./joining.js";
import { KINDS } from "./kinds.js";

const EVERY_MS = 2500;

const root = document.getElementById("class");
const { answer: front, problem, now: ask } = asked((signalled) =>
  /** @type {Promise<Wire.ClassDesk>} */ (getJson("class/front?screen=1", signalled)), EVERY_MS);

/** @param {Wire.ClassDesk} shown @returns {Node[]} */
function partsOf(shown) {
  const { code, step, over } = shown;
  if (over) return [el("h1", "The class is over"), el("p", "Thank you for taking part."), el("p", ABOUT)];
  if (step) return KINDS[step.kind].screen(step, shown);
  if (code) return joining(shown);
  return [el("h1", "No class is open"), el("p", "Open it at the desk: ", el("a", { href: "./class/desk" },
    typedAddress(new URL("class/desk", document.baseURI).toString())))];
}

/** @param {Wire.ClassDesk} shown */
function joining({ code, address, qr, joined }) {
  return [el("h1", "Join with your phone"),
    el("div.screen-join", qrOf(qr, address), el("ol", el("li", "Open ", el("strong", typedAddress(address))),
      el("li", "Enter the code ", codeOf(code)))),
    el("p.screen-about", ABOUT),
    el("p.screen-count", { role: "status" }, `${joined} ${joined === 1 ? "has" : "have"} joined`)];
}

/** For who comes late. @param {Wire.ClassDesk} shown */
function strip({ code, address, qr, step, front: run }) {
  if (!step || !code || run) return null;
  const [where, word] = [typedAddress(address), codeOf(code)];
  if (step.state === "shown") return el("p.screen-strip", { "data-key": "line" }, `Join: ${where}, code `, word);
  return el("div.screen-strip", { "data-key": "strip" }, qrOf(qr, address),
    el("p", el("strong", "Join: "), where, el("br"), "code ", word));
}

/** @type {HTMLIFrameElement | null} */
let frame = null;

/** The run that the host shows in the place of the step; it stays as it is while it is shown. @param {string} run */
function runInFront(run) {
  const key = `front ${run}`;
  if (frame?.dataset.key !== key) {
    frame = el("iframe.screen-run", { "data-key": key, title: "The run",
      src: url(`./?tab=train&run=${encodeURIComponent(run)}&view=presentation&front=1`) });
  }
  return kept(frame);
}

effect(() => {
  const shown = front.value;
  root.classList.add("on-screen");
  const run = shown?.code ? shown.front : "";
  if (!run) frame = null;
  showParts(root, /** @type {ChildNode[]} */ ([
    run ? runInFront(run) : el("div.screen-parts", { "data-key": "parts" },
      shown ? partsOf(shown) : el("p", problem.value || "Loading\u2026")),
    shown ? strip(shown) : null,
    el("p.screen-problem", { "data-key": "problem", role: "alert", hidden: !shown || !problem.value }, problem.value),
  ].filter(Boolean)));
});

ask();
