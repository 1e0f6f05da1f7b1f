// "Turn the leash": one experiment, recorded at many leashes. One slider, and curves, counts, texts and the point on
// score against distance follow at once. All that it draws was drawn before; a move of the slider only changes places.

import { numbers } from "../charts/small_plots.js";
import { buttonOf, el, headOf, helpOf, setAttribute, setText, tableOf } from "../core/dom.js";
import { number, percent, signed } from "../core/format.js";
import { zoneOf, ZONES } from "../core/knob.js";
import { askedOnce } from "../core/server.js";
import { signal } from "../core/signals.js";
import { beforeAndNow, DISTANCE_WORDS, pairRow, SCORE_WORDS, sideHeads, textPair } from "../core/texts.js";
import { LeashPlots } from "./leash_plots.js";
import { countOf, endsOf, leashName, meanOf, sentenceOf } from "./leash_figures.js";
import { stopsOf } from "./stops.js";

const FIRST = [3, 1, 7]; // the prompts whose reviews go furthest, step by step: they show best what the leash does
const ENDS = ["loose", "tight"];
const COUNTED = ["positive", "parses"]; // by their names in the recorded counts
const ABOUT = "A word counter gave this small model points for kind words, as people do in RLHF (reinforcement "
  + "learning from human feedback). The leash (KL penalty) makes moving away from its old way of writing cost points.";
const KIND_WORDS = "Counted by reading each sentence, as a grammar of this small world knows them: "
  + "\u201cnot good\u201d is unkind. The points came from counting words, which is another thing.";

/** The leash that was turned to on the first page; `asked`: the nearest one whose model can be asked. */
export const turned = signal(/** @type {{ beta: number, asked: number } | null} */ (null));

/** Whether the model that was trained at it is being asked. */
export const asking = signal(false);

const leashData = /** @type {() => Promise<Wire.Betas>} */ (askedOnce("live/_leash"));

/**
 * The part, which fills itself. `place`: where it stands, for its ids. As the `first` thing of a page it shows slider,
 * texts and curves, and has the rest folded away.
 * @param {string} place
 */
export function leashPart(place, { first = false } = {}) {
  const id = `leash-${place}`;
  const body = el("div.board-body", el("p.muted", "Loading\u2026"));
  const root = el("section.board.leash-board", { "data-key": "leash", "aria-labelledby": id },
    el(first ? "h1" : "h2", { id }, "Turn the leash"), body);
  leashData().then((data) => {
    const explorer = new LeashExplorer(data, id, first);
    body.replaceChildren(...explorer.parts(first));
  }, (error) => body.replaceChildren(el("p", { role: "alert" }, error.message)));
  return root;
}

class LeashExplorer {
  /** @param {Wire.Betas} data @param {string} id @param {boolean} first */
  constructor(data, id, first) {
    this.data = data;
    this.isFirst = first;
    this.order = [...FIRST, ...data.prompts.keys()].filter((row, at, all) => all.indexOf(row) === at);
    this.firstText = 0; // of those that are shown
    this.textsAtOnce = matchMedia("(max-width: 760px)").matches ? 1 : 3; // on a phone what comes next is in sight too
    this.tables = /** @type {Map<string, HTMLElement>} */ (new Map()); // of texts that were shown before
    this.plots = new LeashPlots(data);
    this.input = stopsOf({ id: `${id}-stop`, label: "Leash", stops: data.leashes.map(({ beta }) => String(beta)),
      zones: data.leashes.map((stop) => zoneOf(stop.beta, data)), names: ZONES, ends: ENDS,
      shown: [data.leashes[0].beta, data.beta, data.leashes.at(-1).beta].map(String),
      marked: data.leashes.findIndex(({ beta }) => beta === data.beta),
      nameOf: (index) => this.spoken(index), moved: () => this.show(), rested: () => this.say() });
    this.sentence = el("p.board-sentence");
    this.speaker = el("p.visually-hidden", { role: "status" });
    this.counts = data.behaviours.map(({ words }) => countRow(words));
    this.texts = el("div.board-texts");
    this.kind = el("span");
    this.score = el("dd.score");
    this.distance = el("dd.kl");
    this.show();
  }

  /** All of it, the slider, the texts and the curves first. @param {boolean} first the rest is folded away */
  parts(first) {
    const rest = el("div.board-rest", this.rest());
    const others = buttonOf("quiet-button", { onclick: () => this.turnTexts() },
      this.textsAtOnce > 1 ? "Another three" : "Another");
    return [
      el("p.board-about", ABOUT),
      el("div.board-top", this.input.root, el("dl.board-figures",
        figureOf("Score", SCORE_WORDS, this.score),
        figureOf("Distance", DISTANCE_WORDS, this.distance))),
      this.speaker,
      el("div.board-first", el("div.board-texts-side",
        el("p.board-kind", this.kind, " ", helpOf("Kind", KIND_WORDS)), this.texts, others),
        el("div.board-curves", this.plots.curves)),
      first ? el("details.folded.board-more", el("summary", "More"), rest) : rest,
    ];
  }

