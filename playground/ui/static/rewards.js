// The reward picker: one or several rewards, each with a weight and the fields of its kind. Value: a list of objects.

import { el } from "./dom.js";
import { read, write } from "./knob.js";

export function mount(element, props, { trigger, watch }) {
  const kinds = props.kinds;
  const list = el("div", { class: "reward-list" });
  const add = el("button", { type: "button", class: "quiet-button", onclick: () => {
    const used = new Set(current().map((reward) => reward.kind));
    const kind = kinds.find((item) => !used.has(item.kind)) ?? kinds[0];
    edit([...current(), fresh(kind.kind)]);
  } }, "+ Add a reward");
  element.append(el("div", { class: "rewards", role: "group", "aria-label": "Reward" },
    el("div", { class: "knob-head" }, el("span", { class: "label" }, "Reward"), el("span", { class: "unit" }, "weighted sum")), list, add));

  const current = () => (Array.isArray(props.value) ? props.value : []);
  const kindOf = (name) => kinds.find((item) => item.kind === name);
  // a reward that another page offers (static/reward_training.js) takes the place of all that are there
  document.addEventListener("playground-use-reward", ({ detail }) => props.watching || edit([{ ...fresh(detail.kind), ...detail }]));

  function fresh(kind) {
    const found = kindOf(kind);
    return { kind, weight: found.weight, ...Object.fromEntries(found.fields.map((field) => [field.name, field.default])) };
  }

  function edit(value) {
    props.value = value;
    trigger("input");
    show();
  }

  function change(index, name, value) {
    edit(current().map((reward, place) => (place === index ? { ...reward, [name]: value } : reward)));
  }

  function show() {
    const text = JSON.stringify(current());
    if (list.dataset.shown === text) return;
    list.dataset.shown = text;
    list.replaceChildren(...current().map(row));
  }

  function row(reward, index) {
    const kind = kindOf(reward.kind);
    const select = el("select", { "aria-label": "Kind of reward", onchange: () =>
      edit(current().map((item, place) => (place === index ? fresh(select.value) : item))) },
      kinds.map((item) => el("option", { value: item.kind }, item.label)));
    select.value = reward.kind;
    const weight = el("input", { type: "text", inputmode: "decimal", value: write(reward.weight), "aria-label": "Weight",
      class: "weight", title: "Weight: a negative one punishes", onchange: () => change(index, "weight", read(weight.value)) });
    const remove = el("button", { type: "button", class: "icon-button", "aria-label": `Remove ${kind?.label ?? reward.kind}`,
      title: "Remove", hidden: current().length < 2, onclick: () => edit(current().filter((_, place) => place !== index)) }, "\u00d7");
    return el("div", { class: "reward", "data-index": index },
      el("div", { class: "reward-head" }, select, el("span", { class: "times", "aria-hidden": "true" }, "\u00d7"), weight, remove),
      el("p", { class: "help" }, kind?.help ?? ""),
      (kind?.fields ?? []).map((field) => ownField(field, reward[field.name], (value) => change(index, field.name, value))));
  }

  watch("value", show);
  show();
}

function ownField(field, value, changed) {
  if (field.options.length) {
    const select = el("select", { onchange: () => changed(select.value) },
      field.options.map((option) => el("option", { value: option }, option)));
    select.value = value;
    return el("label", { class: "own" }, field.label, select);
  }
  const whole = field.name === "target";
  const input = el("input", { type: "text", value: whole ? write(value) : value ?? "", placeholder: field.hint, spellcheck: "false",
    onchange: () => changed(whole ? read(input.value) : input.value) });
  return el("label", { class: "own" }, field.label, input);
}
