// The Compare page: one run, one moment, against before training or another run at its end, on the same fixed prompts.
// The prompt of one's own stands between what came of it and the table, which is runs/compare_rows.js.

import { el, headOf, menuOf, optionsOf, setText, showParts, showWrong, tableOf } from "../core/dom.js";
import { waiting, isWatching } from "../core/access.js";
import { getJson, runPath } from "../core/server.js";
import { stepOf } from "../core/experiments.js";
import { rounded, signed, stateOf, when, withHalf, withMinus } from "../core/format.js";
import { Behaviours } from "./compare_behaviours.js";
import { both, PairTable } from "./compare_rows.js";
import { home } from "../core/home.js";
import { go, onPlace } from "../core/nav.js";
import { computed, effect, signal, untracked } from "../core/signals.js";
import { hasEnded, live } from "../core/store.js";
import { facts } from "../core/texts.js";

/** @typedef {string[]} Choice a run by its id, and what the menus call it */

const ENDED = ["finished", "stopped", "failed", "interrupted"];
const TERMS_GLOSS = "Mean of each reward before and after, and its change on the same prompts with the 95 % interval, "
  + "in standard deviations of the texts before training. Where a reward has no opinion, the average before training "
  + "counts.";
const ONE_MOMENT = "The fixed prompts were answered at one moment only.";

/** What the server has of the run and moment that are shown; null while nothing is. */
export const shown = signal(/** @type {Wire.Compare | null} */ (null));

/** Whether there is no run at all, and so none to ask either. */
export const hasNone = signal(false);

/** @param {Element} element @param {{ value: string }} props @param {Page.Tools} tools */
export function mount(element, props, { trigger }) {
  new Compare(element, (run) => {
    if (props.value === run) return;
    props.value = run;
    trigger("input");
  });
}

class Compare {
  /**
   * `setRun(run)` hears which run is shown, and "" while none is: only a run that is shown can be asked.
   * @param {Element} element @param {(run: string) => void} setRun
   */
  constructor(element, setRun) {
    this.setRun = setRun;
    this.run = /** @type {string | null} */ (null);
    /** @type {string | null} */
    this.other = null; // the run with which it is compared; null: with itself before training
    this.update = /** @type {number | null} */ (null); // null: at the end
    this.data = /** @type {Wire.Compare | null} */ (null);
    this.build(element);
    this.table = new PairTable();
    onPlace((place) => {
      if (place.page === "compare") this.enter(place.run, place.with, place.behaviour);
    });
    this.follow();
  }

  build(/** @type {Element} */ element) {
    const choose = () => go({ page: "compare", run: this.runs.value, with: this.others.value, replace: true });
    this.runs = menuOf([], { "aria-label": "Run", onchange: choose });
    this.others = menuOf([], { "aria-label": "Against", onchange: choose });
    /** @type {HTMLInputElement} */
    this.slider = el("input", { type: "range", min: 0, max: 0, step: 1, "aria-describedby": "moment-reason",
      oninput: () => this.chooseMoment(Number(this.slider.value)) });
    this.at = el("output.at");
    this.oneMoment = el("span.muted", { id: "moment-reason", hidden: true }, ONE_MOMENT);
    this.outcome = el("p.outcome");
    this.notice = el("p.compare-notice", { role: "status" });
    this.wrong = el("p.wrong-note", { role: "note", hidden: true });
    this.facts = el("p.summary");
    this.terms = el("div.numbers.term-table", { hidden: true });
    const top = this.top = el("section.panel.compare-top",
      el("div.bar", el("label.inline", "Run", this.runs),
        el("span.inline.slider-label", el("label.inline", "At update", this.slider), this.at), this.oneMoment,
        el("label.inline", "Against", this.others)),
      this.notice);
    this.behaviours = new Behaviours(top);
    top.append(this.wrong, this.outcome, this.facts, this.terms);
    element.append(el("div.compare-view", top));
  }

