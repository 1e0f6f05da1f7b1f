// The Compare page: one run, one moment, against before training or another run at its end, on the same fixed prompts;
// sort, filter, blind reading. The prompt of one's own stands between what came of it and the table, whose place is
// runs/compare_rows.js.

import { buttonOf, el, getJson, headOf, runPath, setText, setWords, showParts,
  showWrong } from "../core/dom.js";
import { stepOf } from "../core/experiments.js";
import { directionOf, rounded, signed, stateOf, when, withHalf } from "../core/format.js";
import { Behaviours, hasTurned, showsLine, turnChoices, turned } from "./compare_behaviours.js";
import { Histograms } from "../charts/histograms.js";
import { home } from "../core/home.js";
import { go, onPlace } from "../core/nav.js";
import { computed, effect, signal, untracked, whenNew } from "../core/signals.js";
import { hasEnded, live } from "../core/store.js";
import { facts, KL_GLOSS, textPair } from "../core/texts.js";
import { tokensButton } from "../inside/microscope.js";

const VARIETY_GLOSS = "How many of the answers to this prompt are different texts, and the share of different word "
  + "pairs in them. Where both fall, the model says the same whatever the dice say.";
const FIRST_ROWS = 20;
const ENDED = ["finished", "stopped", "failed", "interrupted"];
const SORTS = {
  gain: ["biggest gain first", (row) => -(row.gain ?? -Infinity)],
  loss: ["biggest loss first", (row) => row.gain ?? Infinity],
  kl: ["furthest drift first", (row) => -(row.after.kl ?? -Infinity)],
  order: ["order of prompts", (row) => row.id],
};

const CHOICES = [["all", "all prompts"], ["better", "score higher"], ["worse", "score lower"], ["same", "same text"]];

/** What the server has of the run and moment that are shown; null while nothing is. */
export const shown = signal(/** @type {any} */ (null));

/** Histograms and table. */
export const below = el("div", { class: "compare-view" });

export function mount(element, props, { trigger }) {
  new Compare(element, (run) => {
    if (props.value === run) return;
    props.value = run;
    trigger("input");
  });
}

class Compare {
  /** `setRun(run)` hears which run is shown, and "" while none is: only a run that is shown can be asked. */
  constructor(element, setRun) {
    this.setRun = setRun;
    this.run = null;
    this.other = null; // the run with which it is compared; null: with itself before training
    this.update = null;
    this.data = null;
    this.limit = FIRST_ROWS;
    this.blind = false;
    this.build(element);
    onPlace((place) => {
      if (place.page === "compare") this.enter(place.run, place.with, place.behaviour);
    });
    effect(() => {
      const news = live.moments.size > 0 || hasEnded.value;
      const watching = document.body.dataset.page === "compare" && this.run === live.runId && !live.run?.recorded;
      if (watching && news && this.atEnd()) this.load();
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
      if (changed && document.body.dataset.page === "compare") untracked(() => this.refreshRuns());
    });
  }

