// The charts of a run: two large ones in the first screen, all others in a section; one shared x range, crosshair,
// smoothing, table, export.

import { Chart } from "./chart.js";
import { ChartGroup } from "./chart_group.js";
import { beginnings, changesBefore, fullRange, marksOf, nearest, newestOfEach, whenChanged } from "./arithmetic.js";
import { CurveControls } from "./toolbar.js";
import { CHARTS, MORE_CHARTS } from "./specs.js";
import { KlStrip } from "../inside/kl_strip.js";
import { openUpdate } from "../inside/rollout.js";
import { LINE_CHARTS, PARTS } from "./line_specs.js";
import { LinesChart } from "./lines_chart.js";
import { savePng } from "./png.js";
import { buttonOf, el, headOf, runTitle, setAttribute, setHidden, setText, showParts, showWrong, signOf, tableOf,
} from "../core/dom.js";
import { earlierLink } from "../core/experiments.js";
import { fileOf } from "../core/server.js";
import { exact, number } from "../core/format.js";
import { lamps } from "../core/mysteries.js";
import { effect } from "../core/signals.js";
import { inLesson } from "../core/in_lesson.js";
import { hasEnded, live, numUpdates } from "../core/store.js";

const FLAGGED = ["checkpoint", "warning", "paused", "resumed", "fork"];
const MOST_FLAGS = 60; // of each kind
const MOST_ALERTS = 5; // marks of each that is lit
const TABLE_ROWS = 200;
const SIGNS = " Signs at the foot of the large charts: a triangle where the weights were saved, a red one at a "
  + "warning, two bars at a pause, an arrow where the run was resumed, or forked from another.";

const frame = () => new Promise(requestAnimationFrame);

export class Charts {
  /**
   * The two large charts go into `element`, all else into the box of a section that opens.
   * @param {Element} element @param {Element} section
   */
  constructor(element, section) {
    this.marks = /** @type {Charts.Mark[]} */ ([]);
    this.group = new ChartGroup({ draw: () => this.refresh(), hovered: (x) => this.tell(x),
      place: (chart) => this.placeSigns(chart), opened: openUpdate });
    this.controls = new CurveControls({ raw: "points", marks: SIGNS, reset: () => this.group.setZoom(null),
      changed: (otherMode) => (otherMode ? this.group.setZoom(null) : this.refresh()) });
    this.build(element, section);
    this.fill();
    this.follow();
  }

  build(/** @type {Element} */ element, /** @type {Element} */ section) {
    const { help, reset, smoothing, over } = this.controls;
    this.where = el("span.where", { "aria-hidden": "true" });
    this.tableButton = buttonOf("quiet-button", { "aria-pressed": "false",
      onclick: () => this.toggleTable() }, "Table");
    this.csv = el("a.quiet-button", { download: "", title: "All numbers, for a spreadsheet" }, "CSV");
    this.png = buttonOf("quiet-button", { title: "The curves as a picture",
      onclick: () => this.savePicture() }, "PNG");
    this.large = el("div.charts-large");
    this.more = el("div.charts-more");
    this.small = el("div.charts-small");
    this.extra = el("div.charts-small");
    this.strip = new KlStrip();
    this.table = el("div.numbers", { hidden: true, tabindex: "0", role: "region", "aria-label": "Numbers" });
    this.body = el("div.charts-body", this.small, this.more, this.extra, this.strip.root);
    this.changes = el("div.edits", { hidden: true });
    this.warnings = el("div.edits", { hidden: true });
    this.wrong = el("p.wrong-note", { hidden: true });
    this.earlier = el("span");
    this.root = el("section.charts.charts-first", { "aria-label": "Curves" },
      el("h2.visually-hidden", "Curves"), this.large);
    this.section = el("section.charts", { "aria-labelledby": "more-curves-title" },
      el("div.chart-bar", el("h2", { id: "more-curves-title" }, "More curves"), help, this.where, el("span.grow"),
        this.earlier, smoothing, over, this.tableButton, this.png, this.csv),
      this.wrong, this.body, this.table, this.changes, this.warnings);
    this.large.append(reset);
    element.append(this.root);
    section.append(this.section);
  }

  /** Make the charts: those with one line, and those with one for each reward or judge. */
  fill() {
    const { group } = this;
    this.plain = [...CHARTS, ...MORE_CHARTS].map((spec) => group.add(new Chart(spec, group),
      MORE_CHARTS.includes(spec) ? this.extra : spec.large ? this.large : this.small));
    this.lines = LINE_CHARTS.map((spec) => group.add(new LinesChart(spec, group), this.more));
  }

  follow() {
    effect(() => this.listChanges());
    let snapshot = -1;
    effect(() => {
      if (live.snapshots !== snapshot) this.group.forget();
      snapshot = live.snapshots;
      this.refresh();
    });
    effect(() => this.group.settle());
    this.group.watch(this.large);
    this.group.watch(this.small);
    effect(() => showParts(this.earlier, [earlierLink(live.run)].filter(Boolean)));
  }

  /** The charts that are shown as one picture, also those that nobody has looked at yet. */
  async savePicture() {
    if (!this.table.hidden) this.toggleTable();
    const shown = this.group.charts.filter(({ card }) => !card.hidden);
    for (const chart of shown) {
      const { inSight } = chart;
      chart.sighted(true);
      chart.inSight = inSight;
    }
    await frame(); // in which those that were hidden have a size again
    await savePng(shown, this.marks.map(({ number, update, messages }) =>
      `${number} ${whenChanged(update)}: ${messages.join(", ")}`));
  }

