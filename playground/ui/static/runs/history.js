// The Runs page: the history like a lab book; sort, filter, open, compare, name, reuse the settings, delete with
// confirmation; tick two to six runs to overlay their curves. A sweep is one row, which opens. How a run looks in the
// list is run_row.js, what can be done with one run_actions.js.

import { waiting, isWatching, rights } from "../core/access.js";
import { buttonOf, el, helpOf, setText, showParts } from "../core/dom.js";
import { refreshHome } from "../core/home.js";
import { go, onPlace, place } from "../core/nav.js";
import { follow } from "../core/poll.js";
import { effect } from "../core/signals.js";
import { NEWEST, columnsOf, grouped, listed, shownOf, sortedBy, turned, unfolded } from "./listing.js";
import { MAX_RUNS, Overlay } from "./overlay.js";
import { recordedPart, shownAs } from "./recorded.js";
import { RunActions } from "./run_actions.js";
import { runRow } from "./run_row.js";
import { SweepPanel } from "./sweep.js";
import { SweepForm } from "./sweep_form.js";
import { sweepRow } from "./sweep_row.js";

const EVERY_MS = 3000;

/**
 * @typedef {import("./listing.js").Item} Item
 * @typedef {{ sweep: Wire.SweepChoices }} Props
 */

/** @param {HTMLElement} element @param {Props} props @param {Page.Tools} page */
export const mount = (element, props, page) => new History(element, props, page);

export class History {
  /** @param {HTMLElement} element @param {Props} props @param {Page.Tools} page */
  constructor(element, props, { server }) {
    this.known = /** @type {Wire.ListedRun[] | null} */ (null); // the runs there are, as they came
    this.items = /** @type {Item[]} */ ([]); // the same, with those of a sweep as one
    this.sweeps = /** @type {Map<string, Wire.SweepRow>} */ (new Map());
    this.sort = NEWEST;
    this.figures = /** @type {Wire.RunColumn[]} */ ([]); // those with a column
    this.columns = columnsOf([], []);
    this.chosen = /** @type {Set<string>} */ (new Set()); // ids of the ticked runs, in the order of ticking
    this.build();
    this.overlay = new Overlay(element);
    this.form = new SweepForm(element, props.sweep, server, {
      started: async (name) => {
        await this.refresh();
        go({ page: "runs", sweep: name });
        refreshHome();
      },
      closed: () => {
        this.sweepButton.setAttribute("aria-expanded", "false");
        this.sweepButton.focus();
      },
    });
    this.actions = new RunActions(this, server);
    this.panel = new SweepPanel(element, (name) => this.actions.ofSweep(this.sweeps.get(name), "panel "));
    element.append(el("section.panel.runs-panel", this.bar, this.note, this.table, this.empty,
      recordedPart()));
    this.refresh = follow({ address: () => "live/_runs", note: this.note,
      show: (/** @type {Wire.History} */ answer) => this.take(answer),
      every: () => EVERY_MS, wanted: () => place().page === "runs" });
    effect(() => {
      this.sweepButton.hidden = !rights.value.start;
      this.show();
    });
    onPlace(({ page, overlay }) => {
      if (page !== "runs") return;
      if (overlay.length) this.chosen.clear();
      for (const id of overlay.slice(0, MAX_RUNS)) this.chosen.add(id);
      this.show();
      this.showChoice();
      this.refresh();
    });
  }

  build() {
    this.note = el("p.problem", { role: "status" });
    this.empty = el("p.empty", { hidden: true });
    this.heads = el("tr");
    this.body = el("tbody");
    this.table = el("table.runs", el("thead", this.heads), this.body);
    this.filter = el("input", { type: "search", placeholder: "Filter by words", "aria-label": "Filter runs by words",
      oninput: () => this.show() });
    this.count = el("span.muted");
    this.overlayButton = buttonOf("button", { onclick: () => {
      go({ page: "runs", overlay: [...this.chosen] });
      this.overlay.root.scrollIntoView({ block: "start", behavior: "smooth" });
    } }, "Overlay curves");
    this.hint = el("span.muted");
    /** @type {HTMLButtonElement} */
    this.sweepButton = buttonOf("button sweep-button", { hidden: true, "aria-expanded": "false", onclick: () => {
      this.sweepButton.setAttribute("aria-expanded", "true");
      this.form.open(true);
    } }, "Sweep");
    /** @type {HTMLButtonElement} */
    this.sortButton = buttonOf("quiet-button sort-fold", { "aria-expanded": "false", onclick: () => {
      this.sortButton.setAttribute("aria-expanded", String(this.table.classList.toggle("sorting")));
    } });
    this.bar = el("div.bar", el("h2", "Runs"), this.count, el("span.grow"), this.filter, this.sortButton, this.hint,
      this.overlayButton, this.sweepButton);
  }

