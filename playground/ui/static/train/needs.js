// What a run needs: one line with the verdict; over the page memory by role as bars and time; what would make it fit.

import { buttonOf, el, helpOf, openDialog, setText, showParts, signOf, withCode } from "../core/dom.js";
import { checkAsked, differencesOf, form, runSeconds } from "../core/form.js";
import { bytesTold, number, timeRange } from "../core/format.js";
import { effect } from "../core/signals.js";
import { Widget } from "../core/widget.js";
import { lacksIt } from "./real_model.js";

/** @type {Record<Wire.Estimate["verdict"], [icon: string, word: string, tone: string]>} */
const VERDICTS = { fits: ["\u2713", "Fits", "good"], tight: ["\u25B2", "Tight", "tight"],
  "does not fit": ["\u2715", "Does not fit", "bad"] };
/** @type {Record<string, string>} */
const WORDS = { policy: "Policy", value: "Value head", reference: "Reference", reward: "Reward model",
  rollout: "Rollout" };
/** @type {Record<string, string>} */
const HELP = {
  policy: "The model that is trained: its weights, and what training keeps beside them",
  value: "What estimates the return of each token",
  reference: "What the KL is measured against; with LoRA, the same weights with the adapter switched off",
  reward: "Learned rewards",
  rollout: "The completions of a batch while they are written",
  libraries: "Python, PyTorch and the other packages themselves",
};

/** @typedef {{ value: Partial<Wire.Needs> | null }} Props */
/** @typedef {Wire.Fit["values"]} Values of settings, by field */

/** @param {Element} element @param {Props} props @param {Page.Tools} page */
export const mount = (element, props, page) => new Needs(element, props, page);

/** @extends {Widget<Props>} */
class Needs extends Widget {
  /** @param {Element} element @param {Props} props @param {Page.Tools} page */
  constructor(element, props, page) {
    super(props, page);
    // what was in the form before the settings that fit the model, and which model that was
    this.undo = /** @type {{ model: string, values: Values | null } | null} */ (null);
    this.whole = el("div.needs-whole", { hidden: true, role: "group", "aria-label": "What it needs" });
    this.line = el("p.needs-line", { role: "status" });
    this.quota = el("p.needs-quota");
    this.fit = el("div.needs-fit");
    this.check = buttonOf("quiet-button check-first", { onclick: () => {
      document.body.classList.remove("drawer-open");
      checkAsked.value += 1;
    } }, "Check it before you start");
    element.append(this.line, this.quota, this.whole, this.fit, this.check);
    page.watch("value", () => this.show());
    effect(() => this.show());
  }

  /** @param {Values} values @param {string} taken */
  put(values, taken) {
    this.undo = { model: taken, values: null };
    this.give({ ...this.props.value, use: values }, "apply");
  }

  show() {
    const needs = this.props.value;
    if (this.undo && needs?.undo && this.undo.values === null) this.undo = { ...this.undo, values: needs.undo };
    this.whole.hidden = !needs;
    runSeconds.value = needs?.seconds ?? null;
    const { queue, problems } = form.value;
    showParts(this.line, lineOf(problems.some(lacksIt) ? null : needs, queue));
    this.quota.hidden = !needs?.quota;
    setText(this.quota, needs?.quota ?? "");
    if (!needs) return;
    showParts(this.fit, this.fitParts(needs), this.check);
    const said = problems.length > 0; // below, and what is wrong there is mended first
    showParts(this.whole, needs.problem ? problemParts(needs.problem, said) : [
      el("p", buttonOf("needs", { onclick: () => openDialog("What it needs", [bars(needs), facts(needs)]) },
        verdictOf(needs))),
      el("p.needs-download", downloadOf(needs.download)),
      el("p.needs-advice", withCode(needs.advice ?? ""))]);
  }

  /** What would fit the model, or that it was taken. @param {Partial<Wire.Needs>} needs */
  fitParts({ fit: offer, model }) {
    const { undo } = this;
    if (undo?.values && undo.model === model)
      return [el("p.needs-fitted", { role: "status" }, `Set to what fits ${undo.model}. `,
        buttonOf("quiet-button", { "data-key": "undo", onclick: () => this.put(undo.values, "") }, "Undo"))];
    if (!offer) return [];
    const count = offer.differences.length;
    return [
      buttonOf("field-link", { "data-key": "unsuited", onclick: () => openDialog(`What fits ${model}`, [
        el("p.muted", offer.own ? "Its own preset has:" : `${offer.like}, the suggested model most like it, has:`),
        differencesOf(offer.differences), el("p.muted.small-text", offer.origin)]) },
      `${count} ${count === 1 ? "setting does" : "settings do"} not suit `, el("strong", model)),
      buttonOf("button", { "data-key": "fit", onclick: () => this.put(offer.values, model) },
        "Use what fits this model"),
    ];
  }
}

