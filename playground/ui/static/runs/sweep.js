// An open sweep on the Runs page: how far it is, a table of its settings and what became of them, their curves as means
// over seeds with 95 % intervals, and score against KL of all of them. The address names the sweep.

import { bokehReady } from "../charts/bokeh.js";
import { FrontierChart, scaleButton, SPEC } from "../charts/frontier_chart.js";
import { farthest, sweepLines } from "../charts/frontier_lines.js";
import { OverlayChart } from "../charts/overlay_chart.js";
import { CHARTS, COLOURS, LETTERS } from "../charts/specs.js";
import { buttonOf, el, getJson, headOf, setText, setWords, showParts, signOf } from "../core/dom.js";
import { stateOf } from "../core/format.js";
import { go, link, onPlace, place } from "../core/nav.js";
import { poll } from "../core/poll.js";
import { whenNew } from "../core/signals.js";
import { barOf, CHOSEN, intervalOf, progressOf, shareOf } from "./sweep_row.js";

const EVERY_MS = 3000;
const GLOSS = " The line is the mean over the seeds that have come so far; the band its 95 % interval (Student's t), "
  + "which needs two of them.";
const specs = CHARTS.filter(({ key }) => key === "score" || key === "kl").map((spec) => ({ ...spec,
  key: `sweep-${spec.key}`, band: [`${spec.key}_low`, `${spec.key}_high`], guide: null,
  note: (run) => `mean over seeds with its 95 % band, ${spec.unit(run)}`,
  gloss: spec.gloss.split(" Eight in ten")[0] + GLOSS,
}));

export class SweepPanel {
  /** `actionsOf` gives the buttons of a sweep by its name. */
  constructor(element, actionsOf) {
    this.actionsOf = actionsOf;
    this.name = null;
    this.data = /** @type {any} */ (null);
    this.chosen = null; // the places of the settings that somebody has ticked
    this.preparing = null;
    this.cleared = 0;
    this.build();
    element.append(this.root);
    this.show = whenNew((data) => this.showAll(data));
    this.refresh = poll({
      ask: async (signal) => {
        const { name, chosen } = this;
        const query = chosen ? `?shown=${chosen.join(",")}` : "";
        return { name, chosen, data: await getJson(`live/_sweeps/${encodeURIComponent(name)}${query}`, signal) };
      },
      tell: ({ name, chosen, data }) => {
        if (name !== this.name || chosen !== this.chosen) return;
        this.data = data;
        this.show(data, this.cleared);
      },
      fail: (error) => {
        setWords(this.problem, error.message);
        this.cleared += 1;
      },
      every: () => (this.data?.ended ? 0 : EVERY_MS),
      wanted: () => this.name !== null && place().page === "runs",
    });
    onPlace(({ sweep }) => this.want(sweep));
    document.addEventListener("playground-look", () => {
      for (const chart of [...this.charts ?? [], this.frontier]) chart?.look();
    });
  }

  build() {
    this.title = el("h2", {});
    this.told = el("p", { class: "muted" });
    this.progress = el("div", { class: "sweep-progress" });
    this.words = el("p", { role: "status" });
    this.problem = el("p", { class: "problem", role: "status" });
    this.warning = el("p", { class: "panel-warning", role: "status" });
    this.undrawn = el("p", { class: "undrawn-note", role: "status" });
    this.buttons = el("div", { class: "sweep-actions" });
    this.table = el("div", { class: "numbers sweep-table", tabindex: "0", role: "region",
      "aria-label": "Each setting and what became of it" });
    this.about = el("p", { class: "muted small-text" });
    this.grid = el("div", { class: "charts-large" });
    this.scale = scaleButton(() => {
      this.frontier?.forget();
      this.draw();
    });
    this.curves = el("div", { hidden: true },
      el("div", { class: "chart-bar" }, el("h3", {}, "Curves, and what each setting got for its drift"),
        el("span", { class: "grow" }), this.scale.button), this.grid);
    this.close = buttonOf("quiet-button", { onclick: () => {
      const toggle = document.querySelector(`[data-key="toggle ${CSS.escape(this.name)}"]`);
      go({ page: "runs", sweep: "" });
      /** @type {HTMLElement | null} */ (toggle)?.focus();
    } }, "Close");
    this.root = el("section", { class: "panel sweep-panel", "aria-label": "Sweep", hidden: true },
      el("div", { class: "chart-bar" }, this.title, el("span", { class: "grow" }), this.buttons, this.close),
      this.told, this.progress, this.words, this.problem, this.warning, this.table, this.about, this.undrawn,
      this.curves);
  }

