// Score against KL of the run in view: its path, look by look, beside what texts that were drawn for it show to be
// possible. They are drawn when somebody asks for it, for they take the model's time.

import { FrontierPlot } from "../charts/frontier_chart.js";
import { numbers } from "../charts/small_plots.js";
import { buttonOf, el, helpOf, runTitle, setHidden, setText, setWords, showParts, withCode } from "../core/dom.js";
import { answerOf, getJson, runPath } from "../core/server.js";
import { number, rounded, signed, withHalf } from "../core/format.js";
import { rights } from "../core/access.js";
import { computed, effect, untracked } from "../core/signals.js";
import { hasEnded, live } from "../core/store.js";
import { openUpdate } from "./rollout.js";
import { progressBar } from "../core/texts.js";

const GLOSS = "Every policy can be compared with the best possible one at the same KL: the reference reweighted by e "
  + "to the power of score / beta. Its line is estimated from texts of the reference and of this run, each weighted "
  + "by how likely the best policy would have written it, and is grey where fewer than 30 of them count. Best of n: "
  + "answer n times and keep the best; its KL follows from the scores (log n \u2212 (n \u2212 1) / n nats where no "
  + "two are equal). The dotted line through the newest evaluation rises by beta per nat: what a nat must earn to be "
  + "worth its price.";
const OFFER = "How much score was possible at each KL is not measured yet. It takes a few thousand more texts of the "
  + "reference and of this run: about half a minute for a pocket model, and longer for a large one.";
const BUSY = "Writing and scoring texts of the reference and of this run. This takes about half a minute for a "
  + "pocket model, and longer for a large one; you can go on meanwhile.";

/** @typedef {{ run: string, stop?: boolean }} Asked */

export class Frontier {
  /**
   * `draw(run)` has the texts drawn and answers {error}; `progress({run, stop})` says how far: {phase, done, of}.
   * @param {Element} element @param {(run: string) => Promise<Wire.Done>} draw
   * @param {(asked: Asked) => Promise<Wire.FrontierProgress>} progress
   */
  constructor(element, draw, progress) {
    this.measureBy = draw;
    this.progress = progress;
    this.data = /** @type {Wire.Frontier | null} */ (null);
    this.asked = "";
    this.drawing = ""; // the run for which texts are drawn
    this.far = /** @type {Wire.FrontierProgress & { stopping?: boolean }} */ ({}); // how far that is
    this.problem = "";
    this.chart = new FrontierPlot({}, openUpdate);
    this.build();
    element.append(this.section);
    this.chart.prepare(this.plot);
    const wanted = computed(() => (live.run ? [live.runId, live.updates.length, hasEnded.value].join() : ""));
    effect(() => {
      const now = wanted.value;
      untracked(() => this.fetch(now));
    });
  }

  build() {
    this.told = el("p.frontier-told", { role: "status", "aria-live": "polite" });
    this.waiting = el("p.frontier-waiting.muted");
    this.plot = el("div.frontier-plot", this.waiting);
    this.offer = el("div.frontier-offer");
    this.table = el("div.frontier-table");
    this.section = el("section.frontier", { hidden: true, "aria-labelledby": "frontier-title" },
      el("div.chart-bar", el("h2", { id: "frontier-title" }, "Score against distance (KL)"),
        helpOf("score against distance", GLOSS)),
      this.told, this.plot, this.offer, this.table);
  }

  async fetch(/** @type {string} */ wanted) {
    if (wanted.split(",")[0] !== this.asked.split(",")[0]) {
      this.data = null;
      this.problem = "";
      this.chart.group.forget();
      this.table.replaceChildren();
    }
    this.asked = wanted;
    setHidden(this.section, !wanted, runTitle());
    if (!wanted) return;
    this.show();
    if (this.data && live.run.recorded) return; // all of a recording is known by now
    try {
      /** @type {Wire.Frontier} */
      const data = await getJson(runPath(live.runId, "frontier"));
      if (this.asked === wanted) this.data = data;
    } catch {
      return; // the next look asks again
    }
    this.show();
  }

