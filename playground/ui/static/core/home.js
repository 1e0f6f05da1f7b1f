// What every open page asks now and then: machine facts, which run trains, which is the newest. One poll for all parts.

import { getJson } from "./server.js";
import { poll } from "./poll.js";
import { effect, signal, untracked } from "./signals.js";

const EVERY_MS = 8000;
const SOON_MS = 700;
const SOON_FOR_MS = 7000;
/** @type {Omit<Wire.Home, "machine">} */
const NOTHING_KNOWN = { living: null, newest: null, shown: null, recorded: {}, training: [], waiting: [] };

let ending = { run: "", until: 0 };

/** What was answered last, and whether there was an answer: `connected`; null before the first one. */
export const home = signal(/** @type {Wire.Home & { connected: boolean } | null} */ (null));

/** Ask now; for example after a run has started or ended. */
export const refreshHome = poll({
  ask: (signal) => /** @type {Promise<Wire.Home>} */ (getJson("live/_home", signal)),
  tell: (answer) => {
    home.value = { ...answer, connected: true };
  },
  fail: () => {
    home.value = { ...(home.value ?? NOTHING_KNOWN), machine: "not connected", connected: false };
  },
  every: () => (isEnding() ? SOON_MS : EVERY_MS),
});

/**
 * Ask more often for a moment: the worker process outlives its last word, and the Start button waits for the process.
 * @param {string} run
 */
export function watchEnd(run) {
  ending = { run, until: performance.now() + SOON_FOR_MS };
  refreshHome();
}

function isEnding() {
  return performance.now() < ending.until && home.value?.training?.some(({ id }) => id === ending.run);
}

/**
 * Call back at once (if known) and whenever it was asked again.
 * @param {(found: typeof home.value) => void} callback
 */
export function onHome(callback) {
  effect(() => {
    const known = home.value;
    if (known) untracked(() => callback(known));
  });
}

refreshHome();
