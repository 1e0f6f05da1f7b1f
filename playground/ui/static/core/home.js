// What every open page asks now and then: machine facts, which run trains, which is the newest. One poll for all parts.

import { ANSWER_MS, getJson } from "./dom.js";

const EVERY_MS = 8000;
const AGAIN_MS = 2000; // the first wait when the playground does not answer; it doubles up to EVERY_MS
const listeners = new Set();
let latest = null;
let timer = 0;
let failures = 0;

/** Call back at once (if known) and whenever it is asked again. */
export function onHome(callback) {
  listeners.add(callback);
  if (latest) callback(latest);
}

/** Ask now; for example after a run has started or ended. `connected` says whether there was an answer. */
export async function refreshHome() {
  clearTimeout(timer);
  try {
    latest = { ...(await getJson("live/_home", AbortSignal.timeout(ANSWER_MS))), connected: true };
    failures = 0;
  } catch {
    latest = { ...(latest ?? { living: null, newest: null, recorded: null, training: [], waiting: [] }), machine: "not connected", connected: false };
    failures += 1;
  }
  for (const callback of listeners) callback(latest);
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(refreshHome, failures ? Math.min(AGAIN_MS * 2 ** (failures - 1), EVERY_MS) : EVERY_MS);
  return latest;
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) refreshHome();
});
refreshHome();
