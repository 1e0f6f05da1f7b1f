// The reward lists that are on the page now, by where they stand, for parts that follow them without asking the server.

import { alike, signal } from "../core/signals.js";

const rewards = () => signal(/** @type {Wire.Reward[]} */ ([]), alike);

/** @type {Record<string, ReturnType<typeof rewards>>} */
export const lists = { train: rewards(), judges: rewards(), workbench: rewards() };

/** Names of the reward models that were trained here, the newest first. */
export const trained = signal(/** @type {string[]} */ ([]), alike);
