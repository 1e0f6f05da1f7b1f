// Gradio's dropdowns, opened by what means it and closed by leaving. By themselves they open with the focus, and every
// key opens them once more, Tab included, so that who tabs past leaves lists behind that nothing closes. Here Gradio
// hears of the focus only when the list is to open (by a click, an arrow, Enter or typing), of keys while it is open,
// and of the loss of focus, which it takes for an edit, if the list was opened.
//
// After a choice by key the field keeps the focus, which Gradio drops.
// docs/upstream.md#dropdowns-open-by-focus-and-stay-open

const OPENING = new Set(["ArrowDown", "ArrowUp", "Enter"]);
const WITHIN = new Set([...OPENING, "Home", "End", "Escape"]);

/** @type {HTMLInputElement | null} */
let opened = null; // the field whose list was opened since it got the focus
let before = ""; // what stood in the field then
/** @type {HTMLInputElement | null} */
let chosenByKey = null;

/** Listen ahead of Gradio, to all dropdowns that there are and will be. */
export function tameDropdowns() {
  /**
   * @template {keyof DocumentEventMap} Type @param {Type} type
   * @param {(event: DocumentEventMap[Type], field: HTMLInputElement) => void} act
   */
  const on = (type, act, capture = true) => document.addEventListener(type, (event) => {
    const field = event.target instanceof HTMLElement && event.target.matches("input[role='combobox']")
      ? event.target : null;
    if (field && event.isTrusted) act(event, /** @type {HTMLInputElement} */ (field)); // what is not is our own word
  }, capture);

  on("focus", (event, field) => {
    event.stopPropagation();
    before = field.value;
    field.select(); // what is typed takes its place
  });
  on("click", (_, field) => {
    if (isOpen(field)) return;
    open(field);
    field.select();
  });
  on("keydown", press);
  on("input", (_, field) => { // before Gradio hears of it: what is written without the focus it takes back
    if (!isOpen(field)) open(field);
  });
  on("input", (_, field) => tell(field, "Unidentified"), false); // and after it: now it looks what fits
  on("blur", (event, field) => {
    if (opened !== field) return event.stopPropagation();
    opened = null;
    if (!chosenByKey && field.value !== before) take(named(field)); // written out, it is chosen
    setTimeout(() => afterLeaving(field)); // after what a key has begun
  });
}

/** @param {HTMLInputElement} field */
function isOpen(field) {
  return field.getAttribute("aria-expanded") === "true";
}

/** @param {HTMLInputElement} field */
function open(field) {
  opened = field;
  field.dispatchEvent(new FocusEvent("focus")); // it is not trusted, so it comes through
}

/** @param {KeyboardEvent} event @param {HTMLInputElement} field */
function press(event, field) {
  const { key } = event;
  chosenByKey = null;
  if (!isOpen(field)) {
    if (OPENING.has(key)) {
      event.preventDefault();
      before = field.value;
      open(field);
    }
    if (key !== "Escape") event.stopPropagation();
  } else if (key === "Escape") {
    event.preventDefault(); // this closes the list and nothing else
    field.value = before;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  } else if (key === "Enter") {
    event.preventDefault();
    event.stopPropagation();
    setTimeout(() => choose(field)); // after the arrow before it, which Gradio answers a moment later
  } else if (!WITHIN.has(key)) event.stopPropagation();
}

/** @param {HTMLInputElement} field */
function choose(field) {
  chosenByKey = field;
  const active = document.getElementById(field.getAttribute("aria-activedescendant") ?? "");
  const fits = field.value === before || active?.textContent.toLowerCase().includes(field.value.toLowerCase());
  if (!take((field.value !== before && named(field)) || (fits && active)))
    tell(field, "Enter"); // Gradio takes the text as it stands
}

/** The option whose name is written in the field. @param {HTMLInputElement} field */
function named(field) {
  const list = document.getElementById(field.getAttribute("aria-controls"));
  return [...list?.children ?? []].find((option) => option.getAttribute("aria-label") === field.value);
}

/** Choose an option, if there is one, as a click on it does. @param {Element | false | undefined} option */
function take(option) {
  if (option) option.dispatchEvent(new MouseEvent("mousedown", { bubbles: true }));
  return Boolean(option);
}

/** A key that nobody has pressed. @param {HTMLInputElement} field @param {string} key */
function tell(field, key) {
  field.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
}

/** @param {HTMLInputElement} field */
function afterLeaving(field) {
  const nobody = document.activeElement === document.body;
  if (isOpen(field) && document.activeElement !== field) field.dispatchEvent(new FocusEvent("blur"));
  if (chosenByKey === field && nobody) field.focus({ preventScroll: true });
  chosenByKey = null;
}
