// The game: each writes a reward, all are trained, and what each reward paid stands beside what was wanted. On a phone,
// on the screen in front, on the host's desk. Whose a reward is stands on their own phone only.

import {
  buttonOf, confirmed, el, figureOf, kept, setAttribute, setOff, setText, signOf, tableOf,
} from "../core/dom.js";
import { url } from "../core/server.js";
import { functionList, problemParts } from "../rewards/written.js";

/** @typedef {{ answer: (item: number, value: unknown) => void }} StudentTools */
/** @typedef {{ lead: (asked: { do: string, [field: string]: unknown }) => Promise<Wire.ClassLed> }} DeskTools */

const PAUSE = 900; // milliseconds without a key before the server is asked what is wrong
const ONLY = 1; // the item of all answers: each has one reward
const TITLE = "Write a reward";
const CLOSED = "Closed. Your teacher reads the rewards, then they are trained.";
const STATES = new Map([["queued", "waits"], ["starting", "training"], ["running", "training"], ["paused", "paused"],
  ["stopping", "stopping"], ["finished", ""], ["stopped", "stopped"], ["failed", "failed"],
  ["interrupted", "interrupted"], ["deleted", "deleted"]]);

/**
 * What a phone shows.
 * @param {Wire.ClassStep} step @param {StudentTools} tools @returns {{ title: string, parts: Node[] }}
 */
export function student(step, tools) {
  const { game, state } = step;
  if (state === "shown") return { title: "What the rewards did", parts: shownOf(game, "card") };
  const own = rewardIn(step) || handedIn.get(step.id);
  const yours = own && el("p.game-own", "Your reward: ", el("code", own));
  if (game.started) {
    return { title: "The rewards are trained", parts: nodes(el("p", game.mine === null
      ? "Yours is not among those that are trained."
      : `Yours is game ${game.mine}. What it does to the model is shown in front.`), yours) };
  }
  if (state !== "open")
    return { title: TITLE, parts: nodes(el("p", CLOSED), yours) };
  return { title: TITLE, parts: nodes(el("p", { "data-key": "ask" }, game.ask), kept(writerOf(step, tools).root),
    el("details.game-functions", { "data-key": "functions" }, el("summary", "What can be used"),
      functionList(game.functions))) };
}

/** What the projector shows. @param {Wire.ClassStep} step @param {Wire.ClassDesk} front @returns {Node[]} */
export function screen(step, front) {
  const { game, state } = step;
  if (state === "shown") return [el("h1", "What the rewards did"), ...shownOf(game, "table")];
  if (game.started) return [el("h1", "The rewards are trained"), el("p.game-large", { role: "status" }, game.words)];
  const people = front.answered === 1 ? "1 person has" : `${front.answered} people have`;
  const count = el("p.game-large", { role: "status" }, `${people} handed one in.`);
  if (state !== "open") return [el("h1", TITLE), el("p", CLOSED), count];
  return [el("h1", TITLE), el("p", game.ask), el("p", "For example:"), el("p.game-example", el("code", game.example)),
    count];
}

/** The host's controls. @param {Wire.ClassDesk} front @param {DeskTools} tools @returns {Node[]} */
export function desk(front, tools) {
  const { step, game } = front;
  /** @param {string} command @param {object} more */
  const lead = (command, more = {}) => tools.lead({ do: command, step: step.id, ...more });
  if (step.game.started) return trainedParts(front, lead);
  const wanted = game.entries.filter((entry) => !entry.left_out).map(({ reward }) => reward);
  const open = step.state === "open";
  return nodes(
    el("p", { "data-key": "count" }, countsOf(game.entries)),
    el("ul.game-entries", { "data-key": "entries" }, game.entries.map((entry) => entryRow(entry, lead))),
    el("div.buttons", { "data-key": "ways" },
      open ? buttonOf("button strong", { onclick: () => lead("close") }, "Close: no more rewards")
        : buttonOf("button strong", { off: !wanted.length, onclick: () => lead("start_game", { rewards: wanted }) },
          wanted.length === 1 ? "Train 1 reward" : `Train ${wanted.length} rewards`),
      open ? null : buttonOf("button", { onclick: () => lead("reopen") }, "Open again")),
    el("p.muted", { "data-key": "note" }, open
      ? "Read them as they come, and leave out what is not for the class. Nobody else sees them before you show them."
      : "Read them all: what you train is shown in front later. The same reward is trained once."));
}

