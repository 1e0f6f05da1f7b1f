// Which model is trained, what for (in the words of the experiment, or else the name of the reward), and what to look
// for, a line each; with all settings, what was measured too.

import { el, showParts } from "../core/dom.js";
import { settingsOf, stepOf } from "../core/experiments.js";
import { effect } from "../core/signals.js";
import { live } from "../core/store.js";

const NO_PAY = "Nothing is trained";

/** @param {Element} element @param {{ value: Partial<Wire.Story> }} props @param {Page.Tools} page */
export function mount(element, props, { watch }) {
  const story = el("div.story");
  element.append(story);
  let title = /** @type {string | null} */ (null);
  const show = () => {
    const value = props.value ?? {};
    if (value.settings_of) settingsOf.value = value.settings_of;
    // with a setting changed there is less to say, and what is below stays where it is
    story.style.minHeight = value.title === title ? `${story.getBoundingClientRect().height}px` : "";
    ({ title } = value);
    const look = stepOf(value.preset)?.look ?? value.expect;
    const other = live.run && live.run.preset !== value.preset; // it would be taken for that run's
    const pays = value.taught?.startsWith(NO_PAY) ? "" : other ? "Start pays: " : "Paid: ";
    const lines = [["trained", "Model: ", value.model], ["scored", "Reward: ", value.taught ? "" : value.reward],
      ["taught", pays, value.taught],
      ["look", other ? "Then look for: " : "Look for: ", look],
      ["differs", "Changed: ", value.changed], ["what", "", value.what], ["measured", "", value.measured]];
    showParts(story, lines.filter(([, , words]) => words).map(([kind, word, words]) =>
      el(`p.${kind}`, { "data-key": kind }, word ? el("strong", word) : null, words)));
  };
  watch("value", show);
  effect(show); // the story may become known later than its words
}
