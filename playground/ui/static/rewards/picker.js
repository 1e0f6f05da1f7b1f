// The reward picker: one or several rewards, each with a weight and the fields of its kind. Value: a list of objects.
// The monitors, which are not trained on, are picked with it too (`props.watching`): then the list may be empty, and no
// weight counts. What measures a behaviour of one's own is a `single` one of these.

import { buttonOf, el, helpOf, kept, menuOf, showParts, signOf, withCode } from "../core/dom.js";
import { read, write } from "../core/knob.js";
import { effect, untracked } from "../core/signals.js";
import { Widget } from "../core/widget.js";
import { lists, trained } from "./lists.js";
import { functionList, WrittenBox } from "./written.js";

const MOST_OFFERED = 4; // reward models as buttons; the rest while one types
const WEIGHT_GLOSS = "The score is the sum of all rewards, each multiplied by its weight, the number after \u00d7. A "
  + "negative weight punishes. Several reward models can be an ensemble instead: All settings, Sampling and score.";

/**
 * @typedef {Wire.Reward} Reward
 * @typedef {{ value: Reward[], place: string, title: string, help?: string, watching?: boolean, single?: boolean }
 *   & Wire.Lists} Props
 * @typedef {import("../core/knob.js").Entered} Entered
 */

/** @param {Element} element @param {Props} props @param {Page.Tools} page */
export const mount = (element, props, page) => new Picker(element, props, page);

/** @extends {Widget<Props>} */
class Picker extends Widget {
  /** @param {Element} element @param {Props} props @param {Page.Tools} page */
  constructor(element, props, page) {
    super(props, page);
    const { watching, single, place, title } = props;
    this.touched = false; // a person has changed something here
    /** @type {Map<string, WrittenBox>} */
    this.boxes = new Map(); // those of several lines, which stay as they are while somebody writes
    this.list = el("div.reward-list");
    this.names = el("datalist", { id: `${place}-models` });
    element.append(el("div.rewards", { role: "group", "aria-label": title },
      watching ? null : el("div.knob-head", el("span.label", title),
        el("span.unit", "weighted sum ", helpOf("the weight", WEIGHT_GLOSS))),
      props.help ? el("p.help", props.help) : null, this.list,
      buttonOf("quiet-button", { hidden: Boolean(single), onclick: () => this.add() },
        watching ? "+ Add a monitor" : "+ Add a reward"), this.names));
    // a reward that another part offers (static/rewards/training.js) takes the place of all that are there
    document.addEventListener("playground-use-reward", (event) => {
      const { place: where, reward } = /** @type {CustomEvent<{ place: string, reward: Reward }>} */ (event).detail;
      if (where === place) this.edit([{ ...this.fresh(reward.kind), ...reward }]);
    });
    this.list.addEventListener("focusin", (event) => {
      if (/** @type {Element} */ (event.target).matches("select, [list]")) this.offerNames();
    });
    page.watch("value", () => this.show());
    effect(() => this.show());
    if (place === "workbench") effect(() => this.followForm(lists.train.value));
  }

  /** The workbench has the rewards of the form until a person has chosen others there. */
  followForm(/** @type {Reward[]} */ rewards) {
    if (this.touched || !rewards.length) return;
    this.give(rewards);
    untracked(() => this.show());
  }

  kindOf(/** @type {string} */ name) {
    return this.props.kinds.find((item) => item.kind === name);
  }

  /** @param {string} kind @returns {Reward} */
  fresh(kind) {
    const { weight, fields } = this.kindOf(kind);
    return { kind, weight, normalise: false, cap: "", ...Object.fromEntries(fields.map((field) =>
      [field.name, field.default])), ...(kind === "model" ? { source: trained.value[0] ?? "" } : {}) };
  }

  edit(/** @type {Reward[]} */ value) {
    this.touched = true;
    this.give(value);
    this.show();
  }

  add() {
    const { kinds } = this.props;
    const used = new Set(this.current().map((reward) => reward.kind));
    this.edit([...this.current(), this.fresh((kinds.find((item) => !used.has(item.kind)) ?? kinds[0]).kind)]);
  }

  change(/** @type {number} */ index, /** @type {Partial<Reward>} */ changes) {
    this.edit(this.current().map((reward, place) => (place === index ? { ...reward, ...changes } : reward)));
  }

  show() {
    const rewards = this.current();
    const { place } = this.props;
    if (lists[place]) lists[place].value = rewards;
    showParts(this.names, trained.value.map((name) => el("option", { value: name })));
    showParts(this.list, rewards.map((reward, index) => this.row(reward, index)));
  }

