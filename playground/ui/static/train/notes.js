// What the form has to say, above the Start button and beside each field: what differs from the preset, what is wrong.

import { buttonOf, el, setText, showParts, signOf, url, withCode } from "../core/dom.js";
import { form } from "../core/form.js";

const SHOWN = 4;
const KEPT = "playground-form"; // train/edits.py asks for it when the page is loaded
const MOST_KEPT = 500_000; // characters: it is sent with the first request of a page, which is bounded too

export function mount(element, props, { trigger, watch }) {
  const list = el("div", { class: "notes", "aria-live": "polite" });
  const began = el("div", { class: "notes-began", role: "status" });
  const link = el("div", { class: "notes-link" });
  const copied = el("p", { class: "notes-copied muted", role: "status" });
  element.append(began, link, list, copied);
  let shownAt = null;
  let restored = null; // what the form began with beside the preset

  function showBegan({ restored: told, preset, differences, problems }) {
    const now = JSON.stringify([preset, differences, problems]);
    if (told) restored = { ...told, now };
    if (restored?.now !== now) restored = null; // something has been changed since
    if (!restored) return showParts(began, []);
    const { refused, kept, count } = restored;
    const changes = `${count} ${count === 1 ? "change" : "changes"}`;
    showParts(began, refused ? [el("p", { class: "problems" }, signOf("! "),
      "The settings of the link were not taken. ",
      withCode(refused.map(({ label, message }) => `${label ? `${label}: ` : ""}${message}`).join(" ")))]
      : [el("p", {}, kept ? `Your ${changes} came back after the reload. ` : `Opened with ${changes} from a link. `,
        buttonOf("field-link", { "data-key": "undo", onclick: undo }, "Undo"))]);
  }

  function undo() {
    const { use } = restored;
    restored = null;
    props.value = { ...props.value, use, restored: null };
    trigger("apply");
  }

  const copy = buttonOf("field-link", { "aria-label": "Copy link to these settings", onclick: async () => {
    const { link: settings, preset } = props.value;
    const address = `${url("")}?preset=${encodeURIComponent(preset)}&set=${readable(settings)}`;
    let done = true;
    try {
      await navigator.clipboard.writeText(address);
    } catch { // not allowed, or a page without https
      done = false;
    }
    setText(copied, done ? "Link copied." : address);
  } }, "Copy link");

  function showLink({ problems, link: settings, no_link: problem }) {
    setText(copied, "");
    if (problems?.length) link.replaceChildren();
    else if (settings) link.replaceChildren(copy);
    else {
      link.replaceChildren();
      setText(copied, problem ?? "");
    }
  }

  function show() {
    const { problems = [], differences = [], marks = {}, suiting = [], show: asked } = props.value ?? {};
    showBegan(props.value ?? {});
    if (props.value?.edits) showLink(props.value);
    list.replaceChildren(...(problems.length ? problemList(problems) : differenceList(differences)));
    form.value = { marks, problems, suiting, regimes: props.value?.regimes ?? null };
    placeBesideFields();
    markUnused(props.value?.unused);
    if (asked && asked !== shownAt) {
      shownAt = asked;
      reveal(problems[0]?.field);
    }
  }

  watch("value", () => {
    show();
    if (props.value?.edits) keep(props);
  });
  show();
  const bar = document.getElementById("start-bar");
  new ResizeObserver(() => { // it lies over the foot of the form, and no field that is gone to may end up below it
    document.getElementById("controls").style.scrollPaddingBottom = `${bar.offsetHeight + 12}px`;
  }).observe(bar);
  // a group that is opened brings controls into the document that were not there when its problems were found
  new MutationObserver(() => {
    const missing = form.value.problems.some(({ field }) => field && controlOf(field)
      && !controlOf(field).querySelector(".field-problem"));
    if (missing) placeBesideFields();
    const { unused } = props.value ?? {};
    const lost = (field) => controlOf(field) && !controlOf(field).querySelector(".field-unused");
    if (unused && ["method", ...unused.fields].some(lost)) markUnused(unused);
  }).observe(document.getElementById("controls"), { childList: true, subtree: true });
}

