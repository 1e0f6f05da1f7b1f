// The right side of the reward workbench: what the typed texts earn and why, where they stand among texts of the
// untrained model, and which of those the rewards would push. Follows the reward picker: with a changed weight the
// server weighs anew what was measured (ui/rewards/weighing_part.py).

import { binned, roundTicks } from "../charts/arithmetic.js";
import { bars, frame } from "../charts/small_plots.js";
import { buttonOf, el, figureOf, headOf, signOf, tableOf, withCode } from "../core/dom.js";
import { capital, number, percent, rounded, signed } from "../core/format.js";
import { answerOf, getJson } from "../core/server.js";
import { part } from "../core/part.js";
import { alike, effect, signal } from "../core/signals.js";
import { progressBar, readLine, wordUse } from "../core/texts.js";
import { lists } from "./lists.js";
import { whenOpened } from "./tabs.js";

const FIRST_ROWS = 5;
const MANY_ROWS = 20;
const BINS = 24;
const EMPTY = "Press Score: it scores your texts, and 128 that the untrained model of the Train page writes. Then "
  + "change a weight, and the ranking follows at once. If a text that you would not want comes out on top, training "
  + "would find it too.";
const PLOT = { height: 170, left: 0, right: 0, top: 34, bottom: 30 };

/**
 * @typedef {{ value: Bench | null }} Props
 * @typedef {Wire.Bench} Bench
 * @typedef {Wire.Weighed} Weighed
 * @typedef {{ found: Bench, now: Weighed, before: number[] }} Shown what was measured, how it is weighed, and the rank
 *   of each sample that a change is told against
 * @typedef {{ side: string, score: number, rank: number }} Placed where a typed text stands
 */

/** @param {Element} element @param {Props} props @param {Page.Tools} page */
export const mount = (element, props, page) => whenOpened("try", () => draw(element, props, page));

/** @param {Element} element @param {Props} props @param {Page.Tools} page */
function draw(element, props, { watch, server }) {
  const asked = signal(props.value); // what has become of the last press on Score
  const measured = signal(/** @type {Bench | null} */ (null));
  const shown = signal(/** @type {Shown | null} */ (null));
  const problem = signal("");
  const status = part(el("section.panel.bench-status"), () => statusOf(asked.value));
  element.append(el("div.bench-view", status,
    part(el("div.bench-empty"), () => (measured.value || statusOf(asked.value) ? null : [el("p.muted", EMPTY)])),
    part(el("section.panel"), () => shown.value && textsOf(shown.value)),
    part(el("section.panel.bench-outlooks"), () => shown.value && outlooksOf(shown.value, lists.workbench.value)),
    places(shown), ranks(shown, problem)));
  watch("value", () => {
    asked.value = props.value;
    if (props.value?.state === "done") measured.value = props.value;
    requestAnimationFrame(() => { // below the form, on a narrow screen
      if (!status.hidden && status.getBoundingClientRect().top > innerHeight - 80)
        status.scrollIntoView({ block: "start" });
    });
  });
  if ((props.value?.state ?? "empty") === "empty") showExample(measured);
  let turn = 0;
  /** What was shown stays until the answer has come. @param {Bench} found @param {Wire.Reward[]} rewards */
  const weigh = async (found, rewards) => {
    const mine = turn += 1;
    const { names, labels, rewards: scored, texts, reference, ensemble } = found;
    const now = await answerOf(() => server.weigh_rewards({ rewards,
      found: { names, labels, rewards: scored, texts, reference, ensemble } }));
    if (mine !== turn) return;
    problem.value = now.error ?? "";
    if (now.error) return;
    const { value: last } = shown;
    shown.value = { found, now, before: last?.found === found ? last.before : now.samples.map(({ rank }) => rank) };
  };
  effect(() => {
    if (measured.value) weigh(measured.value, lists.workbench.value);
  });
}

/** The texts that the page begins with, scored earlier: of the rewards that it begins with.
 * @param {{ value: Bench | null }} measured */
async function showExample(measured) {
  const { href } = new URL("example.json", import.meta.url);
  const example = /** @type {Partial<Bench>} */ (await getJson(href).catch(() => ({})));
  if (example.rewards && !measured.value && alike(example.rewards, lists.workbench.value))
    measured.value = /** @type {Bench} */ (example);
}

/** How far it is, or what is wrong; null where there is nothing to say. @param {Bench | null} asked */
function statusOf(asked) {
  const { state = "empty", phase = "", done = 0, of = 1, problems = [] } = asked ?? {};
  const asking = state === "asking";
  if (!asking && !problems.length) return null;
  const far = done && !phase.includes("% done") ? `: ${done} of ${of}` : "";
  return [el("p.bench-state.muted", { role: "status" }, asking ? `${capital(phase)}${far} \u2026` : ""),
    asking ? progressBar("Texts scored", done, Math.max(of, 1)) : null,
    el("ul.problems", { role: "alert" }, problems.map((text) => el("li", signOf("! "), withCode(text))))];
}

/** What the typed texts earn and why. @param {Shown} shown */
function textsOf({ found, now }) {
  const { missing, terms, texts } = now;
  const lacking = !terms.length ? "None of these rewards has been measured yet. Press Score."
    : missing.length ? `Not measured yet: ${missing.join(", ")}. Press Score to include it.` : "";
  return [el("p.outcome", { role: "status" }, terms.length ? outcomeOf(now, found) : ""),
    lacking ? el("p.bench-missing", { role: "status" }, lacking) : null,
    el("p.bench-words", { role: "status" }, wordsIn(found)),
    found.readings ? el("div", found.readings.texts.map((reading, index) =>
      el("div.term", `${found.sides[index].side}: `, readLine(reading)))) : null,
    texts.length && terms.length ? el("div", termsOf(now, found)) : null];
}