  /** Hear of news while the page is in view: of a run that goes on, and of runs that begin or end. */
  follow() {
    const inView = () => document.body.dataset.page === "compare";
    effect(() => {
      const news = live.moments.size > 0 || hasEnded.value;
      if (inView() && this.run === live.runId && !live.run?.recorded && news && this.update === null) this.load();
    });
    const going = computed(() => (home.value?.connected
      ? JSON.stringify([home.value.training?.map(({ id }) => id), home.value.waiting, home.value.newest]) : ""));
    let before = { of: "", told: "" };
    effect(() => {
      const state = live.status?.state; // not known while another run's page comes in
      const now = { of: live.runId, told: going.value && state ? `${going.value} ${state}` : "" };
      if (!now.told) return;
      const changed = before.told && now.of === before.of && now.told !== before.told;
      before = now;
      if (changed && inView()) untracked(() => this.refreshRuns());
    });
  }

  /**
   * The page came into view: which runs are there, and the one that the address or the Train page names.
   * @param {string | null} wanted @param {string | null} other @param {string | null} behaviour
   */
  async enter(wanted, other, behaviour) {
    /** @type {Choice[]} */
    let known;
    try {
      known = await this.known();
    } catch (error) {
      return this.refreshEmpty(error.message);
    }
    const first = known[0]?.[0];
    const hasOwn = first && !Object.values(home.value?.recorded ?? {}).includes(first);
    const run = wanted ?? (hasOwn && live.run?.recorded ? first : live.runId) ?? first;
    hasNone.value = !run;
    this.top.classList.toggle("nothing", !run);
    if (!run)
      return this.refreshEmpty(isWatching() ? waiting(home.value)
        : "No run to compare yet. Start one on the Train page.");
    if (other === run) other = null;
    this.fillRuns(known, run, other);
    if (run !== this.run || other !== this.other) {
      Object.assign(this, { run, other, update: null, data: null });
      this.table.forget();
      this.setRun("");
    }
    await this.load();
    if (run !== this.run) return;
    this.setRun(run);
    if (behaviour) this.table.choose(behaviour);
  }

  /** Every run and recording. Raises: Error. @returns {Promise<Choice[]>} */
  async known() {
    /** @type {Wire.History} */
    const { runs } = await getJson("live/_runs");
    /** @type {Pick<Wire.Home, "recorded">} */
    const { recorded } = await getJson("live/_home").catch(() => ({ recorded: {} }));
    const nameOf = (/** @type {Wire.ListedRun} */ { title, experiment }) =>
      (experiment.startsWith(title) ? experiment : title);
    /** A replay is of no preset. @param {string} preset @param {string} id */
    const titleOf = (preset, id) => stepOf(preset)?.title
      ?? (preset || (runs.find((run) => run.id === id) ?? live.run)?.title || id);
    return [
      ...runs.filter(({ id }) => !Object.values(recorded).includes(id))
        .map((run) => [run.id, `${nameOf(run)}, ${when(run.started_at)}, ${stateOf(run.state).word}`]),
      ...Object.entries(recorded).map(([preset, id]) => [id, `${titleOf(preset, id)}, recorded`]),
    ];
  }

  /**
   * The two menus; one that names a run which is not there has it all the same.
   * @param {Choice[]} known @param {string} run @param {string | null} other
   */
  fillRuns(known, run, other) {
    const gone = [run, other].filter((id) => id && !known.some(([value]) => value === id)).map((id) => [id, id]);
    const options = [...gone, ...known];
    showParts(this.runs, optionsOf(options));
    showParts(this.others, optionsOf([["", "the same model before training"],
      ...options.filter(([value]) => value !== run)]));
    this.runs.value = run;
    this.others.value = other ?? "";
  }

  /** A run has begun or ended while the page is in view. */
  async refreshRuns() {
    // the header says that there is no connection
    const known = await this.known().catch(() => /** @type {Choice[]} */ (null));
    if (!known || !this.run) return;
    this.fillRuns(known, this.run, this.other);
    if (this.update === null) this.load();
  }

  chooseMoment(/** @type {number} */ index) {
    const moments = this.data?.moments ?? [];
    this.update = index >= moments.length - 1 ? null : moments[index];
    setText(this.at, String(moments[index]));
    this.load();
  }