/** The desk's section that begins a game. @param {DeskTools} tools */
export function offer(tools) {
  return el("div",
    el("p.muted", "Each writes a reward that is to make reviews kind. All are trained in a small run each, about "
      + "twelve minutes for 25 on two processor cores. Then you look together at what each reward paid, at what was "
      + "wanted, and at the best hack."),
    el("div.buttons", buttonOf("button", { onclick: () => tools.lead({ do: "begin_game" }) }, "Begin the game")));
}

/** @typedef {(command: string, more?: object) => Promise<Wire.ClassLed>} LeadStep */

/** @param {Wire.ClassDesk} front @param {LeadStep} lead */
function trainedParts({ step, game }, lead) {
  const remove = async () => {
    const text = "The runs of this game go into the bin. What you have shown stays in this class.";
    if (await confirmed("Delete the runs of this game?", el("p", text), "Delete them")) lead("delete_game");
  };
  const hack = game.runs.find(({ number }) => number === game.best_hack);
  return nodes(
    el("p", { "data-key": "words", role: "status" }, game.sweep ? game.words : "The runs of this game are deleted."),
    el("div.buttons", { "data-key": "ways" },
      game.sweep ? buttonOf("button strong", { off: !game.ended, onclick: () => lead("show_game") },
        step.state === "shown" ? "Show what has come since" : "Show in front") : null,
      game.going ? buttonOf("button", { onclick: () => lead("stop_game") }, "Stop the rest") : null,
      game.sweep && !game.going ? buttonOf("button danger", { onclick: remove }, "Delete the runs") : null),
    el("div", { "data-key": "hack" }, hack ? hackPart(hack, null, "h3") : null),
    runsTable(game.runs, game.best_hack, null, Boolean(game.sweep)));
}

/** @param {Wire.ClassGameEntry} entry @param {LeadStep} lead */
function entryRow({ reward, people, left_out: out }, lead) {
  return el("li", { "data-key": reward, class: out ? "left-out" : null }, el("code", reward),
    people > 1 ? el("span.muted", ` by ${people}`) : null, out ? el("span.muted", " left out") : null,
    buttonOf("quiet-button", { "aria-label": `${out ? "Take in" : "Leave out"}: ${reward}`,
      onclick: () => lead("leave_out_game", { reward, out: !out }) }, out ? "Take in" : "Leave out"));
}

/** @param {Wire.ClassGameEntry[]} entries */
function countsOf(entries) {
  if (!entries.length) return "No reward yet.";
  const people = entries.reduce((sum, entry) => sum + entry.people, 0);
  const left = entries.filter((entry) => entry.left_out).length;
  const different = entries.length === people ? "" : `, ${entries.length} different ones`;
  return `${people === 1 ? "1 reward" : `${people} rewards`}${different}${left ? `; ${left} left out` : ""}.`;
}

/** What came of it, for all: what was counted, the best hack, every reward. @param {Wire.ClassGame} game */
function shownOf({ runs, told, mine, best_hack: best }, /** @type {"table" | "card"} */ look) {
  const hack = runs.find(({ number }) => number === best);
  const own = look === "card" ? runs.find(({ number }) => number === mine) : undefined;
  return nodes(
    own ? el("section.game-card", el("h2", `Yours: game ${own.number}`), rewardLines(own)) : null,
    hack ? hackPart(hack, mine, "h2")
      : el("p", "No reward here paid more while what was wanted fell or stayed: there is no hack among them."),
    look === "table" ? runsTable(runs, best, mine, false)
      : el("details", el("summary", "All rewards"), runs.map((run) =>
        el("section.game-card", el("h3", nameOf(run, best, mine)), rewardLines(run)))),
    el("p.muted", told));
}

/** @param {Wire.ClassGameRun} run @param {number | null} mine @param {"h2" | "h3"} head */
function hackPart(run, mine, head) {
  return el("section.game-hack", el(head, signOf("\u2691 "), `The best hack: game ${run.number}`,
    run.number === mine ? " (yours)" : ""), rewardLines(run));
}

/** One reward and what came of it, in lines. @param {Wire.ClassGameRun} run */
function rewardLines(run) {
  const { reward, paid, wanted, trend, state } = run;
  const code = el("p.game-example", el("code", reward));
  if (!paid) return [code, el("p.muted", STATES.get(state) || "no result")];
  return [code, el("p", `The reward paid on average ${paid}. What was wanted: ${wanted} texts (${trend}).`),
    textOf(run)];
}

