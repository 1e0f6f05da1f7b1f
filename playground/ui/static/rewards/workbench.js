// The right side of the reward workbench: what the typed texts earn and why, where they stand among texts of the
// untrained model, and which of those the rewards would push. Follows the reward picker: a changed weight needs no
// server.

import { niceStep } from "../charts/arithmetic.js";
import { buttonOf, el, headOf, setHidden, setText, shape, signOf, svg, withCode } from "../core/dom.js";
import { number, rounded, signed } from "../core/format.js";
import { effect } from "../core/signals.js";
import { lists } from "./lists.js";
import { analyse, binsOf, duel, shareBelow } from "./weighing.js";

const FIRST_ROWS = 5;
const MANY_ROWS = 20;

export function mount(element, props, { watch }) {
  const bench = new Workbench(element);
  watch("value", () => bench.take(props.value));
  bench.take(props.value);
  effect(() => bench.show());
}

class Workbench {
  constructor(element) {
    this.found = null;
    this.before = null; // rank of each sample that a change is told against
    this.rows = FIRST_ROWS;
    this.line = el("p", { class: "bench-state muted", role: "status" });
    this.fill = el("div", { class: "fill" });
    this.progress = el("div", { class: "progress", hidden: true }, this.fill);
    this.problems = el("ul", { class: "problems", role: "alert" });
    this.missing = el("p", { class: "bench-missing", role: "status", hidden: true });
    this.outcome = el("p", { class: "outcome", role: "status" });
    this.heads = el("tr", {});
    this.body = el("tbody", {});
    this.foot = el("tfoot", {});
    this.terms = el("table", { class: "bench-terms" }, el("thead", {}, this.heads), this.body, this.foot);
    this.note = el("p", { class: "muted small-text" });
    this.plot = el("div", { class: "bench-plot" });
    this.plotNote = el("p", { class: "muted small-text" });
    this.moved = el("p", { class: "small-text bench-moved", role: "status" });
    this.forget = buttonOf("quiet-button", { hidden: true, title: "Tell later moves from the order as it is now",
      onclick: () => {
        this.before = null;
        this.show();
      } }, "Compare from here");
    this.more = buttonOf("quiet-button", { onclick: () => {
      this.rows = this.rows === FIRST_ROWS ? MANY_ROWS : FIRST_ROWS;
      this.show();
    } });
    this.top = this.ranking("Pushed most: the top of the ranking");
    this.bottom = this.ranking("Pushed away: the bottom");
    this.texts = el("section", { class: "panel" }, this.outcome, this.missing, this.terms, this.note);
    this.places = el("section", { class: "panel" }, el("h2", {}, "Among texts of the untrained model"), this.plotNote,
      this.plot);
    this.best = el("div", {});
    this.bestNote = el("p", { class: "muted small-text" });
    this.outlooks = el("section", { class: "panel bench-outlooks" }, el("h2", {}, "What the best policy would do"),
      this.best, this.bestNote);
    this.ranks = el("section", { class: "panel" },
      el("div", { class: "bar" }, el("h2", {}, "What these rewards would push"), this.moved,
        el("span", { class: "grow" }), this.forget, this.more),
      this.top.root, this.bottom.root);
    this.empty = el("section", { class: "panel bench-empty" },
      el("h2", {}, "Nothing scored yet"),
      el("p", {}, "Press Score. The model of the Train page, untrained, writes 128 texts on its prompts; every reward "
        + "scores them and yours."),
      el("p", { class: "muted" }, "Then change a weight: the ranking follows at once. If a text that you would not "
        + "want stands at the top, training would find it too."));
    this.status = el("section", { class: "panel bench-status" }, this.line, this.progress, this.problems);
    let wide = 0;
    new ResizeObserver(() => {
      if (this.plot.clientWidth === wide) return;
      wide = this.plot.clientWidth;
      this.drawPlot?.();
    }).observe(this.plot);
    element.append(el("div", { class: "bench-view" }, this.status, this.empty, this.texts, this.outlooks, this.places,
      this.ranks));
  }

