// The reward picker: one or several rewards, each with a weight and the fields of its kind. Value: a list of objects.
// The judges that only watch are picked with it too (`props.watching`): then the list may be empty, and no weight
// counts. What measures a behaviour of one's own is a `single` one of these.

import { buttonOf, el, helpOf, signOf, withCode } from "../core/dom.js";
import { read, write } from "../core/knob.js";
import { effect, whenNew } from "../core/signals.js";
import { lists, trained } from "./lists.js";
import { functionList, writingField } from "./written.js";

const MOST_OFFERED = 4; // reward models as buttons; the rest while one types

export function mount(element, props, { trigger, watch, server }) {
  const { kinds, watching, single } = props;
  const list = el("div", { class: "reward-list" });
  let writing = false; // a box is being written in, and stays as it is
  const open = new Set(); // which folded parts a person has opened, as "index name"
  const names = el("datalist", { id: `${props.place}-models` });
  const add = buttonOf("quiet-button", { onclick: () => {
    const used = new Set(current().map((reward) => reward.kind));
    const kind = kinds.find((item) => !used.has(item.kind)) ?? kinds[0];
    edit([...current(), fresh(kind.kind)]);
  } }, watching ? "+ Add a judge" : "+ Add a reward");
  add.hidden = Boolean(single);
  element.append(el("div", { class: "rewards", role: "group", "aria-label": props.title },
    watching ? null : el("div", { class: "knob-head" }, el("span", { class: "label" }, props.title),
      el("span", { class: "unit" }, "weighted sum ",
        helpOf("the weight", "Each reward is multiplied by its weight, the number after \u00d7, and all are added up. "
          + "A negative weight punishes."))),
    props.help ? el("p", { class: "help" }, props.help) : null, list, add, names));

  const current = () => (Array.isArray(props.value) ? props.value : []);
  const kindOf = (name) => kinds.find((item) => item.kind === name);
  // a reward that another part offers (static/rewards/training.js) takes the place of all that are there
  document.addEventListener("playground-use-reward", (event) => {
    const { place, reward } = /** @type {CustomEvent} */ (event).detail;
    if (place === props.place) edit([{ ...fresh(reward.kind), ...reward }]);
  });

  function fresh(kind) {
    const found = kindOf(kind);
    const newest = kind === "model" ? { source: trained.value[0] ?? "" } : {};
    return { kind, weight: found.weight, normalise: false, cap: "",
      ...Object.fromEntries(found.fields.map((field) => [field.name, field.default])), ...newest };
  }

  function edit(value) {
    props.value = value;
    trigger("input");
    show();
  }

  function change(index, name, value) {
    edit(current().map((reward, place) => (place === index ? { ...reward, [name]: value } : reward)));
  }

  /** What is being written goes to the server, and the box that it is written in stays as it is. */
  function changeUnderWay(index, name, value) {
    props.value = current().map((reward, place) => (place === index ? { ...reward, [name]: value } : reward));
    writing = true;
    show();
    writing = false;
    trigger("input");
  }

  /** What is wrong with a reward, where no form beside the list says so. */
  const problemOf = async (index) => await server?.reward_problem?.(current()[index]).catch(() => "") || "";
  const told = async (index) => (props.place === "workbench" ? problemOf(index) : "");

  /** Draw the list anew, with the focus where it was. */
  function show() {
    if (lists[props.place]) lists[props.place].value = current();
    draw(current());
  }
  const draw = whenNew((rewards) => {
    if (writing) return;
    const focused = list.contains(document.activeElement) ? document.activeElement.getAttribute("data-key") : null;
    list.replaceChildren(...rewards.map(row));
    offer();
    if (focused) /** @type {HTMLElement} */ (list.querySelector(`[data-key="${focused}"]`))?.focus();
  });

  function row(reward, index) {
    const kind = kindOf(reward.kind);
    const label = kind?.label ?? reward.kind;
    const select = el("select", {
      "aria-label": single ? "What is measured" : watching ? "Kind of judge" : "Kind of reward",
      "data-key": `${index} kind`, onchange: () => {
        edit(current().map((item, place) => (place === index ? fresh(select.value) : item)));
        if (select.value === "model" && !trained.value.length) takeNewest(index);
      } },
      kinds.map((item) => el("option", { value: item.kind }, item.label)));
    select.value = reward.kind;
    const weight = el("input", { type: "text", inputmode: "decimal", value: write(reward.weight),
      "aria-label": `Weight of ${label}`,
      class: "weight", "data-key": `${index} weight`,
      onchange: () => change(index, "weight", read(weight.value)) });
    const remove = buttonOf("icon-button", { "aria-label": `Remove ${label}`,
      title: "Remove", hidden: single || (!watching && current().length < 2),
      onclick: () => edit(current().filter((_, place) => place !== index)) }, "\u00d7");
    const control = (field) => (field.lines
      ? writingField(field, reward[field.name], `${index} ${field.name}`, {
        changed: (value) => changeUnderWay(index, field.name, value), problem: () => told(index),
        problemNow: () => problemOf(index), reward: () => current()[index], functions: props.functions })
      : ownField(field, reward[field.name], `${index} ${field.name}`, props.place,
        (value) => change(index, field.name, value)));
    const fields = kind?.fields ?? [];
    const rare = fields.filter((field) => field.rare);
    return el("div", { class: "reward", "data-index": index },
      el("div", { class: "reward-head" }, select, watching ? null
        : [el("span", { class: "times", "aria-hidden": "true" }, "\u00d7"), weight], remove),
      el("p", { class: "help" }, withCode(kind?.help ?? "")),
      kind?.warning ? el("p", { class: "warning" }, signOf("! "), withCode(kind.warning)) : null,
      fields.filter((field) => !field.rare).map(control),
      reward.kind === "model" ? el("p", { class: "help at-hand" }) : null,
      fields.some((field) => field.name === "expression")
        ? folded(`${index} functions`, "What an expression can use", functionList(props.functions)) : null,
      rare.length ? folded(`${index} rare`, "More about the model", rare.map(control)) : null,
      watching ? null : scaleAndCap(reward, index));
  }

  /** The reward models that are at hand, the newest first, each one click away. The boxes stay as they are: the names
   * come while a person writes. */
  function offer() {
    names.replaceChildren(...trained.value.map((name) => el("option", { value: name })));
    for (const place of list.querySelectorAll(".at-hand")) {
      const index = Number(place.closest(".reward").getAttribute("data-index"));
      const offered = trained.value.filter((name) => name !== current()[index]?.source).slice(0, MOST_OFFERED);
      place.replaceChildren(...(offered.length ? ["At hand: "] : []), ...offered.map((name) =>
        buttonOf("quiet-button", { "data-key": `${index} take ${name}`,
          onclick: () => change(index, "source", name) }, name)));
    }
  }

  /** What happens to a value before it is weighted. */
  function scaleAndCap(reward, index) {
    const normalise = el("input", { type: "checkbox", checked: Boolean(reward.normalise),
      "data-key": `${index} normalise`,
      onchange: () => change(index, "normalise", normalise.checked) });
    const cap = el("input", { type: "text", inputmode: "decimal", value: write(reward.cap ?? ""), placeholder: "no cap",
      "data-key": `${index} cap`,
      onchange: () => change(index, "cap", read(cap.value)) });
    const told = [reward.normalise ? "on the reference's scale" : null,
      reward.cap ? `cap \u00b1${reward.cap}` : null].filter(Boolean).join(", ");
    return folded(`${index} scale`, el("span", {}, "Scale and cap",
      told ? el("span", { class: "told" }, `: ${told}`) : null), [
      el("label", { class: "own check" }, normalise,
        el("span", {}, "Measure in standard deviations of the reference's texts")),
      el("p", { class: "help" }, "Then weights of different rewards compare: each is 1 sd wide before it is weighted."),
      el("label", { class: "own" }, `Cap, in ${reward.normalise ? "sd" : "the reward's own units"}`, cap),
      el("p", { class: "help" },
        "Beyond plus or minus this, more of it pays nothing: what is farmed cannot drown the rest."),
    ]);
  }

  function folded(key, title, children) {
    const details = el("details", { class: "folded", open: open.has(key), ontoggle: () => {
      if (details.open) open.add(key);
      else open.delete(key);
    } }, el("summary", { "data-key": key }, title), children);
    return details;
  }

  /** Names of the reward models that were trained here, for a person who turns to a choice that may need them. */
  async function offerNames() {
    const found = await server?.reward_models?.(null).catch(() => null);
    if (Array.isArray(found)) trained.value = found;
  }

  /** The newest of them for a reward that names none yet. */
  async function takeNewest(index) {
    await offerNames();
    const reward = current()[index];
    if (reward?.kind === "model" && !reward.source && trained.value.length) change(index, "source", trained.value[0]);
  }

  list.addEventListener("focusin", (event) => {
    if (event.target.matches("select, [list]")) offerNames();
  });
  watch("value", show);
  show();
  effect(offer);
}

function ownField(field, value, key, place, changed) {
  if (field.options.length) {
    const select = el("select", { "data-key": key, onchange: () => changed(select.value) },
      field.options.map((option) => el("option", { value: option }, option)));
    select.value = value;
    return el("label", { class: "own" }, field.label, select);
  }
  const input = el("input", { type: "text", value: field.number ? write(value ?? "") : value ?? "",
    placeholder: field.hint, spellcheck: "false", "data-key": key,
    list: field.name === "source" ? `${place}-models` : null, inputmode: field.number ? "decimal" : null,
    onchange: () => changed(field.number ? read(input.value) : input.value) });
  return el("label", { class: "own" }, field.label, input);
}
