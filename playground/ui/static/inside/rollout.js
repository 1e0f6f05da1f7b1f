// The window of one update, which a point of any curve opens: a histogram of its scores, each bar of which filters the
// training texts that were kept, and the updates before and after it. One window for the whole page.

import { actOf, drawnAxes, filledBins, keptInWords, rangeInWords, sameBin, scoresInWords, textsOf, textsWith, widened,
} from "./rollout_bins.js";
import { placing, roundTicks } from "../charts/arithmetic.js";
import { scoreUnit } from "../charts/specs.js";
import { buttonOf, el, setOff, setText, setWords, showParts } from "../core/dom.js";
import { getJson, runPath } from "../core/server.js";
import { number, rounded, signed } from "../core/format.js";
import { poll } from "../core/poll.js";
import { led, NOTHING, opened, wantedTrace } from "../core/opened.js";
import { openSection } from "../core/sections.js";
import { effect, untracked } from "../core/signals.js";
import { hasEnded, live } from "../core/store.js";
import { facts, promptAndAnswer } from "../core/texts.js";

const EVERY_MS = 2000; // the newest update of a run that trains: is there another one?
const KEYS = "The left and right arrow keys go to the update before and after; on a bar they go from bar to bar, "
  + "and p and n change the update.";
const CHOSEN = { best: "One of the highest scores of this update", worst: "One of the lowest scores of this update",
  random: "Kept at random, whatever it scored" };

/**
 * @typedef {{ runId: string, title: string, unit: string, ended: () => boolean }} Opened
 * @typedef {import("./rollout_bins.js").Bin} Bin
 */

/** @type {RolloutWindow | null} */
let rollout = null;

/**
 * Open an update of a run. `title` is the run's name, `unit` that of its score; `ended()` says whether no further
 * update will come.
 * @param {string} runId @param {number} update @param {Partial<Opened>} about
 */
function openRollout(runId, update, { title, unit = "sd", ended = () => true }) {
  rollout ??= new RolloutWindow();
  rollout.open({ runId, title, unit, ended }, update);
}

let wasLed = false; // here by the host of the class, who also takes it away

effect(() => {
  const { update, text } = led.value;
  if (wasLed) rollout.dialog.close();
  wasLed = update !== null && text === null;
  if (wasLed) untracked(() => openUpdate(update));
});

/** Open an update of the run in view. */
export function openUpdate(/** @type {number} */ update) {
  openRollout(live.runId, update, { title: live.run?.title ?? "", unit: scoreUnit(live.run),
    ended: () => hasEnded.value });
}

/**
 * Open an update of the run to which an overlaid line belongs.
 * @param {number} update @param {Charts.Series} line
 */
export function openUpdateOf(update, { run }) {
  openRollout(run.id, update, { title: run.title, unit: scoreUnit(run), ended: () => run.ended });
}

class RolloutWindow {
  constructor() {
    this.run = /** @type {Opened} */ (null);
    this.wanted = 0; // the update that was asked for
    this.data = /** @type {Wire.Rollout | null} */ (null); // what is shown
    /** @type {import("./rollout_bins.js").Axes | null} */
    this.axes = null; // wide enough for every histogram that was shown of this run
    this.bin = /** @type {number | null} */ (null); // the chosen one
    this.build();
    this.ask = poll({
      ask: (signal) => getJson(runPath(this.run.runId, `rollout/${this.wanted}`), signal),
      tell: (/** @type {Wire.Rollout} */ data) => this.show(data), fail: (error) => this.fail(error),
      every: () => (this.data?.next === null && !this.run.ended() ? EVERY_MS : 0), wanted: () => this.dialog.open,
    });
  }