  ranking(title) {
    const body = el("tbody", {});
    const heads = el("tr", {});
    const root = el("table", { class: "bench-ranks" }, el("caption", {}, title), el("thead", {}, heads), body);
    return { root, heads, body };
  }

  /** A new state from the server; what was shown stays while it works. */
  take(value) {
    const { state = "empty", phase = "", done = 0, of = 1, problems = [] } = value ?? {};
    const asking = state === "asking";
    setText(this.line,
      asking ? `${phase.charAt(0).toUpperCase()}${phase.slice(1)}${done ? `: ${done} of ${of}` : ""} \u2026` : "");
    this.progress.hidden = !asking;
    this.fill.style.transform = `scaleX(${asking ? done / Math.max(of, 1) : 0})`;
    this.problems.replaceChildren(...problems.map((text) => el("li", {}, signOf("! "), withCode(text))));
    this.status.hidden = !asking && !problems.length;
    // below the form, on a narrow screen
    if (!this.status.hidden && this.status.getBoundingClientRect().top > innerHeight - 80)
      this.status.scrollIntoView({ block: "start" });
    if (state === "done") {
      this.found = value;
      this.before = null;
    }
    this.show();
  }

  show() {
    const { found } = this;
    const rewards = lists.workbench.value;
    for (const part of [this.texts, this.places, this.ranks]) part.hidden = !found;
    this.empty.hidden = Boolean(found) || !this.status.hidden;
    if (!found) return;
    const now = analyse(found, rewards);
    this.before ??= now.samples.map(({ rank }) => rank);
    this.showMissing(now);
    this.showOutcome(now);
    this.showTerms(now);
    this.showPlot(now);
    this.showRanks(now);
    this.showOutlooks(rewards);
  }

  /** What the server worked out of the samples. */
  showOutlooks(rewards) {
    const { outlooks } = this.found;
    this.outlooks.hidden = !outlooks.length;
    this.best.replaceChildren(...outlooks.map((text) => el("p", {}, text)));
    const same = JSON.stringify(rewards) === JSON.stringify(this.found.rewards);
    setText(this.bestNote, "The best policy for score minus leash cost, from the texts above taken as answers to one "
      + `prompt, with the rewards ${same ? "as they are" : "as they were when Score was pressed; press it again"}.`);
  }

  showMissing({ missing, terms }) {
    this.missing.hidden = !missing.length && terms.length > 0;
    const names = missing.map(({ kind }) => kind).join(", ");
    setText(this.missing, terms.length ? `Not measured yet: ${names}. Press Score to include it.`
      : "None of these rewards has been measured yet. Press Score.");
  }

  showOutcome({ texts, terms, samples }) {
    const { sides, about } = this.found;
    const place = ({ score }) => `${signed(score)} sd, better than ${Math.round(100 * shareBelow(samples, score))} % `
      + `of ${samples.length} texts of the untrained ${about.model}`;
    let text = `${samples.length} texts of the untrained ${about.model}, ranked by these rewards.`;
    if (texts.length === 1) text = `${sides[0].side} scores ${place(texts[0])}.`;
    if (texts.length === 2) {
      const found = duel(texts, terms);
      if (!found) text = "A and B score the same.";
      else {
        const winner = sides[found.winner].side;
        const [first, ...rest] = found.terms;
        const against = rest.filter(({ by }) => by < -0.005)
          .map(({ label, by }) => `${label} is against it (${signed(by)})`);
        text = `${winner} wins by ${rounded(found.by)} sd, through ${first.label} `
          + `(${signed(first.by)})${against.length ? `; ${against.join(", ")}` : ""}.`;
      }
    }
    setText(this.outcome, terms.length ? text : "");
  }

