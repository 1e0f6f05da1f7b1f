// Score against KL of the run in view: its path, look by look, beside what texts that were drawn for it show to be
// possible. They are drawn when somebody asks for it, for they take the model's time.

import { bokehReady } from "../charts/bokeh.js";
import { FrontierChart, scaleButton, SPEC } from "../charts/frontier_chart.js";
import { farthest } from "../charts/frontier_lines.js";
import { numbers } from "../charts/small_plots.js";
import { answerOf, buttonOf, el, getJson, helpOf, runPath, runTitle, setAttribute, setHidden, setText,
  setWords } from "../core/dom.js";
import { number, rounded, signed, withHalf } from "../core/format.js";
import { rights } from "../core/access.js";
import { computed, effect, untracked } from "../core/signals.js";
import { hasEnded, live } from "../core/store.js";

const GLOSS = "Every nat of KL is drift away from the reference, and every policy can be held against the best "
  + "one at its KL. That is the reference reweighted by e to the power of score / beta; its line is estimated from "
  + "texts of the reference and of this run, each weighed by how likely the best policy would have written it. "
  + "It is drawn grey where fewer than 30 of them count. Best of n: answer n times and keep the best; how far that is "
  + "follows from its scores (log n \u2212 (n \u2212 1) / n nats where no two are equal). The dotted line through the "
  + "newest look rises by beta with each nat: that is what a nat must earn to be worth its price.";
const OFFER = "What was possible at each KL is not measured yet. It takes some thousand more texts of the reference "
  + "and of this run: about half a minute for a pocket model, and longer for a large one.";
const BUSY = "Writing and scoring texts of the reference and of this run. This takes about half a minute for a "
  + "pocket model, and longer for a large one; you can go on meanwhile.";

export class Frontier {
  /** `draw(run)` has the texts drawn and answers {error}; `progress({run, stop})` says how far: {phase, done, of}. */
  constructor(element, draw, progress) {
    this.draw = draw;
    this.progress = progress;
    this.data = null;
    this.asked = "";
    this.drawing = "";
    this.range = { start: 0, end: 1 };
    this.build();
    element.append(this.section);
    this.prepare();
    const wanted = computed(() => (live.run ? [live.runId, live.updates.length, hasEnded.value].join() : ""));
    effect(() => {
      const now = wanted.value;
      untracked(() => this.fetch(now));
    });
    document.addEventListener("playground-look", () => this.chart?.look());
  }

  build() {
    this.scale = scaleButton(() => {
      this.chart?.forget();
      this.paint();
    });
    this.told = el("p", { class: "frontier-told", role: "status", "aria-live": "polite" });
    this.waiting = el("p", { class: "frontier-waiting muted" });
    this.undrawn = el("p", { class: "undrawn-note", role: "status" });
    this.plot = el("div", { class: "frontier-plot" }, this.waiting);
    this.offer = el("p", { class: "muted" });
    this.button = buttonOf("button", { onclick: () => this.measure() }, "Measure it");
    this.stop = buttonOf("button", { hidden: true, onclick: () => this.end() }, "Stop");
    this.fill = el("div", { class: "fill" });
    this.bar = el("div", { class: "progress", role: "progressbar", "aria-label": "Texts written and scored",
      "aria-valuemin": 0, hidden: true }, this.fill);
    this.asking = el("div", { class: "frontier-offer" }, this.offer, this.button, this.stop, this.bar);
    this.table = el("div", { class: "frontier-table" });
    this.section = el("section", { class: "frontier", hidden: true, "aria-labelledby": "frontier-title" },
      el("div", { class: "chart-bar" }, el("h2", { id: "frontier-title" }, "Score against KL"),
        helpOf("score against KL", GLOSS), el("span", { class: "grow" }), this.scale.button),
      this.told, this.undrawn, this.plot, this.asking, this.table);
  }

  async prepare() {
    if (!(await bokehReady(this.undrawn, "The curve", "Its numbers are below it."))) return;
    this.chart = new FrontierChart(SPEC, {
      range: this.range, onHover: (x) => this.chart.readOut(x), onZoom: () => {}, onReset: () => {},
      onSight: (chart) => chart.readOut(null),
    });
    this.chart.card.hidden = true;
    this.plot.append(this.chart.card);
    this.paint();
  }

