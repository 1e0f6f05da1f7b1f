// The same texts under six formulas: the texts of a prompt beside each other, one of them under every formula, token by
// token, and one formula whose symbols are linked to what they are for the token in hand. Part of slow motion.

import { buttonOf, el, helpOf, menuOf, runTitle, setHidden, setText, showParts, tableOf } from "../core/dom.js";
import { number, signed } from "../core/format.js";
import { alike, effect, signal } from "../core/signals.js";
import { formulaOf, groupWords, meaningsOf, NAMES, pushInWords, remarkOf, signedNumber } from "./formula_words.js";
import { readable } from "./measures.js";
import { Tokens } from "./tokens.js";

const GLOSS = "The texts, scores and ratios of this update, as each formula would use them, with beta and clip range "
  + "of the run. Computed by the functions that train; ratios are those of the last epoch.";
const LEGEND = "The stronger the colour, the stronger the push, beside the strongest one of the same formula.";
const OLD = "This update was recorded before texts were kept for it. Your own runs keep them.";
const EMPTY = "(ended at once, without a word)";

/**
 * @typedef {Wire.TracedFormula} Formula
 * @typedef {{ group: number, text: number, token: number, name: string, symbol: string }} Place
 * @typedef {{ root: HTMLElement, tokens: Tokens }} Row
 */

export class Formulas {
  constructor() {
    this.trace = signal(/** @type {Wire.Trace | null} */ (null));
    this.place = signal({ group: 0, text: 0, token: 0, name: "", symbol: "push" }, alike);
    this.unit = "sd";
    this.rows = /** @type {Map<string, Row>} */ (new Map());
    this.title = el("h3", { tabindex: "-1" }, "The same texts under six formulas");
    this.why = el("p.muted");
    this.bar = el("div.slow-bar");
    this.group = el("div");
    this.list = el("div.formula-rows", { role: "group", "aria-label": "One text under each formula" });
    this.box = el("div.formula-box");
    for (const kind of ["mouseover", "focusin", "click"])
      this.box.addEventListener(kind, ({ target }) => this.linked(/** @type {HTMLElement} */ (target)));
    this.body = el("div.slow-body", this.bar, this.group, legend(), this.list, this.box);
    this.root = el("section.formulas", { "data-key": "formulas", "aria-label": "The same texts under six formulas" },
      el("div.chart-bar", this.title, helpOf("this comparison", GLOSS)),
      this.why, this.body);
    effect(() => this.draw(this.trace.value, this.place.value));
  }

  /** For who comes from elsewhere. */
  focus() {
    this.root.scrollIntoView({ block: "start" });
    this.title.focus({ preventScroll: true });
  }

  /** @param {Wire.Trace} trace @param {string} unit of the score */
  show(trace, unit) {
    this.unit = unit;
    const other = trace.update !== this.trace.value?.update || trace.texts.length !== this.trace.value.texts.length;
    if (other) this.place.value = { ...this.place.value, ...startOf(trace) };
    this.trace.value = trace;
  }

  /** A symbol, in the formula or in the table, is looked at. */
  linked(/** @type {HTMLElement} */ target) {
    const { symbol } = /** @type {HTMLElement} */ (target.closest("[data-symbol]"))?.dataset ?? {};
    if (symbol) this.go({ symbol });
  }

  go(/** @type {Partial<Place>} */ place) {
    this.place.value = { ...this.place.value, ...place };
  }

  /** @param {Wire.Trace | null} trace @param {Place} place */
  draw(trace, place) {
    if (!trace) return;
    const none = !trace.texts.length;
    setText(this.why, none ? trace.no_what_if || OLD : "");
    setHidden(this.body, none, runTitle());
    if (none) return;
    const chosen = trace.formulas.find(({ name }) => name === place.name) ?? trace.formulas[0];
    showParts(this.bar, [this.prompts(trace, place)].filter(Boolean), runTitle());
    showParts(this.group, this.groupParts(trace, place, chosen), runTitle());
    showParts(this.list, trace.formulas.map((formula) => this.row(formula, trace, place, chosen)));
    showParts(this.box, this.boxParts(trace, place, chosen), runTitle());
  }