/** Keep what was changed for a reload of this page, and send it no more: it would double what the form sends. */
function keep(props) {
  const { edits, preset } = props.value;
  const query = new URLSearchParams(location.search);
  const address = `${query.get("preset") ?? ""} ${query.get("set") ?? ""}`;
  const text = JSON.stringify({ address, preset, values: edits });
  try {
    window.sessionStorage.removeItem(KEPT); // rather nothing comes back than what was there before
    if (text.length <= MOST_KEPT) window.sessionStorage.setItem(KEPT, text);
  } catch {
    // a browser that keeps nothing
  }
  props.value = { ...props.value, edits: null };
}

/** For an address, with what may stand in it as it is. */
function readable(settings) {
  return encodeURIComponent(settings).replaceAll("%2C", ",").replaceAll("%3A", ":").replaceAll("%2F", "/");
}

function problemList(problems) {
  return [el("ul", { class: "problems" }, problems.map(({ field, label, message }) =>
    el("li", {}, signOf("! "),
      field ? buttonOf("field-link", { onclick: () => reveal(field) }, label) : null,
      field ? " " : null, withCode(message))))];
}

function differenceList(differences) {
  if (!differences.length) return [el("p", { class: "muted" }, "All settings as in the preset.")];
  const rows = differences.slice(0, SHOWN).map(({ field, label, before, after }) =>
    el("li", {}, buttonOf("field-link", { onclick: () => reveal(field) }, label), " ",
      el("span", { class: "was" }, before), " \u2192 ", el("strong", {}, after)));
  const rest = differences.length - rows.length;
  return [
    el("p", { class: "muted" },
      `${differences.length} ${differences.length === 1 ? "setting differs" : "settings differ"} from the preset`),
    el("ul", { class: "differences" }, rows, rest > 0 ? el("li", { class: "muted" }, `and ${rest} more`) : null),
  ];
}

function controlOf(field) {
  const parts = field.split(".");
  if (parts[0] === "rewards" || parts[0] === "judges") {
    const control = document.getElementById(`field-${parts[0]}`);
    return control?.querySelector(`.reward[data-index="${Number(parts[1])}"]`) ?? control;
  }
  if (parts[0] === "behaviours") {
    const control = document.getElementById("field-behaviours");
    return control?.querySelector(`.own-behaviour[data-index="${Number(parts[1])}"]`) ?? control;
  }
  return document.getElementById(field === "preset" ? "preset" : `field-${parts.join("-")}`);
}

/** Of a reward, which has several: the one that a problem such as "rewards.0.expression" names. */
function inputOf(control, field) {
  const [, index, name] = field.split(".");
  return name ? control.querySelector(`[data-key="${CSS.escape(`${index} ${name}`)}"]`) : null;
}

function placeBesideFields() {
  for (const old of document.querySelectorAll(".field-problem")) old.remove();
  for (const invalid of document.querySelectorAll("#controls [aria-invalid]")) invalid.removeAttribute("aria-invalid");
  for (const { field, message } of form.value.problems) {
    const control = field && controlOf(field);
    if (!control) continue;
    control.append(el("p", { class: "field-problem" }, el("span", { "aria-hidden": "true" }, "! "),
      withCode(message)));
    (inputOf(control, field) ?? control.querySelector("input, textarea, select"))?.setAttribute("aria-invalid", "true");
  }
}

/** Say what the chosen method does, and beside each setting that it does not read, that it does nothing. */
function markUnused(unused) {
  for (const old of document.querySelectorAll(".field-unused")) old.remove();
  if (!unused) return;
  controlOf("method")?.append(el("p", { class: "field-unused" }, withCode(unused.sentence)));
  for (const field of unused.fields) {
    controlOf(field)?.append(el("p", { class: "field-unused" }, `Not used by ${unused.by}.`));
  }
}

/** Bring a field into view: open its group, scroll, focus. */
function reveal(field) {
  const control = field && controlOf(field);
  if (!control) return;
  const group = control.closest(".group");
  const closed = group?.querySelector("button.label-wrap:not(.open)");
  /** @type {HTMLElement} */ (closed)?.click();
  setTimeout(() => {
    control.scrollIntoView({ block: "center", behavior: "smooth" });
    (inputOf(control, field)
      ?? control.querySelector("input:not([type=range]), textarea, select"))?.focus({ preventScroll: true });
  }, closed ? 120 : 0);
}
