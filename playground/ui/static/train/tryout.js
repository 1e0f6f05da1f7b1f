// The check before a start: four looks at the form as it is now, each with its result and what to do next. What the
// server answers is about one part at a time; the results of the others stay. All texts are data: text nodes.

import { buttonOf, el, headOf, setText, setWords, showParts, signOf, withCode } from "../core/dom.js";
import { checkAsked, differencesOf } from "../core/form.js";
import { duration, number } from "../core/format.js";
import { effect, untracked } from "../core/signals.js";
import { seenPart, usedTwice } from "./prompts_preview.js";

const PARTS = {
  model: ["The model", "Was it found, what is it, does it fit?", "Look at it"],
  prompts: ["The prompts as it reads them", "As tokens, in its own form; what is left out.", "Read them"],
  answers: ["Eight of its completions", "What each reward pays for them, before any training.", "Write and score"],
  update: ["One trial update", "A real one, for its time and memory. Nothing of it becomes a run.", "Make one"],
};
const ALL = Object.keys(PARTS);
const MOST = 240; // characters of a text

export function mount(element, props, { trigger, watch, server }) {
  const rows = Object.fromEntries(ALL.map((part, index) => [part, rowOf(part, index, () => ask([part]))]));
  const all = buttonOf("button strong", { onclick: () => ask(ALL.filter((part) => rows[part].item.offsetParent)) },
    "Check all");
  const start = buttonOf("button", { onclick: () => document.getElementById("start")?.click() }, "Start training");
  const stop = buttonOf("button", { hidden: true, onclick: () => server.stop_trial("") }, "Stop the trial");
  rows.update.head.append(stop);
  const command = el("code", {}, "python -m playground try FILE");
  const panel = el("section", { class: "panel tryout", hidden: true, tabindex: "-1",
    "aria-labelledby": "tryout-title" },
    el("div", { class: "tryout-head" }, el("h2", { id: "tryout-title" }, "Check it before you start"),
      el("span", { class: "grow" }),
      buttonOf("icon-button", { "aria-label": "Close the check", title: "Close", onclick: () => {
        panel.hidden = true;
        /** @type {HTMLElement} */ (document.querySelector("#needs .check-first"))?.focus();
      } }, "\u00d7")),
    el("p", { class: "muted" }, "Four looks at the form as it is now. Do all, or those that you want to know."),
    el("div", { class: "buttons" }, all, start),
    el("ol", { class: "tryout-parts" }, Object.values(rows).map(({ item }) => item)),
    el("p", { class: "muted small-text" }, "The same in a terminal: save the form's text (\u201cName, seed, and all of "
      + "it as text\u201d) as FILE, then ", command, " and ", el("code", {}, "python -m playground train FILE"), "."));
  element.append(panel);
  let waiting = []; // the parts that are asked for after the one that is under way

  function ask(parts) {
    if (asking()) return;
    waiting = parts;
    next();
  }

  function asking() {
    return ALL.some((part) => rows[part].item.dataset.state === "asking");
  }

  function next() {
    const part = waiting.shift();
    if (!part) return;
    show({ part, state: "asking", phase: part === "update" ? "starting" : "waking up the model", seconds: 0 });
    props.value = { ask: part };
    trigger(part === "update" ? "submit" : "input");
  }

  function show(told) {
    const row = rows[told.part];
    if (!row) return;
    row.item.dataset.state = told.state;
    if (told.state === "asking") {
      const passed = told.seconds >= 1 ? `, ${duration(Math.round(told.seconds))}` : "";
      setWords(row.line, `${sentence(told.phase)}${passed}`);
      row.result.replaceChildren();
    } else {
      setText(row.line, told.state === "error" ? "" : "Done.");
      showParts(row.result, told.state === "error" ? problemParts(told, put) : RESULTS[told.part](told.found, put));
    }
    stop.hidden = !(told.part === "update" && told.state === "asking");
    for (const button of [all, ...ALL.map((part) => rows[part].button)]) {
      button.setAttribute("aria-disabled", String(asking()));
    }
  }

  function put(values) {
    props.value = { use: values };
    trigger("apply");
  }

  watch("value", () => {
    const told = props.value;
    if (!told?.part) return; // our own word, or what was put into the form
    show(told);
    if (told.state === "asking") return;
    if (told.part === "model" && told.state === "error") waiting = [];
    // the trial downloads what the others need
    if (told.found?.here === false) waiting.sort((one, other) => Number(other === "update") - Number(one === "update"));
    next();
  });

  let seen = untracked(() => checkAsked.value);
  effect(() => {
    if (checkAsked.value === seen) return;
    seen = checkAsked.value;
    panel.hidden = false;
    panel.scrollIntoView({ block: "start", behavior: "smooth" });
    panel.focus({ preventScroll: true });
  });
}