/** Where they stand among the texts of the untrained model. @param {{ value: Shown | null }} shown */
function places(shown) {
  const plot = el("div.bench-plot");
  const width = signal(0);
  new ResizeObserver(() => {
    width.value = plot.clientWidth;
  }).observe(plot);
  return part(el("section.panel"), () => {
    const { found, now } = shown.value ?? {};
    if (!now?.terms.length) return null;
    const { samples, texts } = now;
    const marks = texts.map(({ score, rank }, index) => ({ side: found.sides[index].side, score, rank }));
    plot.replaceChildren(histogram(samples.map(({ score }) => score), marks, width.value));
    return [el("h2", "Compared with texts of the untrained model"),
      el("p.muted.small-text", `Scores of ${samples.length} texts by ${found.about.model} on ${found.about.prompts}, `
        + `as chosen on the Train page.${marks.map(({ side, rank }) =>
          ` ${side} would rank ${rank} of ${samples.length + 1}.`).join("")}`), plot];
  });
}

/** Which texts these rewards would push. @param {{ value: Shown | null }} shown @param {{ value: string }} problem */
function ranks(shown, problem) {
  const rows = signal(FIRST_ROWS);
  return part(el("section.panel"), () => {
    const { found, now, before } = shown.value ?? {};
    if (!now?.terms.length) return null;
    const { samples, order, terms } = now;
    const moves = samples.map(({ rank }, index) => before[index] - rank);
    const moved = moves.filter((by) => by !== 0).length;
    const other = rows.value === FIRST_ROWS ? MANY_ROWS : FIRST_ROWS;
    const ranking = (/** @type {string} */ title, /** @type {number[]} */ indices) => {
      const table = tableOf("bench-ranks", [headOf("Rank", "figure"), "Moved", "Text",
        headOf("Adds, sd", "figure"), headOf("Score, sd", "figure")],
      indices.map((index) => rankRow(found.samples[index], samples[index], moves[index], terms,
        found.readings?.samples[index] ?? null)));
      table.prepend(el("caption", title));
      return table;
    };
    return [el("div.bar", el("h2", "What these rewards would teach"), el("p.small-text.bench-moved", { role: "status" },
      problem.value || (moved ? `${moved} of ${samples.length} texts changed their rank.`
        : "Change a weight and see what moves.")), el("span.grow"),
    buttonOf("quiet-button", { onclick: () => { rows.value = other; } }, `Show ${other} each`)),
    el("div", ranking("Rewarded most", order.slice(0, rows.value)),
      ranking("Rewarded least", order.slice(-rows.value)))];
  });
}

/** Of the words that are paid, how many samples use them. @param {Bench} found */
function wordsIn({ rewards, samples }) {
  const words = rewards.filter(({ kind }) => kind === "keyword").flatMap(({ words: list }) =>
    String(list).split(",").map((word) => word.trim()).filter(Boolean));
  return words.length ? wordUse(words, samples.map(({ completion }) => completion)) : "";
}

/** What the server worked out of the samples. @param {Shown} shown @param {Wire.Reward[]} rewards */
function outlooksOf({ found: { outlooks, rewards: scored } }, rewards) {
  if (!outlooks.length) return null;
  const same = alike(rewards, scored);
  return [el("h2", "What the best policy would do"), ...outlooks.map((text) => el("p", text)),
    el("p.muted.small-text", "The policy with the highest score minus leash cost, computed from these texts as if all "
      + `answered one prompt, with the rewards ${same ? "as they are"
        : "as they were when you pressed Score; press it again"}.`)];
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

const COMBINED = { mean: "their mean", min: "the lowest of them", cautious: "their mean minus caution times their sd" };

/** What each reward says of each text, and the note below. @param {Weighed} now @param {Bench} found */
function termsOf({ texts, terms, sd }, { sides, ensemble }) {
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
  const how = ensemble && ensemble.combine !== "sum" ? COMBINED[ensemble.combine] : "";
  const apart = how ? el("tr", el("th", { scope: "row" }, "Disagreement"), figureOf(), each((text, side) => [
    figureOf(), cell(`${side}: disagreement`, text.disagreement === null ? none() : `${rounded(text.disagreement)} sd`),
  ])) : null;
  table.append(el("tfoot", apart, el("tr", el("th", { scope: "row" }, "Score"), figureOf(), each((text, side) => [
    cell(`${side}: sum`, text.total === null ? none() : rounded(text.total)),
    cell(`${side}: score`, el("strong.score", `${signed(text.score)} sd`))]))));
  const ofAll = el("p.small-text", `The learned rewards are an ensemble (see the Train page): ${how} is paid. `
    + "Disagreement: how far apart they are on a text, in sd of the score.");
  return [table, ...how ? [ofAll] : [], el("p.muted.small-text", "Value: the reward's own number, and how many "
    + "standard deviations that is above the untrained model's average. Adds: what it adds to the score after scale, "
    + `cap and weight, in sd of the score. 1 sd is ${number(sd)} in units of the weighted sum.`)];
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
