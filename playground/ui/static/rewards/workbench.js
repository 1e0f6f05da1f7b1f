// The right side of the reward workbench: what the typed texts earn and why, where they stand among texts of the
// untrained model, and which of those the rewards would push. Follows the reward picker: with a changed weight the
// server weighs anew what was measured (ui/rewards/weighing_part.py).

import { binned, roundTicks } from "../charts/arithmetic.js";
import { bars, frame } from "../charts/small_plots.js";
import { buttonOf, el, figureOf, headOf, setText, setWords, showParts, signOf, tableOf, withCode,
} from "../core/dom.js";
import { capital, number, percent, rounded, signed } from "../core/format.js";
import { answerOf, getJson } from "../core/server.js";
import { alike, effect } from "../core/signals.js";
import { readLine, wordUse } from "../core/texts.js";
import { lists } from "./lists.js";
import { whenOpened } from "./tabs.js";

const FIRST_ROWS = 5;
const MANY_ROWS = 20;
const BINS = 24;
const PLOT = { height: 170, left: 0, right: 0, top: 34, bottom: 30 };

/**
 * @typedef {{ value: Bench | null }} Props
 * @typedef {Wire.Bench} Bench
 * @typedef {Wire.Weighed} Weighed
 * @typedef {Pick<Bench, "names" | "labels" | "rewards" | "texts" | "reference">} Measured
 * @typedef {{ side: string, score: number, rank: number }} Placed where a typed text stands
 */

/** @param {Element} element @param {Props} props @param {Page.Tools} page */
export const mount = (element, props, page) => whenOpened("try", () => draw(element, props, page));

/** @param {Element} element @param {Props} props @param {Page.Tools} page */
function draw(element, props, { watch, server }) {
  const bench = new Workbench(element, (asked) => server.weigh_rewards(asked));
  watch("value", () => bench.take(props.value));
  bench.take(props.value);
  if ((props.value?.state ?? "empty") === "empty") bench.showExample();
  effect(() => bench.weigh(lists.workbench.value));
}

class Workbench {
  /**
   * `ask({found, rewards})` weighs what was measured by the rewards as they are.
   * @param {Element} element
   * @param {(asked: { found: Measured, rewards: Wire.Reward[] }) => Promise<Wire.Weighed>} ask
   */
  constructor(element, ask) {
    this.ask = ask;
    this.found = /** @type {Bench | null} */ (null);
    this.now = /** @type {Weighed | null} */ (null); // how it is weighed
    this.turn = 0;
    this.before = /** @type {number[] | null} */ (null); // rank of each sample that a change is told against
    this.rows = FIRST_ROWS;
    this.line = el("p.bench-state.muted", { role: "status" });
    this.fill = el("div.fill");
    this.progress = el("div.progress", { hidden: true }, this.fill);
    this.problems = el("ul.problems", { role: "alert" });
    this.status = el("section.panel.bench-status", this.line, this.progress, this.problems);
    this.empty = el("p.muted.bench-empty", "Press Score: it scores your texts, and 128 that the untrained model of the "
      + "Train page writes. Then change a weight, and the ranking follows at once. If a text that you would not want "
      + "comes out on top, training would find it too.");
    this.missing = el("p.bench-missing", { role: "status", hidden: true });
    this.outcome = el("p.outcome", { role: "status" });
    this.terms = el("div");
    this.words = el("p.bench-words", { role: "status" });
    this.read = el("div");
    this.texts = el("section.panel", this.outcome, this.missing, this.words, this.read, this.terms);
    this.best = el("div");
    this.outlooks = el("section.panel.bench-outlooks", el("h2", "What the best policy would do"), this.best);
    this.plot = el("div.bench-plot");
    this.plotNote = el("p.muted.small-text");
    this.places = el("section.panel", el("h2", "Compared with texts of the untrained model"), this.plotNote, this.plot);
    this.makeRanks();
    let wide = 0;
    new ResizeObserver(() => {
      if (this.plot.clientWidth === wide) return;
      wide = this.plot.clientWidth;
      this.drawPlot?.();
    }).observe(this.plot);
    element.append(el("div.bench-view", this.status, this.empty, this.texts, this.outlooks, this.places, this.ranks));
  }

