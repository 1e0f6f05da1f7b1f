// The leash of a run in words: its value, since when it has that, and what it was before. Pure.

const BETA = "kl.coef";
const MOST_EARLIER = 2; // values before the one in use

/**
 * What to say of the leash of a run: its `value`, and the words around it. Null where the method has none.
 * `events` are those of the run, `metrics` its columns.
 * @param {Pick<Wire.Run, "settings" | "adaptive">} run
 * @param {Pick<Wire.Event, "kind" | "field" | "value" | "update">[]} events
 * @param {Pick<Wire.Columns, "kl_coef">} metrics
 */
export function leashInWords({ settings, adaptive }, events, metrics) {
  const first = settings.find(({ field }) => field === BETA)?.value;
  if (first === undefined) return null;
  const edits = events.filter(({ kind, field }) => kind === "edit" && field === BETA);
  /** @type {{ value?: number | string, update: number }[]} */
  const all = [{ value: first, update: 0 }, ...edits];
  const set = all // of those at one update the last one counts
    .filter(({ update }, index) => update !== edits[index]?.update);
  const { value, update } = set.at(-1);
  if (adaptive) {
    const moved = metrics.kl_coef?.at(-1) ?? first;
    return { before: "moves by itself:", value: told(moved),
      after: set.length > 1 ? `now (set to ${told(value)} ${since(update)})` : "now" };
  }
  const earlier = set.slice(0, -1).slice(-MOST_EARLIER).reverse();
  const before = earlier.map((one, index) =>
    `${told(one.value)}${index === earlier.length - 1 ? "" : ` ${since(one.update)}`}`);
  return { before: "", value: told(value),
    after: before.length ? `${since(update)} (before: ${before.join(", ")})` : "" };
}

/** @param {number} update */
function since(update) {
  return update > 0 ? `since update ${update}` : "from the start";
}

/** No more than three digits. @param {number | string} value */
function told(value) {
  return String(Number(Number(value).toPrecision(3)));
}
