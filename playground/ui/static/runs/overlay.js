// Curves of two to six runs in one set of charts, on the Runs page: which run is which line, where they stand at the
// cursor, the settings in which they differ, and what differs between two engines. The address names the runs.

import { bokehReady } from "../charts/bokeh.js";
import { curveControls } from "../charts/toolbar.js";
import { CHARTS, COLOURS, DASHES, LETTERS, X_MODES } from "../charts/specs.js";
import { fullRange } from "../charts/arithmetic.js";
import { buttonOf, el, getJson, headOf, setHidden, setText, setWords, shape, showParts, signOf, svg,
  withCode } from "../core/dom.js";
import { stateOf } from "../core/format.js";
import { go, link, onPlace, place } from "../core/nav.js";
import { poll } from "../core/poll.js";
import { whenNew } from "../core/signals.js";
import { OverlayChart } from "../charts/overlay_chart.js";
import { Roads } from "./roads.js";
import { Shares } from "./shares.js";

export const MAX_RUNS = LETTERS.length;
const EVERY_MS = 3000;

export class Overlay {
  constructor(element) {
    this.wanted = [];
    this.data = /** @type {any} */ (null);
    this.mode = "update";
    this.weight = 0.5;
    this.zoom = null;
    this.hover = null;
    this.preparing = null;
    this.build();
    element.append(this.root);
    this.cleared = 0;
    this.show = whenNew((data) => this.showAll(data));
    // the curves; again and again while one of the runs is alive and somebody looks
    this.refresh = poll({
      ask: async (signal) => {
        const ids = this.wanted;
        return { ids, data: await getJson(`live/_overlay?runs=${ids.map(encodeURIComponent).join(",")}`, signal) };
      },
      tell: ({ ids, data }) => {
        if (ids !== this.wanted) return;
        this.data = data;
        this.show(data, this.cleared);
      },
      fail: (error) => {
        setWords(this.problem, error.message);
        this.cleared += 1; // the next answer takes the sentence away
      },
      every: () => (this.data?.runs.every((run) => run.ended) ? 0 : EVERY_MS),
      wanted: () => this.wanted.length > 0 && place().page === "runs",
    });
    onPlace(({ overlay }) => this.want(overlay));
    document.addEventListener("playground-look", () => {
      for (const chart of [...this.charts ?? [], ...this.shares.charts, this.roads.chart]) chart?.look();
    });
  }

  build() {
    const { help, reset, smoothing, over } = curveControls({
      weight: this.weight, of: " of the overlaid curves", raw: "values",
      onWeight: (weight) => {
        this.weight = weight;
        this.draw();
      },
      onMode: (mode) => {
        this.mode = mode;
        this.setZoom(null);
      },
      onReset: () => this.setZoom(null),
    });
    this.reset = reset;
    this.where = el("span", { class: "where", "aria-hidden": "true" });
    this.legend = el("ul", { class: "legend", "aria-label": "Which line is which run" });
    this.problem = el("p", { class: "problem", role: "status" });
    this.warning = el("p", { class: "overlay-warning", role: "status" });
    this.undrawn = el("p", { class: "undrawn-note", role: "status" });
    this.grid = el("div", { class: "charts-large" });
    this.shares = new Shares();
    this.roads = new Roads();
    this.settings = el("div", { class: "overlay-settings" });
    this.engines = el("div", { class: "overlay-engines", hidden: true });
    this.texts = buttonOf("quiet-button", { hidden: true,
      onclick: () => go({ page: "compare", run: this.data.runs[1].id, with: this.data.runs[0].id }) },
    "Compare their texts");
    this.close = buttonOf("quiet-button", { onclick: () => go({ page: "runs", overlay: [] }) }, "Close");
    this.root = el("section", { class: "panel overlay", "aria-label": "Overlaid curves", hidden: true },
      el("div", { class: "chart-bar" }, el("h2", {}, "Overlaid curves"), help, this.where,
        el("span", { class: "grow" }), this.reset, smoothing, over, this.texts, this.close),
      this.problem, this.legend, this.warning, this.undrawn, this.shares.root, this.grid,
      this.roads.root, this.settings, this.engines);
  }

  want(ids) {
    const same = ids.join() === this.wanted.join();
    this.wanted = ids;
    this.root.hidden = !ids.length;
    if (!same) {
      this.data = null;
      this.cleared += 1;
      this.zoom = null;
      this.legend.replaceChildren();
      this.settings.replaceChildren();
      this.engines.hidden = true;
      this.roads.root.hidden = true;
      this.shares.root.hidden = true;
      setText(this.warning, "");
      this.texts.hidden = true;
      setWords(this.problem, "");
      for (const chart of this.charts ?? []) chart.forget();
    }
    if (ids.length) this.refresh();
  }

  /** @param {{runs: any[], problems: string[], scores_differ: string}} data */
  showAll({ runs, problems, scores_differ: differ }) {
    const few = runs.length < 2 && !problems.length ? ["Tick a second run below to see two sets of curves."] : [];
    setWords(this.problem, [...problems, ...few].join(" "));
    this.showLegend(runs);
    this.grid.hidden = !runs.length;
    setText(this.warning, differ ? `${differ} Compare the shapes of their curves, not the heights.` : "");
    setHidden(this.texts, runs.length !== 2, this.close);
    this.shares.show(runs);
    this.roads.show(this.data);
    this.showSettings();
    this.showEngines();
    if (runs.length) this.prepare();
    this.draw();
  }

