// What a run needs: one line with the verdict, and unfolded, memory by role as bars, time, and what would make it fit.

import { buttonOf, el, helpOf, setText, showParts, signOf, withCode } from "../core/dom.js";
import { checkAsked, differencesOf, form } from "../core/form.js";
import { number, timeRange } from "../core/format.js";
import { effect } from "../core/signals.js";

const VERDICTS = { fits: ["\u2713", "Fits", "good"], tight: ["\u25B2", "Tight", "tight"],
  "does not fit": ["\u2715", "Does not fit", "bad"] };
const WORDS = { policy: "Policy", value: "Value head", reference: "Reference", reward: "Reward model",
  rollout: "Rollout" };
const HELP = {
  policy: "The model that is trained: its weights, and what training keeps beside them",
  value: "What estimates the return of each token",
  reference: "What the KL is measured from; with LoRA the same weights with the adapter switched off",
  reward: "Learned rewards",
  rollout: "The completions of a batch while they are written",
  libraries: "Python, PyTorch and the other packages themselves",
};

export function mount(element, props, { trigger, watch }) {
  const summary = el("summary", {});
  const body = el("div", { class: "needs-body" });
  const details = el("details", { class: "needs" }, summary, body);
  const advice = el("p", { class: "needs-advice" });
  const download = el("p", { class: "needs-download" });
  const whole = el("div", { class: "needs-whole", hidden: true, role: "group", "aria-label": "What it needs" }, details,
    download, advice);
  const fit = el("div", { class: "needs-fit" });
  const check = buttonOf("quiet-button", { class: "quiet-button check-first", onclick: () => {
    document.body.classList.remove("drawer-open");
    checkAsked.value += 1;
  } }, "Check it before you start");
  element.append(whole, fit, check);
  let undo = null; // what was in the form before the settings that fit the model, and which model that was

  function put(values, taken) {
    props.value = { ...props.value, use: values };
    undo = { model: taken, values: null };
    trigger("apply");
  }

  function showFit({ fit: offer, model }) {
    if (undo?.values && undo.model === model) {
      showParts(fit, [el("p", { class: "needs-fitted", role: "status" }, `Set to what fits ${undo.model}. `,
        buttonOf("quiet-button", { "data-key": "undo", onclick: () => put(undo.values, "") }, "Undo"))], check);
      return;
    }
    if (!offer) return showParts(fit, [], check);
    const count = offer.differences.length;
    showParts(fit, [
      el("details", {}, el("summary", {}, `${count} ${count === 1 ? "setting does" : "settings do"} not suit `,
        el("strong", {}, model)), el("p", { class: "muted" }, offer.own ? "Its own preset has:"
        : `${offer.like}, the suggested model most like it, has:`), differencesOf(offer.differences)),
      buttonOf("button", { "data-key": "fit", onclick: () => put(props.value.fit.values, props.value.model) },
        "Use what fits this model"),
    ], check);
  }

  function show() {
    const needs = props.value;
    if (undo && needs?.undo && undo.values === null) undo = { ...undo, values: needs.undo };
    whole.hidden = !needs;
    if (!needs) return;
    showFit(needs);
    download.replaceChildren();
    advice.replaceChildren();
    details.hidden = Boolean(needs.problem);
    const said = form.value.problems.length > 0; // below, and what is wrong there is mended first
    advice.classList.toggle("field-problem", Boolean(needs.problem) && !said);
    if (needs.problem) {
      setText(summary, "What it needs is not known");
      body.replaceChildren();
      if (!said) advice.append(signOf("! "), ...withCode(needs.problem));
      return;
    }
    const [icon, word, tone] = VERDICTS[needs.verdict];
    summary.replaceChildren(
      el("strong", { class: `verdict ${tone}` }, el("span", { "aria-hidden": "true" }, `${icon} `), word),
      ` ${gigabytes(needs.total_gb)}${needs.measured ? " (measured)" : ""} of ${gigabytes(needs.device.free_gb)} free`
      + (needs.seconds ? `, ${timeRange(...needs.seconds)}` : ""));
    body.replaceChildren(...bars(needs), ...facts(needs));
    if (needs.download) {
      const { source, mb, licence, gated } = needs.download;
      download.append(`Downloads ${source} first: ${number(Math.round(mb))} MB, licence ${licence}`,
        gated ? ", gated: its terms must be accepted on its page." : ".");
    }
    if (needs.advice) advice.append(...withCode(needs.advice));
  }

  watch("value", show);
  effect(show);
}

function bars(needs) {
  const rows = [...needs.roles, { role: "libraries", total_gb: needs.libraries_gb, kinds_gb: {} }];
  const { roles_gb: larger, total_gb: whole } = needs.larger;
  const head = [el("dt", { class: "muted" }, "Role"), el("dd", { class: "muted" }, el("span", {}),
    el("span", { class: "needs-size" }, "here"), el("span", { class: "needs-size" }, "if 7B"))];
  const most = Math.max(...rows.map((row) => row.total_gb));
  const told = "If 7B: the same settings (precision, adapter, quantisation, lengths, batch) with a model of "
    + `${number(needs.larger.parameters / 1e9)} billion weights, reckoned the same way: ${gigabytes(whole)} in all at `
    + `the fullest moment (${needs.larger.fullest_moment}).`;
  return [el("dl", { class: "needs-bars" }, head, rows.map((row) => {
    const kinds = Object.entries(row.kinds_gb).map(([kind, size]) => `${kind} ${gigabytes(size)}`).join(", ");
    const fill = el("span", { class: `needs-fill ${row.role}` });
    fill.style.width = `${most ? Math.max(0.5, (100 * row.total_gb) / most) : 0}%`;
    const word = WORDS[row.role] ?? "Libraries";
    return [el("dt", {}, word, " ", helpOf(word, HELP[row.role])),
      el("dd", {}, el("span", { class: "needs-bar", "aria-hidden": "true" }, fill),
        el("span", { class: "needs-size" }, gigabytes(row.total_gb)),
        el("span", { class: "needs-size larger" }, sizeOf(row.role === "libraries" ? row.total_gb
          : larger[row.role])), el("span", { class: "needs-kinds" }, kinds))];
  }).flat()), el("p", { class: "muted" }, told)];
}

function sizeOf(size) {
  return size ? gigabytes(size) : "\u2013";
}

function facts(needs) {
  const time = needs.seconds_per_update
    ? `An update takes ${timeRange(...needs.seconds_per_update)}, as your last runs of this model took.`
    : "How long it takes is known once a run of this model has been made here, or a trial update.";
  return [
    el("p", {}, `${gigabytes(needs.total_gb)} at the fullest moment (${needs.fullest_moment}); ${needs.device.label} `
      + `(${needs.device.name}) has ` +
      `${gigabytes(needs.device.free_gb)} free of ${gigabytes(needs.device.total_gb)}.`),
    ...(needs.places.length > 1 ? [el("p", {}, `${needs.places.length} processes compute it, on `
      + `${[...new Set(needs.places)].join(", ")}: each of them holds what the bars show.`)] : []),
    el("p", { class: "muted" }, `${time} Reckoned for prompts of up to ${needs.prompt_tokens} and completions of up to `
      + `${needs.completion_tokens} tokens. ${needs.measured ? "The memory is what a trial update held; the bars are "
        + "reckoned." : "The memory may be off by a quarter."}`),
  ];
}

function gigabytes(size) {
  return size >= 0.1 || size === 0 ? `${size >= 10 ? Math.round(size) : size.toFixed(1)} GB`
    : `${number(Math.max(1, Math.round(size * 1000)))} MB`;
}