/** @param {Wire.ClassGameRun[]} runs @param {number | null} best @param {number | null} mine @param {boolean} links */
function runsTable(runs, best, mine, links) {
  const rows = runs.map((run) => [
    el("td", links ? el("a", { href: url(`./?tab=train&run=${encodeURIComponent(run.run)}`) }, nameOf(run, best, mine))
      : nameOf(run, best, mine)),
    el("td", el("code", run.reward), textOf(run)),
    figureOf(run.paid || STATES.get(run.state) || ""),
    figureOf(run.wanted, run.trend ? el("span.game-trend", { "data-trend": run.trend }, ` ${run.trend}`) : null)]);
  return el("div.game-scroll", { "data-key": "runs", role: "region", tabindex: "0", "aria-label": "All rewards" },
    tableOf("game-table", ["Game", "Reward, and one text after", "It paid", "Wanted"], rows));
}

/** @param {Wire.ClassGameRun} run @param {number | null} best @param {number | null} mine */
function nameOf({ number }, best, mine) {
  return [String(number), number === best ? signOf(" \u2691") : null,
    number === best ? el("span.visually-hidden", " the best hack") : null, number === mine ? " (yours)" : ""];
}

/** @param {Wire.ClassGameRun} run */
function textOf({ prompt, sample }) {
  return sample ? el("p.output.game-text", el("span.muted", prompt), sample) : null;
}

/** What this browser has handed in, by step: what the server says of it comes later. */
const handedIn = new Map(/** @type {[number, string][]} */ ([]));

/** @type {Writer | null} */
let writer = null;

/** @param {Wire.ClassStep} step @param {StudentTools} tools */
function writerOf(step, tools) {
  if (writer?.step !== step.id) writer = new Writer(step, tools);
  return writer;
}

/** @param {Wire.ClassStep} step */
function rewardIn({ mine }) {
  const answer = /** @type {{ reward?: string } | undefined} */ (mine[String(ONLY)]);
  return answer?.reward ?? "";
}

/** The box in which a reward is written. What is wrong with it is said in the pauses of writing. */
class Writer {
  /** @param {Wire.ClassStep} step @param {StudentTools} tools */
  constructor(step, tools) {
    this.step = step.id;
    this.tools = tools;
    this.waiting = 0;
    this.line = el("p.game-line", { role: "status" });
    this.box = el("textarea.game-box", { id: "game-box", rows: 4, maxlength: step.game.most, spellcheck: "false",
      autocapitalize: "off", autocomplete: "off", placeholder: step.game.example, "aria-describedby": "game-line",
      oninput: () => this.written() });
    this.line.id = "game-line";
    if (rewardIn(step) && !handedIn.has(step.id)) handedIn.set(step.id, rewardIn(step));
    this.box.value = handedIn.get(step.id) ?? "";
    this.button = buttonOf("button strong", { onclick: () => this.handIn() }, "Hand it in");
    this.root = el("div.game-writer", { "data-key": "writer" },
      el("label", { for: "game-box" }, "Your reward for a completion"), this.box, this.line,
      el("div.buttons", this.button));
    this.check();
  }

  written() {
    clearTimeout(this.waiting);
    setOff(this.button, false);
    setText(this.line, this.box.value.trim() ? "\u2026" : "");
    this.waiting = setTimeout(() => this.check(), PAUSE);
  }

  /** Whether it can be handed in; without an answer of the server it may be. */
  async check() {
    clearTimeout(this.waiting);
    const reward = this.box.value.trim();
    if (!reward) return false;
    const problem = await problemOf(this.step, reward);
    if (this.box.value.trim() !== reward) return false; // written on meanwhile, and checked again
    setAttribute(this.box, "aria-invalid", String(Boolean(problem)));
    this.line.classList.toggle("own-problem", Boolean(problem));
    const isIn = handedIn.get(this.step) === reward;
    setOff(this.button, isIn);
    const good = isIn ? "Handed in." : "This can be paid. Hand it in.";
    this.line.replaceChildren(...(problem ? problemParts(problem) : [good]));
    return !problem;
  }

  async handIn() {
    const reward = this.box.value.trim();
    if (!reward) return this.box.focus();
    if (!await this.check()) return;
    handedIn.set(this.step, reward);
    this.tools.answer(ONLY, { reward });
    this.check();
  }
}

/** @param {number} step @param {string} reward */
async function problemOf(step, reward) {
  try {
    const response = await fetch(url("class/check"), { method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ step, item: ONLY, value: { reward } }) });
    return String((await response.json()).error ?? "");
  } catch {
    return ""; // it is checked once more when it is kept
  }
}

/** @param {...(Node | null | "" | undefined)} parts */
function nodes(...parts) {
  return /** @type {Node[]} */ (parts.filter(Boolean));
}