  showTerms({ texts, terms, scale }) {
    const { sides } = this.found;
    this.terms.hidden = !texts.length || !terms.length;
    setText(this.note, this.terms.hidden ? "" : "Value: what the reward itself says, and in standard deviations from "
      + "the untrained model's average. Adds: what is left of it after scale, cap and weight, in sd of the score. "
      + `1 sd is ${number(scale.sd)} in the units of the weighted sum.`);
    this.heads.replaceChildren(headOf("Reward"), headOf("Weight", "figure"),
      ...sides.flatMap(({ side }) => [headOf(`${side}: value`, "figure"), headOf(`${side}: adds`, "figure")]));
    this.body.replaceChildren(...terms.map((term, index) => el("tr", {},
      el("th", { scope: "row" }, term.label, this.treatment(term)),
      el("td", { class: "figure", "data-label": "Weight" }, `\u00d7 ${number(term.weight)}`),
      texts.flatMap((text, place) => {
        const { side } = sides[place];
        const raw = text.raw[index];
        return [
          el("td", { class: "figure", "data-label": `${side}: value` },
            raw === null ? el("span", { class: "muted" }, "no opinion")
            : [`${rounded(raw)} `, el("span", { class: "muted nowrap" },
              `(${signed((raw - term.scale.mean) / term.scale.sd)} sd)`)]),
          el("td", { class: "figure", "data-label": `${side}: adds` }, bar(text.adds[index]),
            el("strong", {}, signed(text.adds[index]))),
        ];
      }))));
    this.foot.replaceChildren(el("tr", {},
      el("th", { scope: "row" }, "Score"), el("td", { class: "figure" }),
      texts.flatMap((text, place) => [
        el("td", { class: "figure", "data-label": `${sides[place].side}: sum` },
          text.total === null ? el("span", { class: "muted" }, "no opinion") : rounded(text.total)),
        el("td", { class: "figure", "data-label": `${sides[place].side}: score` },
          el("strong", { class: "score" }, `${signed(text.score)} sd`)),
      ])));
  }

  treatment({ normalise, cap }) {
    const told = [normalise ? "in sd" : null, cap ? `cap \u00b1${number(cap)}` : null].filter(Boolean).join(", ");
    return told ? el("span", { class: "muted" }, ` ${told}`) : null;
  }

  showPlot({ samples, texts, terms }) {
    const { sides, about } = this.found;
    this.places.hidden = !terms.length;
    const bins = binsOf(samples.map(({ score }) => score));
    const marks = texts.map(({ score, rank }, index) => ({ side: sides[index].side, score, rank }));
    setText(this.plotNote,
      `Scores of ${samples.length} texts that ${about.model} writes on ${about.prompts}, as chosen on the Train page.${
      marks.map(({ side, rank }) => ` ${side} would be number ${rank} of ${samples.length + 1}.`).join("")}`);
    this.drawPlot = () => this.plot.replaceChildren(histogram(bins, marks, this.plot.clientWidth));
    this.drawPlot();
  }

  showRanks({ samples, order, terms }) {
    this.ranks.hidden = !terms.length;
    const moves = samples.map(({ rank }, index) => this.before[index] - rank);
    const moved = moves.filter((by) => by !== 0).length;
    setText(this.moved, moved ? `${moved} of ${samples.length} texts have another place than before the change.`
      : "Change a weight, and see what moves.");
    setHidden(this.forget, !moved, this.more);
    setText(this.more, this.rows === FIRST_ROWS ? `Show ${MANY_ROWS} each` : `Show ${FIRST_ROWS} each`);
    const row = (index) => {
      const sample = this.found.samples[index];
      return el("tr", {},
        el("td", { class: "figure rank", "data-label": "Place" }, String(samples[index].rank)),
        el("td", { class: "move", "data-label": "Moved" }, moveInWords(moves[index])),
        el("td", { class: "text" }, el("p", { class: "output" }, el("span", { class: "muted" }, sample.prompt),
          sample.completion)),
        el("td", { class: "figure parts", "data-label": "Adds" }, terms.map(({ label }, term) =>
          el("div", { class: "term" }, `${label} ${signed(samples[index].adds[term])}`))),
        el("td", { class: "figure", "data-label": "Score" },
          el("strong", { class: "score" }, signed(samples[index].score))));
    };
    const heads = () => [["Place", "figure"], ["Moved", ""], ["Text", ""], ["Adds, sd", "figure"],
      ["Score, sd", "figure"]]
      .map(([name, kind]) => headOf(name, kind));
    for (const [part, indices] of [[this.top, order.slice(0, this.rows)], [this.bottom, order.slice(-this.rows)]]) {
      part.heads.replaceChildren(...heads());
      part.body.replaceChildren(...indices.map(row));
    }
  }
}

