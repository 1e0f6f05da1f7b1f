// One number as a control: name and unit, a field, a slider (linear, or in powers of ten with 0 at its left end), a
// mark at the preset's value and one sentence on what it does. What is too low and too high shows while the keyboard or
// a finger is on it, and behind "?". train/form_knob.js puts it into the form.

import { buttonOf, el, helpOf, setAttribute, setText, setWords, withCode } from "./dom.js";
import { alike } from "./signals.js";

const LOG_STEPS = 200;
const ZERO_STEPS = 10; // width of the "0" stop at the left end of a slider in powers of ten
const LOG_DECADES_FROM_ZERO = 3;

export const ZONES = ["goes far", "holds", "barely moves"];

/** @typedef {Wire.Knob & { hasLine?: boolean }} Knob */
/** @typedef {number | string} Entered a number, "" for nothing, or a text that is no number */

/**
 * Controls of some knobs by their fields; `edit(field, value)` hears what a person sets.
 * @param {Knob[]} knobs @param {string} prefix @param {string} markWord
 * @param {(field: string, value: Entered) => void} edit
 */
export function knobControls(knobs, prefix, markWord, edit) {
  return new Map(knobs.map((knob) => [knob.field,
    new KnobControl(knob, idOf(prefix, knob.field), markWord, (value) => edit(knob.field, value))]));
}

/** @param {string} prefix @param {string} field */
export function idOf(prefix, field) {
  return `${prefix}-${field.replaceAll(".", "-")}`;
}

/** The control by itself. `edit(value)` hears what a person sets; `markWord` says what the marked value is. */
export class KnobControl {
  /** @param {Knob} knob @param {string} id @param {string} markWord @param {(value: Entered) => void} edit */
  constructor(knob, id, markWord, edit) {
    this.knob = knob;
    this.markWord = markWord;
    this.edit = edit;
    this.regimes = /** @type {Wire.Regimes | null} */ (null);
    this.marked = /** @type {Entered | undefined} */ (undefined);
    this.shown = /** @type {Entered} */ ("");
    this.sliding = false;
    this.scale = knob.slider ? makeScale(knob) : null;
    this.field = el("input", { id, type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false",
      class: "knob-field", "aria-describedby": `${id}-help`, placeholder: knob.optional ? this.none : "",
      onchange: () => edit(read(this.field.value)), onkeydown: (event) => {
        if (event.key === "Enter") this.field.blur();
      } });
    this.zones = el("div.zones", { "aria-hidden": "true", hidden: true });
    this.names = el("div.zone-names", { hidden: true });
    this.back = buttonOf("back", { hidden: true, onclick: () => edit(this.marked) });
    this.badge = el("span.knob-badge", { hidden: true });
    this.line = el("p.knob-line", { role: "status" });
    this.gloss = helpOf(knob.label, "");
    this.low = el("span", knob.low);
    this.explain();
    const unit = knob.plain ? "" : unitBeside(knob); // behind "?" of a knob that has plainer words
    this.root = el("div.knob",
      el("div.knob-head",
        el("label", { for: id }, knob.label, unit ? el("span.unit", ` ${unit}`) : null), this.badge, this.gloss,
        this.field),
      this.scale ? this.track() : null, this.names,
      knob.hasLine ? this.line : null,
      el("div.knob-words",
        el("p.help", { id: `${id}-help` }, withCode(knob.plain || knob.help), this.back),
        knob.low || knob.high
          ? el("div.ends", { "aria-hidden": "true" }, this.low, el("span", knob.high)) : null));
  }

  get none() {
    return this.knob.none ?? "off";
  }

  /** What stands behind "?": exactly what it does, its unit, and what is too low and too high. */
  explain() {
    const { help, unit, low, high } = this.knob;
    const { regimes } = this;
    const zones = regimes ? [regimes.loose === null ? "" : `Below ${write(regimes.loose)} it ${ZONES[0]}. `,
      `Above ${write(regimes.tight)} it ${ZONES[2]}. `, regimes.how] : [];
    /** @type {Page.Child[]} */
    const lines = [withCode(help), unit ? `Unit: ${unit}.` : "", low, high, zones.join("")];
    this.gloss.lastElementChild.replaceChildren(...lines.filter(Boolean).map((words) => el("span.gloss-line", words)));
  }