  /** The texts that the page begins with, scored earlier: of the rewards that it begins with. */
  async showExample() {
    const { href } = new URL("example.json", import.meta.url);
    const example = /** @type {Partial<Bench>} */ (await getJson(href).catch(() => ({})));
    if (example.rewards && !this.found && alike(example.rewards, lists.workbench.value))
      this.take(/** @type {Bench} */ (example));
  }

  makeRanks() {
    this.moved = el("p.small-text.bench-moved", { role: "status" });
    this.more = buttonOf("quiet-button", { onclick: () => {
      this.rows = this.rows === FIRST_ROWS ? MANY_ROWS : FIRST_ROWS;
      this.show();
    } });
    this.ranked = el("div");
    this.ranks = el("section.panel",
      el("div.bar", el("h2", "What these rewards would teach"), this.moved,
        el("span.grow"), this.more), this.ranked);
  }

  /** A new state from the server; what was shown stays while it works. */
  take(/** @type {Bench | null} */ value) {
    const { state = "empty", phase = "", done = 0, of = 1, problems = [] } = value ?? {};
    const asking = state === "asking";
    const far = done && !phase.includes("% done") ? `: ${done} of ${of}` : "";
    setText(this.line, asking ? `${capital(phase)}${far} \u2026` : "");
    this.progress.hidden = !asking;
    this.fill.style.transform = `scaleX(${asking ? done / Math.max(of, 1) : 0})`;
    this.problems.replaceChildren(...problems.map((text) => el("li", signOf("! "), withCode(text))));
    this.status.hidden = !asking && !problems.length;
    // below the form, on a narrow screen
    if (!this.status.hidden && this.status.getBoundingClientRect().top > innerHeight - 80)
      this.status.scrollIntoView({ block: "start" });
    if (state === "done") {
      this.found = value;
      this.before = this.now = null;
    }
    this.show();
    this.weigh(lists.workbench.value);
  }

  /** What was shown stays until the answer has come. */
  async weigh(/** @type {Wire.Reward[]} */ rewards) {
    if (!this.found) return;
    this.turn += 1;
    const mine = this.turn;
    const { names, labels, rewards: measured, texts, reference } = this.found;
    const now = await answerOf(() => this.ask({ found: { names, labels, rewards: measured, texts, reference },
      rewards }));
    if (mine !== this.turn) return;
    if (now.error) return setWords(this.moved, now.error);
    this.now = now;
    this.show();
  }

  show() {
    const { found, now } = this;
    this.empty.hidden = Boolean(found) || !this.status.hidden;
    this.texts.hidden = !found;
    for (const part of [this.places, this.ranks]) part.hidden = !now?.terms.length;
    this.outlooks.hidden = !found?.outlooks.length;
    if (!found || !now) return;
    this.before ??= now.samples.map(({ rank }) => rank);
    this.showMissing(now);
    setText(this.outcome, now.terms.length ? outcomeOf(now, found) : "");
    showParts(this.terms, now.texts.length && now.terms.length ? termsOf(now, found.sides) : []);
    this.showPlot(now);
    this.showRanks(now);
    showParts(this.best, outlooksOf(found, lists.workbench.value));
    setText(this.words, wordsIn(found));
    const { texts = [] } = found.readings ?? {};
    showParts(this.read, texts.map((one, at) => el("div.term", `${found.sides[at].side}: `, readLine(one))));
  }

  showMissing(/** @type {Weighed} */ { missing, terms }) {
    this.missing.hidden = !missing.length && terms.length > 0;
    setText(this.missing, terms.length ? `Not measured yet: ${missing.join(", ")}. Press Score to include it.`
      : "None of these rewards has been measured yet. Press Score.");
  }

  showPlot(/** @type {Weighed} */ { samples, texts }) {
    const { sides, about } = this.found;
    const marks = texts.map(({ score, rank }, index) => ({ side: sides[index].side, score, rank }));
    setText(this.plotNote, `Scores of ${samples.length} texts by ${about.model} on ${about.prompts}, as chosen on `
      + `the Train page.${marks.map(({ side, rank }) =>
        ` ${side} would rank ${rank} of ${samples.length + 1}.`).join("")}`);
    const scores = samples.map(({ score }) => score);
    this.drawPlot = () => this.plot.replaceChildren(histogram(scores, marks, this.plot.clientWidth));
    this.drawPlot();
  }

