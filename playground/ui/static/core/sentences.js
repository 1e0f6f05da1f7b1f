// Sentences in another language, looked up by the English ones.

const LEAST_LETTERS = 12; // outside the places of a sentence: a shorter one is looked up within others only
const MOST_LOOKED_UP = 4000;
const PLACE = /\{[^{}]+\}/g;

/**
 * What translates by pairs of sentences. In a sentence with places, such as "Lesson {number}", what stands in a place
 * is translated by itself.
 * @param {[english: string, other: string][]} pairs
 */
export function wordsOf(pairs) {
  const sentences = new Map(pairs.map(([english, other]) => [english, other]));
  const patterns = pairs.filter(([english]) => english.match(PLACE)).map(patternOf);

  /** @param {string} text @param {boolean} within a sentence @returns {string} */
  function translate(text, within = false) {
    const english = text.replaceAll(/\s+/g, " ").trim();
    const other = sentences.get(english) ?? (english && fitted(english, within));
    return other ? text.replace(text.trim(), () => other) : text;
  }

  /** @param {string} english @param {boolean} within */
  function fitted(english, within) {
    for (const { pattern, letters, places, other } of patterns) {
      const match = (within || letters >= LEAST_LETTERS) && pattern.exec(english);
      if (!match) continue;
      const values = Object.fromEntries(places.map((place, index) => [place, translate(match[index + 1], true)]));
      return other.replaceAll(PLACE, (place) => values[place] ?? place);
    }
    if (!within && sentences.size < MOST_LOOKED_UP) sentences.set(english, ""); // it is asked again at each refresh
    return "";
  }
  return { translate };
}

/** @param {[english: string, other: string]} pair */
function patternOf([english, other]) {
  const literals = english.split(PLACE);
  const escaped = literals.map((literal) => literal.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return { pattern: new RegExp(`^${escaped.join("(.{1,300}?)")}$`), letters: literals.join("").length,
    places: english.match(PLACE), other };
}
