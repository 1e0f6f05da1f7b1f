// One answer under the microscope, in a dialog: its tokens coloured by what a switch says; for the chosen one, what
// reference and policy find likeliest there, side by side; and a slider over the looks of the run. Opened beside every
// answer that the page shows.

import { buttonOf, el, figureOf, headOf, setText, setWords, showParts, tableOf } from "../core/dom.js";
import { led, NOTHING, opened } from "../core/opened.js";
import { getJson, runPath } from "../core/server.js";
import { effect, untracked } from "../core/signals.js";
import { live } from "../core/store.js";
import { number, rounded, signed } from "../core/format.js";
import { facts, promptText } from "../core/texts.js";
import { changes, MEASURES, NO_RATIO, rangeOf, readable, shadeOf, sum, inWords } from "./measures.js";
import { colouredTokens, Tokens, tokenTable } from "./tokens.js";

/**
 * The button beside an answer to a fixed prompt. `answer()` says which it is.
 * @typedef {{ run: string } & Omit<Wire.AskedAnswer, "seed"> & { seed?: number }} Answer
 * @param {string} whose @param {string} prompt @param {() => Answer} answer
 */
export function tokensButton(whose, prompt, answer) {
  return buttonOf("quiet-button tokens-button", { "aria-label": `Tokens, ${whose}`, "aria-haspopup": "dialog",
    title: "Open this answer token by token", onclick: () => new Microscope(whose, prompt, answer()).open() },
  "tokens");
}

/** @type {Microscope | null} */
let wasLed = null; // here by the host of the class, who also takes it away

effect(() => {
  const { update, text } = led.value;
  wasLed?.dialog.close();
  wasLed = null;
  const prompt = untracked(() => (text === null ? null : live.prompts.find(({ id }) => id === text)));
  if (!prompt) return;
  const whose = update ? `the host's choice, after update ${update}` : "the host's choice, before training";
  wasLed = new Microscope(whose, prompt.text, { run: untracked(() => live.runId), promptId: text, update });
  wasLed.open();
});

/** @typedef {"looks" | "absent" | "unit" | "index" | "place" | "measure" | "asTable"} Shown what can be set */

class Microscope {
  /** @param {string} whose @param {string} prompt @param {Answer} answer */
  constructor(whose, prompt, answer) {
    this.prompt = promptText(prompt);
    this.answer = answer;
    this.looks = /** @type {Wire.TokensLook[]} */ ([]);
    this.absent = /** @type {Wire.Absent} */ ({}); // why what is not there
    this.unit = ""; // of the score
    this.index = 0; // which look
    this.place = 0; // which token
    this.measure = MEASURES[0];
    this.asTable = false;
    this.tokens = new Tokens({ class: "token-text", role: "listbox", "aria-orientation": "horizontal",
      "aria-label": "Tokens of this answer" }, (place) => this.set({ place }));
    this.note = el("p.microscope-note", { role: "status" });
    this.body = el("div.microscope-body", { hidden: true });
    this.dialog = el("dialog.confirm.microscope",
      { "aria-label": `Tokens, ${whose}`, onclose: () => {
        this.dialog.remove();
        opened.value = NOTHING;
      } },
      el("div.microscope-head", el("h2", `Token by token: ${whose}`),
        buttonOf("icon-button", { "aria-label": "Close", onclick: () => this.dialog.close() }, "\u00d7")),
      this.note, this.body);
  }

  open() {
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.load();
  }

  async load() {
    setText(this.note, "Loading the tokens of this answer.");
    const { run, promptId, seed, update } = this.answer;
    /** @type {Wire.Tokens} */
    let found;
    try {
      found = await getJson(runPath(run, `tokens/${promptId}${seed === undefined ? "" : `?seed=${seed}`}`));
    } catch (error) {
      return setWords(this.note, error.message);
    }
    const wanted = found.looks.findIndex((look) => look.update === update);
    if (wanted >= 0) return this.show(found, wanted);
    setWords(this.note, found.why || "Nothing was kept of this evaluation.");
  }

  show(/** @type {Wire.Tokens} */ { looks, absent, unit }, /** @type {number} */ index) {
    setText(this.note, "");
    this.body.hidden = false;
    this.set({ looks, absent, unit, index });
    this.tokens.focus(this.place);
  }

