// What the browser keeps for this visitor; where it keeps nothing, such as in a private window, a choice lasts for the
// page.

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
