// The charts of a run: three large ones, small multiples, one shared x range, crosshair, smoothing, table, export.
// Without BokehJS they are not drawn, and all their numbers are there.

import { bokehReady } from "./bokeh.js";
import { Chart } from "./chart.js";
import { changesBefore, fullRange, marksOf, nearest, newestOfEach, whenChanged } from "./arithmetic.js";
import { curveControls } from "./toolbar.js";
import { CHARTS, MORE_CHARTS, X_MODES } from "./specs.js";
import { KlStrip } from "../inside/kl_strip.js";
import { LeashPicture } from "../inside/leash_picture.js";
import { LINE_CHARTS, PARTS } from "./line_specs.js";
import { LinesChart } from "./lines_chart.js";
import { savePng } from "./png.js";
import { buttonOf, el, runPath, setHidden, setText, showWrong, signOf, url } from "../core/dom.js";
import { number } from "../core/format.js";
import { effect } from "../core/signals.js";
import { hasEnded, live, numUpdates } from "../core/store.js";

const FLAGGED = ["checkpoint", "warning", "paused", "resumed", "fork"];
const MOST_FLAGS = 60; // of each kind
const MOST_LAMPS = 5; // updates marked for each that is lit
const TABLE_ROWS = 200;

const frame = () => new Promise(requestAnimationFrame);

export class Charts {
  constructor(element) {
    this.mode = "update";
    this.weight = 0.5;
    this.zoom = null;
    this.hover = null;
    this.marks = [];
    this.toolbar();
    this.large = el("div", { class: "charts-large" });
    this.more = el("div", { class: "charts-more" });
    this.small = el("div", { class: "charts-small" });
    this.extra = el("div", { class: "charts-small" });
    this.strip = new KlStrip();
    this.leash = new LeashPicture();
    this.folded = el("details", { class: "charts-folded" }, el("summary", {}, "More curves"), this.extra,
      this.strip.root);
    this.table = el("div", { class: "numbers", hidden: true, tabindex: "0", role: "region", "aria-label": "Numbers" });
    this.body = el("div", { class: "charts-body" }, this.large, this.more, this.small, this.folded);
    this.changes = el("div", { class: "edits", hidden: true });
    this.warnings = el("div", { class: "edits", hidden: true });
    this.note = el("p", { class: "undrawn-note", role: "status" });
    this.wrong = el("p", { class: "wrong-note", hidden: true });
    this.root = el("div", { class: "charts" }, this.bar, this.wrong, this.note, this.body, this.table, this.changes,
      this.warnings);
    element.append(this.root);
    this.begin();
    this.draw();
  }

  toolbar() {
    const { help, reset, smoothing, over } = curveControls({
      weight: this.weight, raw: "points",
      marks: " Signs at the foot of the large charts: a triangle where the weights were saved, a red one at a warning, "
        + "two bars at a pause, an arrow where the run was resumed, or forked from another.",
      onWeight: (weight) => {
        this.weight = weight;
        this.refresh();
      },
      onMode: (mode) => {
        this.mode = mode;
        this.zoom = null;
        this.refresh();
      },
      onReset: () => this.setZoom(null),
    });
    this.reset = reset;
    this.where = el("span", { class: "where", "aria-hidden": "true" });
    this.tableButton = buttonOf("quiet-button", { "aria-pressed": "false",
      onclick: () => this.toggleTable() }, "Table");
    this.csv = el("a", { class: "quiet-button", download: "", title: "All numbers, for a spreadsheet" }, "CSV");
    this.png = buttonOf("quiet-button", { disabled: true, title: "The curves as a picture",
      onclick: () => this.savePicture() }, "PNG");
    this.bar = el("div", { class: "chart-bar" },
      el("h2", {}, "Curves"), help, this.where, el("span", { class: "grow" }), this.reset,
      smoothing, over,
      this.tableButton, this.png, this.csv);
  }