  /** Show another look, token, measure or form. @param {Partial<Pick<Microscope, Shown>>} changes */
  set(changes) {
    Object.assign(this, changes);
    const look = this.looks[this.index];
    const { run, promptId, update = null } = this.answer;
    if (run === live.runId) opened.value = { update: look.update ?? update, text: promptId };
    this.place = Math.min(this.place, look.pieces.length - 1);
    const { measure, place } = this;
    const range = rangeOf(measure, this.looks);
    this.tokens.root.hidden = this.asTable;
    this.tokens.show(colouredTokens(look, measure, range, place, this.unitOf(measure)), place);
    showParts(this.body, [this.bar(look, range), el("p.muted.small-text", measure.gloss),
      el("p.output.token-prompt", this.prompt), this.tokens.root,
      this.asTable ? el("div.numbers.token-table", { tabindex: 0, role: "region", "data-key": "table",
        "aria-label": "All figures of all tokens" }, tokenTable(look, MEASURES.filter((one) => one.of(look)),
        (one) => this.unitOf(one))) : null,
      el("p.summary", { "data-key": "sums" }, sumsOf(look, this.unit)), this.chosen(look, place),
      el("p.muted.small-text", { "data-key": "missing" }, [...Object.values(this.absent), NO_RATIO].join(" ")),
    ].filter(Boolean));
  }

  unitOf(/** @type {{ unit: string }} */ { unit }) {
    return unit === "score" ? this.unit : unit;
  }

  /** What is shown, and of which look. */
  bar(/** @type {Wire.TokensLook} */ { update }, /** @type {number} */ range) {
    const { measure, looks, asTable } = this;
    const unit = this.unitOf(measure);
    const at = update === undefined ? "" : update === 0 ? "before training" : `after update ${update}`;
    const choices = MEASURES.map((one) => el("option", { value: one.key,
      disabled: !looks.some((look) => one.of(look)) }, one.label));
    return el("div.bar", el("label.inline", "Colour by", el("select", { "aria-label": "Colour by", value: measure.key,
      onchange: ({ target }) => this.set({ measure: MEASURES.find(({ key }) => key === target.value) }) }, choices)),
    el("div.token-legend", el("span", range ? inWords(-range) : ""), el("span.scale"),
      el("span", range ? inWords(range, unit) : `all 0${unit ? ` ${unit}` : ""}`)),
    el("span.grow"), looks.length < 2 ? null : [
      el("label.inline.slider-label", el("output.at", at), el("input", { type: "range", min: 0, max: looks.length - 1,
        step: 1, value: this.index, "aria-label": "Evaluation of the run", "aria-valuetext": at,
        oninput: ({ target }) => this.set({ index: Number(target.value) }) }))],
    buttonOf("quiet-button", { "aria-pressed": String(asTable), "data-key": "table",
      onclick: () => this.set({ asTable: !asTable }) }, asTable ? "As text" : "As a table"));
  }

  /** The chosen token: its figures, and what else could have stood there. */
  chosen(/** @type {Wire.TokensLook} */ look, /** @type {number} */ place) {
    const figures = facts(MEASURES.filter((measure) => measure.of(look)).map((measure) =>
      [inside(measure.label), inWords(measure.of(look)[place], this.unitOf(measure), measure.plain)]));
    const rows = changes(look.choices[place]);
    const range = Math.max(...rows.map(({ change }) => Math.abs(change ?? 0)));
    const heads = ["Reference", "Policy", "Change"].map((name) => headOf(name, "figure"));
    return el("section.token-chosen", { "data-key": "chosen" },
      el("h3", `Token ${place + 1}: ${readable(look.pieces[place])}`), el("p.summary", figures),
      tableOf("tried", ["Next token", ...heads], rows.map((row) => choiceRow(row, range))));
  }
}

/** What the tokens add up to. */
function sumsOf(/** @type {Wire.TokensLook} */ look, /** @type {string} */ unit) {
  const exact = `${look.pieces.length} tokens add up to a KL of ${rounded(sum(look.kl))} nats, exact at each position.`;
  const leash = sum(look.leash);
  const by = look.kl_coef ? `, beta ${number(look.kl_coef)} times ${rounded(-leash / look.kl_coef)} nats by the `
    + "estimate of the tokens that were drawn" : "";
  return exact + (look.rewards ? ` They are paid ${signed(sum(look.rewards))} ${unit}: score `
    + `${signed(sum(look.rewards) - leash)}, leash ${signed(leash)}${by}.` : "");
}

/** What could have stood in a place: a row. @param {ReturnType<typeof changes>[number]} choice @param {number} range */
function choiceRow({ text, reference, policy, change, drawn }, range) {
  const { side, percent } = shadeOf(change, range);
  return el("tr", { class: drawn ? "drawn" : null },
    el("th", { scope: "row" }, el("span.output", readable(text)), drawn ? el("span.muted", " drawn") : ""),
    figureOf(likely(reference)), figureOf(likely(policy)),
    el("td", { class: `figure token ${side}`, style: `--share: ${percent}` }, inWords(change)));
}

/** A label in the middle of a line. */
function inside(/** @type {string} */ label) {
  return label.startsWith("KL") ? label : label[0].toLowerCase() + label.slice(1);
}

/** A probability as it is read: 0.31, 0.0042; below a millionth 0. */
function likely(/** @type {number | null} */ probability) {
  return probability === null ? "\u2013" : number(probability);
}
