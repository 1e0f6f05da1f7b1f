// The prompts in the form: shows the fields that belong to the kind of source, and says what an upload holds.

import { el, setWords } from "../core/dom.js";
import { sayOfUploads } from "../core/uploads.js";

const SHIPPED = /^(pocket|general)\//;
const FILE = /\.(txt|csv|tsv|jsonl?|parquet)(\.gz)?$/i;

/** What a prompt source is, by its name: pocket (a set that ships), typed, file or dataset. @param {unknown} source */
export function kindOf(source) {
  const name = String(source ?? "").trim();
  if (!name || SHIPPED.test(name)) return "pocket";
  if (name === "typed") return "typed";
  const file = name.match(FILE);
  if (file) return file[1].toLowerCase() === "txt" ? "lines" : "file";
  return "dataset";
}

let chosen = "";

/** Show the fields of this source's kind. @param {unknown} source */
export function show(source) {
  chosen = String(source ?? "");
  showFields();
}

function showFields() {
  const part = document.getElementById("prompts-part");
  if (part) part.dataset.kind = kindOf(chosen);
}

/** @param {Element} element @param {{ value: Wire.Uploaded, limit: number }} props @param {Page.Tools} page */
export function mount(element, props, { watch }) {
  const line = el("p.prompts-note", { role: "status" });
  element.append(line);
  showFields(); // the source may have been chosen before they were drawn

  /** Gradio may empty the element that it gave us when the value changes, or put another one in its place. */
  function keep() {
    if (!line.isConnected) (element.isConnected ? element : document.getElementById("prompts-note"))?.append(line);
  }

  new MutationObserver(keep).observe(element, { childList: true });

  /** @param {string} sentence @param {boolean} isProblem */
  function say(sentence, isProblem) {
    keep();
    line.classList.toggle("field-problem", Boolean(sentence && isProblem));
    line.classList.toggle("help", !isProblem);
    const source = /** @type {HTMLSelectElement} */ (document.getElementById("field-prompts-source-menu"));
    const name = source.value === chosen ? source.selectedOptions[0].label : chosen;
    const kept = isProblem && chosen ? ` The prompts are still those of \u201c${name}\u201d.` : "";
    setWords(line, sentence + kept);
  }

  watch("value", () => say(props.value?.problem ?? props.value?.sentence ?? "", Boolean(props.value?.problem)));
  sayOfUploads("#prompts-part", props.limit, say);
}
