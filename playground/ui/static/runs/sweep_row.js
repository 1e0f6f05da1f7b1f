// A sweep as one row of the history: how far it is, its best setting so far, and what can be asked of all its runs.

import { buttonOf, el, signOf } from "../core/dom.js";
import { duration, timeRange, when, withHalf } from "../core/format.js";
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
export function shareOf(/** @type {Wire.Share | undefined} */ found) {
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

/** A number that somebody has set: as it was set; words stay. */
export function setting(/** @type {number | string | null} */ value) {
  return value === null ? "\u2013" : typeof value === "string" ? value : String(Number(value.toPrecision(3)));
}

/**
 * `behaviours` are the columns that only runs fill; `actions` the buttons. `toggle` opens it, or closes it.
 * @param {import("./listing.js").Sweep} sweep
 * @param {{ open: boolean, behaviours: { words: string }[], actions: Page.Child, toggle: () => void }} options
 */
export function sweepRow(sweep, { open, behaviours, actions, toggle }) {
  const { best, id } = sweep;
  const several = best?.of > 1;
  const [kl, half = ""] = best?.kl ? intervalOf(best.kl).split(/ (.*)/) : ["\u2013"];
  return el("tr", { "data-key": `sweep ${id}`, class: open ? "sweep open" : "sweep" },
    el("td.tick"),
    cell("When", "when", when(sweep.started_at)),
    cell("Name", "name",
      buttonOf("sweep-name", { "data-key": `toggle ${id}`, "aria-expanded": String(open), onclick: toggle },
        signOf(open ? "\u25BE " : "\u25B8 "), sweep.title),
      el("div.small", `Sweep of ${sweep.total} ${sweep.total === 1 ? "run" : "runs"}: ${sweep.preset}`),
      clamped("div.muted.small", sweep.told)),
    el("td.words.model", { "data-label": "Model", title: sweep.model }, sweep.model),
    cell("Reward", "words", clamped("div", sweep.reward)), el("td"), el("td"),
    cell("State", "", stateMark(sweep.state),
      progressBar("Runs that have ended", sweep.done, sweep.total), small(progressOf(sweep))),
    behaviours.map(({ words }) => cell(words, "figure", "\u2013")),
    cell("Gain", "figure", intervalOf(best?.gain, true), el("div.muted.small", { title: several ? CHOSEN : null },
      best ? `${sweep.unit}${several ? ", best mean" : ""}` : ""), small(several ? best.setting : "")),
    cell("Distance (KL)", "figure", kl, el("div.muted.small.nowrap", half), small(best?.kl ? "nats" : "")),
    cell("Duration", "figure nowrap", duration(sweep.duration)),
    el("td.actions", { "data-key": `actions ${id}` }, el("div", actions)));
}
