// The tokenizer of the included models, from its tokenizer.json: byte-level BPE, as in GPT-2.

const PIECES = / ?[A-Za-z']+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+/g;

/** @typedef {{ model: { vocab: Record<string, number>, merges: [string, string][] } }} Written */

/** @param {Written} written */
export function tokenizerOf({ model: { vocab, merges } }) {
  const ranks = new Map(merges.map(([left, right], rank) => [`${left} ${right}`, rank]));
  const pieces = Object.fromEntries(Object.entries(vocab).map(([piece, token]) => [token, piece]));
  const letters = lettersOfBytes();
  const bytes = new Map(letters.map((letter, byte) => [letter, byte]));

  /** @param {string} text @returns {number[]} */
  function encode(text) {
    return (text.match(PIECES) ?? []).flatMap((piece) => {
      const symbols = Array.from(new TextEncoder().encode(piece), (byte) => letters[byte]);
      return merged(symbols, ranks).map((symbol) => vocab[symbol]);
    });
  }

  /** @param {number[]} tokens @returns {string} */
  function decode(tokens) {
    const written = tokens.map((token) => pieces[token]).join("");
    return new TextDecoder().decode(Uint8Array.from(written, (letter) => bytes.get(letter) ?? 0));
  }
  return { encode, decode };
}

/**
 * Neighbours put together, always those whose rule came first.
 * @param {string[]} symbols @param {Map<string, number>} ranks @returns {string[]}
 */
function merged(symbols, ranks) {
  const rankAt = (/** @type {number} */ place) => ranks.get(`${symbols[place]} ${symbols[place + 1]}`) ?? Infinity;
  const best = symbols.slice(1).reduce((place, _, next) => (rankAt(next) < rankAt(place) ? next : place), 0);
  if (rankAt(best) === Infinity) return symbols;
  return merged([...symbols.slice(0, best), symbols[best] + symbols[best + 1], ...symbols.slice(best + 2)], ranks);
}

/** The letter that stands for each byte: itself where it can be seen, else one from 256 on. */
function lettersOfBytes() {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const isSeen = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    return String.fromCodePoint(isSeen ? byte : (next += 1) - 1);
  });
}