  build(element) {
    const choose = () => go({ page: "compare", run: this.runs.value, with: this.others.value, replace: true });
    this.runs = el("select", { "aria-label": "Run", onchange: choose });
    this.others = el("select", { "aria-label": "Against", onchange: choose });
    this.slider = el("input", { type: "range", min: 0, max: 0, step: 1, "aria-label": "Moment to compare with",
      oninput: () => this.chooseMoment(Number(this.slider.value)) });
    this.at = el("output", { class: "at" });
    this.outcome = el("p", { class: "outcome" });
    this.notice = el("p", { class: "compare-notice", role: "status" });
    this.wrong = el("p", { class: "wrong-note", role: "note", hidden: true });
    this.facts = el("p", { class: "summary" });
    this.terms = el("div", { class: "numbers term-table", hidden: true });
    this.sort = el("select", { "aria-label": "Sort", onchange: () => this.fill() },
      Object.entries(SORTS).map(([value, [name]]) => el("option", { value }, name)));
    this.filter = el("input", { type: "search", placeholder: "Filter by words", "aria-label": "Filter by words",
      oninput: () => this.fill() });
    this.only = el("select", { "aria-label": "Which prompts", onchange: () => this.fill() });
    this.listRuns = whenNew((known, run, other) => {
      const gone = [run, other].filter((id) => id && !known.some(([value]) => value === id)).map((id) => [id, id]);
      const asOptions = (pairs) => pairs.map(([value, name]) => el("option", { value }, name));
      const options = [...gone, ...known];
      this.runs.replaceChildren(...asOptions(options));
      this.others.replaceChildren(...asOptions([["", "itself before training"],
        ...options.filter(([value]) => value !== run)]));
    });
    this.fillOnly = whenNew((choices, chosen) => {
      this.only.replaceChildren(...choices.map(([value, name]) => el("option", { value }, name)));
      this.only.value = choices.some(([value]) => value === chosen) ? chosen : "all";
    });
    this.fillOnly(CHOICES, "all");
    this.blindButton = buttonOf("quiet-button", { "aria-pressed": "false",
      title: "Hide which side is which, shuffled row by row", onclick: () => this.toggleBlind() }, "Read blind");
    this.count = el("span", { class: "muted" });
    this.heads = el("tr", {});
    this.body = el("tbody", {});
    this.table = el("table", { class: "pairs compare" }, el("thead", {}, this.heads), this.body);
    this.more = buttonOf("quiet-button", { onclick: () => {
      this.limit += 60;
      this.fill();
    } }, "Show more");
    this.empty = el("p", { class: "empty" });
    const plots = el("div", { class: "histograms" });
    this.top = el("section", { class: "panel compare-top" },
      el("div", { class: "bar" }, el("label", { class: "inline" }, "Run", this.runs),
        el("label", { class: "inline slider-label" }, this.slider, this.at),
        el("label", { class: "inline" }, "against", this.others)),
      this.notice);
    this.behaviours = new Behaviours(this.top);
    this.top.append(this.wrong, this.outcome, this.facts, this.terms);
    this.rows = el("section", { class: "panel" },
      el("div", { class: "bar" }, el("h2", {}, "Prompt by prompt"), this.count, el("span", { class: "grow" }),
        this.filter,
        this.only, this.sort, this.blindButton), this.table, this.more, this.empty);
    element.append(el("div", { class: "compare-view" }, this.top));
    below.append(el("section", { class: "panel" }, plots), this.rows);
    this.histograms = new Histograms(plots);
  }

  /** The page came into view: which runs are there, and the one that the address or the Train page names. */
  async enter(wanted, other, behaviour) {
    let known;
    try {
      known = await this.known();
    } catch (error) {
      return this.refreshEmpty(error.message);
    }
    const run = wanted ?? live.runId ?? known[0]?.[0];
    if (!run) return this.refreshEmpty("There is no run to compare yet.");
    if (other === run) other = null;
    this.fillRuns(known, run, other);
    if (run !== this.run || other !== this.other) {
      this.run = run;
      this.other = other;
      this.update = null;
      this.data = null;
      this.limit = FIRST_ROWS;
      this.setRun("");
    }
    await this.load();
    if (run !== this.run) return;
    this.setRun(run);
    if (!behaviour || this.only.value === turned(behaviour)) return;
    this.only.value = turned(behaviour);
    if (!this.only.value) this.only.value = "all";
    this.fill();
  }

  /** Every run and recording, as [id, what the menus call it]. Raises: Error. */
  async known() {
    const { runs } = await getJson("live/_runs");
    const { recorded } = await getJson("live/_home").catch(() => ({ recorded: {} }));
    const told = ({ title, told: what }) => (what.startsWith(title) ? what : title);
    return [
      ...runs.map((run) => [run.id, `${told(run)}, ${when(run.started_at)}, ${stateOf(run.state).word}`]),
      ...Object.entries(recorded).map(([preset, id]) => [id, `${stepOf(preset)?.title ?? preset}, recorded`]),
    ];
  }

