// The chalkboard: a problem so small that every text can be listed, and the best policy for any leash worked out while
// the slider moves. Beside it what PPO came to, where it was trained.

import { numbers } from "../charts/small_plots.js";
import { el, setAttribute, setText, tableOf } from "../core/dom.js";
import { number, rounded, signed } from "../core/format.js";
import { askedOnce } from "../core/server.js";
import { effect } from "../core/signals.js";
import { live } from "../core/store.js";
import { bestOf, bestOfAll, betasBetween, chanceOf } from "./optimum.js";
import { Plane } from "./plane.js";
import { stopsOf } from "./stops.js";

const STOPS = betasBetween(0.1, 20, 70).map((beta) => Number(beta.toPrecision(2)));
const NAMED = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20];
const START = 0.5;
const LINE = betasBetween(0.07, 60, 90);
const STEP = 1.25; // to another leash, to see what a nat costs between the two

const boardData = /** @type {() => Promise<Wire.Chalkboard>} */ (askedOnce("live/_chalkboard"));

/** The part, which fills itself. `place`: where it stands, for its ids. @param {string} place */
export function chalkboardPart(place) {
  const id = `chalkboard-${place}`;
  const body = el("div.board-body", el("p.muted", "Loading\u2026"));
  const root = el("section.board.chalkboard", { "data-key": "chalkboard", "aria-labelledby": id },
    el("h2", { id }, "The chalkboard: the best there is"), body);
  boardData().then((data) => {
    const board = new Chalkboard(data, id);
    body.replaceChildren(...board.parts);
    if (place === "lesson") effect(() => root.isConnected && board.follow());
  },
    (error) => body.replaceChildren(el("p", { role: "alert" }, error.message)));
  return root;
}

class Chalkboard {
  /** @param {Wire.Chalkboard} data @param {string} id */
  constructor(data, id) {
    this.data = data;
    const trained = data.trained.map(({ beta }) => beta);
    this.betas = [...new Set([...STOPS, ...trained, ...NAMED])].sort((a, b) => a - b);
    this.input = stopsOf({ id: `${id}-stop`, label: "Leash on the board", stops: this.betas.map(String),
      shown: NAMED.map(String), marked: this.betas.indexOf(START), nameOf: (index) => this.spoken(this.betas[index]),
      moved: () => this.show(), rested: () => setText(this.speaker, this.sentence.textContent) });
    this.sentence = el("p.board-sentence");
    this.slope = el("p.board-slope");
    this.speaker = el("p.visually-hidden", { role: "status" });
    this.most = Math.max(...data.texts.map(({ score }) => score));
    this.rows = data.texts.map((text) => chanceRow(text));
    this.plane = this.draw();
    this.parts = this.build();
    this.followed = ""; // whose leash the board has taken over
    this.show();
  }

  /** To the leash of a run that has come into view, or the stop next to it. */
  follow() {
    const set = live.run?.settings.find(({ field }) => field === "kl.coef");
    if (!set || this.followed === live.runId) return;
    this.followed = live.runId;
    const away = this.betas.map((beta) => Math.abs(Math.log(beta / Number(set.value))));
    this.input.index = away.indexOf(Math.min(...away));
    this.show();
  }

  /** What one can see of it. */
  build() {
    const { data } = this;
    return [
      el("p.board-about", `The model goes on from \u201c${data.prompts[0]}\u201d with two tokens. Kind words are `
        + `paid. So there are ${number(data.texts_in_all)} texts, and each can be counted. The best model for a leash `
        + "can then be worked out, exactly. No training is needed, and none can have more left after the price."),
      this.input.root, this.sentence, this.slope, this.speaker,
      el("div.board-grid",
        el("div", el("p.board-key", { "aria-hidden": "true" }, el("span", el("i"), "untrained"),
          el("span", el("i.best"), "the best for this leash"), el("span", el("i.ppo"), "PPO, where it was trained")),
        tableOf("board-chances", ["text", "score, sd", "how likely it is written"],
          this.rows.map(({ root }) => root))),
        el("figure.board-figure", this.plane.node, el("figcaption.muted", "The teal line: the best that any model can "
          + "do. Orange dots: what PPO came to. The dashed line touches it, and rises by the leash for each nat."))),
      numbers("PPO against the best, as a table: each run in the sd of its own texts",
        ["leash", "start value (seed)", "gain of PPO, sd", "of the best", "distance of PPO, nats", "of the best",
          "gain less price: share of the best"],
        data.trained.flatMap(({ runs }) => runs.map((run) => [number(run.beta), String(run.seed), signed(run.gain),
          signed(run.best_gain), rounded(run.kl), rounded(run.best_kl), share(run.share)]))),
    ];
  }

