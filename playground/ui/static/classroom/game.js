// The game: each writes a reward, all are trained, and what each reward paid stands beside what was wanted. On a phone,
// on the screen in front, on the host's desk. Whose a reward is stands on their own phone only.

import {
  buttonOf, confirmed, el, figureOf, kept, setAttribute, setOff, setText, signOf, tableOf,
} from "../core/dom.js";
import { url } from "../core/server.js";
import { functionList, problemParts } from "../rewards/written.js";

/** @typedef {import("./kinds.js").StudentTools} StudentTools @typedef {import("./kinds.js").DeskTools} DeskTools */

const PAUSE = 900; // milliseconds without a key before the server is asked what is wrong
const MANY = 8; // rewards: of more there are two columns in front
const ONLY = 1; // the item of all answers: each has one reward
const TITLE = "Write a reward";
const CLOSED = "Closed. Your teacher reads the rewards, then they are trained.";
/** The functions that are of most use here: an example, and what it gives. */
const FIRST = [['keywords(completion, "good", "nice")', "How often these words occur."],
  ["words(completion)", "How many words it has."],
  ["sentiment(completion)", "More for kind words, less for bad ones."]];
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
  if (game.started) return { title: "The rewards are trained", parts: nodes(el("p", game.mine === null
    ? "Yours is not among those that are trained."
    : `Yours is game ${game.mine}. What it does to the model is shown in front.`), yours) };
  if (state !== "open") return { title: TITLE, parts: nodes(el("p", CLOSED), yours) };
  return { title: TITLE, parts: nodes(el("p", { "data-key": "ask" }, game.ask), kept(writerOf(step, tools).root),
    el("dl.game-functions", { "data-key": "first" }, FIRST.map(([written, help]) =>
      [el("dt", el("code", written)), el("dd", help)])),
    el("details.game-functions", { "data-key": "functions" }, el("summary", "All that can be used"),
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
    el("p.screen-do", "Write yours on your phone, and hand it in."), count];
}

/** The host's controls. @param {Wire.ClassDesk} front @param {DeskTools} tools @returns {Node[]} */
export function desk(front, tools) {
  const { step, game } = front;
  /** @param {string} command @param {object} more */
  const lead = (command, more = {}) => tools.lead({ do: command, step: step.id, ...more });
  if (step.game.started) return trainedParts(front, lead, tools);
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
    game.takes ? el("p", { "data-key": "takes" }, `Training them takes ${game.takes}.`) : null,
    el("p.muted", { "data-key": "note" }, open
      ? "Read them as they come, and leave out what is not for the class. No phone shows them before you do."
      : "Read them all: what you train is shown in front later. The same reward is trained once."),
    open ? null : hidingPart(front, tools));
}

/** Where the class could read the rewards too soon. @param {Wire.ClassDesk} front @param {DeskTools} tools */
function hidingPart({ free }, tools) {
  return free ? el("div", { "data-key": "hiding" }, el("p.muted", "While they train, each formula stands on the page "
    + "Runs, where the class may look around."), el("div.buttons", buttonOf("button",
    { onclick: () => tools.lead({ do: "free", free: false }) }, "No looking around until then"))) : null;
}

/** The desk's section that begins a game. @param {DeskTools} tools */
export function offer(tools) {
  return el("div",
    el("p.muted", "Each writes a reward that is to make reviews kind. All are trained in a small run each, some "
      + "ten minutes for 25 on two processor cores. Then you look together at what each reward paid, at what was "
      + "wanted, and at the best hack."),
    el("div.buttons", buttonOf("button", { onclick: () => tools.lead({ do: "begin_game" }) }, "Begin the game")));
}

/** @typedef {(command: string, more?: object) => Promise<Wire.ClassLed>} LeadStep */

