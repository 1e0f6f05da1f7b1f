// What the model of a lesson writes before its run has begun: nobody can expect anything of a model they have not seen.

import { el } from "../core/dom.js";
import { recordingOf } from "../core/experiments.js";
import { snapshotOf } from "../core/server.js";
import { promptAndAnswer } from "../core/texts.js";

const MOST_TEXTS = 3;
const MOST_COUNTS = 3;
const TRAINED_REWARD = "trained_reward"; // half of the answers, by its definition

/**
 * A box, and what fills it as soon as the page knows its recordings. It stays empty where the first run has none.
 * @param {Wire.Lesson} lesson
 */
export function untrainedPart({ runs: [run] }) {
  const box = el("div.lesson-untrained");
  let asked = false;
  const fill = async () => {
    const recording = run.twin ? recordingOf(run.preset) : null;
    if (!recording || asked) return;
    asked = true; // once: what is left out keeps nobody from predicting
    const snapshot = await snapshotOf(recording);
    if (snapshot) box.replaceChildren(...untrained(snapshot));
  };
  return { box, fill };
}

/** @param {Wire.Snapshot} snapshot */
function untrained({ prompts, moments: [first], behaviours }) {
  const byId = new Map(prompts.map(({ id, text }) => [id, text]));
  const rows = first.rows.slice(0, MOST_TEXTS);
  const meters = (behaviours?.meters ?? []).filter(({ name }) => name !== TRAINED_REWARD);
  const counts = meters.slice(0, MOST_COUNTS).map(({ words, counts: [{ yes, of }] }) =>
    `it ${words} in ${yes} of ${of} answers`);
  return [el("p", el("strong", "Untrained: "), counts.length ? `${counts.join("; ")}. For example:` : "it writes"),
    el("ul.lesson-texts", rows.map(({ id, text }) => el("li", promptAndAnswer(byId.get(id) ?? "", text))))];
}
