// The best policy of a problem whose texts can all be listed: the reference reweighted by e to the power of score /
// beta. Its score and its KL depend only on how likely the reference is to reach each score. Pure; bench/chalkboard.py
// computes the same from the texts themselves.

/**
 * How likely the reference is to reach each score: [score, probability] pairs.
 * @typedef {number[][]} Levels
 */

/**
 * The best policy of one prompt: its mean `score` and the `gain` over the reference's, its KL, and log Z.
 * @param {Levels} levels @param {number} beta
 */
export function bestOf(levels, beta) {
  const weights = levels.map(([score, mass]) => score / beta + Math.log(mass));
  const most = Math.max(...weights);
  const total = weights.reduce((sum, weight) => sum + Math.exp(weight - most), 0);
  const logZ = most + Math.log(total);
  const score = levels.reduce((sum, [value], index) => sum + value * Math.exp(weights[index] - logZ), 0);
  const start = levels.reduce((sum, [value, mass]) => sum + value * mass, 0);
  return { score, gain: score - start, kl: Math.max(0, score / beta - logZ), logZ };
}

/** The same of several prompts: means. @param {Levels[]} tables @param {number} beta */
export function bestOfAll(tables, beta) {
  const found = tables.map((levels) => bestOf(levels, beta));
  const mean = (/** @type {"gain" | "kl"} */ name) => found.reduce((sum, one) => sum + one[name], 0) / found.length;
  return { gain: mean("gain"), kl: mean("kl") };
}

/**
 * How likely the best policy is to write a text.
 * @param {Pick<Wire.BoardText, "score" | "reference">} text @param {number} beta @param {number} logZ
 */
export function chanceOf({ score, reference }, beta, logZ) {
  return reference * Math.exp(score / beta - logZ);
}

/**
 * Numbers from one end to another, each as many times the one before.
 * @param {number} from @param {number} to @param {number} count
 */
export function betasBetween(from, to, count) {
  return Array.from({ length: count }, (_, index) => from * (to / from) ** (index / (count - 1)));
}