/** @param {Wire.ClassDesk} front @param {LeadStep} lead @param {DeskTools} tools */
function trainedParts(front, lead, tools) {
  const { step, game } = front;
  const shown = step.state === "shown";
  const remove = async () => {
    const text = "The runs of this game go into the bin. What you have shown stays in this class.";
    if (await confirmed("Delete the runs of this game?", el("p", text), "Delete them")) lead("delete_game");
  };
  const { runs, best, going } = game.results;
  const hack = runs.find(({ number }) => number === best);
  return nodes(
    el("p", { "data-key": "words", role: "status" }, game.sweep ? game.words : "The runs of this game are deleted."),
    el("div.buttons", { "data-key": "ways" },
      game.sweep && (!shown || game.fresh) ? buttonOf(`button${game.ended ? " strong" : ""}`,
        { off: !game.ended, onclick: () => lead("show_game") }, shown ? "Show what has come since" : "Show in front")
        : null,
      going ? buttonOf("button", { onclick: () => lead("stop_game") }, "Stop the rest") : null,
      game.sweep && !going ? buttonOf("button danger", { onclick: remove }, "Delete the runs") : null),
    game.sweep && !game.ended ? el("p.muted", { "data-key": "why" }, "It can be shown once the first one has ended.")
      : null,
    game.sweep && !shown ? hidingPart(front, tools) : null,
    el("div", { "data-key": "hack" }, hack ? hackPart(hack, null, "h3", going) : null),
    runsTable(runs, best, null, Boolean(game.sweep)));
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
function shownOf({ results: { runs, best, going }, judged, mine }, /** @type {"table" | "card"} */ look) {
  const hack = runs.find(({ number }) => number === best);
  const own = look === "card" ? runs.find(({ number }) => number === mine) : undefined;
  return nodes(
    own ? el("section.game-card", el("h2", `Yours: game ${own.number}`), rewardLines(own)) : null,
    hack ? hackPart(hack, mine, "h2", going) : el("p", noHack(runs, going)),
    look === "table" ? shortList(runs, best) : null,
    look === "table" ? el("p.muted", judged) : null,
    look === "table" ? runsTable(runs, best, mine, false)
      : el("details", el("summary", "All rewards"), runs.map((run) =>
        el("section.game-card", el("h3", nameOf(run, best, mine)), rewardLines(run)))),
    look === "card" ? el("p.muted", judged) : null);
}

/** Why there is no hack, as far as that is known. @param {Wire.ClassGameRun[]} runs @param {boolean} going */
function noHack(runs, going) {
  if (going) return `No hack so far: ${runs.filter(({ paid }) => paid).length} of ${runs.length} have ended.`;
  return runs.some(({ rose }) => rose)
    ? "No clear hack: where a reward was paid clearly more, what was wanted did not clearly fall."
    : "No clear hack: no reward was paid clearly more.";
}

/** All of them, a line each. @param {Wire.ClassGameRun[]} runs @param {number | null} best */
function shortList(runs, best) {
  const of = runs.find(({ wanted }) => wanted)?.wanted.split(" of ")[1];
  return el("section", el("p.muted", `Paid before \u2192 after, and how many of ${of} texts were as wanted`),
    el(`ol.game-short${runs.length > MANY ? ".many" : ""}`, runs.map((run) =>
      el("li", el("span.game-number", nameOf(run, best, null)), el("code", run.reward),
        el("span.game-ends", run.paid || STATES.get(run.state) || "no result"),
        el(`span.game-ends.game-${run.trend.split(" ")[0]}`, run.wanted.split(" of ")[0])))));
}

/** @param {Wire.ClassGameRun} run @param {number | null} mine @param {"h2" | "h3"} head @param {boolean} going */
function hackPart(run, mine, head, going) {
  return el("section.game-hack", el(head, signOf("\u2691 "),
    `The best hack${going ? " so far" : ""}: game ${run.number}`, run.number === mine ? " (yours)" : ""),
  rewardLines(run));
}

/** One reward and what came of it, in lines. @param {Wire.ClassGameRun} run */
function rewardLines(run) {
  const { reward, paid, rose, wanted, trend, state } = run;
  const code = el("p.game-example", el("code", reward));
  if (!paid) return [code, el("p.muted", STATES.get(state) || "no result")];
  return [code, el("p", `The reward paid on average ${paid} (${rose ? "clearly more" : "not clearly more"}). `
    + `What was wanted: ${wanted} texts (${trend === "no clear change" ? trend : `clearly ${trend}`}).`),
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
    const good = isIn ? "" : "This can be paid. Hand it in."; // of what is in, the line below says how it is kept
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
