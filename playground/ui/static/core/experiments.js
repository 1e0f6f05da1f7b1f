// The experiments that tell one story, and the recording of each. train/preset.js says which there are.

import { home, refreshHome } from "./home.js";
import { go, linkTo, place } from "./nav.js";
import { signal } from "./signals.js";
import { open } from "./store.js";

/** In their order. */
export const experiments = signal(/** @type {Wire.Step[]} */ ([]));

/** Before the name of a run whose settings are in the form, in the place of an experiment. */
export const RUN_PREFIX = "run:";

/** The one that was chosen last, or that the address named at first; "" for none. */
export const chosen = signal(place().preset?.startsWith(RUN_PREFIX) ? "" : place().preset ?? "");

/** What the run is called whose settings were put into the form last. */
export const settingsOf = signal("");

/**
 * A step of the story with what is around it: {...step, of, earlier, next}; null for what is no part of it.
 * @param {string} preset
 */
export function stepOf(preset) {
  const all = experiments.value;
  const place = all.findIndex((step) => step.preset === preset);
  if (place < 0) return null;
  const earlier = all.find((step) => step.preset === all[place].against) ?? null;
  return { ...all[place], of: all.length, earlier, next: all[place + 1] ?? null };
}

/** The id of the recorded run of a preset, or null. @param {string} preset */
export function recordingOf(preset) {
  return home.value?.recorded?.[preset] ?? null;
}

/**
 * The address names a preset that was chosen. Unless a run trains, its recording comes into view, or that it has none.
 * @param {string} preset
 */
export async function choosePreset(preset) {
  chosen.value = preset;
  go({ page: "train", preset });
  if (home.value?.living) await refreshHome(); // it may have ended since that was asked
  if (chosen.value === preset && home.value && !home.value.living) open(recordingOf(preset));
}

/**
 * A link that lays the run in view over the experiment that it is to be held against; null where there is none.
 * @param {Wire.Run | null} run
 */
export function earlierLink(run) {
  const earlier = run?.recorded ? stepOf(run.preset)?.earlier : null;
  const before = earlier && recordingOf(earlier.preset);
  return before ? linkTo(`?tab=runs&overlay=${before},${run.id}`,
    () => go({ page: "runs", overlay: [before, run.id] }), `Overlay with ${earlier.number}, ${earlier.title}`,
    { class: "quiet-button" }) : null;
}
