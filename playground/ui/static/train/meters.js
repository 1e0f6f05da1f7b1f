// What the run in view does, counted: a line for each behaviour in the first screen, then all of it in detail: what the
// reward pays for and nobody wants, and for claims of the user how they are put.

import { claimsTable, hasClaims } from "../charts/claims.js";
import { keyOf, meterLine, meterRow, metersTable } from "../charts/meters.js";
import { BAR_KEY, firstOf } from "../core/counts.js";
import { buttonOf, el, helpOf, runTitle, setHidden, showParts, signOf } from "../core/dom.js";
import { signed } from "../core/format.js";
import { go } from "../core/nav.js";
import { part } from "../core/part.js";
import { computed, effect, signal } from "../core/signals.js";
import { hasEnded, live } from "../core/store.js";
import { promptText, textPair } from "../core/texts.js";

const FIRST = 3; // in the first screen
const GLOSS = "Yes or no of each answer to the fixed prompts, counted at every evaluation; nothing is trained on it. A "
  + "change is told where luck alone would make it less than once in twenty times. The interval is Wilson\u2019s, at "
  + "95 %. Expected is where runs of this experiment ended on other seeds.";

const BAND_KEY = "The pale band is where runs of this experiment ended on other seeds.";

/** Whether the run has come to its own end, and so can be held against what was measured. */
const isFinal = computed(() => hasEnded.value && (live.run?.recorded || live.status?.state === "finished"));

/** The first of them in a line each; before the first look their lines are kept free. @param {Element} element */
export function showCounts(element) {
  element.append(part(el("section.counts", { hidden: true, "aria-label": "What it does" }), () => {
    const { run, behaviours } = live;
    const counted = (run?.counted ?? []).slice(0, FIRST);
    if (!counted.length || (hasEnded.value && !behaviours)) return null;
    const meters = firstOf(behaviours?.meters ?? []).slice(0, FIRST);
    return [el("ul", meters.length ? meters.map((meter) => meterLine(meter, isFinal.value))
      : counted.map(({ name, words }) => el("li.meter-line", { "data-key": name },
        el("strong", words), el("span.muted.uncounted", "not counted yet")))),
    meters.length && !run?.recorded
      ? helpOf("a bar", meters.some(({ band }) => band) ? [BAR_KEY, " ", BAND_KEY] : BAR_KEY) : ""];
  }));
}

/** All of them with their intervals, look by look, and what the reward pays for. @param {Element} element */
export function showMeters(element) {
  const everyLook = signal(false); // the table is open
  element.append(part(el("section.meters", { hidden: true, "aria-labelledby": "meters-title" }), () => {
    const { behaviours } = live;
    const meters = behaviours?.meters ?? [];
    if (!meters.length) return null;
    return [
      el("div.chart-bar", el("h2", { id: "meters-title" }, "Counts"), helpOf("a count", GLOSS), el("span.grow"),
        el("div.meter-keys", keyOf(["before", "now"], meters.some(({ band }) => band))),
        buttonOf("quiet-button", { "aria-pressed": String(everyLook.value), onclick: () => {
          everyLook.value = !everyLook.value;
        } }, "At every evaluation")),
      el("ul.meters-list", meters.map((meter) => meterRow(meter, { final: isFinal.value }))),
      everyLook.value ? el("div.numbers", { tabindex: "0", role: "region",
        "aria-label": "Behaviours at every evaluation" }, metersTable(meters)) : null,
      hasEnded.value && behaviours.paid.length ? paidFor(behaviours.paid) : null];
  }));
}

/** Where the reward and a behaviour disagree, with the completion that shows it best. @param {Wire.Paid[]} paid */
function paidFor(paid) {
  const [{ name, pair }] = paid;
  const compare = buttonOf("quiet-button", { onclick: () => go({ page: "compare", run: live.runId, behaviour: name }) },
    "Such answers in Compare");
  return el("div.paid", el("p.paid-words", signOf("! "), paid.map(({ sentence }) => el("span", `${sentence} `))),
    pair ? el("dl.paid-pair", pairOf(pair)) : null, compare);
}

/** @param {Wire.PaidPair} pair */
function pairOf({ prompt, before, after }) {
  const [was, is] = textPair(before.text, after.text);
  /** @param {string} name @param {string} kind @param {Element} text @param {number} [score] */
  const entry = (name, kind, text, score) => el("div", { class: kind },
    el("dt", name, score === undefined ? "" : el("span.muted", ` score ${signed(score)}`)), el("dd", text));
  return [entry("Prompt", "prompt", el("p.output", promptText(prompt))), entry("Before", "before", was, before.score),
    entry("Now", "now", is, after.score)];
}

/** How often it agrees with its user, right or wrong, and by how the claim is put. @param {Element} element */
export function showClaims(element) {
  const body = el("div.claims-body");
  const root = el("details.claims", { hidden: true, open: !matchMedia("(max-width: 760px)").matches },
    el("summary", el("h2", "Does it agree, and with whom?")), body);
  element.append(root);
  effect(() => {
    const { behaviours } = live;
    setHidden(root, !hasClaims(behaviours), runTitle());
    showParts(body, root.hidden ? [] : [claimsTable(behaviours)]);
  });
}
