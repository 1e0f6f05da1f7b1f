// A run as one row of the history.

import { sparkline } from "../charts/small_plots.js";
import { el, signOf } from "../core/dom.js";
import { signed, when } from "../core/format.js";
import { link } from "../core/nav.js";
import { runPath, url } from "../core/server.js";
import { clamped, stateMark } from "../core/texts.js";
import { changeOf, changedIn, counted, countOf } from "./listing.js";
import { cell, figureCell, small } from "./sweep_row.js";

/**
 * @typedef {import("./listing.js").Run} Run
 * @typedef {import("./listing.js").Named} Named
 * @typedef {import("./listing.js").Column} Column
 */

/**
 * `tick(ticked)` hears of the box before the row.
 * @param {Run} run
 * @param {{ columns: Column[], actions: Page.Child, ticked: boolean, tick: (ticked: boolean) => void }} options
 */
export function runRow(run, { columns, actions, ticked, tick }) {
  const { id } = run;
  const behaviours = columns.map(({ behaviour }) => behaviour).filter(Boolean);
  /** @type {Record<string, () => Element>} */
  const own = { when: () => cell("When", "when", when(run.started_at)), name: () => nameCell(run, behaviours),
    state: () => stateCell(run) };
  return el("tr", { "data-key": `run ${id}`, class: run.sweep ? "in-sweep" : null },
    el("td.tick", el("label", el("input", { type: "checkbox", value: id, checked: ticked,
      "data-key": `tick ${id}`, "aria-label": `Overlay ${run.title}, ${when(run.started_at)}`,
      onchange: ({ target }) => tick(target.checked) }))),
    columns.map((column) => own[column.key]?.() ?? (column.behaviour
      ? countCell(counted(run, column.behaviour.name), column.label)
      : figureCell(column, run, column.key === "gain" ? spark(run.curve) : null))),
    el("td.actions", { "data-key": `actions ${id}` }, el("div", actions)));
}

function nameCell(/** @type {Run} */ run, /** @type {Named[]} */ behaviours) {
  return cell("Name", "name", link({ run: run.id }, [run.title],
    { class: "run-name clamp", title: `${run.title} (${run.id})`, "data-key": `open ${run.id}` }),
  run.note ? clamped("div.run-note", run.note) : null,
  run.experiment && run.experiment !== run.title ? clamped("div.muted.small", run.experiment) : null,
  run.wrong_on_purpose
    ? el("div.wrong-note.clamp", { title: run.wrong_on_purpose }, signOf("! "), run.wrong_on_purpose) : null,
  changedIn(run, behaviours).map((one) => el("div.small", `${one.words}: ${countOf(one)} (${changeOf(one)})`)),
  small(`${run.method}${seedOf(run)}${run.engine === "playground" ? "" : `, engine ${run.engine}`}`));
}

/** @param {{ seed: number | null }} run */
const seedOf = ({ seed }) => (seed === null ? "" : `, seed ${seed}`);

function stateCell(/** @type {Run} */ { id, state, place, end, message, update, num_updates: updates, attempt }) {
  const words = place ? `waiting, number ${place}` : end?.title;
  const why = ["failed", "interrupted"].includes(state) ? [message ? clamped("div.small", message) : null,
    el("a.quiet-button", { href: url(runPath(id, "log")), target: "_blank", rel: "noopener", "data-key": `log ${id}` },
      "Its log")] : null;
  return cell("State", "", stateMark(state, { words, title: message || null }),
  small(`${update} of ${updates} updates${attempt > 1 ? `, attempt ${attempt}` : ""}`), why);
}

/** How often a behaviour was seen before training and at the last evaluation, and whether that changed clearly. */
function countCell(/** @type {Wire.MeterEnds | undefined} */ found, /** @type {string} */ words) {
  if (!found) return cell(words, "figure counts none", "\u2013");
  const { before, after, change } = found;
  return cell(words, "figure counts",
    `${before.count}${before.of === after.of ? "" : ` of ${before.of}`} \u2192 ${after.count}`,
    small(`of ${after.of}${change ? ` (${changeOf(found)})` : ""}`),
    small(`${Math.round(100 * after.low)} to ${Math.round(100 * after.high)} %`));
}

/** A small line of the score. */
function spark(/** @type {number[]} */ values) {
  const label = values.length ? `score of the training batches from ${signed(values[0])} to ${signed(values.at(-1))}`
    : "no score yet";
  return sparkline([...values.keys()], values, [Math.min(...values), Math.max(...values)], label);
}
