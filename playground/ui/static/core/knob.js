// One number of the form: name and unit, a field, a slider (linear, or in powers of ten with 0 at its left end), a mark
// at the preset's value, one sentence on what it does and one at each end on too low and too high.

import { buttonOf, el, helpOf, setText, withCode } from "./dom.js";
import { form } from "./form.js";
import { effect } from "./signals.js";

const LOG_STEPS = 200;
const ZERO_STEPS = 10; // width of the "0" stop at the left end of a slider in powers of ten
const LOG_DECADES_FROM_ZERO = 3;
const BETA = "kl.coef"; // the one that has regimes, computed from the reward's own scale

export const ZONES = ["runs away", "useful", "barely moves"];

export function mount(element, props, { trigger, watch }) {
  const { knob } = props;
  const control = knobControl(knob, `knob-${knob.field.replaceAll(".", "-")}`, {
    markWord: "preset",
    onEdit: (value) => {
      if (JSON.stringify(props.value) !== JSON.stringify(value)) {
        props.value = value;
        trigger("input");
      }
      control.show(props.value);
    },
  });
  element.append(control.root);
  watch("value", () => control.show(props.value));
  effect(() => {
    control.setMark(form.value.marks[knob.field]);
    if (knob.field === BETA) control.setRegimes(form.value.regimes);
    control.show(props.value);
  });
}

/**
 * The control by itself. `onEdit(value)` hears what a person sets; `show(value)` and `setMark(value)` are for the
 * owner. `markWord` says what the marked value is, for example "preset".
 */
export function knobControl(knob, id, { markWord, onEdit }) {
  const scale = knob.slider ? makeScale(knob) : null;
  const field = el("input", { id, type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false",
    class: "knob-field", "aria-describedby": `${id}-help`, placeholder: knob.optional ? knob.none ?? "off" : "",
    onchange: () => onEdit(read(field.value)),
    onkeydown: (event) => {
      if (event.key === "Enter") field.blur();
    } });
  const slider = scale && el("input", { type: "range", min: 0, max: scale.steps, step: 1, class: "knob-slider",
    "aria-label": knob.label, tabindex: "0",
    oninput: () => {
      sliding = true;
      field.value = write(scale.toValue(Number(slider.value)));
      paint();
    },
    onchange: () => {
      sliding = false;
      onEdit(scale.toValue(Number(slider.value)));
    } });
  const mark = buttonOf("mark", { tabindex: "-1",
    title: `Click to go back to this value (${markWord})`, onclick: () => onEdit(markValue) });
  const back = buttonOf("back", { hidden: true, onclick: () => onEdit(markValue) });
  const unit = unitBeside(knob);
  const zones = el("div", { class: "zones", "aria-hidden": "true", hidden: true });
  const names = el("div", { class: "zone-names", hidden: true });
  let regimes = null;
  let markValue;
  let shown = "";
  let sliding = false;

  const root = el("div", { class: "knob" },
    el("div", { class: "knob-head" },
      el("label", { for: id }, knob.label, unit ? el("span", { class: "unit" }, ` ${unit}`) : null), field),
    el("p", { class: "help", id: `${id}-help` }, withCode(knob.help), back),
    slider ? el("div", { class: "track" }, slider, mark, zones) : null, names,
    knob.low || knob.high ? el("div", { class: "ends" }, el("span", {}, knob.low), el("span", {}, knob.high)) : null);

  function show(value) {
    shown = value ?? "";
    if (document.activeElement !== field) field.value = write(shown);
    if (slider) {
      if (!sliding) slider.value = scale.toStep(typeof shown === "number" ? shown : scale.low);
      slider.classList.toggle("unset", typeof shown !== "number");
      const told = shown === "" ? knob.none ?? "off" : write(shown);
      const zone = regimes && typeof shown === "number" ? `, ${ZONES[zoneOf(shown, regimes)]}` : "";
      slider.setAttribute("aria-valuetext", told + zone);
    }
    paint();
  }

  function setMark(value) {
    markValue = value;
    if (slider) {
      mark.hidden = typeof markValue !== "number";
      if (!mark.hidden) mark.style.setProperty("--share", scale.toStep(markValue) / scale.steps);
    }
    paint();
  }

  /**
   * Where the leash is too loose to hold and too tight to see anything: {tight, loose, how}, or null. `coming`: they
   * are not known yet, and their place is kept.
   */
  function setRegimes(found, coming = false) {
    for (const part of [zones, names]) {
      part.hidden = !found && !coming;
      part.classList.toggle("coming", !found && coming);
    }
    if (JSON.stringify(found) === JSON.stringify(regimes)) return;
    regimes = found;
    if (!regimes) return;
    const at = (value) => Math.min(Math.max(scale.toStep(value) / scale.steps, 0), 1);
    zones.style.setProperty("--loose", regimes.loose === null ? 0 : at(regimes.loose));
    zones.style.setProperty("--tight", at(regimes.tight));
    names.replaceChildren(
      el("span", { "data-zone": "0" }, regimes.loose === null ? "" : `${ZONES[0]} < ${write(regimes.loose)}`),
      el("span", { "data-zone": "1" }, ZONES[1]),
      el("span", { "data-zone": "2" }, `${ZONES[2]} > ${write(regimes.tight)} `, helpOf("a useful beta", regimes.how)));
    show(shown);
  }

  function paint() {
    if (regimes) {
      const value = sliding ? scale.toValue(Number(slider.value)) : shown;
      const zone = typeof value === "number" ? zoneOf(value, regimes) : -1;
      for (const name of names.children) name.classList.toggle("here", Number(name.dataset.zone) === zone);
    }
    if (slider) slider.style.setProperty("--share", Number(slider.value) / scale.steps);
    const differs = markValue !== undefined && JSON.stringify(markValue) !== JSON.stringify(shown);
    root.classList.toggle("differs", differs);
    back.hidden = !differs;
    if (differs) setText(back, `${markWord} ${markValue === "" ? knob.none ?? "off" : write(markValue)}`);
  }

  return { root, field, show, setMark, setRegimes };
}

/** Which of the ZONES a beta lies in. */
export function zoneOf(value, { tight, loose }) {
  return value > tight ? 2 : loose !== null && value < loose ? 0 : 1;
}

/** The unit that stands beside a name, unless the name has said it: "Number of pairs" is not followed by "pairs". */
export function unitBeside({ label, unit }) {
  return label.toLowerCase().split(" ").includes(unit) ? "" : unit;
}

/** What was typed: a number; "" for nothing or "off"; else the text, for the server to say what is wrong with it. */
export function read(text) {
  const plain = text.trim().replace(",", ".").replace("\u2212", "-");
  if (plain === "" || plain.toLowerCase() === "off") return "";
  const value = Number(plain);
  return Number.isFinite(value) ? value : text.trim();
}

/** A value for the field: short, exact, 3e-4 instead of 0.0003. */
export function write(value) {
  if (typeof value !== "number") return value ?? "";
  if (value !== 0 && Math.abs(value) < 0.001) return value.toExponential().replace("e-", "e-").replace("e+", "e");
  return String(value);
}

/** Slider steps <-> values. Powers of ten if the knob says so; 0, where allowed, is the stop at the left end. */
export function makeScale(knob) {
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

function twoDigits(value) {
  return Number(value.toPrecision(2));
}