  /** The two menus; who has one of them open keeps it so unless there is news. */
  fillRuns(known, run, other) {
    this.listRuns(known, run, other);
    this.runs.value = run;
    this.others.value = other ?? "";
  }

  /** A run has begun or ended while the page is in view. */
  async refreshRuns() {
    const known = await this.known().catch(() => null); // the header says that there is no connection
    if (!known || !this.run) return;
    this.fillRuns(known, this.run, this.other);
    if (this.atEnd()) this.load();
  }

  atEnd() {
    return this.update === null;
  }

  chooseMoment(index) {
    const moments = this.data?.moments ?? [];
    this.update = index >= moments.length - 1 ? null : moments[index];
    setText(this.at, `update ${moments[index]}`);
    this.load();
  }

  async load() {
    const { run, other, update } = this;
    const query = new URLSearchParams({ ...(update === null ? {} : { update }), ...(other ? { with: other } : {}) });
    let data;
    try {
      data = await getJson(runPath(run, `compare?${query}`));
    } catch (error) {
      if (run === this.run) this.refreshEmpty(error.message);
      return;
    }
    if (run !== this.run || other !== this.other || update !== this.update) return;
    this.data = shown.value = data;
    const index = data.moments.indexOf(data.update);
    this.slider.max = Math.max(0, data.moments.length - 1);
    this.slider.disabled = data.moments.length < 2;
    this.slider.value = Math.max(0, index);
    if (data.update === null) {
      return this.refreshEmpty(
        ENDED.includes(data.state) ? "This run ended before the fixed prompts were answered again."
          : "No later answers yet: the fixed prompts are answered again after the first few updates.");
    }
    setText(this.at,
      `update ${data.update}${data.state === "finished" && index === data.moments.length - 1 ? " (the end)" : ""}`);
    setText(this.outcome, data.outcome || (data.other?.notice ? "The two runs have no score in common."
      : "These rewards have no opinion on the fixed prompts, so there is no score to compare."));
    setText(this.notice, data.other?.notice ?? "");
    showWrong(this.wrong, data.run.wrong_on_purpose ? data.run : data.other);
    this.fillFacts();
    this.behaviours.show(data);
    this.fillOnly([...CHOICES, ...turnChoices(data.behaviours)], this.only.value);
    this.histograms.show(data);
    this.fill();
  }

  refreshEmpty(message) {
    this.data = shown.value = null;
    setText(this.outcome, "");
    setText(this.notice, "");
    showWrong(this.wrong, null);
    this.facts.replaceChildren();
    this.behaviours.show(null);
    this.terms.hidden = true;
    this.body.replaceChildren();
    this.table.hidden = true;
    this.more.hidden = true;
    this.empty.hidden = false;
    setText(this.count, "");
    setWords(this.empty, message);
    this.histograms.show(null);
  }

  /** What names a reward or a judge: as the form says it, or else as the run recorded it. */
  labelOf(name, judge = false) {
    return this.data.run[judge ? "judges" : "terms"].find((item) => item.name === name)?.label ?? name;
  }

  /** Reward by reward and judge by judge, where there is more than one of them. */
  fillTerms() {
    const { table } = this.data;
    this.terms.hidden = table.length < 2;
    const head = (text) => el("th", { scope: "col", class: text === "Reward" ? "words" : null }, text);
    this.terms.replaceChildren(el("table", {},
      el("thead", {}, el("tr", {}, ["Reward", "Before", "After", "Change, in its own sd"].map(head))),
      el("tbody", {}, table.map(({ name, role, before, after, change, half, unit }) => el("tr", {},
        el("th", { scope: "row", class: "words" }, this.labelOf(name, role !== "trained on"),
          el("span", { class: "muted" }, ` ${role}`)),
        el("td", { title: before ?? "" }, rounded(before)), el("td", { title: after ?? "" }, rounded(after)),
        el("td", {}, change === null ? "no opinion"
          : [el("strong", {}, withHalf(change, half, { sign: true })), ` ${unit}`]))))),
      el("p", { class: "muted small-text" }, "Means of the rewards' own values, and the change on the same prompts "
        + "with its 95 % interval, in standard deviations of the texts before training. No opinion counts as the "
        + "average before. What only watches was never trained on."));
  }