  async fetch(wanted) {
    if (wanted.split(",")[0] !== this.asked.split(",")[0]) {
      this.data = null;
      this.chart?.forget();
      setWords(this.told, "");
      this.table.replaceChildren();
    }
    this.asked = wanted;
    setHidden(this.section, !wanted, runTitle());
    if (!wanted) return;
    this.show();
    const { runId } = live;
    try {
      const data = await getJson(runPath(runId, "frontier"));
      if (this.asked === wanted) this.data = data;
    } catch {
      return; // the next look asks again
    }
    this.show();
  }

  /** What has been played so far of a recording, else all of it. */
  seen() {
    const last = Math.max(0, ...live.updates);
    const { looks } = this.data;
    const count = looks.update.filter((update) => update <= last).length;
    return { ...this.data, root: this.scale.rooted,
      looks: Object.fromEntries(Object.entries(looks).map(([name, values]) => [name, values.slice(0, count)])) };
  }

  show() {
    const { data } = this;
    const looks = data ? this.seen().looks.kl.length : 0;
    setText(this.waiting, looks > 1 ? "" : this.early());
    setWords(this.told, looks > 1 && live.status?.ended ? data.sentence : "");
    const busy = this.drawing === live.runId;
    setWords(this.offer, busy ? BUSY : data?.can_draw ? OFFER : data?.missing ?? "");
    const can = Boolean(data?.can_draw) && rights.value.ask !== false;
    this.button.hidden = !(can && looks > 1) && !busy;
    setAttribute(this.button, "aria-disabled", String(busy));
    setText(this.button, busy ? "Measuring\u2026" : "Measure it");
    this.stop.hidden = this.bar.hidden = !busy;
    if (data) this.table.replaceChildren(tableOf(this.seen()));
    this.paint();
  }

  early() {
    const { run, status } = live;
    if (status?.ended) return "This run ended before its second look at the fixed prompts, so it has no path.";
    return `The path begins with the second look at the fixed prompts, after update ${run?.every ?? ""}.`;
  }

  paint() {
    if (!this.chart) return;
    const run = this.data && this.seen();
    const drawn = run && run.looks.kl.length > 1;
    this.chart.card.hidden = !drawn;
    if (!drawn) return;
    this.range.end = this.scale.place(farthest([run]));
    this.chart.follow({ run, runs: [run] }, run.root ? "root" : "kl", 0);
  }

  async measure() {
    if (this.drawing) return;
    const { runId } = live;
    this.drawing = runId;
    this.tell({});
    this.show();
    const asking = setInterval(() => this.follow({ run: runId }), 1000);
    const answer = await answerOf(() => this.draw(runId), "; nothing was measured.");
    clearInterval(asking);
    this.drawing = "";
    const watched = document.activeElement === this.stop;
    if (live.runId !== runId) return;
    await this.fetch(this.asked);
    if (answer.error) setWords(this.offer, answer.error);
    if (watched) (this.button.hidden ? this.scale.button : this.button).focus();
  }

  async follow(asked) {
    const found = await answerOf(() => this.progress(asked));
    if (this.drawing === asked.run && !found.error) this.tell(found);
  }

  tell({ phase = "", done = 0, of = 0 }) {
    setAttribute(this.bar, "aria-valuemax", String(of));
    setAttribute(this.bar, "aria-valuenow", String(done));
    setAttribute(this.bar, "aria-valuetext", of ? `${done} of ${of} texts` : phase);
    this.fill.style.transform = `scaleX(${of ? done / of : 0})`;
  }

  end() {
    setText(this.button, "Stopping\u2026");
    this.follow({ run: this.drawing, stop: true });
  }
}

/** Both ends of an interval; nothing where there is none. */
function spanOf(low, high) {
  return low === high ? "" : `${signed(low)} to ${signed(high)}`;
}

function tableOf({ looks, possible }) {
  const rows = looks.update.map((update, at) => [update ? `after update ${update}` : "before training",
    rounded(looks.kl[at]), signed(looks.score[at]), spanOf(looks.low[at], looks.high[at]), ""]);
  if (possible) {
    const { best_of: best, optimum } = possible;
    best.n.forEach((n, at) => rows.push([`best of ${n}`, withHalf(best.kl[at], best.kl_half?.[at] || null),
      signed(best.score[at]), "", ""]));
    optimum.beta.forEach((beta, at) => rows.push([`best policy at beta ${number(beta)}`, rounded(optimum.kl[at]),
      signed(optimum.score[at]), "", number(Math.round(optimum.effective[at]))]));
  }
  return numbers("Numbers", ["What", "KL, nats", "Score", "95 %", "Texts that count"], rows);
}
