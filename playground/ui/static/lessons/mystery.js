// A mystery run in the place of the form: what is wrong here? The mistakes to choose from, what a wrong choice would
// have shown, and the answer, which is asked of the server only once the visitor has answered.

import { buttonOf, el, setText, signOf } from "../core/dom.js";
import { keepMystery, lampsAreOff, mysteries } from "../core/mysteries.js";
import { go, openRun, place } from "../core/nav.js";
import { openSection } from "../core/sections.js";
import { getJson, runPath } from "../core/server.js";
import { effect, signal, untracked } from "../core/signals.js";
import { live, open, player } from "../core/store.js";
import { lessonLink } from "./courses.js";
import { everyMystery, markOf, namesOf, starterOf } from "./mysteries.js";
import { options } from "./predict.js";

const LOOK = "texts counts score distance curves health every-text frontier update";

export class MysteryPanel {
  /** @param {HTMLElement} element @param {Page.Server} server */
  constructor(element, server) {
    this.name = "";
    this.run = "";
    this.all = /** @type {Wire.Mysteries | null} */ (null);
    this.answer = /** @type {Wire.MysteryAnswer | null} */ (null);
    this.last = ""; // the wrong mistake that was named last
    this.problem = signal("");
    this.starter = starterOf(server);
    this.root = el("section.lesson.mystery-panel", { "aria-label": "Mystery run" });
    this.speaker = el("div.visually-hidden", { role: "status", "aria-live": "polite" });
    element.append(this.root, this.speaker);
    effect(() => this.follow());
  }

  /** Show one; `focus`: it was opened from within the page. @param {string} name @param {boolean} focus */
  async open(name, focus) {
    Object.assign(this, { name, run: "", answer: null, last: "" });
    this.problem.value = "";
    setText(this.speaker, "");
    this.root.replaceChildren(el("p.muted", "Loading\u2026"));
    try {
      const all = await everyMystery();
      if (this.name !== name) return;
      this.all = all;
      this.run = /^\d{1,2}$/.test(name) ? all.runs[Number(name) - 1] ?? name : name;
      document.body.dataset.look = LOOK;
      open(this.run);
      if (this.kept.end) await this.ask();
    } catch (error) {
      if (this.name === name) this.cannot(error.message);
      return;
    }
    if (this.name === name) this.show(focus ? "h2" : "");
  }

  close() {
    this.name = "";
  }

  /** @param {string} why */
  cannot(why) {
    this.root.replaceChildren(el("p", { role: "alert" }, why), el("div.lesson-buttons",
      buttonOf("button", { onclick: () => this.open(this.name, true) }, "Try again"), leaving("All lessons")));
  }

  get kept() {
    return mysteries.value[this.run] ?? {};
  }

  async ask() {
    const { run } = this;
    const answer = /** @type {Wire.MysteryAnswer} */ (await getJson(runPath(run, "mystery")));
    if (this.run === run) this.answer = answer;
  }

  /** A mistake was named, or with "" none: the visitor gives up. @param {string} named @param {string} why */
  async say(named, why) {
    const { run } = this;
    this.problem.value = "";
    try {
      await this.ask();
    } catch (error) {
      this.problem.value = error.message;
    }
    if (this.run !== run || !this.answer) return;
    const { tries = [] } = this.kept;
    const wrong = Boolean(named) && named !== this.answer.name;
    keepMystery(run, wrong ? { tries: [...tries, named], why } : { end: named ? "found" : "shown",
      named: this.answer.name, why });
    this.last = wrong ? named : "";
    if (wrong) this.answer = null;
    this.show(".lesson-verdict");
    setText(this.speaker, this.root.querySelector(".lesson-verdict")?.textContent ?? "");
  }

  /** @param {string} focus what the keyboard goes on from */
  show(focus = "") {
    const { title } = namesOf(this.all, this.run);
    this.root.replaceChildren(
      el("div.lesson-bar", el("span.muted", title), el("span.lesson-ways", leaving("Leave"))),
      el("h2", { tabindex: "-1" }, "What is wrong here?"),
      ...(this.answer ? this.answered() : this.asking()));
    const box = /** @type {HTMLElement | null} */ (focus ? this.root.querySelector(focus) : null);
    box?.focus({ preventScroll: true });
    if (box && box.getBoundingClientRect().bottom > innerHeight) box.scrollIntoView({ block: "center" });
  }

  asking() {
    const { mistakes } = this.all;
    const { tries = [], why: before = "" } = this.kept;
    let chosen = "";
    const why = el("input", { type: "text", id: "mystery-why", maxlength: 200, autocomplete: "off", value: before,
      placeholder: "what you have seen" });
    const ready = buttonOf("button strong", { off: true, onclick: () => this.say(chosen, why.value.trim()) },
      "That is it");
    const form = options("mystery", "Which mistake is it?", mistakes, (index) => {
      chosen = mistakes[index].name;
      ready.setAttribute("aria-disabled", "false");
    });
    form.querySelectorAll("input").forEach((input, index) => {
      input.disabled = tries.includes(mistakes[index].name);
    });
    const last = mistakes.find(({ name }) => name === this.last);
    const complaint = el("p.problem", { role: "alert", hidden: true });
    effect(() => {
      complaint.hidden = !this.problem.value;
      setText(complaint, this.problem.value);
    });
    return [el("p.lesson-question", "One mistake was made on purpose in this training. Look at its curves, its texts "
      + "token by token, and one update in slow motion. Then name it."), last ? wrongBox(last) : "",
    form, el("div.own", el("label", { for: "mystery-why" }, "Why? ", el("span.muted", "(if you like)")), why),
    el("div.lesson-buttons", ready, buttonOf("quiet-button", { onclick: () => this.say("", why.value.trim()) },
      "Show me"), this.lampSwitch()), complaint];
  }

