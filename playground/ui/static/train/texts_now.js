// Three texts before and now, chosen where the run is read: those in which the change shows best. In a lesson the
// others can be turned to, three at a time.

import { emptyWords } from "./changed.js";
import { buttonOf, el, headOf, setText, showParts, tableOf } from "../core/dom.js";
import { effect, signal } from "../core/signals.js";
import { live } from "../core/store.js";
import { beforeAndNow, ownPrompts, pairRow, sideHeads, textPair } from "../core/texts.js";

const SHOWN = 3;
const SHORT = 60; // characters: where all answers have fewer, the prompts get more room

/** @param {Element} element */
export function showTextsNow(element) {
  const table = el("div.texts-now-table", { title: "Click to see whole texts", onclick: () => {
    if (!String(getSelection())) table.classList.toggle("whole");
  } });
  effect(() => { // where length is the point none is cut, until that is asked for
    const { run } = live;
    table.classList.toggle("whole", Boolean(run?.whole_texts));
  });
  const turned = signal({ run: "", by: 0 }); // how often other texts were asked for
  const head = el("span.texts-now-name");
  const others = buttonOf("quiet-button", { onclick: () => {
    turned.value = { run: live.runId, by: turned.value.run === live.runId ? turned.value.by + 1 : 1 };
  } }, "Three others");
  element.append(el("section.texts-now", { "aria-label": "Texts before and now" },
    el("div.texts-now-turn", head, el("span", "Words that changed are underlined."), others), table));
  effect(() => {
    const { prompts } = live;
    const before = live.moments.get(0);
    const now = live.moments.get(live.updates.at(-1)) ?? before;
    const first = chosenOf(prompts, now);
    const { run, by } = turned.value;
    const chosen = run === live.runId ? turnedTo(prompts, first, by) : first;
    if (!before) return showParts(table, emptyRows());
    const texts = (/** @type {Wire.Moment} */ moment) => new Map(moment.rows.map(({ id, text }) => [id, text]));
    const [was, is] = [texts(before), texts(now)];
    const shown = [was, is].flatMap((answers) => chosen.map(({ id }) => answers.get(id) ?? ""));
    const short = shown.every((answer) => answer.length < SHORT);
    const clear = now.examples?.length && live.behaviours?.meters.some(({ changes }) => changes.at(-1));
    const kind = chosen !== first ? "Others, " : clear ? "Clearest change, "
      : now.examples?.length ? "Examples, " : "";
    const own = new Map(ownPrompts(prompts.map(({ text }) => text)).map((text, at) => [prompts[at].id, text]));
    const name = `${kind}${chosen.length} of ${now.summary.count}`;
    setText(head, name);
    showParts(table, [tableOf(`pairs texts-now-pairs${short ? " long-prompts" : ""}`,
      [headOf(name, "prompt"), ...sideHeads()],
      chosen.map(({ id }) => rowOf(own.get(id) ?? "", was.get(id) ?? "", now.update ? is.get(id) : null)))]);
  });
}

/**
 * The prompts to show: those that the run's reader has chosen, else the first.
 * @param {Wire.Prompt[]} prompts @param {Wire.Moment | undefined} now
 */
function chosenOf(prompts, now) {
  const wanted = (now?.examples ?? []).map((id) => prompts.find((prompt) => prompt.id === id)).filter(Boolean);
  return wanted.length ? wanted : prompts.slice(0, SHOWN);
}

/**
 * Three of the others, the next ones each time, and after the last ones the first again.
 * @param {Wire.Prompt[]} prompts @param {Wire.Prompt[]} first @param {number} by
 */
function turnedTo(prompts, first, by) {
  const others = prompts.filter((prompt) => !first.includes(prompt));
  const turn = by % (Math.ceil(others.length / SHOWN) + 1);
  return turn ? others.slice((turn - 1) * SHOWN, turn * SHOWN) : first;
}

/** @param {string} prompt @param {string} before @param {string | null} now */
function rowOf(prompt, before, now) {
  const [left, right] = textPair(before, now ?? before);
  return pairRow({ prompt, sides: beforeAndNow(left, now === null ? el("p.output.nothing", "\u2026") : right) });
}

/** As high as what comes in their place; what is still to come is said in the first. */
function emptyRows() {
  const words = emptyWords();
  if (!words && live.connection === "failed") return [];
  return [tableOf("pairs texts-now-pairs",
    [headOf("\u00a0", "prompt"), ...sideHeads()], Array.from({ length: SHOWN }, (_, row) => pairRow({ prompt: "",
      sides: beforeAndNow(el("p.output.nothing", row ? "" : words), el("p.output.nothing", "")) })))];
}