  draw() {
    const { data } = this;
    const line = LINE.map((beta) => this.placeAt(beta)).reverse();
    const dots = data.trained.flatMap(({ beta, runs }) => runs.map((run) =>
      ({ beta, kl: run.kl, score: run.gain * run.unit })));
    const far = 1.15 * Math.max(1.5, ...dots.map(({ kl }) => kl));
    const high = Math.max(...line.filter(({ kl }) => kl <= far).map(({ score }) => score));
    const plane = new Plane("Gain in score against distance: the best there is, and PPO", far, 1.1 * high);
    plane.line([{ kl: 0, score: 0 }, ...line], "possible");
    for (const dot of dots)
      plane.dot(dot, "trained", `PPO, leash ${dot.beta}: ${signed(dot.score)} sd, ${rounded(dot.kl)} nats`, 4);
    plane.moving(1);
    return plane;
  }

  /** Where the best policy for a leash is. @param {number} beta */
  placeAt(beta) {
    const { gain, kl } = bestOfAll(this.data.levels, beta);
    return { kl, score: gain };
  }

  get beta() {
    return this.betas[this.input.index];
  }

  /** @param {number} beta */
  spoken(beta) {
    const { kl, score } = this.placeAt(beta);
    return `${beta}: the best gains ${signed(score)} sd at ${rounded(kl, 0.001)} nats`;
  }

  show() {
    const { beta, data } = this;
    const place = this.placeAt(beta);
    const trained = data.trained.find((one) => one.beta === beta);
    const { logZ } = bestOf(data.levels[0], beta);
    this.plane.move([place], place, beta);
    const chances = data.texts.map((text) => chanceOf(text, beta, logZ));
    const most = Math.max(...chances, ...data.texts.map(({ reference }) => reference),
      ...(trained?.chances.flat() ?? []));
    this.rows.forEach((row, index) =>
      row.show(data.texts[index].reference, chances[index], trained?.chances.map((one) => one[index]) ?? null, most));
    setText(this.sentence, bestWords(beta, place, trained));
    setText(this.slope, this.slopeWords(beta, place));
  }

  /**
   * What a nat brings, from this leash to one a little longer.
   * @param {number} beta @param {import("./plane.js").Place} place
   */
  slopeWords(beta, place) {
    const next = this.placeAt(beta / STEP);
    const [more, gain] = [next.kl - place.kl, next.score - place.score];
    return `With a leash of ${number(beta / STEP)} the best model would go ${rounded(more, 0.001)} nats further and `
      + `gain ${rounded(gain, 0.001)} sd more: ${number(gain / more)} sd for each nat. The leash is the price of a `
      + "nat; the best model goes on until a nat brings no more than that.";
  }
}

/** @param {number} beta @param {{ kl: number, score: number }} place @param {Wire.BoardTrained | undefined} trained */
function bestWords(beta, { kl, score }, trained) {
  const best = `With a leash of ${beta} the best model gains ${signed(score)} sd, at a distance of `
    + `${rounded(kl, 0.001)} nats. It is never the untrained model itself, however tight the leash.`;
  if (!trained) return best;
  const shares = trained.runs.map(({ share }) => share);
  const [low, high] = [share(Math.min(...shares)), share(Math.max(...shares))];
  return `${best} PPO, trained with this leash, reached ${low === high ? low : `${low} to ${high}`} of what the best `
    + `model has left after the price (${shares.length > 1 ? `${shares.length} runs` : "one run"}).`;
}

/** A text with its three bars. @param {Wire.BoardText} text */
function chanceRow({ text, score }) {
  const bars = ["reference", "best", "ppo"].map((kind) => el(`span.${kind}`));
  const said = el("span.visually-hidden");
  const root = el("tr", el("td.output", text), el("td", signed(score)),
    el("td.board-bars", el("div.board-chance", { "aria-hidden": "true" }, bars), said));
  /** @param {number} reference @param {number} best @param {number[] | null} ppo @param {number} most */
  const show = (reference, best, ppo, most) => {
    const mean = ppo && ppo.reduce((sum, one) => sum + one, 0) / ppo.length;
    [reference, best, mean].forEach((chance, index) => {
      bars[index].style.width = `${((100 * (chance ?? 0)) / most).toFixed(1)}%`;
      bars[index].style.visibility = chance === null ? "hidden" : "";
    });
    const words = `untrained ${share(reference)}, best ${share(best)}${mean === null ? "" : `, PPO ${share(mean)}`}`;
    setText(said, words);
    setAttribute(root, "title", words);
  };
  return { root, show };
}

/** @param {number} chance */
function share(chance) {
  return `${number(100 * chance)} %`;
}
