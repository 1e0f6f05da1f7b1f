// Which words two texts share: longest common subsequence of words. Pure.

/** @typedef {{ text: string, changed: boolean }} Words */

/**
 * Two lists of words; joined they give the two texts back, white space included.
 * @param {string} before @param {string} after
 */
export function wordDifference(before, after) {
  const a = tokens(before);
  const b = tokens(after);
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      table[i][j] = bare(a[i]) === bare(b[j]) ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  /** @type {Words[]} */
  const left = [];
  /** @type {Words[]} */
  const right = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (bare(a[i]) === bare(b[j])) {
      push(left, a[i++], false);
      push(right, b[j++], false);
    } else if (table[i + 1][j] >= table[i][j + 1]) push(left, a[i++], true);
    else push(right, b[j++], true);
  }
  while (i < a.length) push(left, a[i++], true);
  while (j < b.length) push(right, b[j++], true);
  return [left, right];
}

const MAX_WORDS = 400; // beyond this the rest counts as one word, so that the table stays small

/** @param {string} text @returns {string[]} */
function tokens(text) {
  const found = text.match(/\s*\S+/g) ?? [];
  if (found.length <= MAX_WORDS) return found;
  return [...found.slice(0, MAX_WORDS), found.slice(MAX_WORDS).join("")];
}

/** @param {string} token */
function bare(token) {
  return token.trim().replace(/[.,;:!?]+$/, "");
}

/** @param {Words[]} parts @param {string} text @param {boolean} changed */
function push(parts, text, changed) {
  const last = parts.at(-1);
  if (last && last.changed === changed) last.text += text;
  else parts.push({ text, changed });
}
