// Curves of two to six runs in one set of charts, on the Runs page: which run is which line, where they stand at the
// cursor, and the settings in which they differ. The address names the runs.

import { ChartGroup } from "../charts/chart_group.js";
import { CurveControls } from "../charts/toolbar.js";
import { CHARTS, COLOURS, DASHES, LETTERS, X_MODES } from "../charts/specs.js";
import { fullRange } from "../charts/arithmetic.js";
import { buttonOf, el, setHidden, setText, setWords, shape, showParts, signOf, svg, tableOf } from "../core/dom.js";
import { unitBeside } from "../core/knob.js";
import { go, link, onPlace, place } from "../core/nav.js";
import { follow } from "../core/poll.js";
import { openUpdateOf } from "../inside/rollout.js";
import { clamped, figuresMenu, stateMark } from "../core/texts.js";
import { overlaid, sharesOf } from "../charts/line_specs.js";
import { LinesChart } from "../charts/lines_chart.js";
import { lettered, Methods } from "./methods.js";

export const MAX_RUNS = LETTERS.length;
const EVERY_MS = 3000;
const ENGINES = "One was trained by TRL's PPOTrainer, the other by the playground's PPO. The form says under Engine "
  + "how they differ.";
const DIFFERING = "Settings in which they differ";

export class Overlay {
  constructor(/** @type {Element} */ element) {
    this.wanted = /** @type {string[]} */ ([]);
    this.data = /** @type {Wire.Overlay | null} */ (null);
    this.shown = /** @type {string | null} */ (null); // names of the behaviours with a chart
    this.group = new ChartGroup({ draw: () => this.draw(), hovered: (x) => this.tell(x),
      opened: openUpdateOf });
    this.controls = new CurveControls({ of: " of the overlaid curves", raw: "values",
      changed: (otherMode) => (otherMode ? this.group.setZoom(null) : this.draw()),
      reset: () => this.group.setZoom(null) });
    this.build();
    element.append(this.root);
    // the curves; again and again while one of the runs is alive and somebody looks
    this.refresh = follow({
      address: () => `live/_overlay?runs=${this.wanted.map(encodeURIComponent).join(",")}`,
      show: (/** @type {Wire.Overlay} */ data) => this.show(data), note: this.problem,
      every: () => (this.data?.runs.every((run) => run.ended) ? 0 : EVERY_MS),
      wanted: () => this.wanted.length > 0 && place().page === "runs",
    });
    onPlace(({ overlay }) => this.want(overlay));
  }

  build() {
    const { help, reset, smoothing, over } = this.controls;
    this.where = el("span.where", { "aria-hidden": "true" });
    this.legend = el("ul.legend", { "aria-label": "Which line is which run" });
    this.problem = el("p.problem", { role: "status" });
    this.warning = el("p.overlay-warning", { role: "status" });
    this.grid = el("div.charts-large");
    this.counted = el("div.charts-large");
    this.shares = el("div.overlay-shares", { hidden: true }, el("h3", "What they do, counted"), this.counted);
    this.methods = new Methods();
    this.settings = el("div.overlay-settings");
    this.texts = buttonOf("quiet-button", { hidden: true,
      onclick: () => go({ page: "compare", run: this.data.runs[1].id, with: this.data.runs[0].id }) },
    "Compare their texts");
    this.close = buttonOf("quiet-button", { onclick: () => go({ page: "runs", overlay: [] }) }, "Close");
    this.files = el("span.sweep-actions");
    this.root = el("section.panel.overlay", { "aria-label": "Overlaid curves", hidden: true },
      el("div.chart-bar", el("h2", "Overlaid curves"), help, this.where,
        el("span.grow"), reset, smoothing, over, this.files, this.texts, this.close),
      this.problem, this.legend, this.warning, this.shares, this.grid,
      this.methods.root, this.settings);
  }

  want(/** @type {string[]} */ ids) {
    const same = ids.join() === this.wanted.join();
    this.wanted = ids;
    this.root.hidden = !ids.length;
    if (!same) {
      this.data = null;
      this.group.forget();
      for (const part of [this.methods.root, this.shares, this.texts]) part.hidden = true;
      for (const part of [this.legend, this.settings, this.warning, this.problem]) part.replaceChildren();
    }
    if (ids.length) this.refresh(!same);
  }

