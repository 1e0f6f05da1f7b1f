// An open sweep on the Runs page: how far it is, a table of its settings and what became of them, their curves as means
// over seeds with 95 % intervals, and score against KL of all of them. The address names the sweep.

import { ChartGroup } from "../charts/chart_group.js";
import { FrontierPlot, SPEC } from "../charts/frontier_chart.js";
import { farthest, sweepLines } from "../charts/frontier_lines.js";
import { overlaid } from "../charts/line_specs.js";
import { LinesChart } from "../charts/lines_chart.js";
import { CHARTS, COLOURS, LETTERS } from "../charts/specs.js";
import { buttonOf, el, figureOf, headOf, showParts, tableOf } from "../core/dom.js";
import { go, link, onPlace, place } from "../core/nav.js";
import { follow } from "../core/poll.js";
import { figuresMenu, progressBar, stateMark } from "../core/texts.js";
import { CHOSEN, intervalOf, progressOf, shareOf } from "./sweep_row.js";

const EVERY_MS = 3000;
const GLOSS = " The line is the mean over the seeds so far; the band is its 95 % interval (Student's t), which needs "
  + "two seeds.";
const specs = CHARTS.filter(({ key }) => key === "score" || key === "kl").map((spec) => /** @type {Charts.Spec} */ ({
  ...spec, key: `sweep-${spec.key}`, band: [`${spec.key}_low`, `${spec.key}_high`], guide: null,
  note: (run) => `mean over seeds with its 95 % band, ${spec.unit(run)}`,
  gloss: spec.gloss.split(" Eight of ten")[0] + GLOSS, // which is about the band of one run
}));

export class SweepPanel {
  /**
   * `actionsOf` gives the buttons of a sweep by its name.
   * @param {Element} element @param {(name: string) => HTMLElement[]} actionsOf
   */
  constructor(element, actionsOf) {
    this.actionsOf = actionsOf;
    this.name = /** @type {string | null} */ (null);
    this.data = /** @type {Wire.Sweep | null} */ (null);
    this.group = new ChartGroup({ draw: () => this.draw() });
    this.frontier = new FrontierPlot({ key: "sweep-frontier", lines: sweepLines,
      gloss: `${SPEC.gloss} A line is the mean over the seeds of a setting; a grey dot is where one run ended.` });
    this.build();
    element.append(this.root);
    this.refresh = follow({
      address: () => `live/_sweeps/${encodeURIComponent(this.name)}`,
      show: (/** @type {Wire.Sweep} */ data) => this.show(data), note: this.problem,
      every: () => (this.data?.ended ? 0 : EVERY_MS),
      wanted: () => this.name !== null && place().page === "runs",
    });
    onPlace(({ sweep }) => this.want(sweep));
  }

  build() {
    this.problem = el("p.problem", { role: "status", "data-key": "problem" });
    this.grid = el("div.charts-large");
    this.curves = el("div", { hidden: true, "data-key": "curves" },
      el("div.chart-bar", el("h3", "Curves, and gain against distance")), this.grid);
    this.root = el("section.panel.sweep-panel", { "aria-label": "Sweep", hidden: true });
  }

  want(/** @type {string | null} */ name) {
    const same = name === this.name;
    this.name = name;
    this.root.hidden = !name;
    if (!same) {
      this.data = null;
      for (const group of [this.group, this.frontier.group]) group.forget();
      this.problem.replaceChildren();
      this.showAll();
    }
    if (name) this.refresh(!same);
  }

  show(/** @type {Wire.Sweep} */ data) {
    this.data = data;
    this.showAll();
    if (!this.group.charts.length) this.prepare();
    this.draw();
  }

  /** Everything but the curves. */
  showAll() {
    const { name, data } = this;
    this.curves.hidden = !data;
    const differ = data?.scores_differ;
    const told = data ? [el("p.muted", data.varies),
      el("div.sweep-progress", progressBar("Runs that have ended", data.done, data.total)),
      el("p", { role: "status" }, progressOf(data))] : [];
    showParts(this.root, [
      el("div.chart-bar", el("h2", name ?? ""), el("span.grow"),
        el("div.sweep-actions", data ? [figuresMenu("sweep-figures", `sweep=${encodeURIComponent(name)}`),
          this.actionsOf(name)] : []),
        buttonOf("quiet-button", { "data-key": "close", onclick: () => this.close() }, "Close")),
      ...told, this.problem, el("p.panel-warning", { role: "status", "data-key": "warning" },
        differ ? `${differ} Compare the shapes of their curves, not the heights.` : ""),
      el("div.numbers.sweep-table", { tabindex: "0", role: "region", "data-key": "table",
        "aria-label": "Results of each setting" }, data ? this.tableFor(data) : ""),
      el("p.muted.small-text", { "data-key": "about" }, data ? aboutOf(data) : ""), this.curves]);
  }

