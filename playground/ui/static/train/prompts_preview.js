// A look at the prompts before any training: how many, how long, what is left out and why, the first ones, and what the
// model really reads. All texts are a person's or a dataset's, so they are text nodes.

import { buttonOf, el, figureOf, headOf, setText, setWords, tableOf } from "../core/dom.js";
import { seenPart } from "../core/texts.js";

export function mount(element, props, { watch }) {
  const title = el("h2", "Prompts");
  const line = el("p.muted", { role: "status" });
  const body = el("div.preview-body");
  const close = buttonOf("icon-button", { "aria-label": "Close", title: "Close", onclick: () => {
    panel.hidden = true;
  } }, "\u00d7");
  const panel = el("section.panel.prompts-preview", { hidden: true, tabindex: "-1",
    "aria-label": "The prompts of the form" },
    el("div.preview-head", title, el("span.grow"), close), line, body);
  element.append(panel);

  function show() {
    const { state = "closed", name, message, preview } = props.value ?? {};
    panel.hidden = state === "closed";
    if (panel.hidden) return;
    document.body.classList.remove("drawer-open");
    setText(title, name ? `Prompts: ${name}` : "Prompts");
    line.classList.toggle("problem", state === "error");
    setWords(line, state === "error" ? message : state === "asking"
      ? "Reading the prompts; the first look takes a few seconds." : inWords(preview));
    body.replaceChildren(...(state === "done" ? parts(preview) : []));
    if (state !== "asking") panel.scrollIntoView({ block: "nearest", behavior: "smooth" });
  }

  watch("value", show);
  show();
}

/** What follows where there are too few prompts for both uses; "" where there are enough. */
export function usedTwice({ held_out, num_training, num_evaluation }) {
  if (held_out) return "";
  const which = num_evaluation === num_training ? "the fixed prompts are trained on too"
    : `${count(num_evaluation)} of them are the fixed prompts and are trained on too`;
  return `There are too few prompts to hold some out: ${which}, so before and now are no test on new ones. Add `
    + `prompts, or set \u201cFixed prompts\u201d to ${count(Math.floor(num_training / 2))} or fewer.`;
}

function inWords({ num_training, num_evaluation, held_out, num_unneeded, goes_on, num_rows, column,
  num_claims, separator }) {
  const from = (num_claims ? ` made of ${count(num_claims)} questions and their claims` : "")
    + (column ? ` from the column \u201c${column}\u201d` : "")
    + (separator ? ` of a file separated by ${separator}` : "");
  const fixed = held_out ? `${count(num_evaluation)} more are held out as fixed prompts`
    : `too few to hold some out, so ${count(num_evaluation)} of them are the fixed prompts too`;
  const rest = num_unneeded ? ` ${count(num_unneeded)} good rows are not needed.` : "";
  const first = goes_on ? ` Only the first ${count(num_rows)} rows of the dataset are looked at.` : "";
  return `${count(num_training)} prompts to train on${from}; ${fixed}.${rest}${first}`;
}

function parts(preview) {
  return [
    el("div.preview-columns", lengthsPart(preview), leftOutPart(preview)),
    el("h3", `What the model reads${preview.form === "chat" ? ", in its chat template" : ""}`),
    el("p.muted.small-text", "The first prompts, shaded in turns for each token. Framed: special "
      + "tokens, which are no text."),
    el("div.seen-list", preview.seen.map(seenPart)),
    el("h3", `The first ${preview.rows.length} prompts`),
    rowsPart(preview.rows),
  ];
}

function lengthsPart({ lengths: { min, median, p90, max }, room }) {
  const facts = [["Shortest", min], ["Median", median], ["90 % have at most", p90], ["Longest", max],
    ["Room in the model", room]];
  return el("section.lengths", el("h3", "Length in tokens"),
    el("dl.facts", facts.map(([name, value]) => el("div", el("dt", name), el("dd", count(value))))));
}

const REASONS = {
  empty: "empty",
  repeated: "repeated; the first of each is used",
  "no dialogue": "no dialogue that ends with an answer",
};

function leftOutPart({ left_out, num_rows, room }) {
  const reason = (name) => REASONS[name] ?? `too long: more than ${count(room)} tokens`;
  const items = left_out.map(({ reason: name, count: number, rows }) => el("li",
    el("details", el("summary", el("strong", count(number)), ` ${reason(name)}`),
      el("ul.examples", rows.map(({ row, text }) =>
        el("li", el("span.muted", `Row ${count(row)} `),
          el("span.output.short", text || "(nothing)")))))));
  return el("section.left-out", el("h3", "Left out"),
    left_out.length ? el("p.muted.small-text", `Of ${count(num_rows)} rows. Open one to see its first rows.`)
      : el("p.muted.small-text", `Nothing: all ${count(num_rows)} rows that were looked at can be used.`),
    el("ul.reasons", items));
}

function rowsPart(rows) {
  return tableOf("prompt-rows", [headOf("Used to", "nowrap"), headOf("Tokens", "figure"), "Prompt"],
    rows.map(({ text, cut, tokens, held_out }) => [el("td.muted.nowrap", held_out ? "compare" : "train"),
      figureOf(count(tokens)),
      el("td", el("p.output.short", cut ? `${text.trim()} \u2026` : text.trim()))]));
}

function count(number) {
  return Number(number).toLocaleString("en");
}
