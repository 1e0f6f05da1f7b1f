// Four estimates of one KL, side by side on one axis: of each its mean over the completions of an update, how far
// single completions lie from that, and what it is in a sentence. charts/run_charts.js shows the update that is read.

import { frame } from "../charts/small_plots.js";
import { el, setHidden, showParts } from "../core/dom.js";
import { number } from "../core/format.js";

/** @typedef {ReturnType<typeof stripOf>} Strip */

const ESTIMATES = [
  { name: "k1", label: "k1", words: "The log-ratio d itself. Unbiased, but a single completion can give less "
    + "than 0. The leash uses this one unless the settings name another." },
  { name: "k2", label: "k2", words: "Half of d squared. Never below 0, and close only while the two models are: it "
    + "is not the KL on average." },
  { name: "k3", label: "k3", words: "exp(\u2212d) \u2212 1 + d. Unbiased and never below 0. Little noise near the "
    + "reference; far from it, rare tokens make it jump." },
  { name: "full", label: "exact", words: "Summed over the whole vocabulary at each position, so no "
    + "luck of the drawn token is left in it." },
];
const SIZE = { width: 320, height: 26, left: 6, right: 6, top: 2, bottom: 2 };

/** Means and spreads of an update, and the axis that holds them; null where it has none. Pure. */
export function stripOf(/** @type {Charts.Columns} */ metrics, /** @type {number} */ index) {
  const of = (/** @type {string} */ field, /** @type {string} */ name) => metrics[`${field}.${name}`]?.[index] ?? null;
  const rows = ESTIMATES.map((one) => ({ ...one, mean: of("kl_estimates", one.name), sd: of("kl_spreads", one.name) }))
    .filter(({ mean }) => mean !== null);
  if (!rows.length) return null;
  const low = Math.min(0, ...rows.map(({ mean, sd }) => mean - (sd ?? 0)));
  const high = Math.max(0.1, ...rows.map(({ mean, sd }) => mean + (sd ?? 0)));
  return { rows, low, high };
}

export class KlStrip {
  constructor() {
    this.list = el("ul.kl-strip");
    this.note = el("p.muted.small-text");
    this.root = el("section.kl-strip-part", { hidden: true, "aria-label": "Estimates of the KL" },
      el("h3", "Four estimates of the same KL"), this.note, this.list);
  }

  /** Take the columns of a run and which update of them is read. */
  show(/** @type {Wire.Columns} */ metrics, /** @type {number} */ index) {
    const found = index < 0 ? null : stripOf(metrics, index);
    setHidden(this.root, !found, null);
    if (!found) return;
    this.note.textContent = `Update ${metrics.update[index]}, to the reference, nats per completion. Dot: mean over `
      + "its completions; line: one standard deviation to each side.";
    showParts(this.list, found.rows.map((row) => this.row(row, found)));
  }

  /** @param {Strip["rows"][number]} estimate @param {Strip} axis */
  row({ name, label, words, mean, sd }, { low, high }) {
    const told = sd === null ? `${number(mean)} nats` : `${number(mean)} nats, spread ${number(sd)}`;
    const { node, x, add } = frame({ kind: "", size: SIZE, from: low, to: high, label: `${label}: ${told}` });
    const middle = SIZE.height / 2;
    /** @param {string} kind @param {number} x1 @param {number} x2 @param {number} [y1] @param {number} [y2] */
    const line = (kind, x1, x2, y1 = middle, y2 = middle) => add("line", { class: kind, x1, x2, y1, y2 });
    line("grid", SIZE.left, SIZE.width - SIZE.right);
    line("zero", x(0), x(0), SIZE.top, SIZE.height - SIZE.bottom);
    if (sd !== null) line("spread", x(mean - sd), x(mean + sd));
    add("circle.dot", { cx: x(mean), cy: middle, r: 4.5 });
    return el("li", { "data-key": name }, el("strong", label), el("span.told", told), node,
      el("span.muted.words", words));
  }
}
