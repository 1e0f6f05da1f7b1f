// Gradio's dropdowns, opened by what means it and closed by leaving. By themselves they open with the focus, and every
// key opens them a moment later, Tab included, so that who tabs past leaves lists behind that nothing closes. Here
// Gradio hears of the focus only when the list is to open (by a click, an arrow, Enter or typing), of keys while it is
// open, and of the loss of focus, which it takes for an edit, if the list was opened. After a choice by key the field
// keeps the focus, which Gradio drops.

const OPENING = ["ArrowDown", "ArrowUp", "Enter"];
const WITHIN = [...OPENING, "Home", "End"];

let opened = null; // the field whose list was opened since it got the focus
let before = ""; // what stood in the field then
let chosenByKey = false;

/** Listen ahead of Gradio, to all dropdowns that there are and will be. */
export function tameDropdowns() {
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
  on("click", (_, field) => open(field, field.value));
  on("keydown", press);
  on("input", (_, field) => open(field)); // before Gradio hears of it: what is written without the focus it takes back
  on("input", (_, field) => tell(field, "Unidentified"), false); // and after it: now it looks what fits
  on("blur", (event, field) => {
    if (opened !== field) return event.stopPropagation();
    opened = null;
    setTimeout(() => { // after what a key has begun
      if (chosenByKey && document.activeElement === document.body) field.focus({ preventScroll: true });
      chosenByKey = false;
    });
  });
}

function isOpen(field) {
  return field.getAttribute("aria-expanded") === "true";
}

function open(field, value = before) {
  if (isOpen(field)) return;
  opened = field;
  before = value;
  field.dispatchEvent(new FocusEvent("focus")); // it is not trusted, so it comes through
}

/** A key that nobody has pressed. */
function tell(field, key) {
  field.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
}

/** @param {KeyboardEvent} event @param {HTMLInputElement} field */
function press(event, field) {
  const { key } = event;
  chosenByKey = isOpen(field) && key === "Enter";
  if (OPENING.includes(key)) event.preventDefault();
  if (!isOpen(field)) {
    if (OPENING.includes(key)) open(field, field.value);
    if (key !== "Escape") event.stopPropagation();
  } else if (key === "Escape") {
    event.preventDefault(); // this closes the list and nothing else
    field.value = before;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  } else if (!WITHIN.includes(key)) event.stopPropagation(); // a letter is told once it is there
}
