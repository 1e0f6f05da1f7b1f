// The check before a start: four looks at the form as it is now, each with its result and what to do next. What the
// server answers is about one part at a time; the results of the others stay. All texts are data: text nodes.

import { buttonOf, el, figureOf, headOf, runTitle, setHidden, showParts, signOf, tableOf, withCode,
} from "../core/dom.js";
import { checkAsked, differencesOf } from "../core/form.js";
import { capital, duration, number, timeRange } from "../core/format.js";
import { effect, untracked } from "../core/signals.js";
import { live } from "../core/store.js";
import { promptAndAnswer, promptText, seenPart } from "../core/texts.js";
import { Widget } from "../core/widget.js";

/** @typedef {Wire.CheckedPart["part"]} Part */

/** @type {Record<Part, [title: string, what: string, verb: string]>} */
const PARTS = {
  model: ["The model", "Was it found, what is it, does it fit?", "Look at it"],
  prompts: ["The prompts as it reads them", "As tokens, in its own form; what is left out.", "Read them"],
  answers: ["Eight of its completions", "What each reward pays for them, before any training.", "Write and score"],
  update: ["One trial update", "A real one, for its time and memory. Nothing of it becomes a run.", "Make one"],
};
const ALL = /** @type {Part[]} */ (Object.keys(PARTS));
const MOST = 240; // characters of a text

/** @typedef {Omit<Wire.CheckedPart, "state" | "part"> & { state: Wire.CheckedPart["state"] | "none" }} Told */
/** @typedef {{ value: Wire.CheckedPart | { ask: Part } | { use: Wire.Change["values"] } | null }} Props */
/** @typedef {(values: Wire.Change["values"]) => void} Put */

/** @param {Element} element @param {Props} props @param {Page.Tools} page */
export const mount = (element, props, page) => new Tryout(element, props, page);

/** @extends {Widget<Props>} */
class Tryout extends Widget {
  /** @param {Element} element @param {Props} props @param {Page.Tools} page */
  constructor(element, props, page) {
    super(props, page);
    this.states = /** @type {Partial<Record<Part, Told>>} */ ({}); // and what was found or is wrong
    this.waiting = /** @type {Part[]} */ ([]); // they are asked for after the one that is under way
    this.gets = true;
    this.buttons = el("div.buttons");
    this.parts = el("ol.tryout-parts");
    this.panel = el("section.panel.tryout", { hidden: true, tabindex: "-1",
      "aria-labelledby": "tryout-title" },
    el("div.tryout-head", el("h2", { id: "tryout-title" }, "Check it before you start"),
      el("span.grow"),
      buttonOf("icon-button", { "aria-label": "Close the check", title: "Close", onclick: () => {
        this.panel.hidden = true;
        /** @type {HTMLElement} */ (document.querySelector("#needs .check-first"))?.focus();
      } }, "\u00d7")),
    el("p.muted", "Four checks of the form as it is now. After a change make them again, all or only those you need."),
    this.buttons, this.parts,
    el("p.muted.small-text", "The same in a terminal: save the form's text (\u201cName, seed and text (YAML)"
      + "\u201d) as FILE, then ", el("code", "python -m playground train FILE --try"),
    ", and without ", el("code", "--try"), " it trains."));
    element.append(this.panel);
    this.show();
    page.watch("value", () => this.take(props.value));
    this.giveWay();
    let seen = untracked(() => checkAsked.value);
    effect(() => {
      if (checkAsked.value === seen) return;
      seen = checkAsked.value;
      this.panel.hidden = false;
      this.panel.scrollIntoView({ block: "start", behavior: "smooth" });
      this.panel.focus({ preventScroll: true });
      if (!this.isAsking()) this.ask(this.offered(), false);
    });
  }

  /** A run that was started comes into view in its place. */
  giveWay() {
    let pressed = false;
    document.addEventListener("click", ({ target }) => {
      pressed ||= Boolean(/** @type {Element} */ (target).closest("#start"));
    });
    effect(() => {
      if (live.runId === null || !pressed) return;
      pressed = false;
      setHidden(this.panel, true, runTitle());
    });
  }