function moveInWords(by) {
  if (!by) return el("span", { class: "muted" }, "\u2013");
  return el("span", { class: `term ${by > 0 ? "up" : "down"} nowrap` },
    by > 0 ? `\u2191 up ${by}` : `\u2193 down ${-by}`);
}

/** A small bar to the right for what adds and to the left for what takes away. */
function bar(value) {
  const node = el("span", { class: `part-bar ${value < 0 ? "minus" : "plus"}`, "aria-hidden": "true" });
  node.style.setProperty("--size", `${Math.min(Math.abs(value) / 3, 1) * 100}%`);
  return node;
}

const WIDEST = 1000;
const NARROWEST = 260;
const HEIGHT = 170;
const FLOOR = 140;

function histogram(bins, marks, room) {
  if (!bins.length) return el("p", { class: "muted" }, "There are no texts to compare with.");
  const width = Math.min(Math.max(room, NARROWEST), WIDEST);
  const points = [bins[0].from, bins.at(-1).to, ...marks.map(({ score }) => score)];
  const low = Math.min(...points);
  const high = Math.max(...points);
  const pad = (high - low) * 0.03 || 0.5;
  const x = (value) => ((value - low + pad) / (high - low + 2 * pad)) * width;
  const tallest = Math.max(...bins.map(({ count }) => count));
  const shapes = bins.map(({ from, to, count }) =>
    shape("rect", { class: "bin", x: x(from) + 0.5, width: Math.max(x(to) - x(from) - 1, 1),
    y: FLOOR - (count / tallest) * (FLOOR - 34), height: (count / tallest) * (FLOOR - 34) }));
  const words = (text, attributes) => shape("text", attributes, text);
  const step = niceStep((high - low) / Math.max(width / 120, 3) || 1);
  shapes.push(shape("line", { class: "floor", x1: 0, x2: width, y1: FLOOR, y2: FLOOR }));
  for (let tick = Math.ceil((low - pad) / step) * step; tick <= high + pad; tick += step) {
    shapes.push(words(rounded(tick), { class: "tick", x: x(tick), y: FLOOR + 17, "text-anchor": "middle" }));
  }
  const apart = marks.length === 2 && Math.abs(x(marks[0].score) - x(marks[1].score)) < 26;
  marks.forEach(({ side, score }, index) => {
    shapes.push(shape("line", { class: `at side-${side}`, x1: x(score), x2: x(score), y1: 18, y2: FLOOR }));
    const shift = apart ? (score <= marks[1 - index].score && (score < marks[1 - index].score || index === 0) ? -10
      : 10) : 0;
    shapes.push(words(side, { class: `side side-${side}`, x: x(score) + shift, y: 13, "text-anchor": "middle" }));
  });
  shapes.push(words("score, sd above the untrained average",
    { class: "tick", x: width, y: HEIGHT - 1, "text-anchor": "end" }));
  const told = marks.map(({ side, score }) => `${side} at ${signed(score)}`).join(", ");
  return svg({ width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img",
    "aria-label": `Histogram of scores from ${rounded(bins[0].from)} to ${rounded(bins.at(-1).to)} `
    + `sd${told ? `; ${told}` : ""}` }, ...shapes);
}