  fillFacts() {
    const { before, after } = this.data;
    this.fillTerms();
    if (!before) return this.facts.replaceChildren();
    const unit = this.data.run.unit;
    const raw = this.data.table.length < 2 && this.data.measured ? Object.keys(after.terms) : [];
    const pairs = [
      this.data.measured ? ["score", `${this.both(signed(before.score), signed(after.score))} ${unit}`] : null,
      ...raw.map((name) => [`${name}, raw`, this.both(rounded(before.terms[name]), rounded(after.terms[name]))]),
      this.data.other ? ["KL", `${this.both(rounded(before.kl), rounded(after.kl))} nats`] : null,
      ["length", `${this.both(rounded(before.length), rounded(after.length))} tokens`],
      this.varietyOf("different answers to a prompt", "different"),
      this.varietyOf("distinct-2 within a prompt", "distinct_2"),
      ["different texts", `${this.both(before.unique, after.unique)} of ${after.count}`],
    ];
    this.facts.replaceChildren(...facts(pairs));
  }

  /** A fact about the answers to the same prompt, where there are several of them. */
  varietyOf(name, what) {
    const { diversity } = this.data;
    const of = what === "different" ? ` of ${rounded(diversity?.after.of)}` : "";
    return diversity && [name, `${this.both(rounded(diversity.before[what]), rounded(diversity.after[what]))}${of}`];
  }

  /** A figure of each side: from before to after, or of the other run and of this one. */
  both(before, after) {
    return `${before} ${this.data.other ? "|" : "\u2192"} ${after}`;
  }

  toggleBlind() {
    this.blind = !this.blind;
    this.swaps = new Map();
    this.blindButton.setAttribute("aria-pressed", String(this.blind));
    setText(this.blindButton, this.blind ? "Reveal" : "Read blind");
    this.fill();
  }

  swapped(row) {
    const key = `${row.id} ${row.seed}`;
    if (!this.swaps.has(key)) this.swaps.set(key, Math.random() < 0.5);
    return this.swaps.get(key);
  }

  fill() {
    if (!this.data) return;
    const words = this.filter.value.toLowerCase().trim();
    const wanted = {
      all: () => true, better: (row) => row.gain > 0, worse: (row) => row.gain < 0,
      same: (row) => row.before.text === row.after.text,
    }[this.only.value] ?? ((row) => hasTurned(row, this.only.value));
    const key = this.blind ? SORTS.order[1] : SORTS[this.sort.value][1]; // a sorted list would give the answer away
    this.sort.disabled = this.blind;
    const found = this.data.rows
      .filter((row) => wanted(row) && (!words || `${row.prompt} ${row.before.text} ${row.after.text}`.toLowerCase()
        .includes(words)))
      .sort((a, b) => key(a) - key(b) || a.id - b.id);
    const shown = found.slice(0, this.limit);
    showParts(this.heads, this.headings());
    this.table.classList.toggle("two-runs", Boolean(this.data.other));
    this.body.replaceChildren(...shown.map((row) => this.row(row)));
    this.table.hidden = !found.length;
    this.more.hidden = found.length <= this.limit;
    this.empty.hidden = found.length > 0;
    setWords(this.empty, this.data.rows.length ? "No prompt fits. Clear the filter to see all of them." : "");
    setText(this.count, `${found.length} of ${this.data.rows.length}`);
  }

