// "Turn the leash": one experiment, recorded at many leashes. One slider, and curves, counts, texts and the point on
// score against distance follow at once. All that it draws was drawn before; a move of the slider only changes places.

import { numbers } from "../charts/small_plots.js";
import { buttonOf, el, headOf, setText, tableOf } from "../core/dom.js";
import { number, percent, signed } from "../core/format.js";
import { ZONES } from "../core/knob.js";
import { askedOnce } from "../core/server.js";
import { pairRow, textPair } from "../core/texts.js";
import { LeashPlots } from "./leash_plots.js";
import { countOf, endsOf, leashName, meanOf, sentenceOf, zoneOf } from "./leash_figures.js";
import { stopsOf } from "./stops.js";

const AT_ONCE = 3; // texts

const leashData = /** @type {() => Promise<Wire.Betas>} */ (askedOnce("live/_leash"));

/** The part, which fills itself. `place`: where it stands, for its ids. @param {string} place */
export function leashPart(place) {
  const id = `leash-${place}`;
  const body = el("div.board-body", el("p.muted", "Loading\u2026"));
  const root = el("section.board.leash-board", { "data-key": "leash", "aria-labelledby": id },
    el("h2", { id }, "Turn the leash"), body);
  leashData().then((data) => body.replaceChildren(...new LeashExplorer(data, id).parts),
    (error) => body.replaceChildren(el("p", { role: "alert" }, error.message)));
  return root;
}

class LeashExplorer {
  /** @param {Wire.Betas} data @param {string} id */
  constructor(data, id) {
    this.data = data;
    this.first = 0; // of the texts that are shown
    this.tables = /** @type {Map<string, HTMLElement>} */ (new Map()); // of texts that were shown before
    this.plots = new LeashPlots(data);
    this.input = stopsOf({ id: `${id}-stop`, label: "Leash", stops: data.leashes.map(({ beta }) => String(beta)),
      zones: data.leashes.map((stop) => zoneOf(data, stop.beta)), names: ZONES,
      marked: data.leashes.findIndex(({ beta }) => beta === data.beta),
      nameOf: (index) => this.spoken(index), moved: () => this.show(), rested: () => this.say() });
    this.sentence = el("p.board-sentence");
    this.speaker = el("p.visually-hidden", { role: "status" });
    this.counts = data.behaviours.map(({ words }) => countRow(words));
    this.texts = el("div.board-texts");
    this.build();
    this.show();
  }

  build() {
    const { data } = this;
    const seeds = Math.max(...data.leashes.map(({ runs }) => runs.length));
    this.parts = [
      el("p.board-about", "A model was paid for kind reviews, again and again, each time with another leash: the price "
        + "of each step away from its old self. Move the slider. Nothing is trained now; these runs are recorded."),
      this.input.root, this.sentence, this.speaker,
      el("div.board-grid", el("div.board-curves", this.plots.curves),
        el("figure.board-figure", this.plots.planes,
          el("figcaption.muted", "Each dot is a run. The teal line is the best that any model could do, estimated from "
            + "texts; grey where too few texts count. The dashed line rises by the leash for each nat: it "
            + "touches the teal line where the best model would stop."))),
      el("ul.board-counts", this.counts.map(({ root }) => root)),
      el("div.board-texts-head", el("h3", "The same beginnings, before and now"),
        buttonOf("button", { onclick: () => this.turnTexts() }, "Another three")),
      this.texts,
      numbers("All of it as a table",
        ["leash", "gain in score, sd", "distance, nats", "is kind", "keeps to the grammar"],
        data.leashes.map((stop) => this.rowOf(stop))),
      el("p.muted.board-note", `The experiment \u201cKinder reviews\u201d, ${data.leashes.length} leashes, up to `
        + `${seeds} runs of each. `
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
    const { stop } = this;
    setText(this.sentence, sentenceOf(this.data, stop));
    this.plots.show(this.input.index);
    this.data.behaviours.forEach(({ name }, index) => this.counts[index].show(countOf(stop, name), stop.runs.length));
    this.showTexts();
  }

  /** At the end of a drag. */
  say() {
    setText(this.speaker, sentenceOf(this.data, this.stop));
  }

  turnTexts() {
    this.first = (this.first + AT_ONCE) % this.data.prompts.length;
    this.showTexts();
  }

  showTexts() {
    const key = `${this.input.index} ${this.first}`;
    if (!this.tables.has(key)) this.tables.set(key, this.textTable());
    this.texts.replaceChildren(this.tables.get(key));
  }

  textTable() {
    const { data, stop, first } = this;
    const rows = Array.from({ length: AT_ONCE }, (_, row) => (first + row) % data.prompts.length);
    return tableOf("pairs board-pairs",
      [headOf("Beginning", "prompt"), headOf("Before", "before"), headOf("Now", "now")], rows.map((row) => {
        const [left, right] = textPair(data.before[row], stop.texts[row]);
        return pairRow({ prompt: data.prompts[row], sides: [{ label: "Before", parts: left },
          { label: "Now", parts: right }] });
      }));
  }

  /** @param {Wire.BetaStop} stop */
  rowOf(stop) {
    const { kl, score } = meanOf(endsOf(stop));
    const counts = ["positive", "parses"].map((name) => countOf(stop, name));
    return [leashName(this.data, stop), signed(score), number(kl),
      ...counts.map(({ after, of }) => `${after} of ${of}`)];
  }
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
    root.title = runs > 1 ? `All ${runs} runs together` : "";
  };
  return { root, show };
}