  lampSwitch() {
    return this.kept.lamps ? "" : buttonOf("quiet-button", { "data-key": "lamps", onclick: (event) => {
      keepMystery(this.run, { lamps: true });
      openSection("health", true, false);
      /** @type {Element} */ (event.currentTarget).remove();
      setText(this.speaker, "The checks are on.");
      document.getElementById("section-health")?.scrollIntoView({ block: "nearest" });
    } }, "Turn the checks on");
  }

  answered() {
    const { all, answer, run, kept } = this;
    const mistake = all.mistakes.find(({ name }) => name === answer.name);
    const found = kept.end === "found";
    const next = all.runs.find((one) => !["found", "shown"].includes(markOf(one)));
    const tried = kept.tries?.length ?? 0;
    return [el("div.lesson-verdict", { tabindex: "-1", "data-tone": found ? "right" : "other" },
      el("p.lesson-tone", signOf(found ? "\u2713" : "\u2192"), found
        ? ` Found${tried ? ", after ".concat(tried === 1 ? "one other" : `${tried} others`) : ""}` : " This is it"),
      el("p", el("strong", `${mistake.say}. `), answer.because)),
    el("h3", "What gives it away here"), ...evidenceOf(answer),
    el("h3", "The lines"), ...linesOf(answer), answer.where ? el("p", answer.where) : "",
    el("div.lesson-buttons", this.without(),
      next ? nextLink(namesOf(all, next)) : leaving("All lessons", "button strong"),
      buttonOf("quiet-button", { onclick: () => {
        keepMystery(run, null);
        this.open(this.name, true);
      } }, "Do it again"))];
  }

  /** The same settings and the same seed, without the mistake. */
  without() {
    const { starter, all, run } = this;
    const box = el("span.mystery-start");
    effect(() => {
      const words = starter.busy.value ? "Starting\u2026" : "Run it without the mistake";
      box.replaceChildren(...(starter.offered(all) ? [buttonOf("button", { off: starter.busy.value,
        onclick: async () => {
          const made = await starter.start(run);
          if (made) openRun(made);
        } }, words)] : []), ...(starter.complaint.value ? [el("p.problem", { role: "alert" },
        starter.complaint.value)] : []));
    });
    return box;
  }

  /** A recording that was answered is shown at its end, and a run that is no mystery is none. */
  follow() {
    const { run } = live;
    const { value: playing } = player;
    if (!this.name || place().mystery !== this.name || !run || live.runId !== this.run) return;
    untracked(() => {
      if (!run.mystery) this.cannot("This run has no mistake to be found.");
      else if (playing && this.answer && !lampsAreOff()) playing.seek(playing.updates.length);
    });
  }
}

/** @param {Wire.Mistake} mistake that it is not */
function wrongBox({ say, shows }) {
  return el("div.lesson-verdict", { tabindex: "-1", "data-tone": "other" },
    el("p.lesson-tone", signOf("\u2260"), ` Not that: ${say[0].toLowerCase()}${say.slice(1)}`),
    el("p", shows), el("p", "Look again."));
}

/** @param {Wire.MysteryAnswer} answer */
function evidenceOf({ lamp, state, evidence, update }) {
  const lit = state === "red" || state === "amber";
  return [el("p", el("strong", `${lamp}${update ? ` (after update ${update})` : ""}: `), evidence),
    el("p.muted.lesson-note", !lit ? "Its check gives no alert in this run, or not yet."
      : update ? `Its check was ${state} then, unseen; at the end others are, under \u201cIs it healthy?\u201d.`
        : `Its check, off so far, is ${state}; all checks stand under \u201cIs it healthy?\u201d.`)];
}

/** @param {Wire.MysteryAnswer} answer */
function linesOf({ wrong, right, of }) {
  /** @param {string} kind @param {string} sign @param {string} title @param {string[]} lines */
  const block = (kind, sign, title, lines) => el("figure.mystery-lines", { "data-kind": kind },
    el("figcaption", signOf(sign), ` ${title}`), el("pre", { tabindex: "0", "aria-label": title },
      lines.map((line) => el("code", line))));
  return [block("wrong", "\u2212", "With the mistake", wrong), block("right", "+", "Without it", right),
    el("p.muted.lesson-note", "Without it, as in ", el("code", of), ".")];
}

/** @param {ReturnType<typeof namesOf>} run */
function nextLink({ name, title }) {
  return lessonLink(name, `Next: ${title}`, { class: "button strong" }, "mystery");
}

/** @param {string} words */
function leaving(words, kind = "quiet-button") {
  return buttonOf(kind, { onclick: () => go({ page: "lessons" }) }, words);
}