  begin() {
    this.range = { start: 0, end: 1 };
    const shared = {
      range: this.range,
      onHover: (x) => this.setHover(x),
      onZoom: (from, to) => this.setZoom([from, to]),
      onReset: () => this.setZoom(null),
      onSight: (chart) => {
        chart.readOut(this.hover);
        this.placeFlags([chart]);
      },
    };
    this.charts = [...CHARTS, ...MORE_CHARTS].map((spec) => new Chart(spec, shared));
    for (const { spec, card } of this.charts)
      (MORE_CHARTS.includes(spec) ? this.extra : spec.large ? this.large : this.small).append(card);
    this.lines = LINE_CHARTS.map((spec) => new LinesChart(spec, shared));
    this.more.append(...this.lines.map((chart) => chart.card), this.leash.root);
    effect(() => this.listChanges());
    let snapshot;
    effect(() => {
      if (live.snapshots !== snapshot) {
        this.zoom = null;
        for (const chart of this.all()) chart.forget();
      }
      snapshot = live.snapshots;
      this.refresh();
    });
    document.addEventListener("playground-look", () => {
      for (const chart of this.all()) if (chart.view) chart.look();
    });
    effect(() => this.placeFlags());
    new ResizeObserver(() => {
      this.placeFlags();
      this.drawLarge();
    }).observe(this.large); // also hears when it is there again
  }

  async draw() {
    if (!(await bokehReady(this.note, "The curves",
      "The newest numbers are below, all of them under Table and CSV."))) {
      this.root.classList.add("undrawn");
      return;
    }
    this.png.disabled = false;
    for (const chart of this.all()) chart.sighted(chart.inSight);
    this.drawLarge();
  }

  /** Those that carry the signs are there as soon as they have a place, the others when they are seen. */
  async drawLarge() {
    for (const chart of this.charts) {
      if (!chart.spec.large || chart.view) continue;
      await frame();
      if (!chart.view) await chart.present();
    }
  }

  /** The charts that are shown as one picture, also those that nobody has looked at yet. */
  async savePicture() {
    if (!this.table.hidden) this.toggleTable();
    const shown = this.all().filter(({ card }) => !card.hidden && (this.folded.open || !this.folded.contains(card)));
    for (const chart of shown) {
      const { inSight } = chart;
      await chart.sighted(true);
      chart.inSight = inSight;
    }
    await frame(); // in which figures that were hidden have a size again, and take what they are to paint
    await frame();
    for (const chart of shown) chart.view.repaint(); // not `ready`: Bokeh breaks that promise if a paint comes late
    savePng(shown, this.marks);
  }

  /** Those with one line, and those with one for each reward or judge. */
  all() {
    return [...this.charts, ...this.lines];
  }

  /**
   * What was changed in mid-run, in words: the key to the numbered marks, and the marks for those who do not see them.
   */
  listChanges() {
    this.marks = marksOf(live.events);
    this.changes.hidden = !this.marks.length;
    this.changes.replaceChildren(el("h3", { id: "edits-title" }, "Changed while it trained"),
      el("ol", { "aria-labelledby": "edits-title" },
        this.marks.map(({ number: index, update, messages }) => el("li", {},
        el("span", { class: "edit-tag", "aria-hidden": "true" }, String(index)), ` ${whenChanged(update)}: `,
        el("strong", {}, messages.join(", "))))));
    this.listWarnings(live.events.filter(({ kind }) => kind === "warning"));
  }

  /** What the red flags say, for those who cannot point at them. */
  listWarnings(warnings) {
    this.warnings.hidden = !warnings.length;
    this.warnings.replaceChildren(el("h3", { id: "warnings-title" }, "Warnings"),
      el("ul", { "aria-labelledby": "warnings-title" },
        warnings.map(({ update, message }) => el("li", {}, signOf("! "), `${whenChanged(update)}: `,
          el("strong", {}, message)))));
  }

  refresh() {
    const column = X_MODES[this.mode].column;
    [this.range.start, this.range.end] = this.zoom
      ?? fullRange(live.metrics[column] ?? [], this.mode, numUpdates.value);
    showWrong(this.wrong, live.run);
    this.addText();
    for (const chart of this.charts) chart.update(live.metrics, column, this.weight, live.run);
    for (const chart of this.lines) chart.follow(live, column, this.weight);
    setHidden(this.reset, !this.zoom, this.tableButton);
    if (live.runId) this.csv.href = url(runPath(live.runId, "metrics.csv"));
    if (!this.table.hidden) this.fillTable();
    this.setHover(this.hover);
    void live.lamps; // their marks are placed below
    requestAnimationFrame(() => this.placeFlags());
  }