  showRanks(/** @type {Weighed} */ now) {
    const { samples, order } = now;
    const moves = samples.map(({ rank }, index) => this.before[index] - rank);
    const moved = moves.filter((by) => by !== 0).length;
    setText(this.moved, moved ? `${moved} of ${samples.length} texts changed their rank.`
      : "Change a weight and see what moves.");
    setText(this.more, this.rows === FIRST_ROWS ? `Show ${MANY_ROWS} each` : `Show ${FIRST_ROWS} each`);
    const ranking = (/** @type {string} */ title, /** @type {number[]} */ indices) => {
      const table = tableOf("bench-ranks", [headOf("Rank", "figure"), "Moved", "Text",
        headOf("Adds, sd", "figure"), headOf("Score, sd", "figure")],
      indices.map((index) => rankRow(this.found.samples[index], samples[index], moves[index], now.terms,
        this.found.readings?.samples[index] ?? null)));
      table.prepend(el("caption", title));
      return table;
    };
    showParts(this.ranked, [ranking("Rewarded most", order.slice(0, this.rows)),
      ranking("Rewarded least", order.slice(-this.rows))]);
  }
}

/** Of the words that are paid, how many samples use them. @param {Bench} found */
function wordsIn({ rewards, samples }) {
  const words = rewards.filter(({ kind }) => kind === "keyword").flatMap(({ words: list }) =>
    String(list).split(",").map((word) => word.trim()).filter(Boolean));
  return words.length ? wordUse(words, samples.map(({ completion }) => completion)) : "";
}

/** What the server worked out of the samples. @param {Bench} found @param {Wire.Reward[]} rewards */
function outlooksOf({ outlooks, rewards: scored }, rewards) {
  const same = JSON.stringify(rewards) === JSON.stringify(scored);
  return [...outlooks.map((text) => el("p", text)), el("p.muted.small-text", "The policy with the highest score "
    + "minus leash cost, computed from these texts as if all answered one prompt, with the rewards "
    + `${same ? "as they are" : "as they were when you pressed Score; press it again"}.`)];
}

/** What the typed texts earn, in a sentence. @param {Weighed} now @param {Bench} found */
function outcomeOf({ texts, samples, duel }, { sides, about }) {
  const all = `${samples.length} texts of the untrained ${about.model}`;
  if (!texts.length) return `${all}, ranked by these rewards.`;
  const [{ score, better }] = texts;
  if (texts.length === 1)
    return `${sides[0].side} scores ${signed(score)} sd, higher than ${percent(better)} of ${all}.`;
  if (!duel) return "A and B score the same.";
  const [first, ...rest] = duel.terms;
  const against = rest.filter(({ by }) => by < -0.005).map(({ label, by }) => `${label} is against (${signed(by)})`);
  const through = `${rest.length ? "mostly " : ""}through ${first.label} (${signed(first.by)})`;
  return `${[`${sides[duel.winner].side} wins by ${rounded(duel.by)} sd, ${through}`, ...against].join("; ")}.`;
}

/** What each reward says of each text, and the note below. @param {Weighed} now @param {Bench["sides"]} sides */
function termsOf({ texts, terms, sd }, sides) {
  /** @param {string} label @param {Page.Child[]} parts */
  const cell = (label, ...parts) => el("td.figure", { "data-label": label }, parts);
  const none = () => el("span.muted", "no opinion");
  /** @param {(text: Weighed["texts"][number], side: string) => Page.Child[]} of */
  const each = (of) => texts.flatMap((text, place) => of(text, sides[place].side));
  const table = tableOf("bench-terms", ["Reward", headOf("Weight", "figure"), ...sides.flatMap(({ side }) =>
    [headOf(`${side}: value`, "figure"), headOf(`${side}: adds`, "figure")])],
  terms.map((term, index) => [el("th", { scope: "row" }, term.label, treatment(term)),
    cell("Weight", `\u00d7 ${number(term.weight)}`), each((text, side) => {
      const raw = text.raw[index];
      return [cell(`${side}: value`, raw === null ? none()
        : [`${rounded(raw)} `, el("span.muted.nowrap", `(${signed(text.z[index])} sd)`)]),
      cell(`${side}: adds`, bar(text.adds[index]), el("strong", signed(text.adds[index])))];
    })]));
  table.append(el("tfoot", el("tr", el("th", { scope: "row" }, "Score"), figureOf(), each((text, side) => [
    cell(`${side}: sum`, text.total === null ? none() : rounded(text.total)),
    cell(`${side}: score`, el("strong.score", `${signed(text.score)} sd`))]))));
  return [table, el("p.muted.small-text", "Value: the reward's own number, and how many standard "
    + "deviations that is above the untrained model's average. Adds: what it adds to the score after scale, cap and "
    + `weight, in sd of the score. 1 sd is ${number(sd)} in units of the weighted sum.`)];
}