  take(/** @type {Wire.History} */ answer) {
    this.known = answer.runs;
    this.figures = answer.columns;
    this.items = grouped(answer);
    this.sweeps = new Map(answer.sweeps.map((sweep) => [sweep.id, sweep]));
    for (const id of this.chosen) if (!this.known.some((run) => run.id === id)) this.chosen.delete(id);
    this.show();
    this.panel.listed(this.sweeps.get(place().sweep));
  }

  /** Those that fit the filter, in the order asked for. */
  show() {
    const { known, items, empty, filter } = this;
    if (!known) return;
    const fitting = listed(items, filter.value, this.sort, this.columns);
    const { sweep: open } = place();
    const shown = unfolded(fitting, open);
    this.columns = columnsOf(this.figures, shownOf(shown));
    showParts(this.heads, this.headings());
    setText(this.sortButton, `Sorted by ${sortedBy(this.sort, this.columns)}`);
    showParts(this.body, shown.map((item) => ("runs" in item ? sweepRow(item, { columns: this.columns,
      open: item.id === open, actions: this.actions.ofSweep(item), toggle: () => this.unfold(item.id) })
      : runRow(item, { columns: this.columns, actions: this.actions.ofRun(item), ticked: this.chosen.has(item.id),
        tick: (ticked) => this.tick(item.id, ticked) }))), filter);
    this.showChoice();
    this.table.hidden = !fitting.length;
    this.bar.classList.toggle("nothing", known.length < 2);
    empty.hidden = fitting.length > 0;
    shownAs.value = { hidden: isWatching(), open: !known.length };
    setText(this.count, fitting.length < items.length ? `${fitting.length} of ${items.length}`
      : known.length ? String(known.length) : "");
    setText(empty, known.length ? "No run matches. Clear the filter to see all of them." : isWatching() ? waiting(null)
      : "No runs yet. Choose an experiment on the Train page and press Start; each run is listed here.");
  }

  /** Open a sweep, or close it; its panel stands above the list, perhaps far above. */
  unfold(/** @type {string} */ name) {
    const opened = place().sweep !== name;
    go({ page: "runs", sweep: opened ? name : "" });
    if (opened) this.panel.root.scrollIntoView({ block: "start", behavior: "smooth" });
  }

  headings() {
    const hidden = (/** @type {string} */ name) =>
      el("th", { scope: "col", "data-key": name }, el("span.visually-hidden", name));
    return [hidden("Overlay"), ...this.columns.map(({ key, label, kind, title }) => {
      const order = key !== this.sort.key ? null : this.sort.down ? "descending" : "ascending";
      return el("th", { scope: "col", class: kind && kind !== "words" ? "figure" : null, abbr: label, "data-key": key,
        "aria-sort": order }, buttonOf("sort", { onclick: () => {
        this.sort = turned(this.sort, key, this.columns);
        this.show();
      } }, label), title ? helpOf(label, title) : null);
    }), hidden("Actions")];
  }

  tick(/** @type {string} */ id, /** @type {boolean} */ ticked) {
    if (ticked) this.chosen.add(id);
    else this.chosen.delete(id);
    this.showChoice();
  }

  /** The button counts what is ticked; beyond the limit no other run can be ticked. */
  showChoice() {
    const count = this.chosen.size;
    for (const tick of /** @type {NodeListOf<HTMLInputElement>} */ (this.body.querySelectorAll(".tick input"))) {
      tick.checked = this.chosen.has(tick.value);
      tick.disabled = count >= MAX_RUNS && !tick.checked;
    }
    this.overlayButton.disabled = count < 2;
    setText(this.overlayButton, count > 1 ? `Overlay curves of ${count} runs` : "Overlay curves");
    setText(this.hint, count === 0 ? "Tick 2 to 6 runs to overlay their curves" : count === 1 ? "Tick one more run"
      : count >= MAX_RUNS ? `${MAX_RUNS} runs at most` : "");
  }
}
