// The sections under the first screen of a run: a row of names, each of which opens its part in place. What was opened
// stays open for this visitor.

import { buttonOf, el, setHidden, setText, signOf } from "./dom.js";
import { recall, remember } from "./kept.js";
import { effect, signal, untracked } from "./signals.js";

const KEPT = "playground-sections";

/** The keys of those that are open. */
export const opened = signal(new Set((recall(KEPT) ?? "").split(" ").filter(Boolean)));

/** Open a section, or close it; `keep`: also for the visitor's next run. @param {string} key */
export function openSection(key, open = true, keep = true) {
  if (opened.value.has(key) === open) return;
  const next = new Set(opened.value);
  if (open) next.add(key);
  else next.delete(key);
  opened.value = next;
  if (keep) remember(KEPT, [...next].join(" "));
}

/**
 * Do something when a section is open for the first time, such as loading its scripts.
 * @param {string} key @param {() => void} act
 */
export function whenOpened(key, act) {
  let done = false;
  effect(() => {
    if (done || !opened.value.has(key)) return;
    done = true;
    untracked(act);
  });
}

/** A row of names in an element, and what adds one more: see there. @param {HTMLElement} element */
export function sectionsIn(element) {
  const names = el("div.section-names", { role: "group", "aria-label": "More about this run" });
  element.append(names);
  /**
   * The box of a section, to be filled. `about()` gives null where there is nothing to open, else {note, sign, tone}: a
   * few words beside the name. What opens lies below the window, so its name goes to the top.
   * @param {string} key @param {string} name
   * @param {() => { note?: string, sign?: string, tone?: string } | null} about
   */
  return (key, name, about) => {
    const sign = el("span.section-sign");
    const note = el("span.section-note");
    const button = buttonOf("section-name", { "data-section": key, "aria-expanded": "false",
      "aria-controls": `section-${key}`, onclick: () => {
        const opening = !opened.value.has(key);
        openSection(key, opening);
        if (opening) requestAnimationFrame(() => names.scrollIntoView({ block: "start", behavior: "smooth" }));
      } }, sign, el("span", name), note);
    const box = el("div.section", { id: `section-${key}`, hidden: true });
    names.append(button);
    element.append(box);
    effect(() => {
      const found = about();
      const isOpen = Boolean(found) && opened.value.has(key);
      setHidden(button, !found, names);
      button.setAttribute("aria-expanded", String(isOpen));
      setHidden(box, !isOpen, button);
      if (!found) return;
      button.dataset.tone = found.tone ?? "";
      setText(note, found.note ? ` ${found.note}` : "");
      sign.replaceChildren(...(found.sign ? [signOf(found.sign), " "] : []));
    });
    return box;
  };
}
