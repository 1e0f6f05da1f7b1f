// Getting the real chat model that no hub is needed for: beside the list of models, and in the place of Start where the
// form asks for it and it is not here. Both show one state, which the server knows; it is asked when one is in view.

import { buttonOf, el, signOf, withCode } from "../core/dom.js";
import { choosePreset } from "../core/experiments.js";
import { form } from "../core/form.js";
import { part } from "../core/part.js";
import { poll } from "../core/poll.js";
import { effect, signal, untracked } from "../core/signals.js";
import { progressBar } from "../core/texts.js";

export const NAME = "SmolLM2 135M";
const EVERY_MS = 700;
const SHARE = /(\d+) of (\d+) MB|(\d+)\s?%/;

/** @typedef {{ value: { use: Record<string, string> } | null, place: "start" | "list", name: string,
 *   first: { preset: string, title: string } | null }} Props */
/** @typedef {"real_model" | "get_real_model" | "stop_real_model"} Question */

/** What the server knows of it; null until it is asked. */
const known = signal(/** @type {Wire.RealModel | null} */ (null));

/** Its name in the settings; "" where it cannot be got on this page. */
export const offered = signal("");

/** Whether it was asked for on this page, and is here since then; `chosen`: for the model that is trained. */
const arrived = signal(/** @type {{ chosen: boolean } | null} */ (null));

let toChoose = false;

/** @type {(question: Question) => Promise<void>} */
let ask = async () => {};

/**
 * True for a setting that only lacks this model, which can be got beside it.
 * @param {Pick<Wire.Problem, "message">} problem
 */
export function lacksIt({ message }) {
  return offered.value !== "" && message.startsWith(`${offered.value} is not on this machine yet`);
}

/** @param {Element} element @param {Props} props @param {Page.Tools} page */
export function mount(element, props, page) {
  const box = el("div.real-model", { role: "group", "aria-label": `Get ${NAME}` });
  element.append(part(box, props.place === "start" ? atStart : () => besideList(props)));
  if (props.place === "list") {
    ask("real_model");
    return;
  }
  listen(props, page);
  offered.value = props.name;
  let asked = false;
  effect(() => {
    const lacks = form.value.problems.some(lacksIt);
    if (lacks && !asked) untracked(() => ask("real_model"));
    asked = lacks;
  });
}

/** @param {Props} props @param {Page.Tools} page */
function listen(props, { server, trigger }) {
  let question = /** @type {Question} */ ("real_model");
  const now = poll({
    ask: () => {
      const wanted = question;
      question = "real_model";
      return server[wanted]("");
    },
    tell: (answer) => {
      const came = known.value !== null && known.value.state !== "here" && answer.state === "here";
      known.value = answer;
      if (!came) return;
      arrived.value = { chosen: toChoose };
      props.value = { use: toChoose ? { "model.source": answer.name } : {} }; // the form is checked again in any case
      trigger("apply");
    },
    fail: (error) => {
      if (known.value) known.value = { ...known.value, error: error.message };
    },
    every: () => (known.value?.state === "getting" ? EVERY_MS : 0),
    wanted: () => question !== "real_model" || known.value === null || known.value.state === "getting"
  });
  ask = (wanted) => {
    question = wanted;
    return now();
  };
}

/** In the place of Start: what the settings in the form need. */
function atStart() {
  return known.value && known.value.state !== "here" && form.value.problems.some(lacksIt)
    ? [el("p", { "data-key": "needs", title: sizeOf(known.value) }, el("strong", `Needs ${NAME}: `),
      `${known.value.download_mb} MB, ${known.value.licence}.`), ...getting(known.value, false)]
    : null;
}

/** Beside the list of models: until it is here, and once it has come. @param {Props} props */
function besideList({ first }) {
  if (!known.value) return null;
  if (known.value.state !== "here")
    return [el("p", { "data-key": "what" }, el("strong", `${NAME} `), `${known.value.mark}; `, sizeOf(known.value)),
      ...getting(known.value, true)];
  if (!arrived.value) return null;
  const words = `${NAME} is here${arrived.value.chosen ? ", and chosen" : ""}.`;
  return [el("p", { "data-key": "here", role: "status" }, signOf("\u2713 "), words),
    first ? buttonOf("quiet-button", { "data-key": "first", onclick: () => {
      document.dispatchEvent(new CustomEvent("playground-use-preset", { detail: first.preset }));
      choosePreset(first.preset);
    } }, `Its first experiment: ${first.title}`) : null];
}

/** @param {Wire.RealModel} model */
function sizeOf({ download_mb: down, disk_mb: disk, licence }) {
  return `${down} MB to download, ${disk} MB on disk, licence ${licence}.`;
}

/**
 * The button, or how far it is; and why it could not be got. `choose`: the model that is trained, once it is here.
 * @param {Wire.RealModel} model @param {boolean} choose
 */
function getting({ state, words, error }, choose) {
  if (state === "getting") {
    const [, done, of, percent] = SHARE.exec(words) ?? [];
    return [el("p.muted.small-text", { "data-key": "words", role: "status" }, words),
      progressBar(`Getting ${NAME}`, Number(done ?? percent ?? 0), Number(of ?? 100), { words }),
      buttonOf("button", { "data-key": "stop", onclick: () => ask("stop_real_model") }, "Stop")];
  }
  const stopped = error.startsWith("Stopped");
  return [error ? el("p", { "data-key": "error", role: "status", class: stopped ? "muted" : "field-problem" },
    stopped ? null : signOf("! "), withCode(error)) : null,
    buttonOf("button strong", { "data-key": "get", onclick: () => {
      toChoose = choose;
      ask("get_real_model");
    } }, `Get ${NAME}`)];
}