  build() {
    this.title = el("h2", { id: "rollout-title", tabindex: "-1" });
    /** @param {"previous" | "next"} to @param {string} name */
    const step = (to, name) => buttonOf("quiet-button", { off: true, onclick: () => this.go(to) }, name);
    this.steps = { previous: step("previous", "\u2190 Previous update"), next: step("next", "Next update \u2192") };
    this.note = el("p.rollout-note", { role: "status" });
    this.told = el("p.rollout-told", { "aria-live": "polite" });
    this.plot = el("div.rollout-plot", { role: "group" });
    this.foot = el("div.rollout-foot");
    this.find = el("input", { type: "search", "aria-label": "Find words in the texts that were kept",
      placeholder: "Find words in the texts that were kept", oninput: () => this.draw() });
    this.list = el("ul.rollout-texts");
    this.body = el("div.rollout-body", { hidden: true }, this.told, this.plot, this.foot, this.find,
      el("div.rollout-scroll", { tabindex: "0", role: "region", "aria-label": "Texts of this update" }, this.list));
    let outside = false; // where a press began: a text that is selected with the mouse may end beside the window
    /** @type {HTMLDialogElement} */
    this.dialog = el("dialog.confirm.rollout", { "aria-labelledby": "rollout-title",
      onclose: () => {
        opened.value = NOTHING;
      },
      onkeydown: (event) => this.press(event),
      onpointerdown: (event) => {
        outside = this.isOutside(event);
      },
      onclick: (event) => {
        if (outside && this.isOutside(event)) this.dialog.close();
      } },
    el("div.rollout-head", this.title, el("div.rollout-steps", this.steps.previous, this.steps.next),
      buttonOf("icon-button", { "aria-label": "Close", onclick: () => this.dialog.close() }, "\u00d7")),
    this.note, this.body, el("p.rollout-keys.muted", KEYS));
    document.body.append(this.dialog);
  }

  isOutside(/** @type {MouseEvent} */ { target, clientX, clientY }) {
    const { left, right, top, bottom } = this.dialog.getBoundingClientRect();
    return target === this.dialog && (clientX < left || clientX > right || clientY < top || clientY > bottom);
  }

  open(/** @type {Opened} */ run, /** @type {number} */ update) {
    Object.assign(this, { run, wanted: update, data: null, axes: null, bin: null });
    this.find.value = "";
    this.body.hidden = true;
    this.dialog.classList.remove("none");
    setText(this.title, titleOf(update, run));
    setText(this.note, "Reading what the run has kept of this update.");
    for (const button of Object.values(this.steps)) setOff(button, true);
    if (!this.dialog.open) this.dialog.showModal();
    this.tell();
    this.title.focus();
    this.ask();
  }

  show(/** @type {Wire.Rollout} */ data) {
    const { update, histogram, previous, next } = data;
    if (this.data && this.data.update !== update)
      this.bin = this.bin === null ? null : sameBin(this.bin, this.data.histogram, histogram);
    this.data = data;
    this.wanted = update;
    this.tell();
    this.axes = widened(this.axes, histogram);
    setText(this.title, titleOf(update, this.run));
    setText(this.note, "");
    setOff(this.steps.previous, previous === null);
    setOff(this.steps.next, next === null);
    this.body.hidden = false;
    this.draw();
  }

  /** Who follows the host sees the same update. */
  tell() {
    opened.value = this.run.runId === live.runId ? { update: this.wanted, text: null } : NOTHING;
  }

  /** What was shown stays, and is what is asked for again. */
  fail(/** @type {Error} */ error) {
    this.wanted = this.data?.update ?? this.wanted;
    this.dialog.classList.toggle("none", !this.data);
    setWords(this.note, error.message);
  }

  /** To the update before or after. */
  go(/** @type {"previous" | "next"} */ to) {
    const update = this.data?.[to] ?? null;
    if (update === null) return;
    this.wanted = update;
    this.ask();
  }

  choose(/** @type {number | null} */ bin) {
    this.bin = bin;
    this.draw();
  }

  draw() {
    const { data, bin, run: { unit } } = this;
    setText(this.told, scoresInWords(data, unit));
    const bins = filledBins(data.histogram);
    this.drawPlot(bins);
    const chosen = bins.find((one) => one.bin === bin) ?? null;
    const shown = textsWith(textsOf(data.texts, chosen && bin), this.find.value);
    /** @param {string} key @param {string} text @param {Bin | null} wanted */
    const choice = (key, text, wanted) => buttonOf("quiet-button", { "data-key": key,
      "aria-pressed": String(chosen === (wanted ?? null)), onclick: () => this.choose(wanted?.bin ?? null) }, text);
    showParts(this.foot, [choice("top", "Top bin", bins.at(-1)), choice("bottom", "Bottom bin", bins[0]),
      choice("all", "All bins", null), this.formulas(), el("p", { role: "status", "data-key": "kept" },
        keptInWords(shown.length, chosen, unit, this.find.value))].filter(Boolean));
    showParts(this.list, shown.map((text) => cardOf(text, unit)));
  }

