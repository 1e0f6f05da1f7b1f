// What the browser keeps for this visitor; where it keeps nothing, such as in a private window, a choice lasts for the
// page.

import { signal } from "./signals.js";

export const IN_CLASS = "playground-class"; // "yes" in a browser that has joined one, else ""

/** @param {string} key @param {string} value */
export function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // it lasts for this page
  }
}

/** @param {string} key */
export function recall(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/**
 * Records by name, alike in all pages of this browser. `set`: one of them; null forgets it.
 * @template T
 * @typedef {{ records: { value: Record<string, T> }, set: (name: string, record: T | null) => void }} Records
 */

/** @template T @param {string} key @returns {Records<T>} */
export function keptRecords(key) {
  const read = () => {
    try {
      const kept = JSON.parse(recall(key) ?? "{}");
      return kept && typeof kept === "object" ? kept : {};
    } catch {
      return {};
    }
  };
  const records = signal(/** @type {Record<string, T>} */ (read()));
  globalThis.addEventListener?.("storage", (event) => { // without a key: all was forgotten
    if (event.key === key || event.key === null) records.value = read();
  });
  return { records, set: (name, record) => {
    const next = { ...read(), [name]: record };
    if (!record) delete next[name];
    remember(key, JSON.stringify(next));
    records.value = next;
  } };
}
