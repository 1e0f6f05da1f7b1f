// Sentences in another language, looked up by the English ones.

const MOST_LOOKED_UP = 4000;
const PLACE = /\{[^{}]+\}/g;
const ANYTHING = "{text}"; // the place of what somebody has typed
const LETTER = /\p{L}/u;

/**
 * What translates by pairs of sentences. A sentence with places, such as "Lesson {number}: {title}", fits where each
 * place holds figures or what has a translation itself: so nothing is half translated, and no text of a model is taken
 * for one of ours.
 * @param {[english: string, other: string][]} pairs
 */
export function wordsOf(pairs) {
  const sentences = new Map(pairs.map(([english, other]) => [english, other]));
  const patterns = pairs.filter(([english]) => english.match(PLACE)).map(patternOf);

  /** @param {string} text */
  function translate(text) {
    const other = otherOf(text.replaceAll(/\s+/g, " ").trim());
    return other ? text.replace(text.trim(), () => other) : text;
  }

  /** "" where there is none. @param {string} english @returns {string} */
  function otherOf(english) {
    if (!LETTER.test(english)) return english;
    const other = sentences.get(english) ?? fitted(english);
    if (!other && sentences.size < MOST_LOOKED_UP) sentences.set(english, ""); // it is asked again at each refresh
    return other;
  }

  /** @param {string} english */
  function fitted(english) {
    for (const { pattern, places, other } of patterns) {
      const given = pattern.exec(english)?.slice(1) ?? [];
      const values = given.map((value, at) => (places[at] === ANYTHING ? value : otherOf(value)));
      if (values.length && values.every(Boolean))
        return other.replaceAll(PLACE, (place) => values[places.indexOf(place)]);
    }
    return "";
  }
  return { translate };
}

/** @param {[english: string, other: string]} pair */
function patternOf([english, other]) {
  const literals = english.split(PLACE).map((literal) => literal.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return { pattern: new RegExp(`^${literals.join("(.{1,300}?)")}$`), places: english.match(PLACE), other };
}