  /** @param {Part[]} parts @param {boolean} gets whether a model that is not here is downloaded for them */
  ask(parts, gets = true) {
    this.waiting = parts;
    this.gets = gets;
    this.next();
  }

  /** Those that are on this page. */
  offered() {
    return ALL.filter((part) => /** @type {HTMLElement} */ (this.parts.querySelector(`.${part}`)).offsetParent);
  }

  isAsking() {
    return ALL.some((part) => this.states[part]?.state === "asking");
  }

  next() {
    const part = this.waiting.shift();
    if (!part) return;
    this.states[part] = { state: "asking", phase: part === "update" ? "starting" : "waking up the model", seconds: 0 };
    this.show();
    this.give({ ask: part }, part === "update" ? "submit" : "input");
  }

  /** A new state of a part. @param {Props["value"]} told */
  take(told) {
    if (!told || !("part" in told)) return; // our own word, or what was put into the form
    this.states[told.part] = told;
    this.show();
    if (told.state === "asking") return;
    const isAway = told.found && "here" in told.found && !told.found.here;
    if (told.part === "model" && (told.state === "error" || (isAway && !this.gets))) this.waiting = [];
    // the trial downloads what the others need
    if (isAway)
      this.waiting.sort((one, other) => Number(other === "update") - Number(one === "update"));
    this.next();
  }

  show() {
    const off = this.isAsking();
    showParts(this.buttons, [
      buttonOf("button strong", { off, onclick: () => this.ask(this.offered()) }, "Check all"),
      buttonOf("button", { onclick: () => document.getElementById("start")?.click() }, "Start training")]);
    showParts(this.parts, ALL.map((part, index) => this.part(part, index, off)));
  }

  /** @param {Part} part @param {number} index @param {boolean} off */
  part(part, index, off) {
    const told = this.states[part] ?? /** @type {Told} */ ({ state: "none" });
    const [title, what, verb] = PARTS[part];
    const passed = told.seconds >= 1 ? `, ${duration(Math.round(told.seconds))}` : "";
    /** @type {Put} */
    const put = (values) => this.give({ use: values }, "apply");
    /** @type {Record<Told["state"], () => Page.Child[]>} */
    const results = { none: () => [], asking: () => [],
      done: () => RESULTS[part](/** @type {never} */ (told.found), put),
      error: () => problemParts(told, put) };
    return el("li", { class: `tryout-part ${part}`, "data-key": part, "data-state": told.state },
      el("div.tryout-head", el("h3", `${index + 1}. ${title}`),
        el("p.muted.small-text", { role: "status" }, told.state === "done" ? "Done."
          : told.state === "asking" ? withCode(`${capital(told.phase)}${passed}`) : ""),
        el("span.grow"),
        buttonOf("quiet-button", { "aria-label": `${verb}: ${title.toLowerCase()}`, off,
          onclick: () => this.ask([part]) }, verb),
        part === "update" && told.state === "asking"
          ? buttonOf("button", { onclick: () => this.server.stop_trial("") }, "Stop the trial") : null),
      el("p.muted.small-text", what), el("div.tryout-result", results[told.state]()));
  }
}

/** @type {Record<Part, (found: never, put: Put) => Page.Child[]>} what each draws is of its own type */
const RESULTS = {
  model: (/** @type {Wire.AboutModel} */ { facts, note, verdict }) => [factsOf(facts),
    note ? noteOf(note, verdict !== "fits") : goOn("Good to go on.")],
  prompts: promptParts,
  answers: answerParts,
  update: updateParts,
};

/** @param {string[][]} facts */
function factsOf(facts) {
  return el("dl.tryout-facts", facts.map(([name, value]) => [el("dt", name), el("dd", value)]));
}

/** @param {string} text @param {boolean} bad */
function noteOf(text, bad) {
  return el("p", { class: bad ? "field-problem" : "tryout-note" }, bad ? signOf("! ") : null, ...withCode(text));
}

/** @param {string} text */
function goOn(text) {
  return el("p.tryout-good", signOf("\u2713 "), text);
}