  /** Which prompt. @param {Wire.Trace} trace @param {Place} place */
  prompts({ groups }, place) {
    if (groups.length < 2) return null;
    const menu = menuOf(groups.map(({ prompt, mean, sd }, index) =>
      [index, `${index + 1}: ${prompt.slice(-60)} (mean ${signed(mean)}, spread ${number(sd)})`]), { value: place.group,
      onchange: ({ target }) => {
        const group = Number(target.value);
        this.go({ group, text: groups[group].places[0], token: 0 });
      } });
    return el("label.inline", "Prompt", menu);
  }

  /** The texts of the prompt in a column each below the other, as the chosen formula pushes them.
   * @param {Wire.Trace} trace @param {Place} place @param {Formula} chosen */
  groupParts({ groups, texts, formulas }, place, chosen) {
    const group = groups[place.group];
    const formula = chosen.why_none ? formulas.find(({ why_none: why }) => !why) : chosen;
    const title = formula.name === "own" ? "this run" : NAMES[formula.name][0];
    const most = strongest(formula);
    const rows = group.places.map((index, order) => {
      const { prompt, pieces, score, ended } = texts[index];
      const pushed = formula.texts[index];
      const answer = pieces.map((piece, t) => pushedToken(piece, pushed, t, most));
      return el("tr", { class: index === place.text ? "now" : null },
        el("td", buttonOf("quiet-button", { "aria-pressed": String(index === place.text),
          onclick: () => this.go({ text: index, token: 0 }) }, `Text ${order + 1}`)),
        el("td.figure", { "data-label": `Score, ${this.unit}` }, signed(score)),
        el("td.figure", { "data-label": "Advantage" }, pushed.left_out ? "left out" : advantageOf(pushed)),
        el("td.words", group.prompt ? null : el("span.muted", `${prompt.slice(-60)} \u2192 `),
          el("span.token-text", answer.length ? answer : EMPTY), ended ? null : el("span.muted", " (cut off)")));
    });
    return [el("p.slow-words", { "data-key": "words" }, groupWords(group, this.unit, formula.settings)),
      group.prompt ? el("p.output.slow-prompt", { "data-key": "prompt" }, el("span", group.prompt)) : null,
      el("div.scrolled.formula-group", { "data-key": "group", tabindex: "0", role: "region",
        "aria-label": "Texts of this prompt" },
      tableOf("", ["Text", el("th.figure", { scope: "col" }, `Score, ${this.unit}`),
        el("th.figure", { scope: "col" }, `Advantage, ${title}`),
        el("th", { scope: "col" }, `What it wrote, as ${title} pushes it`)], rows))].filter(Boolean);
  }

  /** @param {Formula} formula @param {Wire.Trace} trace @param {Place} place @param {Formula} chosen */
  row(formula, { texts }, place, chosen) {
    const { name } = formula;
    if (!this.rows.has(name)) {
      const tokens = new Tokens({ class: "token-text", role: "listbox",
        "aria-label": `${NAMES[name][0]}: the arrow keys choose a token` }, (token) => this.go({ token, name }));
      this.rows.set(name, { root: el("div.formula-row", { "data-key": name }), tokens });
    }
    const { root, tokens } = this.rows.get(name);
    const pushed = formula.texts[place.text];
    const isChosen = formula === chosen;
    const button = buttonOf("quiet-button formula-name", { "aria-pressed": String(isChosen),
      onclick: () => this.go({ name }) }, NAMES[name][0], formula.is_own && name !== "own" ? " (this run)" : "");
    root.classList.toggle("now", isChosen);
    const { pieces } = texts[place.text];
    if (pushed?.pushes.length) {
      const most = strongest(formula);
      tokens.show(pieces.map((piece, t) => pushedToken(piece, pushed, t, most, place.token)), place.token);
    }
    showParts(root, [button, pushed?.pushes.length ? tokens.root : el("p.muted", formula.why_none || EMPTY),
      el("span.figure.muted", pushed?.left_out ? "left out"
        : pushed?.pushes.length ? `push ${signedNumber(pushed.pushes[place.token])}` : "")]);
    return root;
  }

