// One answer under the microscope, in a dialog: its tokens coloured by what a switch says; for the chosen one, what
// reference and policy find likeliest there, side by side; and "play" over the looks of the run. Opened beside every
// answer that the page shows.

import { buttonOf, el, getJson, runPath, setHidden, setText, setWords } from "../core/dom.js";
import { number, rounded, signed } from "../core/format.js";
import { facts } from "../core/texts.js";
import { askTokens } from "./asking.js";
import { changes, MEASURES, NO_RATIO, rangeOf, readable, shadeOf, sum, told } from "./measures.js";
import { TokenText, tableOf } from "./token_text.js";

const STEP_MS = 1100;

/**
 * The button beside an answer to a prompt. `answer()` says which it is: {run, promptId, seed, update} of a fixed
 * prompt, or {run, prompt, seed, index, side} of one's own.
 */
export function tokensButton(whose, prompt, answer) {
  return buttonOf("quiet-button tokens-button", { "aria-label": `Tokens, ${whose}`, "aria-haspopup": "dialog",
    title: "Open this answer token by token", onclick: () => new Microscope(whose, prompt, answer()).open() },
  "tokens");
}

class Microscope {
  constructor(whose, prompt, answer) {
    this.answer = answer;
    this.looks = [];
    this.unit = ""; // of the score
    this.place = 0; // which token
    this.measure = MEASURES[0];
    this.text = new TokenText((place) => {
      this.place = place;
      this.fillChosen();
    });
    this.build(whose, prompt);
  }

  build(whose, prompt) {
    this.switch = el("select", { "aria-label": "Colour by", onchange: () => this.choose(this.switch.value) },
      MEASURES.map(({ key, label }) => el("option", { value: key }, label)));
    this.slider = el("input", { type: "range", min: 0, max: 0, step: 1, "aria-label": "Look of the run",
      oninput: () => {
        this.stop();
        this.fill();
      } });
    this.at = el("output", { class: "at" });
    this.playButton = buttonOf("quiet-button", { "aria-pressed": "false", onclick: () => this.play() }, "Play");
    this.tableButton = buttonOf("quiet-button", { "aria-pressed": "false", onclick: () => this.toggleTable() },
      "As a table");
    this.again = buttonOf("button", { onclick: () => this.ask() }, "Ask the model");
    this.note = el("p", { class: "microscope-note", role: "status" });
    this.gloss = el("p", { class: "muted small-text" });
    this.ends = [el("span", {}), el("span", {})];
    this.legend = el("div", { class: "token-legend" }, this.ends[0], el("span", { class: "scale" }), this.ends[1]);
    this.sums = el("p", { class: "summary" });
    this.table = el("div", { class: "numbers token-table", hidden: true, tabindex: 0, role: "region",
      "aria-label": "All figures of all tokens" });
    this.heading = el("h3", {});
    this.figures = el("p", { class: "summary" });
    this.choices = el("tbody", {});
    this.missing = el("p", { class: "muted small-text" });
    const column = (name, kind = null) => el("th", { scope: "col", class: kind }, name);
    this.chosen = el("section", { class: "token-chosen" }, this.heading, this.figures, el("table", { class: "tried" },
      el("thead", {}, el("tr", {}, column("Next token"), column("Reference", "figure"), column("Policy", "figure"),
        column("Change", "figure"))), this.choices));
    this.looksBar = el("label", { class: "inline slider-label" }, this.at, this.slider);
    this.body = el("div", { class: "microscope-body", hidden: true },
      el("div", { class: "bar" }, el("label", { class: "inline" }, "Colour by", this.switch), this.legend,
        el("span", { class: "grow" }), this.looksBar, this.playButton, this.tableButton),
      this.gloss, el("p", { class: "output token-prompt" }, prompt), this.text.root, this.table, this.sums,
      this.chosen, this.missing);
    this.dialog = el("dialog", { class: "confirm editor microscope", "aria-label": `Tokens, ${whose}`, onclose: () => {
      this.stop();
      this.dialog.remove();
    } }, el("div", { class: "microscope-head" }, el("h2", {}, `Token by token: ${whose}`),
      buttonOf("icon-button", { "aria-label": "Close", onclick: () => this.dialog.close() }, "\u00d7")),
    this.note, this.again, this.body);
    this.again.hidden = true;
  }

  open() {
    document.body.append(this.dialog);
    this.dialog.showModal();
    if (this.answer.promptId === undefined) this.ask();
    else this.load();
  }

  async load() {
    setText(this.note, "Reading what the run has kept of this answer.");
    const { run, promptId, seed, update } = this.answer;
    let found;
    try {
      found = await getJson(runPath(run, `tokens/${promptId}${seed === undefined ? "" : `?seed=${seed}`}`));
    } catch (error) {
      return setWords(this.note, error.message);
    }
    const wanted = found.looks.findIndex((look) => look.update === update);
    if (wanted >= 0) return this.show(found, wanted);
    const why = found.why || "Of this look nothing was kept.";
    this.again.hidden = run.startsWith("_"); // a recording has no weights
    setWords(this.note, this.again.hidden ? why
      : `${why} Where its weights are still there, the model can write it again with the same random numbers.`);
  }

