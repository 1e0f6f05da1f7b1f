// The reward lists that are on the page now, by where they stand, for parts that follow them without asking the server.

import { alike, signal } from "../core/signals.js";

export const lists = { train: signal([], alike), judges: signal([], alike), workbench: signal([], alike) };
