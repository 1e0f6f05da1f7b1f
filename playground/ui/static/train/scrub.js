// The way through a recorded run: play on, stop, and a slider over its updates.

import { buttonOf, el, runTitle, setAttribute, setHidden, setText } from "../core/dom.js";
import { isMotionWelcome } from "../core/player.js";
import { effect } from "../core/signals.js";
import { player } from "../core/store.js";

/** A box that is there while a recording is in view. @returns {HTMLElement} */
export function scrubber() {
  const word = el("span");
  const button = buttonOf("quiet-button", { onclick: () => {
    const { value: shown } = player;
    if (shown.playing.value) shown.stop();
    else shown.play();
  } }, word);
  const slider = el("input", { type: "range", min: 0, max: 0, step: 1, value: 0, "aria-label": "Update to show",
    oninput: () => player.value.seek(Number(slider.value)) });
  const box = el("div.scrub", { hidden: true, role: "group", "aria-label": "Through the recording" }, button, slider);
  effect(() => {
    const shown = player.value;
    setHidden(box, !shown, runTitle());
    if (!shown) return;
    const { updates, at: { value: at }, playing: { value: playing } } = shown;
    const ended = at >= updates.length;
    setHidden(button, ended || !isMotionWelcome(), slider);
    box.classList.toggle("ended", ended && isMotionWelcome()); // "Play again" stands beside the title then
    setText(word, playing ? "Stop here" : "Play on");
    setAttribute(slider, "max", String(updates.length));
    slider.value = String(at);
    setAttribute(slider, "aria-valuetext", at ? `after update ${updates[at - 1]}` : "before training");
  });
  return box;
}
