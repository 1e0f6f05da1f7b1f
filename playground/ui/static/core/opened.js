// Which window over the run in view is open: an update, or an answer token by token; and which one the host of a class
// has open, for who follows (core/following.js). The windows themselves set the one and hear of the other.

import { alike, signal } from "./signals.js";

/** `text`: of which fixed prompt the answer is; then `update` says of which evaluation.
 * @typedef {{ update: number | null, text: number | null }} Opened */

/** @type {Opened} */
export const NOTHING = { update: null, text: null };
export const opened = signal(NOTHING, alike);
export const led = signal(NOTHING, alike);
/** Which update of the run in view somebody wants to see in slow motion. */
export const wantedTrace = signal(/** @type {number | null} */ (null));
