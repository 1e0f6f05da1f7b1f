// A sweep as one row of the history: how far it is, its best setting so far, and what can be asked of all its runs.

import { buttonOf, el, signOf } from "../core/dom.js";
import { duration, rounded, timeRange, when, withHalf } from "../core/format.js";
import { clamped, progressBar, stateMark } from "../core/texts.js";

export const CHOSEN = "The list shows the setting with the highest mean. The best of several is partly the luckiest.";

/** "5 of 6 done, 1 running; about 20 to 35 s left". */
export function progressOf(/** @type {Wire.SweepProgress} */ { words, left }) {
  return left ? `${words}; ${timeRange(...left)} left` : words;
}

/** A mean over seeds: "+1.42 \u00b1 0.30"; with one seed there is no interval. */
export function intervalOf(/** @type {Wire.Interval | null} */ found, sign = false) {
  if (!found) return "\u2013";
  return withHalf(found.mean, found.half, { sign });
}

/** A share in percent: "62 (41 to 83)". Its interval is cut off at 0 and 100, so it is not alike on both sides. */
export function shareOf(/** @type {Wire.SeedShare | undefined} */ found) {
  if (!found) return "\u2013";
  return found.low === null ? `${found.mean}` : `${found.mean} (${found.low} to ${found.high})`;
}

/**
 * A cell of the list; `label` names it where each run is a card.
 * @param {string} label @param {string} kind @param {Page.Child[]} parts
 */
export function cell(label, kind, ...parts) {
  return el("td", { "data-label": label, class: kind || null }, ...parts);
}

/** A line below the main one of a cell. */
export function small(/** @type {Page.Child[]} */ ...parts) {
  return el("div.muted.small", ...parts);
}

/** How a figure reads, by its kind. @type {Record<string, (found: Wire.FigureValue) => string>} */
const READS = {
  words: ({ value }) => String(value),
  setting: ({ value }) => String(Number(Number(value).toPrecision(3))),
  signed: ({ value, high }) => withHalf(Number(value), high === null ? null : high - Number(value), { sign: true }),
  number: ({ value }) => rounded(Number(value)),
  seconds: ({ value }) => (value ? duration(Number(value)) : "\u2013"),
};
const NOWRAP = ["setting", "seconds"];

/**
 * A figure of a run, or of a sweep, and what else stands below it.
 * @param {import("./listing.js").Column} column @param {Pick<import("./listing.js").Listed, "figures">} run
 * @param {Page.Child[]} more
 */
export function figureCell({ key, label, kind }, { figures }, ...more) {
  const found = figures[key];
  if (!found) return el("td");
  const words = found.value === null ? "\u2013" : READS[kind](found);
  const none = found.value === null ? " none" : "";
  if (kind === "words") return cell(label, `words ${key}${none}`, clamped("div", words));
  return cell(label, `figure${NOWRAP.includes(kind) ? " nowrap" : ""}${none}`, words, small(found.note), ...more);
}

/**
 * `actions` are the buttons. `toggle` opens it, or closes it.
 * @param {import("./listing.js").Sweep} sweep
 * @param {{ open: boolean, columns: import("./listing.js").Column[], actions: Page.Child, toggle: () => void }} options
 */
export function sweepRow(sweep, { open, columns, actions, toggle }) {
  const { best, id } = sweep;
  const bestOf = best?.of > 1 ? el("div.muted.small", { title: CHOSEN }, `best mean: ${best.setting}`) : null;
  /** @type {Record<string, () => Element>} */
  const own = {
    when: () => cell("When", "when", when(sweep.started_at)),
    name: () => cell("Name", "name",
      buttonOf("sweep-name", { "data-key": `toggle ${id}`, "aria-expanded": String(open), onclick: toggle },
        signOf(open ? "\u25BE " : "\u25B8 "), sweep.title),
      el("div.small", `Sweep of ${sweep.total} ${sweep.total === 1 ? "run" : "runs"}: ${sweep.preset}`),
      clamped("div.muted.small", sweep.varies)),
    state: () => cell("State", "", stateMark(sweep.state),
      progressBar("Runs that have ended", sweep.done, sweep.total), small(progressOf(sweep))),
  };
  return el("tr", { "data-key": `sweep ${id}`, class: open ? "sweep open" : "sweep" }, el("td.tick"),
    columns.map((column) => own[column.key]?.()
      ?? figureCell(column, sweep, column.key === "gain" ? bestOf : column.key === "kl" ? halfOf(sweep) : null)),
    el("td.actions", { "data-key": `actions ${id}` }, el("div", actions)));
}

/** What its distance may be off by, over the seeds. */
function halfOf(/** @type {import("./listing.js").Sweep} */ { figures: { kl } }) {
  return kl?.high ? small(`\u00b1 ${rounded(kl.high - Number(kl.value))}`) : null;
}