  async ask() {
    this.again.hidden = true;
    setText(this.note, "Asking the model; the first question takes a few seconds.");
    const { run, promptId, ...rest } = this.answer;
    const answer = await askTokens({ run, ...rest, ...(promptId === undefined ? {} : { prompt_id: promptId }) });
    if (answer.error) return setWords(this.note, answer.error);
    this.show({ ...answer, looks: [answer.look] }, 0);
  }

  /** @param {any} found */
  show({ looks, absent, unit }, index) {
    Object.assign(this, { looks, unit });
    setText(this.note, "");
    this.body.hidden = false;
    this.slider.max = String(looks.length - 1);
    this.slider.value = String(index);
    for (const part of [this.looksBar, this.playButton]) part.hidden = looks.length < 2;
    for (const [place, measure] of MEASURES.entries())
      this.switch.options[place].disabled = !looks.some((look) => measure.of(look));
    setText(this.missing, [...Object.values(absent), NO_RATIO].join(" "));
    this.choose(this.measure.key);
    this.text.nodes[this.place]?.focus({ preventScroll: true });
  }

  choose(key) {
    this.measure = MEASURES.find((measure) => measure.key === key) ?? MEASURES[0];
    this.range = rangeOf(this.measure, this.looks);
    const unit = this.unitOf(this.measure);
    setText(this.ends[0], this.range ? told(-this.range) : "");
    setText(this.ends[1], this.range ? told(this.range, unit) : `all 0${unit ? ` ${unit}` : ""}`);
    setText(this.gloss, this.measure.gloss);
    this.fill();
  }

  unitOf({ unit }) {
    return unit === "score" ? this.unit : unit;
  }

  get look() {
    return this.looks[Number(this.slider.value)];
  }

  fill() {
    const { look } = this;
    this.place = Math.min(this.place, look.pieces.length - 1);
    setText(this.at, look.update === undefined ? "" : look.update === 0 ? "before training"
      : `after update ${look.update}`);
    this.slider.setAttribute("aria-valuetext", this.at.textContent);
    this.text.show(look, this.measure, this.range, this.place, this.unitOf(this.measure));
    this.fillSums(look);
    if (!this.table.hidden) this.fillTable();
    this.fillChosen();
  }

  fillSums(look) {
    const count = look.pieces.length;
    const exact = `${count} tokens add up to a KL of ${rounded(sum(look.kl))} nats, exact at each position.`;
    const leash = sum(look.leash);
    const by = look.kl_coef ? `, beta ${number(look.kl_coef)} times ${rounded(-leash / look.kl_coef)} nats by the `
      + "estimate of the tokens that were drawn" : "";
    const paid = look.rewards ? ` They are paid ${signed(sum(look.rewards))} ${this.unit}: score `
      + `${signed(sum(look.rewards) - leash)}, leash ${signed(leash)}${by}.` : "";
    setText(this.sums, exact + paid);
  }

  /** The chosen token: its figures, and what else could have stood there. */
  fillChosen() {
    const { look, place } = this;
    setText(this.heading, `Token ${place + 1}: ${readable(look.pieces[place])}`);
    this.figures.replaceChildren(...facts(MEASURES.filter((measure) => measure.of(look)).map((measure) =>
      [inside(measure.label), told(measure.of(look)[place], this.unitOf(measure), measure.plain)])));
    const rows = changes(look.choices[place]);
    const range = Math.max(...rows.map(({ change }) => Math.abs(change ?? 0)));
    this.choices.replaceChildren(...rows.map(({ text, reference, policy, change, drawn }) => {
      const { side, percent } = shadeOf(change, range);
      const cell = el("td", { class: `figure token ${side}` }, told(change));
      cell.style.setProperty("--share", String(percent));
      return el("tr", { class: drawn ? "drawn" : null }, el("th", { scope: "row" }, el("span", { class: "output" },
        readable(text)), drawn ? el("span", { class: "muted" }, " drawn") : ""),
      el("td", { class: "figure" }, likely(reference)), el("td", { class: "figure" }, likely(policy)), cell);
    }));
  }

  fillTable() {
    this.table.replaceChildren(tableOf(this.look, MEASURES.filter((one) => one.of(this.look)),
      (measure) => this.unitOf(measure)));
  }

  toggleTable() {
    const shown = this.table.hidden;
    if (shown) this.fillTable();
    setHidden(this.table, !shown, this.tableButton);
    this.text.root.hidden = shown;
    this.tableButton.setAttribute("aria-pressed", String(shown));
    setText(this.tableButton, shown ? "As text" : "As a table");
  }

  /** From the first look on, or from here where that is not the last; a second press stops. */
  play() {
    if (this.timer) return this.stop();
    const last = this.looks.length - 1;
    if (Number(this.slider.value) === last) this.slider.value = "0";
    this.fill();
    this.playButton.setAttribute("aria-pressed", "true");
    setText(this.playButton, "Stop");
    this.timer = setInterval(() => {
      this.slider.value = String(Number(this.slider.value) + 1);
      this.fill();
      if (Number(this.slider.value) >= last) this.stop();
    }, STEP_MS);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    this.playButton.setAttribute("aria-pressed", "false");
    setText(this.playButton, "Play");
  }
}

/** A label in the middle of a line. */
function inside(label) {
  return label.startsWith("KL") ? label : label[0].toLowerCase() + label.slice(1);
}

/** A probability as it is read: 0.31, 0.0042; below a millionth 0. */
function likely(probability) {
  return probability === null ? "\u2013" : number(probability);
}