  /** Make the charts, once; they draw what there is when they are there. */
  prepare() {
    this.preparing ??= (async () => {
      if (!(await bokehReady(this.undrawn, "The curves",
        "The numbers of each run are on its own page, under Table and CSV."))) return;
      this.range = { start: 0, end: 1 };
      const shared = {
        range: this.range,
        onHover: (x) => this.setHover(x),
        onZoom: (from, to) => this.setZoom([from, to]),
        onReset: () => this.setZoom(null),
        onSight: (chart) => {
          chart.readOut(this.hover);
          chart.placeEnds();
        },
      };
      this.charts = CHARTS.filter((spec) => spec.large)
        .map((spec) => new OverlayChart({ ...spec, key: `overlay-${spec.key}` }, shared));
      for (const chart of this.charts) this.grid.append(chart.card);
      this.shares.prepare();
      this.roads.prepare();
      new ResizeObserver(() => this.placeEnds()).observe(this.grid);
      this.draw();
    })();
  }

  draw() {
    if (!this.charts || !this.data?.runs.length) return;
    const { runs } = this.data;
    const x = X_MODES[this.mode].column;
    const whole = runs.map((run) => fullRange(run.metrics[x] ?? [], this.mode,
      run.ended ? run.update : run.num_updates));
    [this.range.start, this.range.end] = this.zoom ?? [0, Math.max(...whole.map(([, end]) => end))];
    for (const chart of this.charts) chart.update(runs, x, this.weight);
    setHidden(this.reset, !this.zoom, this.close);
    this.setHover(this.hover);
    requestAnimationFrame(() => this.placeEnds());
  }

  placeEnds() {
    for (const chart of this.charts ?? []) chart.placeEnds();
  }

  setHover(x) {
    this.hover = x;
    const digits = this.mode === "update" ? Math.round(x ?? 0) : Math.round(x ?? 0).toLocaleString("en-US");
    setText(this.where, x === null ? "at the newest update of each" : this.mode === "update" ? `at update ${digits}`
      : `at ${digits} ${X_MODES[this.mode].label}`);
    for (const chart of this.charts ?? []) chart.readOut(x);
  }

  setZoom(range) {
    this.zoom = range;
    for (const chart of this.charts ?? []) chart.forget();
    this.draw();
  }

  showLegend(runs) {
    showParts(this.legend, runs.map((run, index) => {
      const { icon, word, tone } = stateOf(run.state);
      return el("li", { "data-key": run.id }, sample(index),
        el("span", { class: "letter" }, LETTERS[index]),
        link({ run: run.id }, [run.title], { class: "run-name", title: run.id }),
        run.told && run.told !== run.title ? el("span", {}, run.told) : null,
        run.wrong_on_purpose ? el("span", { class: "wrong-note" }, signOf("! "), run.wrong_on_purpose) : null,
        el("span", { class: "muted" },
          `${run.method} on ${run.model}${run.engine === "trl" ? ", engine trl" : ""}, seed ${run.seed}`),
        el("span", { class: "state", "data-tone": tone }, signOf(icon), el("strong", {}, word),
          el("span", { class: "where" }, run.ended ? `after ${run.update} updates`
            : `update ${run.update} of ${run.num_updates}`)));
    }));
  }

  showSettings() {
    const { runs, settings } = this.data;
    if (runs.length < 2) return this.settings.replaceChildren();
    if (!settings.length) {
      this.settings.replaceChildren(el("p", { class: "muted" }, "They have the same settings and seed."));
      return;
    }
    showParts(this.settings, [
      el("h3", {}, "Settings in which they differ"),
      el("div", { class: "numbers", tabindex: "0", role: "region", "aria-label": "Settings in which they differ" },
        el("table", {},
        el("thead", {}, el("tr", {}, headOf("Setting"),
          runs.map((run, index) => el("th", { scope: "col", title: run.title }, LETTERS[index])))),
        el("tbody", {}, settings.map(({ label, unit, values }) => el("tr", {},
          el("th", { scope: "row" }, label,
            label.toLowerCase().endsWith(unit) ? "" : el("span", { class: "unit" }, ` ${unit}`)),
          values.map((value) => el("td", {}, value)))))))]);
  }

  showEngines() {
    const { runs, differences } = this.data;
    const names = [...new Set(runs.filter((run) => run.method === "PPO").map((run) => run.engine))];
    this.engines.hidden = !names.includes("trl");
    if (this.engines.hidden) return;
    const sentence = names.length > 1
      ? "One side was trained by TRL's own PPOTrainer, the other by the playground's PPO, from settings of the same "
        + "names. Where their curves part, look here first."
      : "These runs were trained by TRL's own PPOTrainer, which differs from the playground's PPO.";
    this.engines.replaceChildren(el("h3", {}, "What differs between the engines"),
      el("p", { class: "muted" }, sentence),
      differences.length ? el("dl", {}, differences.flatMap(({ title, sentence: told }) =>
        [el("dt", {}, title), el("dd", {}, withCode(told))])) : "");
  }
}

/** A short piece of a run's line, as in the charts. */
function sample(index) {
  const line = shape("line", { x1: 1, x2: 33, y1: 5, y2: 5, "stroke-width": 2.5,
    "stroke-dasharray": DASHES[index].join(" ") });
  line.style.stroke = `var(${COLOURS[index]})`;
  return svg({ class: "line-sample", viewBox: "0 0 34 10", "aria-hidden": "true" }, line);
}