function treatment(/** @type {Wire.WeighedTerm} */ { normalise, cap }) {
  const told = [normalise ? "in sd" : null, cap ? `cap \u00b1${number(cap)}` : null].filter(Boolean).join(", ");
  return told ? el("span.muted", ` ${told}`) : null;
}

/**
 * @param {Wire.DrawnSample} text @param {Wire.WeighedSample} weighed
 * @param {number} move @param {Weighed["terms"]} terms @param {Wire.Reading | null} read
 */
function rankRow({ prompt, completion }, { rank, adds, score }, move, terms, read) {
  return [el("td.figure.rank", { "data-label": "Rank" }, String(rank)),
    el("td.move", { "data-label": "Moved" }, moveInWords(move)),
    el("td.text", el("p.output", el("span.muted", prompt), completion), readLine(read)),
    el("td.figure.parts", { "data-label": "Adds" }, terms.map(({ label }, term) =>
      el("div.term", `${label} ${signed(adds[term])}`))),
    el("td.figure", { "data-label": "Score" }, el("strong.score", signed(score)))];
}

function moveInWords(/** @type {number} */ by) {
  if (!by) return el("span.muted", "\u2013");
  return el("span", { class: `term ${by > 0 ? "up" : "down"} nowrap` },
    by > 0 ? `\u2191 up ${by}` : `\u2193 down ${-by}`);
}

/** A small bar to the right for what adds and to the left for what takes away. */
function bar(/** @type {number} */ value) {
  return el("span", { class: `part-bar ${value < 0 ? "minus" : "plus"}`, "aria-hidden": "true",
    style: `--size: ${Math.min(Math.abs(value) / 3, 1) * 100}%` });
}

/** @param {number[]} scores @param {Placed[]} marks @param {number} room */
function histogram(scores, marks, room) {
  if (!scores.length) return el("p.muted", "There are no texts to compare with.");
  const { edges, counts: [counts] } = binned([scores], BINS);
  const width = Math.min(Math.max(room, 260), 1000);
  const points = [edges[0], edges.at(-1), ...marks.map(({ score }) => score)];
  const [low, high] = [Math.min(...points), Math.max(...points)];
  const pad = (high - low) * 0.03 || 0.5;
  const told = marks.map(({ side, score }) => `${side} at ${signed(score)}`).join(", ");
  const drawn = frame({ kind: "", size: { ...PLOT, width }, from: low - pad, to: high + pad, low: 0,
    high: Math.max(...counts), xTicks: roundTicks(low - pad, high + pad, Math.max(width / 120, 3)), tellX: rounded,
    xName: "score, sd above the untrained average", label: `Histogram of scores from ${rounded(edges[0])} to ${
      rounded(edges.at(-1))} sd${told ? `; ${told}` : ""}` });
  const { node, x, y, add } = drawn;
  Object.entries({ width, height: PLOT.height }).forEach(([name, value]) => node.setAttribute(name, String(value)));
  bars(drawn, edges, counts, () => "bin");
  add("line.floor", { x1: 0, x2: width, y1: y(0), y2: y(0) });
  const close = marks.length === 2 && Math.abs(x(marks[0].score) - x(marks[1].score)) < 26;
  const first = close && marks[0].score > marks[1].score ? 1 : 0; // which of two letters stands at the left
  marks.forEach(({ side, score }, index) => {
    const shift = close ? (index === first ? -10 : 10) : 0;
    add("line", { class: `at side-${side}`, x1: x(score), x2: x(score), y1: 18, y2: y(0) });
    add("text", { class: `side side-${side}`, x: x(score) + shift, y: 13, "text-anchor": "middle" }, side);
  });
  return node;
}