  row(/** @type {Reward} */ reward, /** @type {number} */ index) {
    const { watching, single, kinds, functions } = this.props;
    const kind = this.kindOf(reward.kind);
    const label = kind?.label ?? reward.kind;
    const fields = kind?.fields ?? [];
    const rare = fields.filter((field) => field.rare);
    const control = (/** @type {Wire.RewardField} */ field) => this.control(field, reward, index);
    return el("div.reward", { "data-index": index, "data-key": `${index} ${reward.kind}` },
      el("div.reward-head",
        menuOf(kinds.map((item) => [item.kind, item.label]), { value: reward.kind, "data-key": `${index} kind`,
          "aria-label": single ? "What is measured" : watching ? "Kind of monitor" : "Kind of reward",
          onchange: ({ target }) => this.changeKind(index, target.value) }),
        watching ? null : [el("span.times", { "aria-hidden": "true" }, "\u00d7"),
          this.number("weight", write(reward.weight), index, { class: "weight", "aria-label": `Weight of ${label}` })],
        buttonOf("icon-button", { "aria-label": `Remove ${label}`, title: "Remove",
          hidden: single || (!watching && this.current().length < 2),
          onclick: () => this.edit(this.current().filter((_, place) => place !== index)) }, "\u00d7")),
      el("p.help", withCode(kind?.help ?? "")),
      kind?.warning ? el("p.warning", signOf("! "), withCode(kind.warning)) : null,
      fields.filter((field) => !field.rare).map(control),
      reward.kind === "model" ? this.atHand(reward, index) : null,
      fields.some((field) => field.name === "expression")
        ? folded("functions", "What an expression can use", functionList(functions)) : null,
      rare.length ? folded("rare", "More about the model", rare.map(control)) : null,
      watching ? null : this.scaleAndCap(reward, index));
  }

  /** @param {string} name @param {string} value @param {number} index @param {Record<string, string>} attributes */
  number(name, value, index, attributes) {
    return el("input", { type: "text", inputmode: "decimal", value, "data-key": `${index} ${name}`, ...attributes,
      onchange: ({ target }) => this.change(index, { [name]: read(target.value) }) });
  }

  /** @param {Wire.RewardField} field @param {Reward} reward @param {number} index @returns {HTMLElement} */
  control(field, reward, index) {
    const { name, label, options, lines, hint } = field;
    const key = `${index} ${name}`;
    /** @param {{ target: { value: string } }} event */
    const changed = ({ target }) => this.change(index, { [name]: target.value });
    if (lines) return this.box(field, reward, index, key);
    if (options.length)
      return el("label.own", label,
        menuOf(options.map((option) => [option, option]), { value: reward[name], "data-key": key, onchange: changed }));
    if (field.number)
      return el("label.own", label,
        this.number(name, write(/** @type {Entered} */ (reward[name] ?? "")), index,
          { placeholder: hint, spellcheck: "false" }));
    return el("label.own", label, el("input", { type: "text", value: reward[name] ?? "",
      placeholder: hint, spellcheck: "false", "data-key": key,
      list: name === "source" ? `${this.props.place}-models` : null, onchange: changed }));
  }

  /** @param {Wire.RewardField} field @param {Reward} reward @param {number} index @param {string} key */
  box(field, reward, index, key) {
    const whose = `${key} ${reward.kind}`;
    const changed = (/** @type {string} */ value) => this.change(index, { [field.name]: value });
    if (!this.boxes.has(whose))
      this.boxes.set(whose, new WrittenBox(field, key, { changed, problem: () => this.problemOf(index) }));
    return kept(this.boxes.get(whose).take(String(reward[field.name] ?? "")));
  }

  /** What is wrong with a reward, where no form beside the list says so. @param {number} index */
  async problemOf(index) {
    if (this.props.place !== "workbench") return "";
    return await this.server?.reward_problem?.(this.current()[index]).catch(() => "") || "";
  }

  /** The reward models that are at hand, the newest first, each one click away. */
  atHand(/** @type {Reward} */ { source }, /** @type {number} */ index) {
    const offered = trained.value.filter((name) => name !== source).slice(0, MOST_OFFERED);
    return el("p.help.at-hand", offered.length ? "Trained here: " : "", offered.map((name) =>
      buttonOf("quiet-button", { "data-key": `${index} take ${name}`,
        onclick: () => this.change(index, { source: name }) }, name)));
  }

  /** What happens to a value before it is weighted. */
  scaleAndCap(/** @type {Reward} */ { normalise, cap }, /** @type {number} */ index) {
    const told = [normalise ? "in sd of the reference" : "", cap ? `cap \u00b1${cap}` : ""].filter(Boolean)
      .join(", ");
    return folded("scale", el("span", "Scale and cap", told ? el("span.told", `: ${told}`) : null), [
      el("label.own.check", el("input", { type: "checkbox", checked: Boolean(normalise),
        "data-key": `${index} normalise`,
        onchange: ({ target }) => this.change(index, { normalise: target.checked }) }),
      el("span", "Measure in standard deviations of the reference's texts")),
      el("p.help", "Then weights of different rewards compare: each has a spread of 1 sd before its weight."),
      el("label.own", `Cap, in ${normalise ? "sd" : "the reward's own units"}`,
        this.number("cap", write(cap ?? ""), index, { placeholder: "no cap" })),
      el("p.help", "Beyond plus or minus this, more pays nothing: one reward that is gamed cannot drown the others."),
    ]);
  }

  async changeKind(/** @type {number} */ index, /** @type {string} */ kind) {
    this.edit(this.current().map((item, place) => (place === index ? this.fresh(kind) : item)));
    if (kind !== "model" || trained.value.length) return;
    await this.offerNames();
    const reward = this.current()[index];
    if (reward?.kind === "model" && !reward.source && trained.value.length)
      this.change(index, { source: trained.value[0] });
  }

  /** Names of the reward models that were trained here, for a person who turns to a choice that may need them. */
  async offerNames() {
    const found = await this.server?.reward_models?.(null).catch(() => /** @type {string[]} */ (null));
    if (Array.isArray(found)) trained.value = found;
  }
}

/** @param {string} key @param {Page.Child} title @param {Page.Child} children */
function folded(key, title, children) {
  return el("details.folded", { "data-key": key }, el("summary", title), children);
}
