// A sweep as one row of the history: how far it is, its best setting so far, and what can be asked of all its runs.

import { el, signOf } from "../core/dom.js";
import { duration, stateOf, timeRange, when, withHalf } from "../core/format.js";

export const CHOSEN = "The list names the setting with the highest mean: of several, that one is partly the luckiest.";

/** "5 of 6 done, 1 running; about 20 to 35 s left". */
export function progressOf({ words, left }) {
  return left ? `${words}; ${timeRange(...left)} left` : words;
}

/** A mean over seeds: "+1.42 \u00b1 0.30"; with one seed there is no interval. */
export function intervalOf(found, sign = false) {
  if (!found) return "\u2013";
  return withHalf(found.mean, found.half, { sign });
}

/** A share in percent: "62 (41 to 83)". Its interval is cut off at 0 and 100, so it is not alike on both sides. */
export function shareOf(found) {
  if (!found) return "\u2013";
  return found.low === null ? `${found.mean}` : `${found.mean} (${found.low} to ${found.high})`;
}

/** A bar of the runs that have ended, for the eye; the words beside it say the same. */
export function barOf({ done, total }) {
  const fill = el("div", { class: "progress-fill" });
  fill.style.width = `${Math.round((100 * done) / Math.max(total, 1))}%`;
  return el("div", { class: "progress", "aria-hidden": "true" }, fill);
}

/**
 * `behaviours` are the columns that only runs fill; `actions` the buttons. `toggle` opens it, or closes it.
 * @param {any} sweep
 * @param {{open: boolean, behaviours: any[], actions: any[], toggle: () => void}} options
 */
export function sweepRow(sweep, { open, behaviours, actions, toggle }) {
  const { icon, word, tone } = stateOf(sweep.state);
  const { best } = sweep;
  const several = best?.of > 1;
  const none = (label) => el("td", { "data-label": label, class: "figure" }, "\u2013");
  const setting = (label, value) => el("td", { "data-label": label, class: "figure nowrap" },
    value === null ? "\u2013" : typeof value === "string" ? value : String(Number(value.toPrecision(3))));
  return el("tr", { "data-key": `sweep ${sweep.id}`, class: open ? "sweep open" : "sweep" },
    el("td", { class: "tick" }),
    el("td", { "data-label": "When", class: "when nowrap" }, when(sweep.started_at)),
    el("td", { "data-label": "Name", class: "name" },
      el("button", { type: "button", class: "sweep-name", "data-key": `toggle ${sweep.id}`,
        "aria-expanded": String(open), onclick: toggle }, signOf(open ? "\u25BE " : "\u25B8 "), sweep.title),
      el("div", { class: "small" }, `Sweep of ${sweep.total} ${sweep.total === 1 ? "run" : "runs"}: ${sweep.preset}`),
      el("div", { class: "muted small" }, sweep.told)),
    el("td", { "data-label": "Model", class: "words model", title: sweep.model }, sweep.model),
    el("td", { "data-label": "Reward", class: "words" }, sweep.reward),
    setting("Beta", sweep.beta),
    setting("Learning rate", sweep.learning_rate),
    el("td", { "data-label": "State" }, el("span", { class: "state", "data-tone": tone }, signOf(icon),
      el("strong", {}, word)), barOf(sweep),
      el("div", { class: "muted small" }, progressOf(sweep))),
    behaviours.map(({ words }) => none(words)),
    el("td", { "data-label": "Gain", class: "figure" }, intervalOf(best?.gain, true),
      el("div", { class: "muted small", title: several ? CHOSEN : null },
        best ? `${sweep.unit}${several ? ", best mean" : ""}` : ""),
      el("div", { class: "muted small" }, several ? best.setting : "")),
    el("td", { "data-label": "KL", class: "figure" }, best?.kl ? intervalOf(best.kl).split(" ")[0] : "\u2013",
      el("div", { class: "muted small nowrap" }, best?.kl?.half ? intervalOf(best.kl).replace(/^\S+ /, "") : ""),
      el("div", { class: "muted small" }, best?.kl ? "nats" : "")),
    el("td", { "data-label": "Duration", class: "figure nowrap" }, duration(sweep.duration)),
    el("td", { class: "actions", "data-key": `actions ${sweep.id}` }, el("div", {}, actions)));
}
