// A number of the form. While the run in view can be steered, a live setting is the run's: its control shows the value
// in use and sends another one to the run, which is the form's value for the next run too.

import { idOf, KnobControl, write } from "../core/knob.js";
import { form, settings } from "../core/form.js";
import { alike, effect, signal } from "../core/signals.js";
import { live } from "../core/store.js";
import { steer, steered } from "./steering.js";

const BETA = "kl.coef"; // the one that has regimes, computed from the reward's own scale

/** @typedef {import("../core/knob.js").Entered} Entered */

/** @param {Element} element @param {{ value: Entered, knob: Wire.Knob }} props @param {Page.Tools} page */
export function mount(element, props, { trigger, watch }) {
  const { knob } = props;
  const { field } = knob;
  const own = signal(props.value);
  const control = new KnobControl({ ...knob, hasLine: knob.live }, idOf("knob", field), "preset", (value) => {
    if (!alike(props.value, value)) {
      props.value = value;
      trigger("input");
    }
    if (knob.live && steered(field)) steer(field, value);
    own.value = value;
    control.show(steered(field)?.value ?? value);
  });
  element.append(control.root);
  watch("value", () => {
    own.value = props.value;
  });
  effect(() => {
    const run = knob.live ? steered(field) : null;
    control.setMark(/** @type {Entered} */ (form.value.marks[field]));
    if (field === BETA) control.setRegimes((run && live.regimes) || form.value.regimes, true);
    const other = run && live.run && settings.value.preset !== live.run.preset; // the form is about another run
    control.setBadge(!knob.live ? "next run" : other ? `live: ${live.run.title}` : "live", Boolean(run));
    if (knob.live) control.say(run ? sentenceOf(run, own.value, isWrong(field)) : "", Boolean(run?.problem));
    control.show(run ? run.value : own.value);
    if (field === BETA) document.getElementById("controls")?.classList.toggle("steered", Boolean(run));
  });
}

/** @param {string} field */
function isWrong(field) {
  return form.value.problems.some((problem) => problem.field === field);
}

/**
 * What there is to say about a setting of the run in view; `next` is the form's value.
 * @param {import("./steering.js").Steered} setting @param {Entered} next @param {boolean} told
 */
export function sentenceOf({ draft, sent, problem, used, set, remark, since }, next, told) {
  if (problem) return `${told ? "" : `${problem} `}The run keeps ${write(used)}.`; // the form has said why
  if (draft !== undefined) return `Sending ${write(draft)}`;
  if (sent !== undefined) return `${write(sent)} from the next update`;
  const parts = [remark, since === null ? "" : `Set after update ${since}.`,
    alike(next, set) ? "" : `Next run: ${next === "" ? "off" : write(next)}.`];
  return parts.filter(Boolean).slice(-2).join(" ");
}