  want(name) {
    const same = name === this.name;
    this.name = name;
    this.root.hidden = !name;
    if (same) {
      if (name) this.refresh();
      return;
    }
    this.data = null;
    this.chosen = null;
    this.cleared += 1;
    this.curves.hidden = true;
    for (const part of [this.table, this.progress, this.buttons]) part.replaceChildren();
    for (const part of [this.told, this.words, this.problem, this.warning, this.about]) setText(part, "");
    setText(this.title, name ?? "");
    for (const chart of [...this.charts ?? [], this.frontier]) chart?.forget();
    if (name) this.refresh();
  }

  showAll(data) {
    this.curves.hidden = false;
    setText(this.told, data.told);
    showParts(this.progress, [barOf(data)]);
    setText(this.words, progressOf(data));
    setWords(this.problem, "");
    setText(this.warning, data.scores_differ
      ? `${data.scores_differ} Compare the shapes of their curves, not the heights.` : "");
    this.showActions();
    showParts(this.table, [this.tableOf(data)], this.close);
    setText(this.about, aboutOf(data));
    this.prepare();
    this.draw();
  }

  /** What the list says of it: somebody may have taken up again what had ended here, or deleted it. */
  listed(sweep) {
    this.showActions();
    if (this.data?.ended && sweep?.words !== this.data.words) this.refresh();
  }

  /** The buttons, which also depend on what is under way. */
  showActions() {
    if (this.data) showParts(this.buttons, this.actionsOf(this.name), this.close);
  }

  tableOf({ fields, settings, behaviours, shown, unit }) {
    const full = shown.length >= LETTERS.length;
    const several = settings.length > 1;
    return el("table", {}, el("thead", {}, el("tr", {},
      several ? headOf("Curve") : null,
      fields.length ? fields.map(({ label, unit: of }) =>
        headOf(of && of.toLowerCase() !== label.toLowerCase() ? `${label}, ${of}` : label)) : headOf("Setting"),
      headOf(`Gain, ${unit}`, "figure"), headOf("KL, nats", "figure"),
      behaviours.map((words) => headOf(`${words}, %`, "figure")), headOf("Runs"))),
    el("tbody", {}, settings.map((setting, at) => {
      const drawn = shown.indexOf(at);
      const tick = el("input", { type: "checkbox", value: at, checked: drawn >= 0, "data-key": `draw ${at}`,
        disabled: full && drawn < 0, "aria-label": `Draw ${setting.title}`, onchange: () => this.choose(at) });
      const letter = el("span", { class: "letter" }, drawn >= 0 ? LETTERS[drawn] : "");
      if (drawn >= 0) letter.style.color = `var(${COLOURS[drawn]}-text)`;
      return el("tr", { "data-key": `setting ${at}` },
        several ? el("td", { class: "tick" }, el("label", {}, tick), " ", letter) : null,
        fields.length ? setting.values.map((value) => el("td", {}, value)) : el("td", {}, "all runs"),
        el("td", { class: "figure" }, intervalOf(setting.gain, true), aloneOf(setting.gain)),
        el("td", { class: "figure" }, intervalOf(setting.kl)),
        behaviours.map((words) => el("td", { class: "figure" }, shareOf(setting.shares[words]))),
        el("td", { class: "sweep-runs" }, setting.runs.map(runLink)));
    })));
  }

  /** Draw a setting, or no longer; at least one stays. */
  choose(at) {
    const shown = this.chosen ?? this.data.shown; // the answer to the click before may still be on its way
    const wanted = shown.includes(at) ? shown.filter((other) => other !== at) : [...shown, at];
    if (wanted.length) this.chosen = wanted.sort((one, other) => one - other);
    else this.cleared += 1;
    this.refresh();
  }

