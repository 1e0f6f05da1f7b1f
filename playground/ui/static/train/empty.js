// The status where there is no run to show: which experiment was chosen, that it has no recording, and what to do.

import { isWatching, rights, waiting } from "../core/access.js";
import { chosen, recordingOf, stepOf } from "../core/experiments.js";
import { form } from "../core/form.js";
import { home } from "../core/home.js";
import { go, place } from "../core/nav.js";
import { live } from "../core/store.js";
import { lacksIt, NAME } from "./real_model.js";

export const NONE = "RLHF Playground"; // the title of the tab

/** @param {Wire.Run | null} run what is known of one @returns {import("./status.js").View} */
export function emptyView(run) {
  if (live.connection === "failed")
    return { title: "Not found", tab: NONE, text: live.problem,
      buttons: [{ key: "runs", text: "All runs", act: () => go({ page: "runs" }) }] };
  if (live.runId) return { title: run?.title ?? "", tab: NONE, text: "Loading the run\u2026", buttons: [] };
  if (place().lesson)
    return { title: "No run yet", tab: NONE, text: "The run of this lesson appears here when it starts.", buttons: [] };
  const step = stepOf(chosen.value);
  const unrecorded = chosen.value && home.value?.connected && !recordingOf(chosen.value);
  const words = [unrecorded ? "There is no recording of this experiment yet." : "", toBegin()];
  if (step && !rights.value.form) words.push(`Then look for this: ${step.look}`); // else it stands in the form
  return { title: step?.title ?? "No run yet", tab: NONE, text: words.filter(Boolean).join(" "), buttons: [] };
}

/** What to do for a run to look at. */
function toBegin() {
  if (!rights.value.start) return isWatching() ? waiting(home.value)
    : "The curves and texts of a run appear here as soon as there is one.";
  const first = form.value.problems.some(lacksIt) ? `Get ${NAME}, then press` : chosen.value ? "Press"
    : "Choose an experiment and press";
  return `${first} Start. Its curves and texts appear here.`;
}
