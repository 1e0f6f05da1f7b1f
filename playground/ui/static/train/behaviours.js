// Which behaviours a run counts: those that suit the prompts, or some of those that ship and of one's own, each of
// which is measured by a reward. Value: "" for those that suit, else a list of {name, words, aim, above, measure}.

import { buttonOf, el, showParts } from "../core/dom.js";
import { form } from "../core/form.js";
import { read, write } from "../core/knob.js";
import { computed, effect } from "../core/signals.js";
import { mount as mountPicker } from "../rewards/picker.js";

const AIMS = [["less", "less often is better"], ["more", "more often is better"], ["neither", "neither is better"]];
const FIRST = { kind: "keyword", weight: 1, normalise: false, cap: "", words: "sorry, afraid" };

export function mount(element, props, { trigger, watch, server }) {
  const { ready } = props;
  const suiting = computed(() => form.value.suiting);
  let mine = JSON.stringify(props.value); // what stands in the boxes of one's own
  const suits = el("input", { type: "checkbox", onchange: () =>
    edit(suits.checked ? "" : ready.filter(({ name }) => suiting.value.includes(name)).map(asBehaviour)) });
  const which = el("p", { class: "help" });
  const offered = el("div", { class: "behaviour-choices" });
  const own = el("div", {});
  const add = buttonOf("quiet-button", { onclick: () => {
    edit([...current(), { name: "", words: "", aim: "less", above: 0, measure: FIRST }]);
    /** @type {HTMLElement} */ (own.querySelector(".own-behaviour:last-child input")).focus();
  } }, "+ Count one of your own");
  const list = el("div", {}, offered, own, add);
  element.append(el("div", { class: "rewards behaviours", role: "group", "aria-label": "Behaviours that are counted" },
    el("p", { class: "help" }, "Yes or no of each answer to the fixed prompts, counted at every look, before, during "
      + "and after training. Nothing is trained on it."),
    el("label", { class: "own check" }, suits, el("span", {}, "Those that suit the prompts")), which, list));

  const current = () => (Array.isArray(props.value) ? props.value : []);

  function edit(value) {
    props.value = value;
    trigger("input");
    show();
  }

  function change(index, changes) {
    props.value = current().map((one, place) => (place === index ? { ...one, ...changes } : one));
    mine = JSON.stringify(props.value); // its box stays as it is, and so does the focus
    trigger("input");
  }

  function show() {
    suits.checked = !Array.isArray(props.value);
    const names = suits.checked ? suiting.value : [];
    which.textContent = names.map((name) => ready.find((one) => one.name === name)?.words ?? name).join(", ");
    list.hidden = suits.checked;
    const chosen = new Set(current().map(({ name }) => name));
    showParts(offered, ready.map(({ name, words, help }) => el("label", { class: "own check", "data-key": name },
      el("input", { type: "checkbox", "data-name": name }),
      el("span", {}, words, el("span", { class: "help" }, help)))));
    for (const box of offered.querySelectorAll("input")) box.checked = chosen.has(box.dataset.name);
    if (JSON.stringify(props.value) === mine && own.childElementCount) return;
    mine = JSON.stringify(props.value);
    own.replaceChildren(...current().map((one, index) => (one.measure ? editor(one, index) : null)).filter(Boolean));
  }

  offered.addEventListener("change", ({ target }) => {
    const names = new Set(current().map(({ name }) => name));
    if (target.checked) names.add(target.dataset.name);
    else names.delete(target.dataset.name);
    edit([...ready.filter(({ name }) => names.has(name)).map((one) =>
      current().find(({ name }) => name === one.name) ?? asBehaviour(one)), ...current().filter((one) => one.measure)]);
  });

  /** One of one's own: how its count reads, what is measured, and from where on that is a yes. */
  function editor(one, index) {
    const text = (label, field, placeholder) => {
      const input = el("input", { type: "text", value: one[field], placeholder, spellcheck: "false",
        onchange: () => change(index, { [field]: input.value.trim() }) });
      return [el("label", { class: "own" }, label, input), input];
    };
    const [wordsLabel, words] = text("It \u2026", "words", "says sorry");
    const [nameLabel, name] = text("Name, in small letters", "name", "says-sorry");
    words.addEventListener("change", () => {
      if (name.value) return;
      name.value = words.value.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60);
      change(index, { name: name.value });
    });
    const above = el("input", { type: "text", inputmode: "decimal", value: write(one.above),
      onchange: () => change(index, { above: read(above.value) }) });
    const aim = el("select", { onchange: () => change(index, { aim: aim.value }) },
      AIMS.map(([value, told]) => el("option", { value }, told)));
    aim.value = one.aim;
    const measure = el("div", {});
    const held = { kinds: props.kinds, functions: props.functions, place: `behaviour-${index}`, watching: true,
      single: true, title: "What is measured", value: [one.measure] };
    mountPicker(measure, held, { trigger: () => change(index, { measure: held.value[0] }), watch: () => {}, server });
    return el("div", { class: "own-behaviour", "data-index": index, role: "group",
      "aria-label": one.words || "Your own" },
      el("div", { class: "reward-head" }, el("strong", { class: "grow" }, "Your own"), buttonOf("icon-button", {
        "aria-label": `Remove ${one.words || "your own"}`, title: "Remove",
        onclick: () => edit(current().filter((_, place) => place !== index)) }, "\u00d7")),
      wordsLabel, nameLabel, measure, el("label", { class: "own" }, "Yes where it is more than", above),
      el("label", { class: "own" }, "Which way is better", aim));
  }

  watch("value", () => {
    if (JSON.stringify(props.value) !== mine) show();
  });
  effect(show);
}

function asBehaviour({ name, words, aim }) {
  return { name, words, aim, above: 0, measure: null };
}
