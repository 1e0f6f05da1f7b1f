// Which behaviours a run counts: those that suit the prompts, or some of those that ship and of one's own, each of
// which is measured by a reward. Value: "" for those that suit, else a list of {name, words, aim, above, measure}.

import { buttonOf, el, menuOf, showParts } from "../core/dom.js";
import { form } from "../core/form.js";
import { read, write } from "../core/knob.js";
import { effect } from "../core/signals.js";
import { Widget } from "../core/widget.js";
import { mount as mountPicker } from "../rewards/picker.js";

const AIMS = [["less", "less often is better"], ["more", "more often is better"], ["neither", "neither is better"]];
const FIRST = { kind: "keyword", weight: 1, normalise: false, cap: "", words: "sorry, afraid" };

/** @typedef {{ value: Wire.Behaviour[] | "", ready: Wire.ReadyBehaviour[] } & Wire.Lists} Props */

/** @param {Element} element @param {Props} props @param {Page.Tools} page */
export const mount = (element, props, page) => new BehaviourPicker(element, props, page);

/** @extends {Widget<Props>} */
class BehaviourPicker extends Widget {
  /** @param {Element} element @param {Props} props @param {Page.Tools} page */
  constructor(element, props, page) {
    super(props, page);
    this.mine = ""; // what stands in the boxes of one's own
    this.suits = el("input", { type: "checkbox", onchange: () => this.edit(this.suits.checked ? ""
      : props.ready.filter(({ name }) => form.value.suiting.includes(name)).map(asBehaviour)) });
    this.which = el("p.help");
    this.offered = el("div.behaviour-choices");
    this.own = el("div");
    this.list = el("div", this.offered, this.own,
      buttonOf("quiet-button", { onclick: () => this.add() }, "+ Add your own"));
    element.append(el("div.rewards.behaviours", { role: "group",
      "aria-label": "Behaviours to count" },
    el("p.help", "A yes or no for each answer to the fixed prompts, counted at every evaluation: before, "
      + "during and after training. Nothing is trained on it."),
    el("label.own.check", this.suits, el("span", "The usual ones for these prompts")), this.which,
    this.list));
    page.watch("value", () => {
      if (JSON.stringify(props.value) !== this.mine) this.show();
    });
    effect(() => this.show());
  }

  /** @param {Props["value"]} value */
  edit(value) {
    this.give(value);
    this.show();
  }

  add() {
    this.edit([...this.current(), { name: "", words: "", aim: "less", above: 0, measure: FIRST }]);
    /** @type {HTMLElement} */ (this.own.querySelector(".own-behaviour:last-child input")).focus();
  }

  /**
   * Of one's own: its box stays as it is, and so does the focus.
   * @param {number} index @param {Partial<Wire.Behaviour>} changes
   */
  change(index, changes) {
    const changed = this.current().map((one, place) => (place === index ? { ...one, ...changes } : one));
    this.mine = JSON.stringify(changed);
    this.give(changed);
  }

  show() {
    const { ready, value } = this.props;
    this.suits.checked = !Array.isArray(value);
    this.list.hidden = this.suits.checked;
    const names = this.suits.checked ? form.value.suiting : [];
    this.which.textContent = names.map((name) => ready.find((one) => one.name === name)?.words ?? name).join(", ");
    showParts(this.offered, ready.map(({ name, words, help }) => el("label.own.check", { "data-key": name },
      el("input", { type: "checkbox", checked: this.current().some((one) => one.name === name),
        onchange: ({ target }) => this.choose(name, target.checked) }),
      el("span", words, el("span.help", help)))));
    if (JSON.stringify(value) === this.mine) return;
    this.mine = JSON.stringify(value);
    this.own.replaceChildren(...this.current().map((one, index) => (one.measure ? this.editor(one, index) : ""))
      .filter(Boolean));
  }

  /**
   * Count one of those that ship, or no longer; they keep their order.
   * @param {string} name @param {boolean} counted
   */
  choose(name, counted) {
    const chosen = this.current();
    const names = chosen.map((one) => one.name).filter((one) => one !== name);
    if (counted) names.push(name);
    this.edit([...this.props.ready.filter((one) => names.includes(one.name)).map((one) =>
      chosen.find((known) => known.name === one.name) ?? asBehaviour(one)), ...chosen.filter((one) => one.measure)]);
  }

  /**
   * One of one's own: how its count reads, what is measured, and from where on it is a yes.
   * @param {Wire.Behaviour} one @param {number} index
   */
  editor(one, index) {
    /** @param {"words" | "name"} field @param {string} placeholder */
    const text = (field, placeholder) => el("input", { type: "text", value: one[field], placeholder,
      spellcheck: "false", onchange: ({ target }) => this.change(index, { [field]: target.value.trim() }) });
    const words = text("words", "says sorry");
    const name = text("name", "says-sorry");
    words.addEventListener("change", () => {
      if (name.value) return;
      name.value = words.value.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60);
      this.change(index, { name: name.value });
    });
    const above = el("input", { type: "text", inputmode: "decimal", value: write(one.above),
      onchange: () => this.change(index, { above: read(above.value) }) });
    const aim = menuOf(AIMS, { value: one.aim, onchange: () => this.change(index, { aim: aim.value }) });
    const whose = one.words || "your own";
    /** @param {string} label @param {Element} control */
    const row = (label, control) => el("label.own", label, control);
    return el("div.own-behaviour", { "data-index": index, role: "group",
      "aria-label": one.words || "Your own" },
    el("div.reward-head", el("strong.grow", "Your own"),
      buttonOf("icon-button", { "aria-label": `Remove ${whose}`, title: "Remove",
        onclick: () => this.edit(this.current().filter((_, place) => place !== index)) }, "\u00d7")),
    row("It \u2026", words), row("Name (lower case)", name), this.measure(one, index),
    row("Yes if above", above), row("Which way is better", aim));
  }

  /** @param {Wire.Behaviour} one @param {number} index */
  measure(one, index) {
    const box = el("div");
    const { kinds, functions } = this.props;
    const held = { kinds, functions, place: `behaviour-${index}`, watching: true, single: true,
      title: "What is measured", value: [one.measure] };
    mountPicker(box, held, { trigger: () => this.change(index, { measure: held.value[0] }), watch: () => {},
      server: this.server });
    return box;
  }
}

/** @param {Wire.ReadyBehaviour} ready @returns {Wire.Behaviour} */
function asBehaviour({ name, words, aim }) {
  return { name, words, aim, above: 0, measure: null };
}
