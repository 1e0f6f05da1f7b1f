// Is the run healthy? A line that is always there, and below it each lamp that is lit: its rule, what was seen, the
// likely cause, and what to try, with a button for each way in which it can be tried: at once in a run that trains, in
// a fork from before it went wrong, or in the form as a run of its own.

import { rights } from "../core/access.js";
import { answerOf, buttonOf, el, helpOf, runTitle, setHidden, setText, setWords, showParts,
  signOf } from "../core/dom.js";
import { effect } from "../core/signals.js";
import { hasEnded, live } from "../core/store.js";
import { askFork, canFork } from "../inside/fork.js";
import { Thresholds } from "../inside/thresholds.js";

const GLOSS = "A lamp for each thing that can go wrong, read from what the run has written down. It lights on a trend, "
  + "three of five updates, never on a single one. Red needs you; amber is worth a look.";
const SIGNS = { red: "\u25cf ", amber: "\u25b2 ", quiet: "\u2713 ", "not measured": "\u2013 " };
const MOST_UPDATES = 8;

export class Lamps {
  /** `ask(run, changes)` answers {error, problems, edits}. */
  constructor(element, ask) {
    this.ask = ask;
    this.summary = el("span", { class: "lamps-summary" });
    this.note = el("p", { class: "lamps-note", role: "status", "aria-live": "polite" });
    this.lit = el("ul", { class: "lamps-list" });
    this.rest = el("ul", { class: "lamps-list" });
    this.thresholds = new Thresholds(() => this.refresh());
    this.others = el("details", { class: "lamps-others" }, el("summary", {}, "All that is watched"), this.rest,
      this.thresholds.root);
    this.root = el("section", { class: "lamps", hidden: true, "aria-labelledby": "lamps-title" },
      el("div", { class: "chart-bar" }, el("h2", { id: "lamps-title" }, "Is it healthy?"), helpOf("a lamp", GLOSS),
        this.summary), this.note, this.lit, this.others);
    element.append(this.root);
    let runId;
    effect(() => {
      if (runId !== live.runId) setWords(this.note, "");
      runId = live.runId;
      this.thresholds.follow(live);
      this.refresh();
    });
  }

  refresh() {
    const lamps = this.thresholds.lamps ?? live.lamps;
    setHidden(this.root, !lamps && (!live.run || hasEnded.value), runTitle()); // else they are still to come
    const of = (state) => (lamps ?? []).filter((lamp) => lamp.state === state);
    const lit = [...of("red"), ...of("amber")];
    setText(this.summary, lamps ? told(of("red").length, of("amber").length, of("quiet").length)
      : "Told from the first updates on.");
    showParts(this.lit, lit.map((lamp) => this.row(lamp)));
    showParts(this.rest, [...of("quiet"), ...of("not measured")].map((lamp) => this.row(lamp)));
  }

  row(lamp) {
    const open = this.openNow(lamp.name);
    return el("li", { class: `lamp ${lamp.state.replace(" ", "-")}`, "data-key": lamp.name },
      el("details", { "data-lamp": lamp.name, open },
        el("summary", {}, signOf(SIGNS[lamp.state]), el("strong", {}, lamp.label),
          el("span", { class: "muted" }, ` ${lamp.state}. ${lamp.evidence}`)),
        el("dl", { class: "lamp-facts" }, part("Rule", lamp.rule), part("Seen at updates", listed(lamp.updates)),
          part("Likely cause", lamp.cause),
          lamp.remedies.length ? part("Try", lamp.remedies.map((remedy) => this.remedy(remedy))) : null)));
  }

  /** Whether a person has unfolded it: what is drawn anew stays as it was. */
  openNow(name) {
    return Boolean(this.root.querySelector(`[data-lamp="${name}"][open]`));
  }

  remedy({ words, changes, live: atOnce, form, fork }) {
    const text = `${words[0].toUpperCase()}${words.slice(1)}`;
    const takes = atOnce && rights.value.steer && live.run?.can_steer && live.status && !live.status.ended
      && Object.keys(changes).every((field) => field in live.settings);
    const from = live.run?.recorded ? { preset: live.run.preset } : { run: live.runId };
    const buttons = [
      takes ? way("now", "Change it now", () => this.apply(changes, text)) : null,
      fork !== null && canFork() ? way("fork", "Try it in a fork\u2026", () => askFork(fork, changes)) : null,
      form && rights.value.form && (from.run || from.preset) ? way("form", "Put it in the form", () => {
        document.dispatchEvent(new CustomEvent("playground-use-settings", { detail: { ...from, changes } }));
        document.getElementById("start")?.focus();
        setWords(this.note, `${text}: in the form now, with the settings of this run. Start it when you like.`);
      }) : null];
    return el("div", { class: "remedy" }, el("span", {}, text), buttons);
  }

  async apply(changes, words) {
    const answer = await answerOf(() => this.ask(live.runId, changes), "; nothing was changed.");
    const done = `${words}: asked for, from the next update on.`;
    setWords(this.note, answer.error || answer.problems?.[0]?.message || done);
  }
}

function way(kind, words, onclick) {
  return buttonOf("quiet-button", { onclick, "data-way": kind }, words);
}

function part(name, value) {
  return value && value.length ? [el("dt", {}, name), el("dd", {}, value)] : [];
}

function listed(updates) {
  const shown = updates.slice(-MOST_UPDATES).join(", ");
  return updates.length > MOST_UPDATES ? `\u2026 ${shown}` : shown;
}

function told(red, amber, quiet) {
  if (!red && !amber) return `Nothing is lit; ${quiet} lamps are quiet.`;
  const parts = [red ? `${red} red` : "", amber ? `${amber} amber` : "", `${quiet} quiet`];
  return `${parts.filter(Boolean).join(", ")}.`;
}
