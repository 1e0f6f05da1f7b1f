// The reward lists that are on the page now, by where they stand, for parts that follow them without asking the server.

import { alike, signal } from "../core/signals.js";

export const lists = { train: signal([], alike), judges: signal([], alike), workbench: signal([], alike) };

/** Names of the reward models that were trained here, the newest first. */
export const trained = signal([], alike);

/** What written.js asks editor.js to open, or null. */
export const writing = signal(null);
