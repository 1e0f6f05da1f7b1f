// The reward lists that are on the page now, by where they stand, for parts that follow them without asking the server.

import { alike, signal } from "../core/signals.js";

/**
 * A text that is being written, as the wide editor takes it (written.js says what the functions are).
 * @typedef {{ field: Wire.RewardField, text: string, functions: Wire.Function[], trying: boolean, done: () => void,
 *   problem: () => Promise<string>, reward: () => Wire.Reward, write: (text: string) => void }} Subject
 */

const rewards = () => signal(/** @type {Wire.Reward[]} */ ([]), alike);

/** @type {Record<string, ReturnType<typeof rewards>>} */
export const lists = { train: rewards(), judges: rewards(), workbench: rewards() };

/** Names of the reward models that were trained here, the newest first. */
export const trained = signal(/** @type {string[]} */ ([]), alike);

/** What written.js asks editor.js to open, or null. */
export const writing = signal(/** @type {Subject | null} */ (null));
