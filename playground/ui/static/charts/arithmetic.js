// Arithmetic behind the charts, without any drawing: smoothing, ranges that do not twitch, looking up a point. Pure.

/** @typedef {ArrayLike<number>} Numbers */

/** Debiased exponential moving average; gaps (NaN) stay gaps and do not count. `weight` 0 changes nothing. */
export function smooth(/** @type {Numbers} */ values, /** @type {number} */ weight) {
  const result = new Float64Array(values.length);
  let mean = 0;
  let bias = 1;
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i];
    if (Number.isNaN(value)) {
      result[i] = NaN;
      continue;
    }
    mean = weight * mean + (1 - weight) * value;
    bias *= weight;
    result[i] = weight ? mean / (1 - bias) : value;
  }
  return result;
}

/** A column with null as NaN. */
export function column(/** @type {Charts.Columns} */ columns, /** @type {string} */ name) {
  return Float64Array.from(columns[name] ?? [], (value) => (value === null ? NaN : value));
}

/** Lowest and highest finite value of several arrays between two indices; null if there is none. */
export function extent(/** @type {Numbers[]} */ arrays, from = 0, to = Infinity) {
  let low = Infinity;
  let high = -Infinity;
  for (const values of arrays) {
    for (let i = from; i < Math.min(values.length, to); i += 1) {
      const value = values[i];
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : null;
}

/** The range of shares, and of points up to one: with a little room. */
export const ALL_OF_ONE = [0, 1.03];

/**
 * A range at least `span` wide. What has a `floor` gets the room above.
 * @param {number[]} range @param {number} span @param {boolean} floor
 */
export function widened([low, high], span, floor) {
  const lacking = Math.max(span - (high - low), 0);
  const below = floor ? 0 : lacking / 2;
  return [low - below, high + lacking - below];
}

/**
 * Round bounds around [low, high]. A range that still fits is kept, so that the axis does not twitch.
 * @param {number[]} found
 * @param {number[] | null} previous
 */
export function niceRange(found, previous = null) {
  const [low, high] = found;
  if (previous && low >= previous[0] && high <= previous[1]) {
    const used = (high - low) / (previous[1] - previous[0]);
    if (used > 0.35 || previous[1] - previous[0] < 1e-9) return previous;
  }
  const span = high - low || Math.abs(high) * 0.2 || 1;
  const padded = [low - span * 0.06, high + span * 0.1];
  const step = niceStep((padded[1] - padded[0]) / 4);
  return [Math.floor(padded[0] / step) * step, Math.ceil(padded[1] / step) * step];
}

/** A size times a power of ten, not below `rough`. */
export function niceStep(/** @type {number} */ rough, sizes = [1, 2, 2.5, 5]) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * (sizes.find((size) => rough / power <= size) ?? 10);
}

/**
 * Round values between two ends, about `count` of them: 1, 2 or 5 times a power of ten apart.
 * @param {number} from @param {number} to @param {number} count
 */
export function roundTicks(from, to, count) {
  const step = niceStep((to - from || 1) / count, [1, 2, 5]);
  const found = [];
  for (let at = Math.ceil(from / step - 1e-9) * step; at <= to + step * 1e-6; at += step)
    found.push(Number(at.toPrecision(6)) || 0);
  return found;
}

/**
 * Counts of some lists in the same round bins, about `about` of them: {edges, counts: one list for each list}.
 * @param {number[][]} lists @param {number} about @returns {{ edges: number[], counts: number[][] }}
 */
export function binned(lists, about, whole = false) {
  const all = lists.flat();
  if (!all.length) return { edges: [], counts: lists.map(() => /** @type {number[]} */ ([])) };
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const found = niceStep((high - low || 1) / about);
  const step = whole ? Math.max(1, Math.round(found)) : found;
  const start = Math.floor(low / step) * step;
  const count = Math.max(1, Math.floor((high - start) / step) + 1);
  const counts = lists.map((values) => {
    const bins = new Array(count).fill(0);
    for (const value of values) bins[Math.min(count - 1, Math.floor((value - start) / step))] += 1;
    return bins;
  });
  return { edges: Array.from({ length: count + 1 }, (_, index) => start + index * step), counts };
}

/**
 * Turns values between two ends into places between two others.
 * @param {number} from @param {number} to @param {number} start @param {number} end
 */
export function placing(from, to, start, end) {
  return (/** @type {number} */ value) => start + ((value - from) / (to - from || 1)) * (end - start);
}

/** Index of the value nearest to x in a rising array; -1 if it is empty. */
export function nearest(/** @type {Numbers} */ values, /** @type {number} */ x) {
  if (!values.length) return -1;
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low > 0 && x - values[low - 1] < values[low] - x ? low - 1 : low;
}

/**
 * The whole x range: all updates that the run will have, so that progress shows; time and episodes as far as known.
 * @param {Numbers} x @param {string} mode @param {number} numUpdates
 */
export function fullRange(x, mode, numUpdates) {
  const last = x.length ? x[x.length - 1] : 0;
  if (mode === "update") return [0, Math.max(numUpdates || 40, last) * 1.01];
  if (!x.length) return [0, 1];
  const done = numUpdates ? Math.min(1, x.length / numUpdates) : 1;
  return [0, Math.max(last / Math.max(done, 0.05), last) || 1];
}

/**
 * Indices between `from` and `to` to draw: all, or of each of limit/2 stretches the lowest and the highest value.
 * @param {Numbers} values @param {number} from @param {number} to @param {number} limit
 */
export function drawnIndices(values, from, to, limit) {
  const count = to - from;
  if (count <= limit) return Array.from({ length: Math.max(count, 0) }, (_, index) => from + index);
  const stretches = Math.floor(limit / 2);
  const found = [from];
  for (let stretch = 0; stretch < stretches; stretch += 1) {
    const start = from + Math.floor((stretch * count) / stretches);
    const end = from + Math.floor(((stretch + 1) * count) / stretches);
    let low = start;
    let high = start;
    for (let i = start + 1; i < end; i += 1) {
      if (values[i] < values[low]) low = i;
      if (values[i] > values[high]) high = i;
    }
    for (const index of low < high ? [low, high] : [high, low]) if (index > found.at(-1)) found.push(index);
  }
  if (found.at(-1) < to - 1) found.push(to - 1);
  return found;
}

/**
 * Applied changes as marks, one for each update, numbered in order.
 * @param {Charts.Flag[]} events @returns {Charts.Mark[]}
 */
export function marksOf(events) {
  /** @type {Map<number, string[]>} */
  const found = new Map();
  for (const { kind, update, message } of events) {
    if (kind !== "edit") continue;
    if (!found.has(update)) found.set(update, []);
    found.get(update).push(message);
  }
  return [...found].sort(([a], [b]) => a - b).map(([update, messages], index) =>
    ({ number: index + 1, update, messages }));
}

/** Of updates in order, those that do not follow right upon another: where each stretch begins. */
export function beginnings(/** @type {number[]} */ updates) {
  return updates.filter((update, index) => index === 0 || update > updates[index - 1] + 1);
}

/** "after update 12", or what to say of a change before the first one. */
export function whenChanged(/** @type {number} */ update) {
  return update > 0 ? `after update ${update}` : "before update 1";
}

/**
 * For each row of a table of updates, the messages of what was changed between the row before it and it.
 * @param {number[]} updates @param {Charts.Mark[]} marks @returns {string[][]}
 */
export function changesBefore(updates, marks) {
  const rows = updates.map(() => /** @type {string[]} */ ([]));
  for (const mark of marks) {
    const row = updates.findIndex((update) => update > mark.update);
    if (row >= 0) rows[row].push(...mark.messages);
  }
  return rows;
}

/**
 * Tops of labels that want to be at `tops`, moved so that they stand `height` apart between `from` and `to`.
 * @param {number[]} tops @param {number} height @param {number} from @param {number} to
 */
export function spreadLabels(tops, height, from, to) {
  const order = tops.map((_, index) => index).sort((a, b) => tops[a] - tops[b]);
  /** @type {number[]} */
  const placed = [];
  let free = from;
  for (const index of order) {
    placed[index] = Math.max(tops[index], free);
    free = placed[index] + height;
  }
  let limit = to;
  for (const index of order.toReversed()) {
    placed[index] = Math.min(placed[index], limit);
    limit = placed[index] - height;
  }
  return placed;
}

/**
 * Of each of these kinds the newest few: many of one kind do not hide the others.
 * @template {{ kind: string }} E @param {E[]} events @param {string[]} kinds @param {number} most
 */
export function newestOfEach(events, kinds, most) {
  return kinds.flatMap((kind) => events.filter((event) => event.kind === kind).slice(-most));
}