function rowOf(part, index, look) {
  const [title, what, verb] = PARTS[part];
  const button = buttonOf("quiet-button", { "aria-label": `${verb}: ${title.toLowerCase()}`, onclick: look }, verb);
  const line = el("p", { class: "muted small-text", role: "status" });
  const result = el("div", { class: "tryout-result" });
  const head = el("div", { class: "tryout-head" }, el("h3", {}, `${index + 1}. ${title}`), line,
    el("span", { class: "grow" }), button);
  const item = el("li", { class: `tryout-part ${part}` }, head, el("p", { class: "muted small-text" }, what), result);
  return { item, head, button, line, result };
}

const RESULTS = {
  model: ({ facts, note, verdict }) => [factsOf(facts),
    note ? noteOf(note, verdict !== "fits") : goOn("Good to go on.")],
  prompts: promptParts,
  answers: answerParts,
  update: updateParts,
};

function factsOf(facts) {
  const rows = facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
  return el("dl", { class: "tryout-facts" }, rows.flat());
}

function noteOf(text, bad) {
  return el("p", { class: bad ? "field-problem" : "tryout-note" }, bad ? signOf("! ") : null, ...withCode(text));
}

function goOn(text) {
  return el("p", { class: "tryout-good" }, signOf("\u2713 "), text);
}

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
    el("div", { class: "seen-list" }, seen.map(seenPart)),
    el("p", { class: "muted small-text" }, "Shaded in turns: a token each. Framed: special tokens, which are no text. "
      + "More with \u201cLook at the prompts\u201d.")];
}

function answerParts({ samples, rewards }) {
  const failed = rewards.filter(({ problem }) => problem);
  const heard = rewards.filter(({ problem }) => !problem);
  const same = heard.filter(({ values, judge }) => !judge && new Set(values).size === 1);
  const table = el("div", { class: "table-scroll" }, el("table", { class: "tryout-table" },
    el("thead", {}, el("tr", {}, headOf("Prompt and completion"),
      heard.map(({ label, judge }) => headOf(judge ? `${label} (watches)` : label, "figure")))),
    el("tbody", {}, samples.map(({ prompt, completion, ended }, row) => el("tr", {},
      el("td", {}, el("p", { class: "output" }, el("span", { class: "muted" }, prompt.slice(-MOST)),
        completion.slice(0, MOST), ended ? null : el("span", { class: "muted" }, " (cut at the longest length)"))),
      heard.map(({ values }) => el("td", { class: "figure" },
        values[row] === null ? "no opinion" : number(values[row]))))))));
  return [
    ...failed.map(({ label, problem }) => noteOf(`${label}: ${problem}`, true)),
    table,
    ...same.map(({ label }) => noteOf(`${label} gives all of them the same: nothing to learn from yet.`, true)),
    failed.length || same.length ? null : goOn("Raw values; a run scales them so that these average 0."),
  ].filter(Boolean);
}

function updateParts({ seconds_per_update, seconds_before, seconds, memory_gb, free_gb, device, verdict, advice, change,
  num_updates }, put) {
  const facts = [
    ["An update", duration(seconds_per_update)],
    ["Before the first", `${duration(seconds_before)}, to load and to measure the reference`],
    ["The run", `about ${duration(seconds[0])} to ${duration(seconds[1])} for ${number(num_updates)} updates`],
    ["Memory", `${number(memory_gb)} of ${number(free_gb)} GB free on ${device} at its fullest: ${verdict}`],
  ];
  const good = "It fits. The estimate beside Start uses this from now on.";
  return [factsOf(facts), advice ? noteOf(advice, true) : goOn(good), ...changeParts(change, put)];
}

function problemParts({ message, advice, change }, put) {
  return [noteOf(message, true), ...(advice ? [noteOf(advice, true)] : []), ...changeParts(change, put)];
}

function changeParts(change, put) {
  if (!change) return [];
  return [differencesOf(change.differences), buttonOf("button", { onclick: () => put(change.values) },
    "Put this into the form")];
}

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
