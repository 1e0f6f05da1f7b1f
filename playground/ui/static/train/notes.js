// What the form has to say, above the Start button and beside each field: what differs from the preset, what is wrong.

import { buttonOf, copied, el, setText, showParts, signOf, withCode } from "../core/dom.js";
import { url } from "../core/server.js";
import { form, settings } from "../core/form.js";
import { effect, signal, untracked } from "../core/signals.js";
import { Widget } from "../core/widget.js";
import { lists } from "../rewards/lists.js";
import { openAll, setOpen, whenThere } from "./all_settings.js";
import { lacksIt, offered } from "./real_model.js";

const SHOWN = 3; // of problems or differences: Start stays in sight
const FILLED_MS = 10_000; // a form whose values do not come takes what is typed all the same
const KEPT = "playground-form"; // train/edits.py asks for it when the page is loaded
const MOST_KEPT = 500_000; // characters: it is sent with the first request of a page, which is bounded too

/**
 * The experiment whose values are on their way into the form, "" for those that the page begins with: what is typed
 * before would be lost.
 */
export const filling = signal(/** @type {string | null} */ (""));

/** @typedef {{ value: Wire.Notes, groups: Record<string, string> }} Props */
/** @typedef {(field: string) => void} Reveal */

let notes = /** @type {Notes | null} */ (null); // those of this page

/** @param {Element} element @param {Props} props @param {Page.Tools} page */
export function mount(element, props, page) {
  notes = new Notes(element, props, page);
}

/** The form has got other values: it is looked at after whatever is being looked at now. */
export function recheck() {
  notes?.trigger("input");
}

/** @extends {Widget<Props>} */
class Notes extends Widget {
  /** @param {Element} element @param {Props} props @param {Page.Tools} page */
  constructor(element, props, page) {
    super(props, page);
    this.shownAt = 0; // when a start was refused
    // what the form began with beside the preset
    this.restored = /** @type {Wire.Restored & { now: string } | null} */ (null);
    this.began = el("div.notes-began", { role: "status" });
    this.link = el("div.notes-link");
    this.list = el("div.notes", { "aria-live": "polite" });
    this.copied = el("p.notes-copied.muted", { role: "status" });
    element.append(this.began, this.link, this.list, this.copied);
    page.watch("value", () => {
      if (["", props.value?.preset].includes(filling.value)) filling.value = null;
      this.show();
      if (props.value?.kept) keep(props);
    });
    if (props.value?.kept) know(props.value);
    effect(() => {
      if (offered.value !== null) untracked(() => this.show());
    });
    this.followForm();
    if (!props.value?.coming) filling.value = null;
    effect(waitForValues);
  }

  followForm() {
    const controls = document.getElementById("controls");
    // a group that is opened brings controls into the document that were not there when its problems were found
    /** @param {string} field @param {string} mark */
    const lacks = (field, mark) => field && controlOf(field) && !controlOf(field).querySelector(mark);
    new MutationObserver(() => {
      if (form.value.problems.some((one) => !lacksIt(one) && lacks(one.field, ".field-problem"))) placeBesideFields();
      const { unused } = this.props.value ?? {};
      if (unused && ["method", ...unused.fields].some((field) => lacks(field, ".field-unused"))) markUnused(unused);
    }).observe(controls, { childList: true, subtree: true });
  }

  show() {
    const { value } = this.props;
    const { problems = [], differences = [], marks = {}, suiting = [], regimes = null, queue = "", show: asked,
      unused } = value ?? {};
    showParts(this.began, this.beganParts(value ?? {}));
    if (value?.kept) this.showLink(value);
    /** @type {Reveal} */
    const reveal = (field) => this.reveal(field);
    const listed = problems.filter((problem) => !lacksIt(problem)); // that one has its own part, with what to do
    this.list.classList.toggle("as-preset", !listed.length && !differences.length);
    showParts(this.list, listed.length ? problemList(listed, reveal) : differenceList(differences, reveal));
    form.value = { marks, problems, suiting, regimes, queue };
    if (value?.rewards) lists.train.value = value.rewards; // their picker may not be drawn yet
    placeBesideFields();
    markUnused(unused);
    if (asked && asked !== this.shownAt) {
      this.shownAt = asked;
      document.body.classList.add("drawer-open"); // on a phone a refusal would be out of sight
      this.reveal(problems[0]?.field);
    }
  }

  /** Bring a field into view: open all settings and its group, scroll, focus. @param {string | undefined} field */
  reveal(field) {
    if (!field) return;
    const title = this.props.groups[field] ?? this.props.groups[field.split(".")[0]];
    if (!isInSight(controlOf(field))) openAll();
    if (title && !isInSight(controlOf(field))) setOpen(() => buttonOfGroup(title), () => true);
    const find = () => /** @type {HTMLElement} */ (
      controlOf(field)?.querySelector("input:not([type=range], [hidden]), textarea, select:not([hidden])"));
    whenThere(() => isInSight(find()) && find(), (first) => {
      const control = controlOf(field);
      control.scrollIntoView({ block: "center", behavior: "smooth" });
      (inputOf(control, field) ?? /** @type {HTMLElement} */ (first)).focus({ preventScroll: true });
    });
  }

  /** @param {Wire.Notes} notes */
  beganParts({ restored: told, preset, differences, problems }) {
    const now = JSON.stringify([preset, differences, problems]);
    if (told) this.restored = { ...told, now };
    if (this.restored?.now !== now) this.restored = null; // something has been changed since
    if (!this.restored) return [];
    const { refused, kept, count } = this.restored;
    const changes = `${count} ${count === 1 ? "change" : "changes"}`;
    return refused ? [el("p.problems", signOf("! "), "The settings of the link were not taken. ",
      withCode(refused.map(({ label, message }) => `${label ? `${label}: ` : ""}${message}`).join(" ")))]
      : [el("p", kept ? `Your ${changes} came back after the reload. ` : `Opened with ${changes} from a link. `,
        buttonOf("field-link", { "data-key": "undo", onclick: () => this.undo() }, "Undo"))];
  }

