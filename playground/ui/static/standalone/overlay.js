// Several recordings in one set of charts, put together from what is known of each and of each pair of them.

/**
 * What an overlay of two runs says beside their curves, and where each of them was at the KL that both reached.
 * @typedef {Omit<Wire.Overlay, "runs"> & { there: Record<string, Wire.PathPoint | null> }} Pair
 */

/**
 * As the server answers `live/_overlay?runs=a,b`. Where a run was at the KL which all of them reached is known from its
 * pair with the one that went least far; the settings in which they differ, from the pairs with the first.
 * @param {string[]} ids
 * @param {(pack: string) => Promise<Record<string, unknown>>} read a pack has the run alone under "", else pairs by id
 * @returns {Promise<Wire.Overlay>}
 */
export async function overlaid(ids, read) {
  const packs = /** @type {Record<string, Pair>[]} */ (await Promise.all(ids.map((id) => read(`live/${id}/overlay`))));
  const alone = /** @type {Wire.Overlay[]} */ (/** @type {unknown} */ (packs.map((pack) => structuredClone(pack[""]))));
  const runs = alone.flatMap((one) => one.runs);
  const problems = alone.flatMap((one) => one.problems);
  if (ids.length < 2) return { ...alone[0], runs, problems };
  const pairs = ids.slice(1).map((id) => packs[0][id]);
  const reached = pairs.some((pair) => pair.reached === null) ? null : Math.min(...pairs.map((pair) => pair.reached));
  return { reached, problems, settings: differing(pairs), scores_differ: longest(pairs),
    runs: runs.map((run, index) => ({ ...run, there: thereOf(run.id, packs[index], reached) })) };
}

/**
 * Where a run was at a KL that another of its pairs has reached, and no farther.
 * @param {string} id
 * @param {Record<string, Pair>} pack
 * @param {number | null} reached
 */
function thereOf(id, pack, reached) {
  const pair = reached !== null && Object.values(pack).find((one) => one.there && one.reached === reached);
  return pair ? pair.there[id] : null;
}

/** The settings in which some of them differ from the first. @param {Pair[]} pairs */
function differing(pairs) {
  /** @type {Map<string, Wire.DifferingSetting>} */
  const rows = new Map();
  pairs.forEach((pair, index) => {
    for (const { label, unit, values: [first, other] } of pair.settings) {
      if (!rows.has(label)) rows.set(label, { label, unit, values: [first, ...pairs.map(() => first)] });
      rows.get(label).values[index + 1] = other;
    }
  });
  return [...rows.values()];
}

/** Why their scores are not one measure, as the pair says it that has the most reasons. @param {Pair[]} pairs */
function longest(pairs) {
  return pairs.map((pair) => pair.scores_differ).reduce((one, other) => (other.length > one.length ? other : one));
}