  /** The way to the same update in slow motion, where it was recorded. */
  formulas() {
    const { update } = this.data;
    const isTraced = this.run.runId === live.runId
      && live.events.some((event) => event.kind === "trace" && event.update === update);
    return isTraced ? buttonOf("quiet-button", { "data-key": "formulas", onclick: () => {
      this.dialog.close();
      openSection("update");
      wantedTrace.value = update;
    } }, "Under six formulas") : null;
  }

  drawPlot(/** @type {Bin[]} */ bins) {
    const { low, high, most } = drawnAxes(this.axes);
    const [x, y] = [placing(low, high, 0, 100), placing(0, most, 0, 100)];
    const { unit } = this.run;
    const tab = (bins.find(({ bin }) => bin === this.bin) ?? bins.at(-1))?.bin;
    this.plot.setAttribute("aria-label", `How many answers scored what, in ${unit}`);
    showParts(this.plot, [
      ...roundTicks(0, this.axes.most, 3).map((count) => el("span.tick.across", { "aria-hidden": "true",
        "data-key": `count ${count}`, style: `bottom: calc(var(--foot) + (100% - var(--foot)) * ${y(count) / 100})` },
      String(count))),
      ...roundTicks(low, high, 6).map((value) => el("span.tick.along", { "aria-hidden": "true",
        "data-key": `score ${value}`, style: `left: ${x(value)}%` }, String(value).replace("-", "\u2212"))),
      ...[["across", "answers"], ["along", `score, ${unit}`]].map(([side, name]) =>
        el("span", { class: `tick name ${side}`, "aria-hidden": "true", "data-key": side }, name)),
      ...bins.map((one) => {
        const chosen = one.bin === this.bin;
        return barOf(one, { left: x(one.low), width: x(one.high) - x(one.low), height: y(one.count) }, unit, {
          "aria-pressed": String(chosen), tabindex: one.bin === tab ? "0" : "-1",
          onclick: () => this.choose(chosen ? null : one.bin) });
      }),
    ], this.title);
  }

  press(/** @type {KeyboardEvent & { target: HTMLElement }} */ event) {
    if (event.target === this.find && event.key !== "Escape") return; // letters and arrows belong to what is written
    if (event.key === "Escape") event.stopPropagation(); // it ends the presentation too, but not both at once
    const bar = /** @type {HTMLElement} */ (event.target.closest(".rollout-bar"));
    const act = actOf(event, Boolean(bar));
    if (!act) return;
    event.preventDefault();
    if (act.to) return this.go(act.to);
    const bars = /** @type {HTMLElement[]} */ ([...this.plot.querySelectorAll(".rollout-bar")]);
    const next = bars[Math.max(0, Math.min(bars.length - 1, bars.indexOf(bar) + act.bar))];
    for (const one of bars) one.tabIndex = one === next ? 0 : -1;
    next.focus();
  }
}

function titleOf(/** @type {number} */ update, /** @type {{ title: string }} */ { title }) {
  return title ? `Update ${update} of ${title}` : `Update ${update}`;
}

/**
 * A bar as high as the plot, so that a short one is hit as easily.
 * @param {Bin} bin @param {{ left: number, width: number, height: number }} place @param {string} unit
 * @param {Record<string, unknown>} attributes
 */
function barOf(bin, { left, width, height }, unit, attributes) {
  const words = `${rangeInWords(bin, unit)}: ${number(bin.count)} ${bin.count === 1 ? "answer" : "answers"}`;
  return buttonOf("rollout-bar", { "data-key": `bin ${bin.bin}`, "aria-label": words, title: words,
    style: `left: ${left}%; width: ${width}%`, ...attributes }, el("span.fill-bar", { style: `height: ${height}%` }));
}

function cardOf(/** @type {Wire.RolloutText} */ { prompt, completion, score, kl, chosen }, /** @type {string} */ unit) {
  return el("li",
    el("p.summary", facts([["score", `${signed(score)} ${unit}`], kl === null ? null : ["KL", `${rounded(kl)} nats`]]),
      el("span.tag", { class: `tag ${chosen}`, title: CHOSEN[chosen] }, chosen)),
    promptAndAnswer(prompt, completion));
}
