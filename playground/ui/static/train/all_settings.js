// The switch between the short form (experiment, leash, Start) and all settings. What was chosen is kept for the
// visitor; `?settings=all` in the address opens them too. Gradio draws them when they are first opened.

import { buttonOf, setAttribute, setText, signOf } from "../core/dom.js";
import { recall, remember } from "../core/kept.js";
import { go, onPlace } from "../core/nav.js";
import { effect, signal } from "../core/signals.js";

const KEPT = "playground-settings";
const PATIENCE_MS = 5000;
const AGAIN_MS = 100;
const LOOKS = 8;
const ALL = "all";
const PART = "more-settings"; // Gradio's accordion, whose own button is hidden

const isOpen = signal(false);

/** @param {Element} element */
export function mount(element) {
  const icon = signOf("");
  const button = buttonOf("all-settings-switch", { "aria-controls": PART, onclick: () => show(!isOpen.value) },
    icon, "All settings");
  element.append(button);
  isOpen.value = recall(KEPT) === ALL;
  onPlace(({ settings }) => {
    if (settings === ALL) isOpen.value = true;
  });
  effect(() => {
    const open = isOpen.value;
    setAttribute(button, "aria-expanded", String(open));
    setText(icon, open ? "\u25BE " : "\u25B8 ");
    document.getElementById("controls").classList.toggle("all", open);
    setOpen(() => /** @type {HTMLElement} */ (document.querySelector(`#${PART} > button.label-wrap`)),
      () => isOpen.value);
  });
}

/** Open all settings, for a field among them. */
export function openAll() {
  isOpen.value = true;
}

/**
 * Open or close one of Gradio's accordions, by its button. Gradio closes one again that was opened while what is around
 * it was still being drawn, so that it is looked at more than once.
 * @param {() => HTMLElement | undefined} find @param {() => boolean} wanted
 */
export function setOpen(find, wanted, looks = LOOKS) {
  whenThere(find, (button) => {
    if (button.classList.contains("open") !== wanted()) button.click();
    if (looks > 1) setTimeout(() => setOpen(find, wanted, looks - 1), AGAIN_MS);
  });
}

/**
 * Do something with a part of the form as soon as it is there, unless that takes too long.
 * @template Part @param {() => Part} find @param {(part: Part) => void} act
 */
export function whenThere(find, act) {
  const found = find();
  if (found) return act(found);
  const watch = new MutationObserver(() => {
    const come = find();
    if (!come) return;
    watch.disconnect();
    act(come);
  });
  // the form itself may have to come: Gradio draws all anew over what was sent ahead of it
  watch.observe(document.body, { childList: true, attributes: true, subtree: true });
  setTimeout(() => watch.disconnect(), PATIENCE_MS);
}

/** @param {boolean} open */
function show(open) {
  isOpen.value = open;
  remember(KEPT, open ? ALL : "");
  go({ settings: open ? ALL : "", replace: true });
}