  show(/** @type {Wire.Overlay} */ data) {
    this.data = data;
    const { runs, problems, scores_differ: differ } = data;
    const few = runs.length < 2 && !problems.length ? ["Tick a second run below to compare it."] : [];
    setWords(this.problem, [...problems, ...few].join(" "));
    this.showLegend(runs);
    this.grid.hidden = !runs.length;
    const engines = new Set(runs.filter((run) => run.method === "PPO").map((run) => run.engine));
    setText(this.warning, [differ ? `${differ} Compare the shapes of their curves, not the heights.` : "",
      engines.size > 1 ? ENGINES : ""].filter(Boolean).join(" "));
    setHidden(this.texts, runs.length !== 2, this.close);
    const ids = runs.map(({ id }) => encodeURIComponent(id)).join();
    showParts(this.files, ids ? figuresMenu("overlay-figures", `runs=${ids}`) : []);
    this.showShares(runs);
    this.methods.show(this.data);
    this.showSettings();
    if (runs.length && !this.ready) this.prepare();
    this.draw();
  }

  /** Make the charts, once; they draw what there is when they are there. */
  prepare() {
    for (const spec of CHARTS.filter(({ large, compared }) => large || compared)) {
      const wide = overlaid({ ...spec, large: true, key: `overlay-${spec.key}` });
      this.group.add(new LinesChart(wide, this.group), this.grid);
    }
    this.ready = true;
    for (const box of [this.grid, this.counted]) this.group.watch(box);
    this.showShares(this.data.runs);
    this.methods.prepare();
    this.draw();
  }

  /** A chart for each behaviour that all of them have counted. */
  showShares(/** @type {Wire.Overlaid[]} */ runs) {
    const shared = (runs[0]?.behaviours ?? []).filter(({ name }) =>
      runs.every(({ behaviours = [] }) => behaviours.some((one) => one.name === name)));
    this.shares.hidden = !shared.length;
    const names = shared.map(({ name }) => name).join();
    if (!this.ready || names === this.shown) return;
    this.shown = names;
    this.counted.replaceChildren();
    this.group.charts = this.group.charts.filter(({ spec }) => !spec.key.startsWith("overlay-share-"));
    for (const one of shared) this.group.add(new LinesChart(sharesOf(one), this.group), this.counted);
  }

  draw() {
    if (!this.data?.runs.length) return;
    const { runs } = this.data;
    const { column, mode, weight, reset } = this.controls;
    const ends = runs.map((run) => fullRange(run.metrics[column] ?? [], mode,
      run.ended ? run.update : run.num_updates)[1]);
    const drawn = { run: runs[0], runs };
    this.group.show([0, Math.max(...ends)], (chart) =>
      /** @type {LinesChart} */ (chart).follow(drawn, column, weight));
    setHidden(reset, !this.group.zoom, this.close);
  }

  tell(/** @type {number | null} */ x) {
    const { mode } = this.controls;
    const rounded = Math.round(x ?? 0);
    setText(this.where, x === null ? "at the newest update of each" : mode === "update" ? `at update ${rounded}`
      : `at ${rounded.toLocaleString("en-US")} ${X_MODES[mode].label}`);
  }

  showLegend(/** @type {Wire.Overlaid[]} */ runs) {
    showParts(this.legend, runs.map((run, index) => el("li", { "data-key": run.id }, sample(index),
      el("span.letter", LETTERS[index]),
      link({ run: run.id }, [run.title], { class: "run-name clamp", title: `${run.title} (${run.id})` }),
      run.experiment && run.experiment !== run.title ? clamped("span", run.experiment) : null,
      run.wrong_on_purpose
        ? el("span.wrong-note.clamp", { title: run.wrong_on_purpose }, signOf("! "), run.wrong_on_purpose) : null,
      el("span.muted", [run.model ? `${run.method} on ${run.model}` : run.method,
        run.engine === "trl" ? "engine TRL" : "",
        run.seed === null ? "" : `seed ${run.seed}`].filter(Boolean).join(", ")),
      stateMark(run.state, {}, el("span.where",
        run.ended ? `after ${run.update} updates` : `update ${run.update} of ${run.num_updates}`)))));
  }

  showSettings() {
    const { runs, settings } = this.data;
    if (runs.length < 2) return showParts(this.settings, []);
    if (!settings.length)
      return showParts(this.settings, [el("p.muted", "They have the same settings and seed.")]);
    showParts(this.settings, [el("h3", DIFFERING),
      el("div.numbers", { tabindex: "0", role: "region", "aria-label": DIFFERING },
        tableOf("", ["Setting", ...runs.map((run, index) => lettered(run, index))],
          settings.map(({ label, unit, values }) => [el("th", { scope: "row" }, label,
            unitBeside({ label, unit }) ? el("span.unit", ` ${unit}`) : ""),
          values.map((value) => el("td", value))])))]);
  }
}

/** A short piece of a run's line, as in the charts. */
function sample(/** @type {number} */ index) {
  const line = shape("line", { x1: 1, x2: 33, y1: 5, y2: 5, "stroke-width": 2.5,
    "stroke-dasharray": DASHES[index].join(" "), style: `stroke: var(${COLOURS[index]})` });
  return svg("line-sample", { viewBox: "0 0 34 10", "aria-hidden": "true" }, line);
}
