// A setting that is one of some values, or any other text where `other` says what: a menu whose last choice opens a
// field for it.

import { el, optionsOf, showParts, withCode } from "./dom.js";

const OTHER = "another text";

/**
 * `place` tells its ids from all others.
 * @param {Element} element
 * @param {{ value: string, choices: [label: string, value: string][], title: string, help: string, other: string,
 *   place: string }} props
 * @param {Page.Tools} page
 */
export function mount(element, props, { trigger, watch }) {
  const { place, title, help, other } = props;
  let writes = false; // another text was asked for, and none is there yet
  const give = (/** @type {string} */ value) => {
    writes = false;
    if (value === props.value) return;
    props.value = value;
    trigger("input");
  };
  const menu = el("select", { id: `${place}-menu`, onfocus: () => trigger("focus"), onchange: () => {
    writes = menu.value === OTHER;
    if (!writes) give(menu.value);
    show();
    if (writes) field.focus();
  } });
  const field = el("input", { type: "text", "aria-label": title, placeholder: other,
    autocomplete: "off", spellcheck: "false", onchange: () => give(field.value.trim()) });
  element.append(el("div.choice", el("label.label", { for: menu.id }, title),
    help ? el("p.help", withCode(help)) : null, menu, field));

  function show() {
    const { value, choices } = props;
    const known = !writes && choices.some(([, name]) => name === value);
    const pairs = choices.map(([label, name]) => [name, label]);
    showParts(menu, optionsOf(other ? [...pairs, [OTHER, "Another\u2026"]] : pairs));
    menu.value = known ? value : OTHER;
    menu.hidden = !choices.length;
    field.hidden = known;
    field.value = known || writes ? "" : value ?? "";
  }

  for (const name of /** @type {const} */ (["value", "choices"])) watch(name, () => {
    writes = false;
    show();
  });
  show();
}
