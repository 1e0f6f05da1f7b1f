// What a presentation has and the Train page has not: Start, which presses the button of the hidden form, with the
// reason where the run would wait, and the leash in words. Pause, Next and all else are the parts of the Train page.

import { leashInWords } from "./leash_words.js";
import { filling } from "./notes.js";
import { rights } from "../core/access.js";
import { buttonOf, el, runTitle, setHidden, setOff, setText, showParts } from "../core/dom.js";
import { form } from "../core/form.js";
import { effect } from "../core/signals.js";
import { live } from "../core/store.js";

/** Add them to the run in view: Start into its status, the leash as a part of its own. @param {Element} root */
export function showPresenting(root) {
  const start = buttonOf("button strong present-start", { off: true, "aria-describedby": "present-why",
    onclick: () => document.getElementById("start")?.click() });
  const why = el("p.present-why", { id: "present-why" });
  const leash = el("p");
  root.querySelector(".status-head").append(start);
  root.querySelector(".status-foot").append(why);
  root.append(el("section.leash-now", { "aria-label": "Leash" }, leash));
  effect(() => {
    const { queue, problems } = form.value;
    setHidden(start, !rights.value.start, runTitle());
    setText(start, queue ? "Add to the queue" : "Start training");
    start.classList.toggle("strong", !queue);
    setOff(start, problems.length > 0 || filling.value !== null);
    setText(why, !rights.value.start ? "" : problems.length
      ? "A setting has to be mended first: end the presentation." : queue);
  });
  effect(() => showParts(leash, live.run ? leashParts() : []));
}

function leashParts() {
  const told = leashInWords(live.run, live.events, live.metrics);
  if (!told) return [el("span.muted", "Leash: this method has none.")];
  const { before, value, after } = told;
  return ["Leash ", before, " ", el("strong", value), " ", el("span.muted", after)].map((part) =>
    (typeof part === "string" ? document.createTextNode(part) : part));
}