  /** @returns {HTMLElement[]} */
  rest() {
    const { data } = this;
    const seeds = Math.max(...data.leashes.map(({ runs }) => runs.length));
    return [
      this.sentence,
      el("figure.board-figure", this.plots.planes,
        el("figcaption.muted", "Each dot is a run. The teal line is the best that any model could do, estimated from "
          + "texts; grey where too few texts count. The dashed line rises by the leash for each nat: it "
          + "touches the teal line where the best model would stop, where that is known. Runs beyond the scale are not "
          + "drawn.")),
      el("ul.board-counts", this.counts.map(({ root }) => root)),
      numbers("All of it as a table",
        ["leash", "gain in score, sd", "distance, nats", "is kind", "keeps to the grammar"],
        data.leashes.map((stop) => this.rowOf(stop))),
      el("p.muted.board-note", "The experiment \u201cKinder reviews\u201d, trained by PPO with "
        + `${data.leashes.length} leashes, up to ${seeds} runs of each. `
        + " 1 sd: the usual difference between a text and the average, before training. A nat measures "
        + "how differently the model writes."),
    ];
  }

  get stop() {
    return this.data.leashes[this.input.index];
  }

  /** @param {number} index */
  spoken(index) {
    const stop = this.data.leashes[index];
    const { kl, score } = meanOf(endsOf(stop));
    return `${leashName(this.data, stop)}: score ${signed(score)} sd, distance ${number(kl)} nats`;
  }

  show() {
    const { data, stop } = this;
    const { kl, score } = meanOf(endsOf(stop));
    setText(this.score, `${signed(score)} sd`);
    setText(this.distance, `${number(kl)} nats`);
    if (this.isFirst) turned.value = { beta: stop.beta, asked: this.nearestAsked() };
    setText(this.sentence, sentenceOf(data, stop));
    this.plots.show(this.input.index);
    data.behaviours.forEach(({ name }, index) => this.counts[index].show(countOf(stop, name), stop.runs.length));
    const [kind, grammar] = COUNTED.map((name) => countOf(stop, name));
    setText(this.kind, `Kind: ${kind.after} of ${kind.of} reviews (before: ${kind.before}). Correct English: `
      + `${grammar.after} (before: ${grammar.before}).`);
    this.showTexts();
  }

  /** The leash next to this one whose model can be asked. */
  nearestAsked() {
    const { leashes, asked } = this.data;
    const away = (/** @type {number} */ beta) =>
      Math.abs(leashes.findIndex((stop) => stop.beta === beta) - this.input.index);
    return asked.reduce((one, other) => (away(other) < away(one) ? other : one));
  }

  /** At the end of a drag. */
  say() {
    setText(this.speaker, sentenceOf(this.data, this.stop));
  }

  turnTexts() {
    this.firstText = (this.firstText + this.textsAtOnce) % this.data.prompts.length;
    this.showTexts();
  }

  showTexts() {
    const key = `${this.input.index} ${this.firstText}`;
    if (!this.tables.has(key)) this.tables.set(key, this.textTable());
    this.texts.replaceChildren(this.tables.get(key));
  }

  textTable() {
    const { data, stop, firstText } = this;
    const rows = Array.from({ length: this.textsAtOnce },
      (_, row) => this.order[(firstText + row) % data.prompts.length]);
    return tableOf("pairs board-pairs", [headOf("Prompt", "prompt"), ...sideHeads()], rows.map((row) => {
      const [left, right] = textPair(data.before[row], stop.texts[row]);
      return pairRow({ prompt: data.prompts[row], sides: beforeAndNow(left, right) });
    }));
  }

  /** @param {Wire.BetaStop} stop */
  rowOf(stop) {
    const { kl, score } = meanOf(endsOf(stop));
    const counts = COUNTED.map((name) => countOf(stop, name));
    return [leashName(this.data, stop), signed(score), number(kl),
      ...counts.map(({ after, of }) => `${after} of ${of}`)];
  }
}

/** A figure under its name. @param {string} name @param {string} gloss @param {HTMLElement} value */
function figureOf(name, gloss, value) {
  return el("div", el("dt", name, " ", helpOf(name, gloss)), value);
}

/** A behaviour with a bar that moves. @param {string} words */
function countRow(words) {
  const said = el("span.board-count");
  const bar = el("span.board-now");
  const before = el("span.board-before");
  const root = el("li", el("strong", words), said, el("span.board-bar", { "aria-hidden": "true" }, bar, before));
  /** @param {ReturnType<typeof countOf>} count @param {number} runs */
  const show = ({ before: was, after, of }, runs) => {
    setText(said, `${was} \u2192 ${after} of ${of}`);
    bar.style.width = percent(after / of).replace(" ", "");
    before.style.left = percent(was / of).replace(" ", "");
    setAttribute(root, "title", runs > 1 ? `All ${runs} runs together` : "");
  };
  return { root, show };
}
