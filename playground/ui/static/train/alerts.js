// Is the run healthy? A line that is always there, and below it each alert that is lit: its rule, what was seen, the
// likely cause, and what to try, with a button for each way in which it can be tried: at once in a run that trains, in
// a fork from before it went wrong, or in the form as a run of its own.

import { rights } from "../core/access.js";
import { buttonOf, el, helpOf, setWords, signOf } from "../core/dom.js";
import { answerOf } from "../core/server.js";
import { capital, withMinus } from "../core/format.js";
import { keepMystery, lamps, lampsAreOff } from "../core/mysteries.js";
import { part } from "../core/part.js";
import { effect } from "../core/signals.js";
import { openSection } from "../core/sections.js";
import { hasEnded, live } from "../core/store.js";
import { askFork, canFork } from "../inside/fork.js";

const GLOSS = "One check for each thing that can go wrong, read from the run's records. It gives an alert on a trend "
  + "(three of five updates), never on a single update. Red needs action; amber is worth a look.";
/** @type {Record<string, string>} */
const SIGNS = { red: "\u25cf ", amber: "\u25b2 ", quiet: "\u2713 ", "not measured": "\u2013 " };
const MOST_UPDATES = 8;

/** What stands beside the name of the section; null where nothing is watched. */
export function healthOf() {
  if (lampsAreOff()) return { note: "checks off" };
  const alerts = lamps();
  if (!alerts && (!live.run || hasEnded.value)) return null;
  const count = (/** @type {string} */ state) => (alerts ?? []).filter((alert) => alert.state === state).length;
  const [red, amber] = [count("red"), count("amber")];
  return { tone: red ? "red" : amber ? "amber" : "", sign: red ? SIGNS.red.trim() : amber ? SIGNS.amber.trim() : "",
    plain: red && hasEnded.value ? alerts.find(({ state }) => state === "red").plain : "",
    note: red || amber ? [red ? `${red} red` : "", amber ? `${amber} amber` : ""].filter(Boolean).join(", ")
      : alerts ? "all quiet" : "" };
}

/**
 * The first red alert of a run opens the section.
 * @param {Element} element
 * @param {(run: string, changes: Wire.OfferedRemedy["changes"]) => Promise<Wire.EditsAnswer>} ask
 */
export function showAlerts(element, ask) {
  const note = el("p.alerts-note", { role: "status", "aria-live": "polite" });
  /** @type {Apply} */
  const apply = async (changes, words) => {
    const answer = await answerOf(() => ask(live.runId, changes), "; nothing was changed.");
    const done = `${words}: requested, takes effect at the next update.`;
    setWords(note, answer.error || answer.problems?.[0]?.message || done);
  };
  /** @type {string | null | undefined} */
  let runId;
  let shown = false; // a red alert has opened the section
  effect(() => {
    if (runId !== live.runId) {
      setWords(note, "");
      shown = false;
    }
    runId = live.runId;
    if (shown || healthOf()?.tone !== "red") return;
    shown = true;
    openSection("health", true, false);
  });
  element.append(part(el("section.alerts", { hidden: true, "aria-labelledby": "alerts-title" }), () => {
    if (lampsAreOff()) return darkness();
    const alerts = lamps();
    if (!alerts && (!live.run || hasEnded.value)) return null; // else they are still to come
    /** @param {...string} states */
    const of = (...states) => states.map((state) => (alerts ?? []).filter((alert) => alert.state === state));
    /** @param {...string} states */
    const list = (...states) => el("ul.alerts-list", of(...states).flat().map((alert) => row(alert, note, apply)));
    return [
      el("div.chart-bar", el("h2", { id: "alerts-title" }, "Is it healthy?"), helpOf("a check", GLOSS),
        el("span.alerts-summary", alerts ? summaryOf(of("red", "amber", "quiet").map((found) => found.length))
          : live.run?.recorded ? "Known at the end of the recording." : "Known after the first updates.")),
      note, list("red", "amber"), el("details.alerts-others", el("summary", "Everything that is checked"),
        list("quiet", "not measured"))];
  }));
}

/** What stands there while a mystery run is to be read without its checks. */
function darkness() {
  return [el("div.chart-bar", el("h2", { id: "alerts-title" }, "Is it healthy?"), helpOf("a check", GLOSS)),
    el("p", "The checks are off: what is wrong in this run is for you to find."),
    buttonOf("button", { "data-key": "lamps", onclick: () => keepMystery(live.runId, { lamps: true }) },
      "Turn the checks on")];
}

/** @typedef {(changes: Wire.OfferedRemedy["changes"], words: string) => void} Apply */

/** @param {Wire.RunCheck} alert @param {Element} note @param {Apply} apply */
function row({ name, state, label, plain, evidence, rule, updates, cause, remedies }, note, apply) {
  /** @param {string} title @param {string | Element[]} value */
  const fact = (title, value) => (value?.length ? [el("dt", title), el("dd", value)] : []);
  const seen = `${updates.length > MOST_UPDATES ? "\u2026 " : ""}${updates.slice(-MOST_UPDATES).join(", ")}`;
  return el("li", { class: `alert ${state.replace(" ", "-")}`, "data-key": name }, el("details",
    el("summary", signOf(SIGNS[state]), el("strong", plain || label),
      el("span.muted", withMinus(
        `${plain ? ` ${label}` : ""}${state === "quiet" ? ": not seen" : ` (${state})`}. ${evidence}`))),
    el("dl.alert-facts", fact("Rule", withMinus(rule)), fact("Seen at updates", seen), fact("Likely cause", cause),
      fact("Try", remedies.map((remedy) => remedyOf(remedy, note, apply))))));
}

/** @param {Wire.OfferedRemedy} remedy @param {Element} note @param {Apply} apply */
function remedyOf({ words, changes, live: atOnce, form, fork }, note, apply) {
  const text = capital(words);
  /** @param {string} kind @param {string} name @param {() => void} onclick */
  const way = (kind, name, onclick) => buttonOf("quiet-button", { "data-way": kind, onclick }, name);
  const takes = atOnce && rights.value.steer && live.run?.can_steer && live.status && !live.status.ended
    && Object.keys(changes).every((field) => field in live.settings);
  /** @type {{ run?: string, preset?: string }} */
  const from = live.run?.recorded ? { preset: live.run.preset } : { run: live.runId };
  return el("div.remedy", el("span", text),
    takes ? way("now", "Change it now", () => apply(changes, text)) : null,
    fork !== null && canFork() ? way("fork", "Try it in a fork\u2026", () => askFork(fork, changes)) : null,
    form && rights.value.form && (from.run || from.preset) ? way("form", "Put it in the form", () => {
      document.dispatchEvent(new CustomEvent("playground-use-settings", { detail: { ...from, changes } }));
      document.getElementById("start")?.focus();
      setWords(note, `${text}: now in the form, with the settings of this run. Start it when you like.`);
    }) : null);
}

/** @param {number[]} counts of those that are red, amber and quiet */
function summaryOf([red, amber, quiet]) {
  if (!red && !amber) return `All ${quiet} checks are quiet.`;
  const parts = [red ? `${red} red` : "", amber ? `${amber} amber` : "", `${quiet} quiet`];
  return `${parts.filter(Boolean).join(", ")}.`;
}
