// The Compare page: one run, one moment, against before training or another run at its end, on the same fixed prompts.
// The prompt of one's own stands between what came of it and the table, which is runs/compare_rows.js.

import { el, headOf, menuOf, signOf, tableOf } from "../core/dom.js";
import { waiting, isWatching } from "../core/access.js";
import { getJson, runPath } from "../core/server.js";
import { stepOf } from "../core/experiments.js";
import { rounded, signed, stateOf, when, withHalf, withMinus } from "../core/format.js";
import { behavioursPart } from "./compare_behaviours.js";
import { both, PairTable } from "./compare_rows.js";
import { home } from "../core/home.js";
import { go, onPlace, place } from "../core/nav.js";
import { part } from "../core/part.js";
import { alike, computed, effect, signal, untracked } from "../core/signals.js";
import { hasEnded, isRecording, live } from "../core/store.js";
import { facts } from "../core/texts.js";

/**
 * @typedef {string[]} Choice a run by its id, and what the menus call it
 * @typedef {{ run: string | null, other: string | null, update: number | null }} Chosen without another run, one is
 *   compared with itself before training; without an update, at its end
 */

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
  const compare = new Compare((run) => {
    if (props.value === run) return;
    props.value = run;
    trigger("input");
  });
  element.append(el("div.compare-view", compare.top));
}

class Compare {
  /** `setRun(run)` hears which run is shown, and "" while none is: only a run that is shown can be asked.
   * @param {(run: string) => void} setRun */
  constructor(setRun) {
    this.setRun = setRun;
    this.chosen = signal(/** @type {Chosen} */ ({ run: null, other: null, update: null }), alike);
    this.runs = signal(/** @type {Choice[]} */ ([]), alike);
    this.table = new PairTable();
    this.top = el("section.panel.compare-top");
    part(this.top, () => this.parts(shown.value));
    onPlace(({ page }) => {
      if (page === "compare") this.enter();
    });
    this.follow();
  }

  /** @param {Wire.Compare | null} data */
  parts(data) {
    this.top.classList.toggle("nothing", hasNone.value);
    const { notice = "" } = data?.other ?? {};
    const isThere = data && data.update !== null;
    return [el("div.bar", { "data-key": "bar" }, this.bar(data)),
      el("p.compare-notice", { "data-key": "notice", role: "status" }, isThere ? notice : ""),
      isThere ? behavioursPart(data) : null,
      ...[data?.run, data?.other].map((run) => run?.wrong_on_purpose).filter(Boolean).slice(0, 1).map((words) =>
        el("p.wrong-note", { "data-key": "wrong", role: "note" }, signOf("! "), words)),
      el("p.outcome", { "data-key": "outcome" }, isThere ? outcomeOf(data) : ""),
      el("p.summary", { "data-key": "facts" }, isThere && data.before ? facts(pairsOf(data)) : []),
      isThere && data.table.length > 1 ? termsOf(data) : null];
  }

  /** Which run, at which moment, against what. @param {Wire.Compare | null} data */
  bar(data) {
    const { run, other, update } = this.chosen.value;
    const known = this.runs.value;
    // one that names a run which is not there has it all the same
    const gone = [run, other].filter((id) => id && !known.some(([value]) => value === id))
      .map((id) => [id, live.runId === id && live.run ? live.run.title : id]);
    const options = [...gone, ...known];
    const moments = data?.moments ?? [];
    const index = update === null ? moments.length - 1 : moments.indexOf(update);
    const isEnd = data?.state === "finished" && index === moments.length - 1;
    const choose = (/** @type {{ run?: string, with?: string }} */ choice) =>
      go({ page: "compare", run, with: other ?? "", ...choice, replace: true });
    return [el("label.inline", "Run", menuOf(options, { "aria-label": "Run", value: run ?? "",
      onchange: ({ target }) => choose({ run: target.value }) })),
    el("span.inline.slider-label", el("label.inline", "At update", el("input", { type: "range", min: 0,
      max: Math.max(0, moments.length - 1), step: 1, value: Math.max(0, index), disabled: moments.length < 2,
      "aria-describedby": "moment-reason", oninput: ({ target }) => this.chooseMoment(Number(target.value)) })),
    el("output.at", index < 0 ? "" : `${moments[index]}${isEnd ? " (end)" : ""}`)),
    el("span.muted", { id: "moment-reason", hidden: moments.length !== 1 }, data?.one_moment ?? ONE_MOMENT),
    el("label.inline", "Against", menuOf([["", "the same model before training"],
      ...options.filter(([value]) => value !== run)], { "aria-label": "Against", value: other ?? "",
      onchange: ({ target }) => choose({ with: target.value }) }))];
  }

