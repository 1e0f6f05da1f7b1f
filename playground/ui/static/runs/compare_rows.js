// Below the prompt of one's own: the histograms of the fixed prompts, and the table of Compare, prompt by prompt, which
// is sorted, filtered and read blind. runs/compare.js says what is shown.

import { histogramsOf } from "../charts/histograms.js";
import { buttonOf, el, headOf, menuOf, optionsOf, setAttribute, setText, setWords, showParts,
  tableOf } from "../core/dom.js";
import { rounded } from "../core/format.js";
import { KL_GLOSS, KL_HEAD, clamped, pairRow, readLine, scoresOf, systemPart, textPair } from "../core/texts.js";
import { tokensButton } from "../inside/microscope.js";
import { hasTurned, showsLine, turnChoices, turned } from "./compare_behaviours.js";

const FIRST_ROWS = matchMedia("(max-width: 760px)").matches ? 10 : 20; // on a phone each is a card
const MORE_ROWS = 3 * FIRST_ROWS;
/** @typedef {Wire.Pair} Pair */

/** @type {Record<string, [string, (row: Pair) => number]>} */
const SORTS = {
  gain: ["biggest gain first", (row) => -(row.gain ?? -Infinity)],
  loss: ["biggest loss first", (row) => row.gain ?? Infinity],
  kl: ["largest distance first", (row) => -(row.after.kl ?? -Infinity)],
  order: ["order of prompts", (row) => row.id],
};
/** @type {Record<string, [string, (row: Pair) => boolean]>} */
const CHOICES = {
  all: ["all prompts", () => true],
  better: ["score higher", (row) => row.gain > 0],
  worse: ["score lower", (row) => row.gain < 0],
  same: ["same text", (row) => row.before.text === row.after.text],
};
const LONG_HEAD = 60; // characters, of which one may not see all
const below = el("div.compare-view");

export function mount(/** @type {Element} */ element) {
  element.append(below);
}

/**
 * A figure of each side: from before to after, or of the other run and of this one.
 * @param {Wire.Compare} data @param {string | number} before @param {string | number} after
 */
export function both(data, before, after) {
  return `${before} ${data.other ? "|" : "\u2192"} ${after}`;
}

export class PairTable {
  constructor() {
    this.data = /** @type {Wire.Compare | null} */ (null);
    this.limit = FIRST_ROWS;
    this.blind = false;
    this.swaps = /** @type {Map<string, boolean>} */ (new Map()); // which pairs are shown the other way round
    const again = () => this.fill();
    this.plots = el("div.histograms");
    this.sort = menuOf(Object.entries(SORTS).map(([value, [name]]) => [value, name]),
      { "aria-label": "Sort", "aria-describedby": "blind-reason", onchange: again });
    this.filter = el("input", { type: "search", placeholder: "Filter by words", "aria-label": "Filter by words",
      oninput: again });
    this.only = menuOf([], { "aria-label": "Which prompts", onchange: again });
    this.offer(null);
    this.blindButton = buttonOf("quiet-button", { "aria-pressed": "false",
      title: "Hide which side is which; the sides are shuffled in every row",
      onclick: () => this.toggleBlind() }, "Read blind");
    this.count = el("span.muted");
    this.blindReason = el("span.muted", { id: "blind-reason", hidden: true }, "In the order of prompts:");
    this.system = el("div");
    this.rows = el("div");
    this.more = buttonOf("quiet-button", { onclick: () => {
      this.limit += MORE_ROWS;
      this.fill();
    } });
    this.empty = el("p.empty");
    this.plotsPanel = el("section.panel", this.plots);
    this.list = el("section.panel.compare-list",
      el("div.bar", el("h2", "Prompt by prompt"), this.count, el("span.grow"),
        this.filter, this.only, this.blindReason, this.sort, this.blindButton),
      this.system, this.rows, this.more, this.empty);
    below.append(this.plotsPanel, this.list);
  }

  /**
   * What the server has of the pair; null, and why there is nothing. `run` is the id of the run that is shown.
   * @param {Wire.Compare | null} data @param {string | null} run @param {string} why
   */
  show(data, run = null, why = "") {
    this.data = data;
    this.run = run;
    showParts(this.system, systemPart(data?.run));
    this.plotsPanel.hidden = !data?.rows.length;
    const plots = data?.rows.length ? histogramsOf(data, columnWidth(this.plots)) : [];
    this.plots.replaceChildren(...plots);
    if (data) {
      this.list.classList.remove("nothing");
      this.offer(data.behaviours);
      this.fill();
      return;
    }
    this.rows.replaceChildren();
    this.more.hidden = true;
    this.empty.hidden = false;
    setText(this.count, "");
    setWords(this.empty, why);
    this.list.classList.add("nothing");
  }

  /** Begin from the top: another run. */
  forget() {
    this.limit = FIRST_ROWS;
  }

  offer(/** @type {Wire.Behaviours | null} */ behaviours) {
    const chosen = this.only.value;
    const choices = [...Object.entries(CHOICES).map(([value, [name]]) => [value, name]), ...turnChoices(behaviours)];
    showParts(this.only, optionsOf(choices));
    this.only.value = choices.some(([value]) => value === chosen) ? chosen : "all";
  }

  /** Only those in which a behaviour turned. */
  choose(/** @type {string} */ behaviour) {
    if (this.only.value === turned(behaviour)) return;
    this.only.value = turned(behaviour);
    if (!this.only.value) this.only.value = "all";
    this.fill();
  }