  undo() {
    const { use } = this.restored;
    this.restored = null;
    this.give({ ...this.props.value, use, restored: null }, "apply");
  }

  /** @param {Wire.Notes} notes */
  showLink({ problems, link, no_link: problem }) {
    const offered = !problems?.length && link;
    setText(this.copied, offered || problems?.length ? "" : problem ?? "");
    showParts(this.link, offered ? [buttonOf("field-link", { "aria-label": "Copy link to these settings",
      onclick: () => this.copy() }, "Copy link")] : []);
  }

  async copy() {
    const { link, preset } = this.props.value;
    const address = `${url("")}?preset=${encodeURIComponent(preset)}&set=${readable(link)}`;
    setText(this.copied, (await copied(address)) ? "Link copied." : address);
  }
}

/** @param {Wire.Notes} notes */
function know({ preset, kept, differences }) {
  settings.value = { preset, text: kept, changes: differences.length };
}

/**
 * Keep what was changed for a reload of this page, and send it no more: it would double what the form sends.
 * @param {Props} props
 */
function keep(props) {
  const { kept, preset } = props.value;
  know(props.value);
  const query = new URLSearchParams(location.search);
  const address = `${query.get("preset") ?? ""} ${query.get("set") ?? ""}`;
  const text = JSON.stringify({ address, preset, kept });
  try {
    window.sessionStorage.removeItem(KEPT); // rather nothing comes back than what was there before
    if (text.length <= MOST_KEPT) window.sessionStorage.setItem(KEPT, text);
  } catch {
    // a browser that keeps nothing
  }
  props.value = { ...props.value, kept: null };
}

/** For an address, with what may stand in it as it is. @param {string} settings */
function readable(settings) {
  return encodeURIComponent(settings).replaceAll("%2C", ",").replaceAll("%3A", ":").replaceAll("%2F", "/");
}

/** @param {Wire.Problem[]} problems @param {Reveal} reveal */
function problemList(problems, reveal) {
  const rows = problems.slice(0, SHOWN).map(({ field, label, message }) => el("li", signOf("! "),
    field ? buttonOf("field-link", { onclick: () => reveal(field) }, label) : null,
    field ? " " : null, withCode(message)));
  return [el("ul.problems", { "data-key": "problems" }, rows, moreOf(problems.length - rows.length))];
}

/** @param {Wire.Difference[]} differences @param {Reveal} reveal */
function differenceList(differences, reveal) {
  if (!differences.length) return [el("p.muted", { "data-key": "none" }, "All settings as in the preset.")];
  const rows = differences.slice(0, SHOWN).map(({ field, label, before, after }) =>
    el("li", buttonOf("field-link", { onclick: () => reveal(field) }, label), " ",
      el("span.was", before), " \u2192 ", el("strong", after)));
  return [el("details", { "data-key": "differences" }, el("summary.muted",
    `${differences.length} ${differences.length === 1 ? "setting differs" : "settings differ"} from the preset`),
  el("ul.differences", rows, moreOf(differences.length - rows.length)))];
}

/** @param {number} count */
function moreOf(count) {
  return count > 0 ? el("li.muted", `and ${count} more`) : null;
}

/** @param {HTMLElement | undefined} control */
function isInSight(control) {
  return Boolean(control?.offsetParent);
}

/** @param {string} title */
function buttonOfGroup(title) {
  const found = document.querySelectorAll("#more-settings .group > button.label-wrap");
  return /** @type {HTMLElement[]} */ ([...found])
    .find((button) => button.querySelector("span")?.textContent.trim() === title);
}

/** Nothing is typed into a form whose values are on their way. */
function waitForValues() {
  const wanted = filling.value;
  for (const id of ["field-kl-coef", "more-settings"]) {
    const part = document.getElementById(id);
    if (part) part.inert = wanted !== null;
  }
  if (wanted !== null) setTimeout(() => {
    if (filling.value === wanted) filling.value = null;
  }, FILLED_MS);
}

/** @param {string} field @returns {HTMLElement | null} */
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

/**
 * Of a reward, which has several: the one that a problem such as "rewards.0.expression" names.
 * @param {Element} control @param {string} field @returns {HTMLElement | null}
 */
function inputOf(control, field) {
  const [, index, name] = field.split(".");
  return name ? control.querySelector(`[data-key="${CSS.escape(`${index} ${name}`)}"]`) : null;
}

function placeBesideFields() {
  for (const old of document.querySelectorAll(".field-problem")) old.remove();
  for (const invalid of document.querySelectorAll("#controls [aria-invalid]")) invalid.removeAttribute("aria-invalid");
  for (const { field, message } of form.value.problems.filter((problem) => !lacksIt(problem))) {
    const control = field && controlOf(field);
    if (!control) continue;
    control.append(el("p.field-problem", el("span", { "aria-hidden": "true" }, "! "), withCode(message)));
    (inputOf(control, field) ?? control.querySelector("input, textarea, select"))?.setAttribute("aria-invalid", "true");
  }
}

/**
 * Say what the chosen method does, and beside each setting that it does not read, that it does nothing.
 * @param {Wire.Unused | undefined} unused
 */
function markUnused(unused) {
  for (const old of document.querySelectorAll(".field-unused")) old.remove();
  if (!unused) return;
  controlOf("method")?.append(el("p.field-unused", withCode(unused.sentence)));
  for (const field of unused.fields) {
    controlOf(field)?.append(el("p.field-unused", `Unused by ${unused.by}.`));
  }
}