/** @param {Wire.PromptsRead} preview */
function promptParts(preview) {
  const { seen, lengths, room, left_out, num_training, num_evaluation, held_out, form } = preview;
  const twice = usedTwice(preview);
  const out = left_out.reduce((sum, { count }) => sum + count, 0);
  const facts = [
    ["To train on",
      `${number(num_training)} prompts of ${lengths.min} to ${lengths.max} tokens; room for ${number(room)}`],
    ["To compare", `${number(num_evaluation)} fixed prompts${held_out ? ", held out" : ", which are trained on too"}`],
    ["Form", form === "chat" ? "its own chat template" : "plain text, which it continues"],
    ["Cut off", "none: a prompt that is too long is left out whole"],
    ["Left out", out ? left_out.map(({ reason, count }) => `${number(count)} ${reason}`).join(", ") : "none"],
  ];
  return [factsOf(facts), ...(twice ? [noteOf(twice, true)] : []),
    el("div.seen-list", seen.map((pieces) => seenPart(pieces))),
    el("p.muted.small-text", "Shaded in turns: a token each. Framed: special tokens, which are no text.")];
}

/**
 * What follows where there are too few prompts for both uses; "" where there are enough.
 * @param {Wire.PromptsRead} preview
 */
function usedTwice({ held_out, num_training, num_evaluation }) {
  if (held_out) return "";
  const which = num_evaluation === num_training ? "the fixed prompts are trained on too"
    : `${number(num_evaluation)} of them are the fixed prompts and are trained on too`;
  return `There are too few prompts to hold some out: ${which}, so before and now are no test on new ones. Add `
    + `prompts, or set \u201cFixed prompts\u201d to ${number(Math.floor(num_training / 2))} or fewer.`;
}

/** @param {Wire.TriedAnswers} found */
function answerParts({ samples, rewards }) {
  const failed = rewards.filter(({ problem }) => problem);
  const heard = rewards.filter(({ problem }) => !problem);
  const same = heard.filter(({ values, judge }) => !judge && new Set(values).size === 1);
  const table = tableOf("tryout-table", ["Prompt and completion",
    ...heard.map(({ label, judge }) => headOf(judge ? `${label} (watches)` : label, "figure"))],
  samples.map(({ prompt, completion, ended }, row) => [
    el("td", promptAndAnswer(promptText(prompt).slice(-MOST), completion.slice(0, MOST),
      ended ? null : el("span.muted", " (cut at the longest length)"))),
    heard.map(({ values }) => figureOf(values[row] === null ? "no opinion" : number(values[row])))]));
  return [
    ...failed.map(({ label, problem }) => noteOf(`${label}: ${problem}`, true)),
    el("div.table-scroll", table),
    ...same.map(({ label }) => noteOf(`${label} gives all of them the same: nothing to learn from yet.`, true)),
    failed.length || same.length ? null : goOn("Raw values; a run scales them so that these average 0."),
  ];
}

/** @param {Wire.Trial} found @param {Put} put */
function updateParts({ seconds_per_update, seconds_before, seconds, memory_gb, free_gb, device, verdict, advice, change,
  num_updates }, put) {
  const facts = [
    ["An update", duration(seconds_per_update)],
    ["Before the first", `${duration(seconds_before)}, to load and to measure the reference`],
    ["The run", `${timeRange(seconds[0], seconds[1])} for ${number(num_updates)} updates`],
    ["Memory", `${number(memory_gb)} of ${number(free_gb)} GB free on ${device} at its fullest: ${verdict}`],
  ];
  const good = "It fits. The memory estimate of this form uses it from now on.";
  return [factsOf(facts), advice ? noteOf(advice, true) : goOn(good), ...changeParts(change, put)];
}

/** @param {Told} told @param {Put} put */
function problemParts({ message, advice, change }, put) {
  return [noteOf(message, true), ...(advice ? [noteOf(advice, true)] : []), ...changeParts(change, put)];
}

/** @param {Wire.Change | null} change @param {Put} put */
function changeParts(change, put) {
  if (!change) return [];
  return [differencesOf(change.differences), buttonOf("button", { onclick: () => put(change.values) },
    "Put this into the form")];
}