  /**
   * What was changed in mid-run and what the red flags say, in words: the key to the numbered marks, and both for those
   * who do not see them.
   */
  listChanges() {
    this.marks = marksOf(live.events);
    /** @param {HTMLElement} box @param {string} tag @param {string} id @param {string} title @param {Node[]} items */
    const list = (box, tag, id, title, items) => {
      box.hidden = !items.length;
      box.replaceChildren(el("h3", { id }, title), el(tag, { "aria-labelledby": id }, items));
    };
    list(this.changes, "ol", "edits-title", "Changed while it trained", this.marks.map(
      ({ number: index, update, messages }) => el("li", el("span.edit-tag", { "aria-hidden": "true" },
        String(index)), ` ${whenChanged(update)}: `, el("strong", messages.join(", ")))));
    const warnings = live.events.filter(({ kind }) => kind === "warning" || kind === "note");
    list(this.warnings, "ul", "warnings-title", "Warnings", warnings.map(
      ({ update, message }) => el("li", signOf("! "), `${whenChanged(update)}: `, el("strong", message))));
  }

  refresh() {
    const { column, mode, weight, reset } = this.controls;
    showWrong(this.wrong, live.run);
    this.addText();
    this.group.show(fullRange(live.metrics[column] ?? [], mode, numUpdates.value), (chart) =>
      (chart instanceof LinesChart ? chart.follow(live, column, weight)
        : chart.update(live.metrics, column, weight, live.run)));
    setHidden(reset, !this.group.zoom, runTitle());
    if (live.runId) Object.assign(this.csv, fileOf(live.runId, "metrics.csv"));
    if (!this.table.hidden) this.fillTable();
  }

  /**
   * What was measured at the looks only, as a column beside the metrics. A chart of what the run does not have (without
   * a critic no value fit, with one judge no disagreement) is not shown, nor one that the open lesson does not name.
   */
  addText() {
    const at = new Map(live.text.map(({ update, value }) => [update, value]));
    live.metrics.perplexity_text = live.metrics.update.map((update) => at.get(update) ?? null);
    const { figures } = inLesson.value;
    for (const { spec, card } of this.plain) {
      const values = live.metrics[spec.needs ?? spec.column] ?? [];
      const isUnnamed = figures.length > 0 && !spec.large && !figures.includes(spec.column);
      const isEmpty = spec.sparse ? !live.text.length : values.length > 0 && values.every((value) => value === null);
      card.hidden = isUnnamed || isEmpty;
    }
    for (const { spec, card } of this.lines)
      card.classList.toggle("unnamed", figures.length > 0 && !figures.includes(spec.key));
    for (const room of [this.small, this.extra]) {
      const parts = /** @type {HTMLElement[]} */ ([...room.children]);
      room.dataset.count = String(parts.filter((child) => !child.hidden).length);
    }
    this.section.classList.toggle("some", figures.length > 0);
  }

  /** Flags, alerts, changes and the plateau, to where they belong above one chart. */
  placeSigns(/** @type {Chart} */ chart) {
    const values = live.metrics[this.controls.column] ?? [];
    const xOf = (/** @type {number} */ update) => (this.controls.mode === "update" ? update
      : values[nearest(live.metrics.update, update)] ?? 0);
    const alerts = (lamps() ?? []).filter(({ state, series }) => series === chart.spec.column
      && (state === "red" || state === "amber")).flatMap(({ updates, state, label }) =>
      beginnings(updates).slice(0, MOST_ALERTS)
        .map((update) => ({ update, kind: `alert ${state}`, message: `from here: ${label}` })));
    const events = chart.spec.large
      ? newestOfEach(live.events.filter(({ update }) => update > 0), FLAGGED, MOST_FLAGS) : [];
    chart.showFlags([...events, ...alerts], xOf);
    chart.showMarks(this.marks, xOf);
    if (chart.spec.key === "score") chart.showPlateau(hasEnded.value ? live.outcome?.plateau : null, xOf);
  }

  /** Which update is read, and what is drawn of that one. */
  tell(/** @type {number | null} */ x) {
    const updates = live.metrics.update;
    const index = x === null ? updates.length - 1 : nearest(live.metrics[this.controls.column] ?? [], x);
    setText(this.where, index < 0 ? "" : x === null ? `at update ${updates[index]}`
      : `reading update ${updates[index]}`);
    this.strip.show(live.metrics, index);
  }

  toggleTable() {
    const show = this.table.hidden;
    this.table.style.minHeight = `${this.body.offsetHeight}px`;
    this.table.style.maxHeight = `${Math.max(this.body.offsetHeight, 320)}px`;
    this.table.hidden = !show;
    this.body.hidden = show;
    setAttribute(this.tableButton, "aria-pressed", String(show));
    if (show) this.fillTable();
  }

  fillTable() {
    const parts = (live.run?.terms ?? []).filter(({ name }) => live.metrics[PARTS + name]);
    const columns = [...this.plain.map(({ spec }) => [spec.column, spec.title]),
      ...parts.map(({ name, label }) => [PARTS + name, `From ${label}`])];
    const changes = this.marks.length ? changesBefore(live.metrics.update, this.marks) : null;
    const rows = live.metrics.update.map((update, index) => [el("td", buttonOf("update-button",
      { "aria-label": `Open update ${update}`, onclick: () => openUpdate(update) }, String(update))),
      changes ? el("td.words", changes[index].join(", ")) : null, columns.map(([name]) => {
        const value = live.metrics[name]?.[index];
        return el("td", { title: exact(value) }, number(value));
      })]).slice(-TABLE_ROWS).reverse();
    this.table.replaceChildren(tableOf("",
      ["Update", changes ? headOf("Changed before it", "words") : null, ...columns.map(([, title]) => title)], rows));
  }
}
