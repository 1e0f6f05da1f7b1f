// What the form knows besides its values: the preset's values (`marks`), the problems, and why a run would wait
// (`queue`). Controls in a closed group are not in the document, so a control that appears later reads here.

import { el } from "./dom.js";
import { signal } from "./signals.js";

export const form = signal(/** @type {Pick<Wire.Notes, "marks" | "problems" | "suiting" | "regimes" | "queue">} */
  ({ marks: {}, problems: [], suiting: [], regimes: null, queue: "" }));

/**
 * The form as it stands: the preset (or the run) it began with, what differs as text (ui/train/edits.py), and how many
 * settings that are. `text` is null until the form is filled.
 */
export const settings = signal(/** @type {{preset: string, text: string | null, changes: number}} */
  ({ preset: "", text: null, changes: 0 }));

/** How long a run of the form would take here, [shortest, longest] in seconds; null while nobody knows. */
export const runSeconds = signal(/** @type {Wire.Needs["seconds"]} */ (null));

/** Counts how often the check before a start was asked for: a button asks, another part of the page opens it. */
export const checkAsked = signal(0);

/**
 * What a part of the page proposes for the form: each setting in words, as it is and as it would be.
 * @param {Pick<Wire.Difference, "label" | "before" | "after">[]} differences
 */
export function differencesOf(differences) {
  return el("ul.differences", differences.map(({ label, before, after }) => el("li", `${label} `,
    el("span.was", before), " \u2192 ", el("strong", after))));
}