  track() {
    const { scale } = this;
    const chosen = () => scale.toValue(Number(this.slider.value));
    this.slider = el("input", { type: "range", min: 0, max: scale.steps, step: 1, class: "knob-slider",
      "aria-label": this.knob.label, tabindex: "0", oninput: () => {
        this.sliding = true;
        this.field.value = write(chosen());
        this.paint();
      }, onchange: () => {
        this.sliding = false;
        this.edit(chosen());
      } });
    this.mark = el("span.mark", { "aria-hidden": "true", title: `Click to go back to this value (${this.markWord})`,
      onclick: () => this.edit(this.marked) }); // a pointer's way to what `back` does
    return el("div.track", this.slider, this.mark, this.zones);
  }

  /** @param {Entered} value */
  show(value) {
    this.shown = value ?? "";
    if (document.activeElement !== this.field) this.field.value = write(this.shown);
    if (this.scale) this.showSlider();
    this.paint();
  }

  showSlider() {
    const { shown, slider, scale, regimes } = this;
    const isNumber = typeof shown === "number";
    if (!this.sliding) slider.value = String(scale.toStep(isNumber ? shown : scale.low));
    slider.classList.toggle("unset", !isNumber);
    const zone = regimes && isNumber ? `, ${ZONES[zoneOf(shown, regimes)]}` : "";
    setAttribute(slider, "aria-valuetext", (shown === "" ? this.none : write(shown)) + zone);
  }

  /** @param {Entered} value */
  setMark(value) {
    this.marked = value;
    if (this.scale) {
      this.mark.hidden = typeof value !== "number";
      if (typeof value === "number")
        this.mark.style.setProperty("--share", String(this.scale.toStep(value) / this.scale.steps));
    }
    this.paint();
  }

  /**
   * Where the leash is too loose to hold and too tight to see anything: {tight, loose, how}, or null. `coming`: they
   * are not known yet, and their place is kept.
   * @param {Wire.Regimes | null} found
   */
  setRegimes(found, coming = false) {
    const { zones, names, scale } = this;
    for (const part of [zones, names]) {
      part.hidden = !found && !coming;
      part.classList.toggle("coming", !found && coming);
    }
    if (alike(found, this.regimes)) return;
    this.regimes = found;
    setText(this.low, found?.loose === null ? "" : this.knob.low ?? ""); // of a reward with which nothing runs away
    this.explain();
    if (!found) return;
    /** @param {number} value */
    const at = (value) => Math.min(Math.max(scale.toStep(value) / scale.steps, 0), 1);
    const [loose, tight] = [found.loose === null ? 0 : at(found.loose), at(found.tight)];
    zones.style.setProperty("--loose", String(loose));
    zones.style.setProperty("--tight", String(tight));
    names.style.gridTemplateColumns = `${loose}fr ${tight - loose}fr ${1 - tight}fr`; // each word below its colour
    names.replaceChildren(...ZONES.map((name, zone) =>
      el("span", { "data-zone": zone }, zone === 0 && found.loose === null ? "" : name)));
    this.show(this.shown);
  }

  /**
   * When a value takes effect: "live" or "next run"; `now`: whether a run takes it.
   * @param {string} text @param {boolean} now
   */
  setBadge(text, now) {
    this.badge.hidden = !text;
    this.badge.classList.toggle("now", now);
    setText(this.badge, text);
  }

  /** What became of a change, in the line of a knob that `hasLine`. @param {string} sentence */
  say(sentence, isProblem = false) {
    this.line.classList.toggle("problem", isProblem);
    setWords(this.line, sentence);
  }