  toggleBlind() {
    this.blind = !this.blind;
    this.swaps.clear();
    setAttribute(this.blindButton, "aria-pressed", String(this.blind));
    setText(this.blindButton, this.blind ? "Reveal" : "Read blind");
    this.fill();
  }

  fill() {
    if (!this.data) return;
    const words = this.filter.value.toLowerCase().trim();
    const wanted = CHOICES[this.only.value]?.[1] ?? ((row) => hasTurned(row, this.only.value));
    const key = SORTS[this.blind ? "order" : this.sort.value][1]; // a sorted list would give the answer away
    this.sort.disabled = this.blind;
    this.blindReason.hidden = !this.blind;
    const found = this.data.rows
      .filter((row) => wanted(row)
        && `${row.prompt} ${row.before.text} ${row.after.text}`.toLowerCase().includes(words))
      .sort((a, b) => key(a) - key(b) || a.id - b.id);
    const rows = found.slice(0, this.limit).map((row) => (this.blind ? this.blindRow(row) : this.row(row)));
    showParts(this.rows, found.length
      ? [tableOf(`pairs compare${this.data.other ? " two-runs" : ""}`, this.headings(), rows)] : []);
    this.more.hidden = found.length <= this.limit;
    setText(this.more, `Show ${Math.min(MORE_ROWS, found.length - this.limit)} more`);
    this.empty.hidden = found.length > 0;
    setWords(this.empty, this.data.rows.length ? "No prompt matches. Clear the filter to see all of them." : "");
    setText(this.count, `${found.length} of ${this.data.rows.length}`);
  }

  headings() {
    if (this.blind) return [headOf("Prompt", "prompt"), "One", "Other"];
    const { other, run, update } = this.data;
    const sides = other ? [other.title === run.title ? `${other.title} (the other)` : other.title, run.title]
      : ["Before", `After update ${update}`];
    const side = (/** @type {number} */ at) => el("th", { scope: "col", class: at ? "now" : "before" },
      clamped("span", sides[at], { tabindex: sides[at].length > LONG_HEAD ? 0 : null }));
    return [headOf("Prompt", "prompt"), side(0), side(1),
      headOf(`Score, ${run.unit}`, "figure"), headOf(KL_HEAD, "figure", KL_GLOSS), headOf("Tokens", "figure")];
  }

  blindRow(/** @type {Pair} */ { id, seed, prompt, before, after }) {
    const key = `${id} ${seed}`;
    if (!this.swaps.has(key)) this.swaps.set(key, Math.random() < 0.5);
    const pair = [before.text, after.text].map((text) => textPair(null, text)[1]); // nothing is marked
    const [left, right] = this.swaps.get(key) ? pair.reverse() : pair;
    return pairRow({ prompt, sides: [{ label: "One", parts: left }, { label: "Other", parts: right }] });
  }

  row(/** @type {Pair} */ row) {
    const { data } = this;
    const { other, measured, run, update } = data;
    const texts = textPair(row.before.text, row.after.text);
    const about = { meters: data.behaviours?.meters ?? [], other };
    /** @param {number} at @param {string} label @param {string} whose @param {string} id */
    const side = (at, label, whose, id) => ({ label, parts: [texts[at], readLine((at ? row.after : row.before).read),
      showsLine(row, at ? "after" : "before", about),
      tokensButton(whose, row.prompt, () => ({ run: id, ...(at ? row.after : row.before).at }))] });
    const kl = rounded(row.after.kl);
    return pairRow({ prompt: row.prompt,
      sides: other ? [side(0, other.title, other.title, other.id), side(1, run.title, run.title, this.run)]
        : [side(0, "Before", "before training", this.run), side(1, "After", `after update ${update}`, this.run)],
      score: [scoresOf(row.before.score, row.after.score, { between: both(data, "", ""), coloured: measured }),
        measured ? [direction(row.gain), this.terms(row)] : null],
      kl: other ? both(data, rounded(row.before.kl), kl) : kl,
      more: el("td.figure.nowrap", { "data-label": "Tokens" },
        both(data, row.before.tokens ?? "\u2013", row.after.tokens ?? "\u2013")) });
  }

  /** What each reward and each judge says of both sides. */
  terms(/** @type {Pair} */ { before, after }) {
    /** @param {string} label @param {number | null} from @param {number | null} to */
    const changed = (label, from, to) => el("div.term", `${label} `,
      el("span.nowrap", both(this.data, rounded(from), rounded(to))));
    return [...this.data.terms.map((name) => changed(name, before.scores[name], after.scores[name])),
      ...this.data.judges.map((name) => changed(`monitor ${name}`, before.judges[name], after.judges[name]))];
  }
}

function direction(/** @type {number | null} */ gain) {
  if (gain === null) return el("div.term", "no opinion");
  if (gain === 0) return el("div.term", "the same");
  return el("div", { class: `term ${gain > 0 ? "up" : "down"}` },
    gain > 0 ? `\u2191 ${rounded(gain)} higher` : `\u2193 ${rounded(-gain)} lower`);
}

/** Pixels of a column of a grid in view. @param {Element} grid */
function columnWidth(grid) {
  return Number.parseFloat(getComputedStyle(grid).gridTemplateColumns) || 380;
}
