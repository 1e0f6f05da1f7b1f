// What every open page asks now and then: machine facts, which run trains, which is the newest. One poll for all parts.

import { getJson } from "./dom.js";
import { poll } from "./poll.js";
import { effect, signal, untracked } from "./signals.js";

const EVERY_MS = 8000;
const NOTHING_KNOWN = { living: null, newest: null, recorded: null, training: [], waiting: [] };

/** What was answered last, and whether there was an answer: `connected`; null before the first one. */
export const home = signal(/** @type {any} */ (null));

/** Ask now; for example after a run has started or ended. */
export const refreshHome = poll({
  ask: (signal) => getJson("live/_home", signal),
  tell: (answer) => {
    home.value = { ...answer, connected: true };
  },
  fail: () => {
    home.value = { ...(home.value ?? NOTHING_KNOWN), machine: "not connected", connected: false };
  },
  every: () => EVERY_MS,
});

/** Call back at once (if known) and whenever it was asked again. */
export function onHome(callback) {
  effect(() => {
    const known = home.value;
    if (known) untracked(() => callback(known));
  });
}

refreshHome();
