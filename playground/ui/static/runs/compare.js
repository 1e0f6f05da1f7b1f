// The Compare page: one run, one moment, before and after on the fixed prompts; sort, filter, blind reading. The prompt
// of one's own stands between what came of it and the table, whose place is runs/compare_rows.js.

import { buttonOf, el, getJson, headOf, runPath, setText } from "../core/dom.js";
import { stepOf } from "../core/experiments.js";
import { directionOf, rounded, signed, stateOf, when } from "../core/format.js";
import { Histograms } from "../charts/histograms.js";
import { go, onPlace } from "../core/nav.js";
import { effect, signal } from "../core/signals.js";
import { hasEnded, live } from "../core/store.js";
import { facts, textPair } from "../core/texts.js";

const FIRST_ROWS = 20;
const SORTS = {
  gain: ["biggest gain first", (row) => -(row.gain ?? -Infinity)],
  loss: ["biggest loss first", (row) => row.gain ?? Infinity],
  kl: ["furthest drift first", (row) => -(row.after.kl ?? -Infinity)],
  order: ["order of prompts", (row) => row.id],
};

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
    this.update = null;
    this.data = null;
    this.limit = FIRST_ROWS;
    this.blind = false;
    this.build(element);
    onPlace((place) => {
      if (place.page === "compare") this.enter(place.run);
    });
    effect(() => {
      const news = live.moments.size > 0 || hasEnded.value;
      const watching = document.body.dataset.page === "compare" && this.run === live.runId && !live.run?.recorded;
      if (watching && news && this.atEnd()) this.load();
    });
  }

  build(element) {
    this.runs = el("select", { "aria-label": "Run",
      onchange: () => go({ page: "compare", run: this.runs.value, replace: true }) });
    this.slider = el("input", { type: "range", min: 0, max: 0, step: 1, "aria-label": "Moment to compare with",
      oninput: () => this.chooseMoment(Number(this.slider.value)) });
    this.at = el("output", { class: "at" });
    this.outcome = el("p", { class: "outcome" });
    this.facts = el("p", { class: "summary" });
    this.terms = el("div", { class: "numbers term-table", hidden: true });
    this.sort = el("select", { "aria-label": "Sort", onchange: () => this.fill() },
      Object.entries(SORTS).map(([value, [name]]) => el("option", { value }, name)));
    this.filter = el("input", { type: "search", placeholder: "Filter by words", "aria-label": "Filter by words",
      oninput: () => this.fill() });
    this.only = el("select", { "aria-label": "Which prompts", onchange: () => this.fill() },
      el("option", { value: "all" }, "all prompts"), el("option", { value: "better" }, "score went up"),
      el("option", { value: "worse" }, "score went down"), el("option", { value: "same" }, "text unchanged"));
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
        el("span", { class: "muted" }, "before training against"),
        el("label", { class: "inline slider-label" }, this.slider, this.at)),
      this.outcome, this.facts, this.terms);
    this.rows = el("section", { class: "panel" },
      el("div", { class: "bar" }, el("h2", {}, "Prompt by prompt"), this.count, el("span", { class: "grow" }),
        this.filter,
        this.only, this.sort, this.blindButton), this.table, this.more, this.empty);
    element.append(el("div", { class: "compare-view" }, this.top));
    below.append(el("section", { class: "panel" }, plots), this.rows);
    this.histograms = new Histograms(plots);
  }

  /** The page came into view: which runs are there, and the one that the address or the Train page names. */
  async enter(wanted) {
    let list;
    try {
      list = await getJson("live/_runs");
    } catch (error) {
      return this.refreshEmpty(error.message);
    }
    const { recorded } = await getJson("live/_home").catch(() => ({ recorded: {} }));
    const options = list.map((run) => [run.id, `${run.title}, ${when(run.started_at)}, ${stateOf(run.state).word}`]);
    for (const [preset, id] of Object.entries(recorded))
      options.push([id, `${stepOf(preset)?.title ?? preset}, recorded`]);
    this.runs.replaceChildren(...options.map(([value, name]) => el("option", { value }, name)));
    const run = wanted ?? live.runId ?? options[0]?.[0];
    if (!run) return this.refreshEmpty("There is no run to compare yet.");
    if (!options.some(([value]) => value === run)) this.runs.prepend(el("option", { value: run }, run));
    this.runs.value = run;
    if (run !== this.run) {
      this.run = run;
      this.update = null;
      this.data = null;
      this.limit = FIRST_ROWS;
      this.setRun("");
    }
    await this.load();
    if (run === this.run) this.setRun(run);
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
    const { run, update } = this;
    const query = update === null ? "" : `?update=${update}`;
    let data;
    try {
      data = await getJson(runPath(run, `compare${query}`));
    } catch (error) {
      if (run === this.run) this.refreshEmpty(error.message);
      return;
    }
    if (run !== this.run || update !== this.update) return;
    this.data = shown.value = data;
    const index = data.moments.indexOf(data.update);
    this.slider.max = Math.max(0, data.moments.length - 1);
    this.slider.disabled = data.moments.length < 2;
    this.slider.value = Math.max(0, index);
    if (data.update === null) {
      return this.refreshEmpty(
        "No later answers yet: the fixed prompts are answered again after the first few updates.");
    }
    setText(this.at,
      `update ${data.update}${data.state === "finished" && index === data.moments.length - 1 ? " (the end)" : ""}`);
    setText(this.outcome,
      data.outcome || "These rewards have no opinion on the fixed prompts, so there is no score to compare.");
    this.fillFacts();
    this.histograms.show(data);
    this.fill();
  }

  refreshEmpty(message) {
    this.data = shown.value = null;
    setText(this.outcome, "");
    this.facts.replaceChildren();
    this.terms.hidden = true;
    this.body.replaceChildren();
    this.table.hidden = true;
    this.more.hidden = true;
    this.empty.hidden = false;
    setText(this.count, "");
    setText(this.empty, message);
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
        el("td", {}, change === null ? "no opinion" : [el("strong", {}, signed(change)),
          half === null ? "" : ` \u00b1 ${rounded(half)}`, ` ${unit}`]))))),
      el("p", { class: "muted small-text" }, "Means of the rewards' own values, and the change on the same prompts "
        + "with its 95 % interval, in standard deviations of the texts before training. No opinion counts as the "
        + "average before. What only watches was never trained on."));
  }

  fillFacts() {
    const { before, after } = this.data;
    this.fillTerms();
    const unit = this.data.run.unit;
    const pairs = [
      ["score", `${signed(before.score)} \u2192 ${signed(after.score)} ${unit}`],
      ...(this.data.table.length < 2 ? Object.keys(after.terms) : [])
        .map((name) => [`${name}, raw`, `${rounded(before.terms[name])} \u2192 ${rounded(after.terms[name])}`]),
      ["length", `${rounded(before.length)} \u2192 ${rounded(after.length)} tokens`],
      ["different texts", `${before.unique} \u2192 ${after.unique} of ${after.count}`],
    ];
    this.facts.replaceChildren(...facts(pairs));
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
    }[this.only.value];
    const key = this.blind ? SORTS.order[1] : SORTS[this.sort.value][1]; // a sorted list would give the answer away
    this.sort.disabled = this.blind;
    const found = this.data.rows
      .filter((row) => wanted(row) && (!words || `${row.prompt} ${row.before.text} ${row.after.text}`.toLowerCase()
        .includes(words)))
      .sort((a, b) => key(a) - key(b) || a.id - b.id);
    const shown = found.slice(0, this.limit);
    this.heads.replaceChildren(...this.headings());
    this.body.replaceChildren(...shown.map((row) => this.row(row)));
    this.table.hidden = !found.length;
    this.more.hidden = found.length <= this.limit;
    this.empty.hidden = found.length > 0;
    setText(this.empty, "No prompt fits. Clear the filter to see all of them.");
    setText(this.count, `${found.length} of ${this.data.rows.length}`);
  }

  headings() {
    if (this.blind) return [headOf("Prompt", "prompt"), headOf("One", ""), headOf("Other", "")];
    return [headOf("Prompt", "prompt"), headOf("Before", "before"), headOf(`After update ${this.data.update}`, "now"),
      headOf(`Score, ${this.data.run.unit}`, "figure"), headOf("KL", "figure", "nats from the reference"),
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
      el("span", { class: "nowrap" }, `${rounded(from)} \u2192 ${rounded(to)}`));
    const terms = this.data.terms.map((name) => changed(name, row.before.scores[name], row.after.scores[name]));
    const judges = this.data.judges.map((name) =>
      changed(`judge ${name}`, row.before.judges[name], row.after.judges[name]));
    return el("tr", {}, prompt,
      el("td", { class: "before", "data-label": "Before" }, before),
      el("td", { class: "now", "data-label": "After" }, after),
      el("td", { class: "figure score", "data-label": "Score" },
        el("div", { class: "nowrap" }, `${signed(row.before.score)} \u2192 `,
        el("strong", { class: directionOf(row.before.score, row.after.score) }, signed(row.after.score))),
        this.direction(row.gain), terms, judges),
      el("td", { class: "figure", "data-label": "KL" }, rounded(row.after.kl)),
      el("td", { class: "figure nowrap", "data-label": "Tokens" },
        `${row.before.tokens ?? "\u2013"} \u2192 ${row.after.tokens ?? "\u2013"}`));
  }

  direction(gain) {
    if (gain === null) return el("div", { class: "term" }, "no opinion");
    if (gain === 0) return el("div", { class: "term" }, "the same");
    return el("div", { class: `term ${gain > 0 ? "up" : "down"}` },
      gain > 0 ? `\u2191 ${rounded(gain)} higher` : `\u2193 ${rounded(-gain)} lower`);
  }
}