  /** The chosen formula, and what its symbols are for the token. @param {Wire.Trace} trace @param {Place} place
   * @param {Formula} chosen */
  boxParts({ texts, settings }, place, chosen) {
    const [title, source] = NAMES[chosen.name];
    const heading = el("h4", { "data-key": "heading" }, title, el("span.muted", ` ${source}`));
    const pushed = chosen.texts[place.text];
    if (!pushed?.pushes.length) return [heading, el("p.muted", chosen.why_none || EMPTY)];
    const token = readable(texts[place.text].pieces[place.token]);
    /** @param {import("./formula_words.js").Part} piece */
    const part = (piece) => {
      if (typeof piece === "string") return piece;
      if (piece.strong) return el("strong", piece.strong);
      return buttonOf(`formula-symbol${piece.symbol === place.symbol ? " now" : ""}`,
        { "aria-pressed": String(piece.symbol === place.symbol), "data-symbol": piece.symbol }, piece.text);
    };
    return [heading,
      el("p.slow-words", { "data-key": "remark" }, remarkOf(chosen, settings.baseline === "value")),
      el("div.slow-formula", { "data-key": "formula" },
        formulaOf(chosen, pushed, place.token).map((line) => el("p", line.map(part)))),
      el("div.scrolled", { "data-key": "symbols" }, tableOf("formula-symbols",
        ["Symbol", el("th.figure", { scope: "col" }, `For \u201c${token}\u201d`), "What it is"],
        meaningsOf(chosen, pushed, place.token).map(({ key, sign, value, words }) =>
          el("tr", { class: key === place.symbol ? "now" : null, "data-symbol": key },
            el("th", { scope: "row" }, sign), el("td.figure", value), el("td.words", words)))))];
  }
}

/** Where to begin: with the prompt whose texts differ most, at its best text. @param {Wire.Trace} trace */
function startOf({ groups, texts, formulas }) {
  const widest = groups.reduce((most, { sd }, index) => (sd > (groups[most].sd ?? 0) ? index : most), 0);
  const places = groups[widest]?.places ?? [0];
  const text = places.reduce((best, place) => (texts[place].score > texts[best].score ? place : best), places[0]);
  return { group: widest, text, token: 0, name: formulas.find(({ is_own: own }) => own)?.name ?? "" };
}

/** One number where every token has the same, else from the least to the most. @param {Wire.FormulaText} pushed */
function advantageOf({ advantages }) {
  if (!advantages.length) return "";
  const [low, high] = [Math.min(...advantages), Math.max(...advantages)];
  return number(low) === number(high) ? signedNumber(low) : `${signedNumber(low)} to ${signedNumber(high)}`;
}

/** The strongest push of a formula on any text that is shown. */
function strongest(/** @type {Formula} */ { texts }) {
  return Math.max(1e-12, ...texts.flatMap(({ pushes }) => pushes.map(Math.abs)));
}

/** A token, coloured and marked by how it is pushed; one in a row of which one is chosen.
 * @param {string} piece @param {Wire.FormulaText} pushed @param {number} t @param {number} most
 * @param {number | null} chosen */
function pushedToken(piece, pushed, t, most, chosen = null) {
  const { side, sign, words } = pushInWords(pushed, t);
  const share = Math.round(100 * Math.abs(pushed.pushes[t]) / most);
  const option = chosen === null ? {} : { role: "option", "aria-selected": String(t === chosen),
    "aria-label": `${readable(piece)}, ${words}` };
  return el("span", { class: `token ${side}${pushed.clipped[t] ? " cut" : ""}`, title: words,
    style: `--share: ${share}`, ...option }, piece.replaceAll("\n", "\u21b5") || " ",
  sign ? el("sup", { "aria-hidden": "true" }, sign) : null);
}

/** What the marks mean. */
function legend() {
  const mark = (/** @type {string} */ kind, /** @type {string} */ sign, /** @type {string} */ words) =>
    el("span.formula-mark", el("span", { class: `token ${kind}`, style: "--share: 60" }, "word", el("sup", sign)),
      ` ${words}`);
  return el("p.token-text.formula-legend", mark("above", "+", "made likelier"), mark("below", "\u2212",
    "made less likely"), mark("none cut", "\u00d7", "stopped by the clip"), el("span.muted", LEGEND));
}