  prepare() {
    this.preparing ??= (async () => {
      if (!(await bokehReady(this.undrawn, "The curves", "The table above has what became of each setting."))) return;
      this.range = { start: 0, end: 1 };
      const shared = {
        range: this.range, onZoom: (from, to) => this.setZoom([from, to]), onReset: () => this.setZoom(null),
        onHover: (x) => {
          for (const chart of this.charts) chart.readOut(x);
        },
        onSight: (chart) => {
          chart.readOut(null);
          chart.placeEnds();
        },
      };
      this.zoom = null;
      this.charts = specs.map((spec) => new OverlayChart(spec, shared));
      for (const chart of this.charts) this.grid.append(chart.card);
      this.frontierRange = { start: 0, end: 1 };
      this.frontier = new FrontierChart({ ...SPEC, key: "sweep-frontier", lines: sweepLines,
        gloss: `${SPEC.gloss} A line is the mean over the seeds of a setting; a grey dot is where one run ended.` }, {
        range: this.frontierRange, onHover: (x) => this.frontier.readOut(x), onZoom: () => {}, onReset: () => {},
        onSight: (chart) => chart.readOut(null),
      });
      this.grid.append(this.frontier.card);
      new ResizeObserver(() => {
        this.placeEnds();
        this.frontier.readOut(null);
      }).observe(this.grid);
      this.draw();
    })();
  }

  setZoom(range) {
    this.zoom = range;
    for (const chart of this.charts) chart.forget();
    this.draw();
  }

  placeEnds() {
    for (const chart of this.charts ?? []) chart.placeEnds();
  }

  draw() {
    if (!this.charts || !this.data) return;
    const { settings, shown, unit, num_updates: updates, ends } = this.data;
    const drawn = shown.map((at) => ({ ...settings[at], unit, possible: null, num_updates: updates }));
    [this.range.start, this.range.end] = this.zoom ?? [0, Math.max(updates, 1)];
    for (const chart of this.charts) {
      chart.update(drawn, "update", 0);
      chart.readOut(null);
    }
    requestAnimationFrame(() => this.placeEnds());
    const { rooted } = this.scale;
    this.frontierRange.end = this.scale.place(Math.max(farthest(drawn), 1.12 * Math.max(0, ...ends.kl)));
    this.frontier.follow({ run: { unit, root: rooted }, runs: drawn, ends }, rooted ? "root" : "kl", 0);
  }
}

function aboutOf({ settings, seeds, shown }) {
  const first = seeds < 2 ? "1 seed: no interval. Add seeds to see what is chance."
    : "Means over the seeds that have finished, \u00b1 half the 95 % interval (Student's t); shares with all of it.";
  const most = settings.length > shown.length && shown.length >= LETTERS.length
    ? ` At most ${LETTERS.length} settings are drawn at a time: tick which.` : "";
  const chosen = settings.length > 1 ? ` ${CHOSEN}` : "";
  return `${first} Gain: on the fixed prompts, against before training.${chosen}${most}`;
}

function aloneOf(found) {
  if (!found || found.half !== null) return null;
  return el("div", { class: "muted small" }, `${found.seeds === 1 ? "1 seed" : "all seeds agree"}: no interval`);
}

/** A run by its seed and its state, which leads to it; one that was deleted leads nowhere. */
function runLink({ id, seed, state, update, num_updates: updates, message }) {
  const name = seed === null || seed === undefined ? id : `seed ${seed}`;
  if (state === "gone") return el("span", { class: "sweep-run muted", title: id }, `${name}: not there`);
  const { icon, word, tone } = stateOf(state);
  const far = state === "running" || state === "paused" ? ` ${update} of ${updates}` : "";
  return el("span", { class: "sweep-run" },
    link({ run: id }, [name], { class: "run-name", "data-key": `go ${id}`, title: id }),
    el("span", { class: "state", "data-tone": tone, title: message || null }, signOf(icon),
      el("span", { class: "small" }, `${word}${far}`)));
}