  close() {
    const toggle = document.querySelector(`[data-key="toggle ${CSS.escape(this.name)}"]`);
    go({ page: "runs", sweep: "" });
    /** @type {HTMLElement | null} */ (toggle)?.focus();
  }

  /** What the list says of it: somebody may have taken up again what had ended here, or deleted it. */
  listed(/** @type {Wire.SweepRow | undefined} */ sweep) {
    this.showAll();
    if (this.data?.ended && sweep?.words !== this.data.words) this.refresh();
  }

  tableFor(/** @type {Wire.Sweep} */ { fields, settings, behaviours, monitors, unit }) {
    const several = settings.length > 1;
    const heads = fields.map(({ label, unit: of }) =>
      (of && of.toLowerCase() !== label.toLowerCase() ? `${label}, ${of}` : label));
    const rows = settings.map((setting, at) => {
      const letter = el("span.letter", { style: setting.metrics ? `color: var(${COLOURS[at]}-text)` : null },
        setting.metrics ? LETTERS[at] : "");
      return el("tr", { "data-key": `setting ${at}` },
        several ? el("td", letter) : null,
        fields.length ? setting.values.map((value) => el("td", value)) : el("td", "all runs"),
        figureOf(intervalOf(setting.gain, true), aloneOf(setting.gain)), figureOf(intervalOf(setting.kl)),
        monitors.map((name) => figureOf(intervalOf(setting.monitors[name] ?? null, true))),
        behaviours.map((words) => figureOf(shareOf(setting.shares[words]))),
        el("td.sweep-runs", setting.runs.map(runLink)));
    });
    const figures = [`Gain, ${unit}`, "Distance (KL), nats", ...monitors.map((name) => `Monitor ${name}, points`),
      ...behaviours.map((words) => `${words}, %`)];
    return tableOf("", [several ? "Curve" : null, ...(fields.length ? heads : ["Setting"]),
      ...figures.map((name) => headOf(name, "figure")), "Runs"], rows);
  }

  prepare() {
    for (const spec of specs) this.group.add(new LinesChart(overlaid(spec), this.group), this.grid);
    this.group.watch(this.grid);
    this.frontier.prepare(this.grid);
    this.draw();
  }

  draw() {
    if (!this.data) return;
    const { settings, unit, num_updates: updates, ends } = this.data;
    const runs = settings.filter(({ metrics }) => metrics).map((setting) => drawnOf(setting, unit));
    const drawn = { run: runs[0], runs };
    this.group.show([0, Math.max(updates, 1)], (chart) =>
      /** @type {LinesChart} */ (chart).follow(drawn, "update", 0));
    this.frontier.show({ run: { unit }, runs, ends }, Math.max(farthest(runs), 1.12 * Math.max(0, ...ends.kl)));
  }
}

/**
 * What is drawn of a setting that has curves.
 * @param {Wire.SettingRow} setting @param {string} unit
 * @returns {import("../charts/frontier_lines.js").FrontierRun & Wire.DrawnSetting}
 */
function drawnOf({ title, metrics, evaluations }, unit) {
  return { title, unit, metrics, evaluations, possible: null };
}

function aboutOf(/** @type {Wire.Sweep} */ { settings, monitors, seeds, scores_differ: differ }) {
  const first = seeds < 2 ? "1 seed: no interval. Add seeds to see what is chance."
    : "Means over the finished seeds, \u00b1 half the 95 % interval (Student's t); after a share stands its interval.";
  const most = settings.length > LETTERS.length ? ` Curves of the first ${LETTERS.length} settings.` : "";
  const chosen = settings.length > 1 && !differ ? ` ${CHOSEN}` : "";
  const watched = monitors.length
    ? " Monitor: its change since before training, in its own unit; nothing is trained on it." : "";
  return `${first} Gain: score on the fixed prompts, less the score before training.${watched}${chosen}${most}`;
}

function aloneOf(/** @type {Wire.Interval | null} */ found) {
  if (!found || found.half !== null) return null;
  return el("div.muted.small", `${found.units === 1 ? "1 seed" : "all seeds agree"}: no interval`);
}

/** A run by its seed and its state, which leads to it; one that was deleted leads nowhere. */
function runLink(/** @type {Wire.SweepRun} */ { id, seed, state, update, num_updates: updates, message }) {
  const name = seed === null || seed === undefined ? id : `seed ${seed}`;
  if (state === "gone") return el("span.sweep-run.muted", { title: id }, `${name}: deleted`);
  const far = state === "running" || state === "paused" ? ` ${update} of ${updates}` : "";
  return el("span.sweep-run",
    link({ run: id }, [name], { class: "run-name", "data-key": `go ${id}`, title: id }),
    stateMark(state, { title: message || null }, el("span.small", far)));
}