  paint() {
    const { regimes, slider, scale, shown, marked } = this;
    if (regimes) {
      const value = this.sliding ? scale.toValue(Number(slider.value)) : shown;
      const zone = typeof value === "number" ? zoneOf(value, regimes) : -1;
      for (const name of /** @type {Iterable<HTMLElement>} */ (this.names.children))
        name.classList.toggle("here", Number(name.dataset.zone) === zone);
    }
    slider?.style.setProperty("--share", String(Number(slider.value) / scale.steps));
    const differs = marked !== undefined && !alike(marked, shown);
    this.root.classList.toggle("differs", differs);
    this.back.hidden = !differs;
    if (differs) setText(this.back, `${this.markWord} ${marked === "" ? this.none : write(marked)}`);
  }
}

/** Which of the ZONES a beta lies in. @param {number} value @param {Pick<Wire.Regimes, "tight" | "loose">} regimes */
export function zoneOf(value, { tight, loose }) {
  return tight !== null && value > tight ? 2 : loose !== null && value < loose ? 0 : 1;
}

/**
 * The unit that stands beside a name, unless the name has said it: "Number of pairs" is not followed by "pairs".
 * @param {Pick<Knob, "label" | "unit">} knob
 */
export function unitBeside({ label, unit }) {
  return label.toLowerCase().split(" ").includes(unit) ? "" : unit;
}

/**
 * What was typed: a number; "" for nothing or "off"; else the text, for the server to say what is wrong with it.
 * @param {string} text @returns {Entered}
 */
export function read(text) {
  const plain = text.trim().replace(",", ".").replace("\u2212", "-");
  if (plain === "" || plain.toLowerCase() === "off") return "";
  const value = Number(plain);
  return Number.isFinite(value) ? value : text.trim();
}

/** A value for the field: short, exact, 3e-4 instead of 0.0003. @param {Entered | null | undefined} value */
export function write(value) {
  if (typeof value !== "number") return value ?? "";
  if (value !== 0 && Math.abs(value) < 0.001) return value.toExponential().replace("e-", "e-").replace("e+", "e");
  return String(value);
}

/**
 * @typedef {{ low: number, steps: number, toValue: (at: number) => number, toStep: (value: number) => number }} Scale
 */

/**
 * Slider steps <-> values. Powers of ten if the knob says so; 0, where allowed, is the stop at the left end.
 * `values`: the slider has these, and no others.
 * @param {Pick<Knob, "slider" | "log" | "values">} knob @returns {Scale}
 */
export function makeScale(knob) {
  const { values } = knob;
  if (values?.length) {
    const away = (/** @type {number} */ at, /** @type {number} */ value) => Math.abs(values[at] - value);
    return { low: values[0], steps: values.length - 1, toValue: (at) => values[at],
      toStep: (value) => values.reduce((best, _, at) => (away(at, value) < away(best, value) ? at : best), 0) };
  }
  const [low, high, step] = knob.slider;
  if (!knob.log) {
    const steps = Math.round((high - low) / step);
    const digits = (String(step).split(".")[1] ?? "").length;
    return { low, steps,
      toValue: (at) => Number((low + at * step).toFixed(digits)),
      toStep: (value) => Math.min(Math.max((value - low) / step, 0), steps) };
  }
  const zero = low === 0 ? ZERO_STEPS : 0;
  const from = Math.log10(low || 10 ** (Math.floor(Math.log10(high)) - LOG_DECADES_FROM_ZERO));
  const span = Math.log10(high) - from;
  const steps = LOG_STEPS + zero;
  return { low, steps,
    toValue: (at) =>
      (zero && at < zero / 2 ? 0 : twoDigits(10 ** (from + (Math.max(at - zero, 0) / LOG_STEPS) * span))),
    toStep: (value) =>
      (value <= 0 ? 0 : Math.min(Math.max(zero + ((Math.log10(value) - from) / span) * LOG_STEPS, zero), steps)) };
}

/** @param {number} value */
function twoDigits(value) {
  return Number(value.toPrecision(2));
}