  /** What has been played so far of a recording, else all of it. */
  seen() {
    const last = Math.max(0, ...live.updates);
    const { evaluations } = this.data;
    const count = evaluations.update.filter((update) => update <= last).length;
    return { ...this.data,
      evaluations: Object.fromEntries(
        Object.entries(evaluations).map(([name, values]) => [name, values.slice(0, count)])) };
  }

  show() {
    const run = this.data && this.seen();
    const drawn = run?.evaluations.kl.length > 1;
    setText(this.waiting, drawn ? "" : this.early());
    setWords(this.told, drawn && live.status?.ended ? run.sentence : "");
    if (run) this.table.replaceChildren(tableFor(run));
    this.chart.show(drawn ? { run, runs: [run] } : null);
    this.showOffer(run, drawn);
  }

  /** What is offered, or how far it is. */
  showOffer(/** @type {Wire.Frontier | null} */ run, /** @type {boolean} */ drawn) {
    const busy = this.drawing === live.runId;
    const { phase = "", done = 0, of = 0 } = this.far;
    const can = run?.can_draw && rights.value.measure !== false && drawn;
    const words = el("p.muted", withCode(this.problem || (busy ? BUSY : run?.can_draw ? OFFER : run?.missing ?? "")));
    showParts(this.offer, [words,
      can || busy ? buttonOf("button", { "data-key": "measure", off: busy, onclick: () => this.measure() },
        !busy ? "Measure it" : this.far.stopping ? "Stopping\u2026" : "Measuring\u2026") : null,
      busy ? buttonOf("button", { "data-key": "stop", onclick: () => this.follow({ run: this.drawing, stop: true }) },
        "Stop") : null,
      busy ? progressBar("Texts written and scored", done, of, { words: of ? `${done} of ${of} texts` : phase }) : null,
    ].filter(Boolean), runTitle());
  }

  early() {
    const { run, status } = live;
    if (run?.watched) return "How far each answer of a watched run is from the reference is not known.";
    if (status?.ended) return "This run ended before its second evaluation, so it has no path.";
    return `The path begins with the second evaluation, after update ${run?.every ?? ""}.`;
  }

  async measure() {
    if (this.drawing) return;
    const { runId } = live;
    Object.assign(this, { drawing: runId, far: {}, problem: "" });
    this.show();
    const asking = setInterval(() => this.follow({ run: runId }), 1000);
    const answer = await answerOf(() => this.measureBy(runId), "; nothing was measured.");
    clearInterval(asking);
    this.drawing = "";
    if (live.runId !== runId) return;
    this.problem = answer.error ?? "";
    await this.fetch(this.asked);
  }

  async follow(/** @type {Asked} */ asked) {
    this.far.stopping ||= asked.stop;
    const found = await answerOf(() => this.progress(asked));
    if (this.drawing !== asked.run || found.error) return;
    this.far = { ...found, stopping: this.far.stopping };
    this.show();
  }
}

/** Both ends of an interval; nothing where there is none. */
function spanOf(/** @type {number} */ low, /** @type {number} */ high) {
  return low === high ? "" : `${signed(low)} to ${signed(high)}`;
}

function tableFor(/** @type {Wire.FrontierLines} */ { evaluations, possible }) {
  const rows = evaluations.update.map((update, at) => [update ? `after update ${update}` : "before training",
    rounded(evaluations.kl[at]), signed(evaluations.score[at]),
    spanOf(evaluations.low[at], evaluations.high[at]), ""]);
  if (possible) {
    const { best_of: best, optimum } = possible;
    best.n.forEach((n, at) => rows.push([`best of ${n}`, withHalf(best.kl[at], best.kl_half?.[at] || null),
      signed(best.score[at]), "", ""]));
    optimum.beta.forEach((beta, at) => rows.push([`best policy at beta ${number(beta)}`, rounded(optimum.kl[at]),
      signed(optimum.score[at]), "", number(Math.round(optimum.effective[at]))]));
  }
  return numbers("Numbers", ["What", "KL, nats", "Score", "95 %", "Texts that count"], rows);
}
