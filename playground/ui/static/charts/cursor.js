// Which point of a line is meant: by where a pointer is, or by a cursor that keys move. A line is {x, raw, updates},
// where `updates` says of which update each point is. Pure.

/** @typedef {{ left: number, top: number }} Place */

/** @type {Record<string, number>} */
const STEPS = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity };

/**
 * Indices of the points that a cursor can be at: known, of an update, and between `start` and `end`.
 * @param {Pick<Charts.Series, "x" | "raw" | "updates">} line @param {Charts.Range} range
 */
export function pointsOf({ x, raw, updates }, { start, end }) {
  return [...x.keys()].filter((at) => !Number.isNaN(raw[at]) && updates?.[at] > 0 && x[at] >= start && x[at] <= end);
}

/**
 * Where a key moves a cursor among such points; null: no such key. Without a cursor (null) it starts at the last.
 * @param {number[]} points @param {number | null} at @param {string} key
 */
export function moved(points, at, key) {
  const step = STEPS[key];
  if (!step || !points.length) return null;
  const last = points.length - 1;
  const here = at === null ? last : Math.max(0, points.findLastIndex((index) => index <= at));
  return points[Math.min(Math.max(here + step, 0), last)];
}

/**
 * The point that is meant by a place, of lists with the points of each line, [{left, top, ...}]; undefined without any:
 * of each line the nearest one across, of those the nearest in height. `free`: the nearest one, for lines that go back.
 * @template {Place} P @param {P[][]} lines @param {Place} place
 * @returns {P}
 */
export function pointAt(lines, { left, top }, free = false) {
  const far = (/** @type {Place} */ point) => (free
    ? Math.hypot(point.left - left, point.top - top) : Math.abs(point.left - left));
  const nearest = lines.filter(({ length }) => length).map((points) => least(points, far));
  return least(nearest, free ? far : (/** @type {Place} */ point) => Math.abs(point.top - top));
}

/** @template P @param {P[]} items @param {(item: P) => number} of @returns {P} */
function least(items, of) {
  return items.reduce((best, item) => (best === undefined || of(item) < of(best) ? item : best), undefined);
}