  /** Hear of news while the page is in view: of a run that goes on, and of runs that begin or end. */
  follow() {
    const inView = () => document.body.dataset.page === "compare";
    effect(() => {
      const news = live.moments.size > 0 || hasEnded.value;
      const { run, update } = untracked(() => this.chosen.value);
      const follows = run === live.runId && !live.run?.recorded && update === null;
      if (inView() && follows && news) untracked(() => this.load());
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

  /** The page came into view: which runs are there, and the one that the address or the Train page names. */
  async enter() {
    try {
      this.runs.value = await knownRuns();
    } catch (error) {
      return this.show(null, error.message);
    }
    const { page, run: wanted, with: other, behaviour } = place(); // one may have gone on meanwhile
    if (page !== "compare") return;
    const first = this.runs.value[0]?.[0];
    const hasOwn = first && !isRecording(first);
    const run = wanted ?? (hasOwn && isRecording(live.runId) ? first : live.runId) ?? first ?? null;
    hasNone.value = !run;
    if (!run) return this.show(null, isWatching() ? waiting(home.value)
      : "No run to compare yet. Start one on the Train page.");
    const now = this.chosen.value;
    const against = other === run ? null : other || null;
    if (run !== now.run || against !== now.other) {
      this.chosen.value = { run, other: against, update: null };
      this.table.forget();
      this.setRun("");
    }
    await this.load();
    if (run !== this.chosen.value.run) return;
    this.setRun(run);
    if (behaviour) this.table.choose(behaviour);
  }

  /** A run has begun or ended while the page is in view. */
  async refreshRuns() {
    // the header says that there is no connection
    const known = await knownRuns().catch(() => /** @type {Choice[]} */ (null));
    const { run, update } = this.chosen.value;
    if (!known || !run) return;
    this.runs.value = known;
    if (update === null) this.load();
  }

  chooseMoment(/** @type {number} */ index) {
    const { moments } = shown.value;
    this.chosen.value = { ...this.chosen.value, update: index >= moments.length - 1 ? null : moments[index] };
    this.load();
  }

  async load() {
    const asked = this.chosen.value;
    const { run, other, update } = asked;
    const query = new URLSearchParams({ ...(update === null ? {} : { update: String(update) }),
      ...(other ? { with: other } : {}) });
    try {
      const data = /** @type {Wire.Compare} */ (await getJson(runPath(run, `compare?${query}`)));
      if (asked === this.chosen.value) this.show(data);
    } catch (error) {
      if (run === this.chosen.value.run) this.show(null, error.message);
    }
  }

  /** @param {Wire.Compare | null} data @param {string} why there is nothing */
  show(data, why = "") {
    shown.value = data;
    if (data && data.update !== null) return this.table.show(data, this.chosen.value.run);
    this.table.show(null, null, !data ? why : ENDED.includes(data.state)
      ? "This run ended before it answered the fixed prompts again."
      : "Nothing to compare yet: the fixed prompts are answered again after the first few updates.");
  }
}

/** Every run and recording. Raises: Error. @returns {Promise<Choice[]>} */
async function knownRuns() {
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
    ...Object.entries(recorded).filter(([preset]) => !preset || stepOf(preset)) // without those that lessons need
      .map(([preset, id]) => [id, `${titleOf(preset, id)}, recorded`]),
  ];
}

/** @param {Wire.Compare} data */
function outcomeOf({ outcome, other }) {
  return withMinus(outcome ?? "") || (other?.notice ? "The two runs have no score in common."
    : "These rewards have no opinion on the fixed prompts, so there is no score to compare.");
}

/** Reward by reward and judge by judge. @param {Wire.Compare} data */
function termsOf({ table, run }) {
  // as the form says it, or else as the run recorded it
  /** @param {string} name @param {boolean} judge */
  const labelOf = (name, judge) => run[judge ? "judges" : "terms"].find((item) => item.name === name)?.label ?? name;
  return el("div.numbers.term-table", { "data-key": "terms" },
    tableOf("", [headOf("Reward", "words"), "Before", "After", "Change, in its own sd"],
      table.map(({ name, role, before, after, change, unit }) => [
        el("th.words", { scope: "row" }, labelOf(name, role !== "trained on"), el("span.muted", ` ${role}`)),
        el("td", { title: before ?? "" }, rounded(before)), el("td", { title: after ?? "" }, rounded(after)),
        el("td", change === null ? "no opinion"
          : [el("strong", withHalf(change.mean, change.half, { sign: true })), ` ${unit}`])])),
    el("p.muted.small-text", TERMS_GLOSS));
}

/** What there is to know about both sides, in numbers. @param {Wire.Compare} data @returns {[string, string][]} */
function pairsOf(data) {
  const { before, after } = data;
  /** @param {(value: number) => string} tell @param {"score" | "kl" | "length" | "unique"} name */
  const sides = (tell, name) => both(data, tell(before[name]), tell(after[name]));
  const raw = data.table.length < 2 && data.measured ? Object.keys(after.terms) : [];
  return [
    data.measured ? ["score", `${sides(signed, "score")} ${data.run.unit}`] : null,
    ...raw.map((name) => /** @type {[string, string]} */ ([`${name}, raw`,
      both(data, rounded(before.terms[name]), rounded(after.terms[name]))])),
    data.other ? ["distance (KL)", `${sides(rounded, "kl")} nats`] : null,
    after.length === null ? null : ["length", `${sides(rounded, "length")} tokens`],
    ["different texts", `${sides(String, "unique")} of ${after.count}`],
  ];
}