/**
 * Below Start, in the form's short form: why the run would wait; else whether it fits, and how long it takes; nothing
 * where its model has to be got first.
 * @param {Partial<Wire.Needs> | null} needs @param {string} queue
 */
function lineOf(needs, queue) {
  if (queue) return [el("span.queue-why", { "data-key": "queue" }, queue)];
  if (!needs || needs.problem) return [];
  const [icon, word, tone] = VERDICTS[needs.verdict];
  return [el("span.needs-short", { "data-key": "short" },
    el("span", { class: `verdict ${tone}` }, signOf(`${icon} `), word),
    needs.seconds ? `. Takes ${timeRange(...needs.seconds)}.` : ".")]; // before the first run nobody knows
}

/** @param {string} problem @param {boolean} said */
function problemParts(problem, said) {
  return said ? [] : [el("p.needs-advice.field-problem", signOf("! "), withCode(problem))];
}

/** @param {Partial<Wire.Needs>} needs */
function verdictOf({ verdict, seconds, total_gb: total, measured, device }) {
  const [icon, word, tone] = VERDICTS[verdict];
  return [el("strong", { class: `verdict ${tone}` }, signOf(`${icon} `), word),
    ` ${gigabytes(total)}${measured ? " (measured)" : ""} of ${gigabytes(device.free_gb)} free`,
    seconds ? `, ${timeRange(...seconds)}` : ""];
}

/** @param {Wire.Download | null} download */
function downloadOf(download) {
  if (!download) return "";
  const { source, mb, licence, gated } = download;
  return `Downloads ${source} first: ${number(Math.round(mb))} MB, licence ${licence}${
    gated ? ", gated: its terms must be accepted on its page." : "."}`;
}

/** @param {Partial<Wire.Needs>} needs */
function bars(needs) {
  const rows = [...needs.roles, { role: "libraries", total_gb: needs.libraries_gb, kinds_gb: {} }];
  const { roles_gb: larger, total_gb: whole } = needs.larger;
  const head = [el("dt.muted", "Role"), el("dd.muted", el("span"),
    el("span.needs-size", "here"), el("span.needs-size", "if 7B"))];
  const most = Math.max(...rows.map((row) => row.total_gb));
  const told = "If 7B: the same settings (precision, adapter, quantisation, lengths, batch) with a model of "
    + `${number(needs.larger.parameters / 1e9)} billion weights, estimated the same way: ${gigabytes(whole)} in all at `
    + `the fullest moment (${needs.larger.fullest_moment}).`;
  return [el("dl.needs-bars", head, rows.map((row) => {
    const kinds = Object.entries(row.kinds_gb).map(([kind, size]) => `${kind} ${gigabytes(size)}`).join(", ");
    const fill = el("span", { class: `needs-fill ${row.role}`,
      style: `width: ${most ? Math.max(0.5, (100 * row.total_gb) / most) : 0}%` });
    const word = WORDS[row.role] ?? "Libraries";
    return [el("dt", word, " ", helpOf(word, HELP[row.role])),
      el("dd", el("span.needs-bar", { "aria-hidden": "true" }, fill),
        el("span.needs-size", gigabytes(row.total_gb)),
        el("span.needs-size.larger", sizeOf(row.role === "libraries" ? row.total_gb : larger[row.role])),
        el("span.needs-kinds", kinds))];
  })), el("p.muted", told)];
}

/** @param {number | undefined} size */
function sizeOf(size) {
  return size ? gigabytes(size) : "\u2013";
}

/** @param {Partial<Wire.Needs>} needs */
function facts(needs) {
  const time = needs.seconds_per_update
    ? `An update takes ${timeRange(...needs.seconds_per_update)}, as your last runs of this model took.`
    : "How long it takes is known once a run of this model has been made here, or a trial update.";
  return [
    el("p", `${gigabytes(needs.total_gb)} at the fullest moment (${needs.fullest_moment}); ${needs.device.label} `
      + `(${needs.device.name}) has ` +
      `${gigabytes(needs.device.free_gb)} free of ${gigabytes(needs.device.total_gb)}.`),
    ...(needs.places.length > 1 ? [el("p", `${needs.places.length} processes compute it, on `
      + `${[...new Set(needs.places)].join(", ")}: each of them holds what the bars show.`)] : []),
    el("p.muted", `${time} Estimated for prompts of up to ${needs.prompt_tokens} and completions of up to `
      + `${needs.completion_tokens} tokens. ${needs.measured ? "The memory is what a trial update held; the bars are "
        + "estimates." : "The estimate may be off by a quarter."}`),
  ];
}

/** @param {number} size */
function gigabytes(size) {
  return bytesTold(1e9 * size);
}
