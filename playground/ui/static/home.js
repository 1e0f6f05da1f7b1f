// What every open page asks now and then: machine facts, which run trains, which is the newest. One poll for all parts.

import { getJson } from "./dom.js";

const EVERY_MS = 8000;
const listeners = new Set();
let latest = null;
let timer = 0;

/** Call back at once (if known) and whenever it is asked again. */
export function onHome(callback) {
  listeners.add(callback);
  if (latest) callback(latest);
}

/** Ask now; for example after a run has started or ended. */
export async function refreshHome() {
  clearTimeout(timer);
  try {
    latest = await getJson("live/_home");
  } catch {
    latest = { ...(latest ?? { living: null, newest: null, recorded: null }), machine: "not connected" };
  }
  for (const callback of listeners) callback(latest);
  if (!document.hidden) timer = setTimeout(refreshHome, EVERY_MS);
  return latest;
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) refreshHome();
});
refreshHome();