  /**
   * What was measured at the looks only, as a column beside the metrics. A chart of what the method does not have (a
   * run without a critic has no value fit) is not shown.
   */
  addText() {
    const at = new Map(live.text.map(({ update, value }) => [update, value]));
    live.metrics.perplexity_text = live.metrics.update.map((update) => at.get(update) ?? null);
    for (const { spec, card } of this.charts) {
      const values = live.metrics[spec.column] ?? [];
      card.hidden = spec.sparse ? !live.text.length : values.length > 0 && values.every((value) => value === null);
    }
    for (const room of [this.large, this.small, this.extra]) {
      room.dataset.count = String([...room.children].filter((child) => !child.hidden).length);
    }
  }

  placeFlags(charts = this.all()) {
    const events = newestOfEach(live.events.filter(({ update }) => update > 0), FLAGGED, MOST_FLAGS);
    const updates = live.metrics.update;
    const values = live.metrics[X_MODES[this.mode].column] ?? [];
    const xOf = (update) => (this.mode === "update" ? update : values[nearest(updates, update)] ?? 0);
    const lit = (live.lamps ?? []).filter(({ state }) => state === "red" || state === "amber");
    for (const chart of charts) {
      const lamps = lit.filter(({ series }) => series === chart.spec.column).flatMap(({ updates, state, label }) =>
        updates.slice(-MOST_LAMPS).map((update) => ({ update, kind: `lamp ${state}`, message: label })));
      chart.showFlags(chart.spec.large ? [...events, ...lamps] : lamps, xOf);
      chart.showMarks(this.marks, xOf);
    }
    const score = this.charts.find((chart) => chart.spec.key === "score");
    score.showKnee(hasEnded.value ? live.outcome?.knee : null, xOf);
  }

  setHover(x) {
    this.hover = x;
    const updates = live.metrics.update;
    const index = x === null ? updates.length - 1 : nearest(live.metrics[X_MODES[this.mode].column] ?? [], x);
    setText(this.where, index < 0 ? "" : x === null ? `at update ${updates[index]}`
      : `reading update ${updates[index]}`);
    for (const chart of this.all()) chart.readOut(x);
    this.strip.show(live.metrics, index);
    const asked = live.events.findLast(({ kind, field }) => kind === "edit" && field === "kl.target");
    this.leash.show(live.metrics, live.run?.adaptive ? asked?.value ?? live.run.target : null, index,
      live.run?.looks_ahead);
  }

  setZoom(range) {
    this.zoom = range;
    for (const chart of this.all()) chart.forget();
    this.refresh();
  }

  toggleTable() {
    const show = this.table.hidden;
    this.table.style.minHeight = `${this.body.offsetHeight}px`;
    this.table.style.maxHeight = `${Math.max(this.body.offsetHeight, 320)}px`;
    this.table.hidden = !show;
    this.body.hidden = show;
    this.tableButton.setAttribute("aria-pressed", String(show));
    if (show) this.fillTable();
  }

  fillTable() {
    const parts = (live.run?.terms ?? []).filter(({ name }) => live.metrics[PARTS + name]);
    const specs = this.charts.map(({ spec }) => spec);
    const names = ["update", ...specs.map((spec) => spec.column), ...parts.map(({ name }) => PARTS + name)];
    const titles = ["Update", ...specs.map((spec) => spec.title), ...parts.map(({ label }) => `From ${label}`)];
    const rows = live.metrics.update.map((_, index) => index).slice(-TABLE_ROWS).reverse();
    const changes = this.marks.length ? changesBefore(live.metrics.update, this.marks) : null;
    if (changes) titles.splice(1, 0, "Changed before it");
    const cell = (name, index) => {
      const value = live.metrics[name]?.[index];
      return el("td", { title: value ?? "" }, name === "update" ? String(value) : number(value));
    };
    this.table.replaceChildren(el("table", {},
      el("thead", {},
        el("tr", {},
          titles.map((title) => el("th", { scope: "col", class: title === titles[1] && changes ? "words" : null },
            title)))),
      el("tbody", {}, rows.map((index) => el("tr", {}, cell("update", index),
        changes ? el("td", { class: "words" }, changes[index].join(", ")) : null,
        names.slice(1).map((name) => cell(name, index)))))));
  }
}