  headings() {
    if (this.blind) return [headOf("Prompt", "prompt"), headOf("One", ""), headOf("Other", "")];
    const { other, run, update } = this.data;
    const sides = other ? [other.title === run.title ? `${other.title} (the other)` : other.title, run.title]
      : ["Before", `After update ${update}`];
    return [headOf("Prompt", "prompt"), headOf(sides[0], "before"), headOf(sides[1], "now"),
      headOf(`Score, ${run.unit}`, "figure"), headOf("KL", "figure", KL_GLOSS),
      ...(this.data.diversity ? [headOf("Different", "figure variety", VARIETY_GLOSS)] : []),
      headOf("Tokens", "figure")];
  }

  row(row) {
    const [before, after] = textPair(row.before.text, row.after.text, { plain: this.blind });
    const prompt = el("td", { class: "prompt", "data-label": "Prompt" }, el("p", { class: "output" }, row.prompt));
    if (this.blind) {
      const sides = this.swapped(row) ? [after, before] : [before, after];
      return el("tr", {}, prompt, el("td", { class: "before", "data-label": "One" }, sides[0]),
        el("td", { class: "now", "data-label": "Other" }, sides[1]));
    }
    const changed = (label, from, to) => el("div", { class: "term" }, `${label} `,
      el("span", { class: "nowrap" }, this.both(rounded(from), rounded(to))));
    const terms = this.data.terms.map((name) => changed(name, row.before.scores[name], row.after.scores[name]));
    const judges = this.data.judges.map((name) =>
      changed(`judge ${name}`, row.before.judges[name], row.after.judges[name]));
    const { other, measured } = this.data;
    const [left, right] = other ? [other.title, this.data.run.title] : ["Before", "After"];
    const about = { meters: this.data.behaviours?.meters ?? [], other };
    return el("tr", {}, prompt,
      el("td", { class: "before", "data-label": left }, before, showsLine(row, "before", about),
        this.tokens(row, row.before, other ? other.title : "before training", other ? other.id : this.run)),
      el("td", { class: "now", "data-label": right }, after, showsLine(row, "after", about),
        this.tokens(row, row.after, other ? this.data.run.title : `after update ${this.data.update}`, this.run)),
      el("td", { class: "figure score", "data-label": "Score" },
        el("div", { class: "nowrap" }, this.both(signed(row.before.score), ""),
          el("strong", { class: measured ? directionOf(row.before.score, row.after.score) : null },
            signed(row.after.score))),
        ...(measured ? [this.direction(row.gain), ...terms, ...judges] : [])),
      el("td", { class: "figure nowrap", "data-label": "KL, nats" },
        other ? this.both(rounded(row.before.kl), rounded(row.after.kl)) : rounded(row.after.kl)),
      ...(row.diversity ? [this.variety(row.diversity)] : this.data.diversity ? [el("td", {})] : []),
      el("td", { class: "figure nowrap", "data-label": "Tokens" },
        this.both(row.before.tokens ?? "\u2013", row.after.tokens ?? "\u2013")));
  }

  /** What opens one of the answers of a run token by token. */
  tokens({ prompt }, answer, whose, run) {
    return tokensButton(whose, prompt, () => ({ run, ...answer.at }));
  }

  /** How many different answers this prompt got; it stands in each of its rows. */
  variety({ before, after }) {
    return el("td", { class: "figure variety", "data-label": "Different answers" },
      el("div", { class: "nowrap" }, `${this.both(before.different, after.different)} of ${after.of}`),
      el("div", { class: "term" }, "distinct-2 ",
        el("span", { class: "nowrap" }, this.both(rounded(before.distinct_2), rounded(after.distinct_2)))));
  }

  direction(gain) {
    if (gain === null) return el("div", { class: "term" }, "no opinion");
    if (gain === 0) return el("div", { class: "term" }, "the same");
    return el("div", { class: `term ${gain > 0 ? "up" : "down"}` },
      gain > 0 ? `\u2191 ${rounded(gain)} higher` : `\u2193 ${rounded(-gain)} lower`);
  }
}