  async load() {
    const { run, other, update } = this;
    const query = new URLSearchParams({ ...(update === null ? {} : { update: String(update) }),
      ...(other ? { with: other } : {}) });
    /** @type {Wire.Compare} */
    let data;
    try {
      data = await getJson(runPath(run, `compare?${query}`));
    } catch (error) {
      if (run === this.run) this.refreshEmpty(error.message);
      return;
    }
    if (run === this.run && other === this.other && update === this.update) this.show(data);
  }

  show(/** @type {Wire.Compare} */ data) {
    this.data = shown.value = data;
    const { moments, update, state, other } = data;
    const index = moments.indexOf(update);
    this.slider.max = String(Math.max(0, moments.length - 1));
    this.slider.disabled = moments.length < 2;
    this.oneMoment.hidden = moments.length !== 1;
    setText(this.oneMoment, data.one_moment ?? ONE_MOMENT);
    this.slider.value = String(Math.max(0, index));
    if (update === null)
      return this.refreshEmpty(ENDED.includes(state) ? "This run ended before it answered the fixed prompts again."
        : "Nothing to compare yet: the fixed prompts are answered again after the first few updates.");
    setText(this.at, `${update}${state === "finished" && index === moments.length - 1 ? " (end)" : ""}`);
    setText(this.outcome, withMinus(data.outcome ?? "") || (other?.notice ? "The two runs have no score in common."
      : "These rewards have no opinion on the fixed prompts, so there is no score to compare."));
    setText(this.notice, other?.notice ?? "");
    showWrong(this.wrong, data.run.wrong_on_purpose ? data.run : other);
    this.facts.replaceChildren(...(data.before ? facts(this.pairs()) : []));
    this.fillTerms();
    this.behaviours.show(data);
    this.table.show(data, this.run);
  }

  refreshEmpty(/** @type {string} */ message) {
    this.data = shown.value = null;
    setText(this.outcome, "");
    setText(this.notice, "");
    showWrong(this.wrong, null);
    this.facts.replaceChildren();
    this.behaviours.show(null);
    this.terms.hidden = true;
    this.table.show(null, null, message);
  }

  /** Reward by reward and judge by judge, where there is more than one of them. */
  fillTerms() {
    const { table, run } = this.data;
    this.terms.hidden = table.length < 2;
    // as the form says it, or else as the run recorded it
    /** @param {string} name @param {boolean} judge */
    const labelOf = (name, judge) => run[judge ? "judges" : "terms"].find((item) => item.name === name)?.label ?? name;
    this.terms.replaceChildren(tableOf("", [headOf("Reward", "words"), "Before", "After", "Change, in its own sd"],
      table.map(({ name, role, before, after, change, unit }) => [
        el("th.words", { scope: "row" }, labelOf(name, role !== "trained on"), el("span.muted", ` ${role}`)),
        el("td", { title: before ?? "" }, rounded(before)), el("td", { title: after ?? "" }, rounded(after)),
        el("td", change === null ? "no opinion"
          : [el("strong", withHalf(change.mean, change.half, { sign: true })), ` ${unit}`])])),
    el("p.muted.small-text", TERMS_GLOSS));
  }

  /** What there is to know about both sides, in numbers. @returns {[string, string][]} */
  pairs() {
    const { data } = this;
    const { before, after } = data;
    /** @param {(value: number) => string} tell @param {"score" | "kl" | "length" | "unique"} name */
    const sides = (tell, name) => both(data, tell(before[name]), tell(after[name]));
    const raw = data.table.length < 2 && data.measured ? Object.keys(after.terms) : [];
    return [
      data.measured ? ["score", `${sides(signed, "score")} ${data.run.unit}`] : null,
      ...raw.map((name) => /** @type {[string, string]} */ ([`${name}, raw`,
        both(data, rounded(before.terms[name]), rounded(after.terms[name]))])),
      data.other ? ["distance (KL)", `${sides(rounded, "kl")} nats`] : null,
      ["length", `${sides(rounded, "length")} tokens`],
      ["different texts", `${sides(String, "unique")} of ${after.count}`],
    ];
  }
}
