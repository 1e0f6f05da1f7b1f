// What the host does with votes: have texts written and voted on, close and show it, train a reward model on the votes
// and a policy that it pays, and vote on that.

import { buttonOf, el, menuOf, optionsOf, showParts } from "../core/dom.js";
import { signed } from "../core/format.js";
import { asked } from "../core/poll.js";
import { getJson, newName, url } from "../core/server.js";
import { effect, signal } from "../core/signals.js";

/** @typedef {import("./kinds.js").DeskTools} Tools */

const EVERY_MS = 2500;
const MOST_PAIRS = 200;
const COUNTS = [[20, "20 pairs"], [40, "40 pairs"], [80, "80 pairs"], [120, "120 pairs"]];
const EACHS = [[10, "10 of them"], [20, "20 of them"], [40, "40 of them"], [MOST_PAIRS, "all of them"]];
/** Which texts: as the server calls it, and as it is called here; all but the first are of runs. */
const KINDS = [["texts", "Two by the same model"], ["start", "A run: before against after"],
  ["runs", "Two runs against each other"]];
const EXAMPLES = ["the kinder review", "the review that warns you"];
const AT_WORK = ["queued", "starting", "running", "stopping"];
const ALONE = "Each person sees their own of the pairs, in their own order, with the sides swapped by chance.";

/** The names of the next starts, by judge: a press that arrives twice starts one run. @type {Map<string, string>} */
const requests = new Map();

/** @param {Wire.ClassDesk} front @param {Tools} tools @returns {Node[]} */
export function desk(front, tools) {
  const { step, votes } = front;
  if (step.vote.wait) return [votes.doing || votes.problem ? doingOf(votes)
    : el("p.problem", "The texts have not come. Begin the vote again."), judgesPart(votes, tools)];
  const act = (/** @type {string} */ name, more = {}) => () => tools.lead({ do: name, step: step.id, ...more });
  /** @type {Record<string, Node[]>} */
  const buttons = {
    open: [button("close", "strong", act("close"), "No more votes")],
    closed: [button("show", "strong", act("show"), "Show what came of it"),
      button("reopen", "", act("reopen"), "Take votes again")],
    shown: [button("close", "", act("close"), "Hide it")],
  };
  const off = votes.judges.some(({ state }) => AT_WORK.includes(state)); // one after the other
  const groups = votes.groups.length ? votes.groups.map((brief, index) =>
    button(`judge ${index}`, "", act("judge", { group: index + 1 }),
      `Train a reward model on group ${index + 1}: ${brief}`, off))
    : [button("judge", "", act("judge"), "Train a reward model on the votes", off)];
  const { begun } = step.vote;
  return [el("p", { "data-key": "begun" }, "These have voted on all of their pairs. ", begun
    ? `${begun} more ${begun === 1 ? "has" : "have"} begun; these votes count too.` : ""),
  el("div.lesson-buttons", { "data-key": "buttons" }, buttons[step.state]),
    el("details.desk-folded", { "data-key": "live", open: step.state === "shown" },
      el("summary", step.state === "shown" ? "What came of it" : "What they vote (the class does not see this)"),
      votes.live.map((words) => el("p", words))),
    el("section", { "data-key": "train" }, el("h3", "A reward model from these votes"),
      el("p.muted", "One row for each pair, by its majority; ties are left out. "
        + "A few of the pairs are kept from it, to test it."),
      el("div.lesson-buttons", groups),
      off ? el("p.muted", "One reward model is in training. The next can be trained once it has ended.") : null,
      el("p", el("a", { href: url(`class/votes.jsonl?step=${step.id}`), download: "" },
        "Get the votes as a file of pairs"),
        el("span.muted", " (prompt, chosen, rejected). The Rewards page takes such a file in; so does TRL."))),
    doingOf(votes), judgesPart(votes, tools)];
}

/** @param {Wire.ClassVoteDesk} votes @param {Tools} tools */
function judgesPart({ judges }, tools) {
  return el("div", { "data-key": "judges" }, judgesOf(judges, tools));
}

/** @param {string} key @param {string} kind @param {() => unknown} onclick @param {string} text @param {boolean} off */
function button(key, kind, onclick, text, off = false) {
  return buttonOf(`button ${kind}`.trim(), { "data-key": key, onclick, off }, text);
}

/** @param {{ doing: string, problem: string }} now */
function doingOf({ doing, problem }) {
  return el("p", { "data-key": "doing", role: "status", class: problem ? "problem" : "muted" }, doing || problem);
}

/** @param {Wire.ClassJudge[]} judges @param {Tools} tools @returns {Node[]} */
function judgesOf(judges, tools) {
  return [...judges.map((judge) => el("section.vote-judge", { "data-key": judge.name },
    el("h3", `Reward model ${judge.name}`), judge.brief ? el("p", `Of the group that looks for: ${judge.brief}`) : null,
    judge.said.map((words) => el("p", words)), wordsOf(judge.words),
    judge.reading ? el("p.muted", { role: "status" }, "Its words are being looked for: some seconds.") : null,
    judge.state === "finished" ? el("div.lesson-buttons", { "data-key": "ways" },
      button("words", "", () => tools.lead({ do: "words", judge: judge.name }), "Which words move it?", judge.reading),
      button("train", judge.run ? "" : "strong", () => train(judge.name, tools),
        judge.run ? "Train another policy that it pays" : "Train a policy that it pays")) : null,
    judge.state === "finished" ? el("p.muted", "A policy: the model that the reward trains.") : null,
    judge.run ? el("div", { "data-key": "run" }, el("p", judge.run_said), el("div.lesson-buttons",
      el("a.quiet-button", { href: `./?tab=train&run=${encodeURIComponent(judge.run)}&view=presentation`,
        target: "_blank" }, "Open the run for the projector"),
      judge.run_done ? button("blind", "strong", () => tools.lead({ do: "vote", what: "blind", source: judge.run }),
        "Vote on it: before or after?") : null)) : null)), besides(judges, tools)].filter(Boolean);
}

/** The policies of two groups against each other, once there are both. @param {Wire.ClassJudge[]} judges */
function besides(judges, /** @type {Tools} */ tools) {
  const done = judges.filter(({ brief, run_done: isDone }) => brief && isDone);
  const [one, other] = done.filter(({ step }) => step === done.at(-1).step);
  return other ? el("section.vote-judge", { "data-key": "besides" }, el("h3", "Both groups"), el("p",
    "Each has a policy now. Put them side by side:"), el("div.lesson-buttons", button("both", "strong", () =>
    tools.lead({ do: "vote", what: "runs", source: one.run, against: other.run }), "Vote: which policy is better?")))
    : null;
}

/** @param {string} judge @param {Tools} tools */
async function train(judge, tools) {
  if (!requests.has(judge)) requests.set(judge, newName());
  const { run } = await tools.lead({ do: "train_on_votes", judge, request: requests.get(judge) });
  if (run) requests.delete(judge);
}

/** @param {Wire.ClassWord[]} words */
function wordsOf(words) {
  if (!words.length) return null;
  const list = (/** @type {string} */ title, /** @type {Wire.ClassWord[]} */ some) => (some.length
    ? el("p", el("span.muted", title), some.map(({ word, moves }, index) =>
      [index ? ", " : "", el("strong", word), ` ${signed(moves)}`])) : null);
  const raise = words.filter(({ moves }) => moves > 0);
  return el("div", { "data-key": "words" }, list("Words that raise its score: ", raise),
    list("Words that lower it: ", words.filter(({ moves }) => moves < 0).reverse()),
    el("p.muted", "How much higher or lower it scores a text when \u201cIt was \u2026\u201d with the word is put "
      + "behind it, against the other words, on average over 12 of the texts. Few texts: a hint, no proof."));
}

/** How the host begins a vote, and what was trained on votes before. @param {Tools} tools */
export function offer(tools) {
  const kind = signal(KINDS[0][0]);
  const what = menuOf(KINDS, { id: "vote-what", onchange: (event) => { kind.value = event.target.value; } });
  const [source, against] = ["vote-source", "vote-against"].map((id) => menuOf([], { id }));
  const second = el("div.desk-form", el("label", { for: against.id }, "Against"), against);
  const none = el("p.muted", "There are not enough runs that have ended. Train one first.");
  const now = el("div");
  const root = el("div", formOf([el("label", { for: what.id }, "Which texts"), what,
    el("label", { for: source.id }, "Whose"), source, second, none], (how) => {
    const { value } = source;
    if (value) tools.lead({ do: "vote", what: kind.value, source: value, against: against.value, ...how });
  }), now);
  const { answer: found, problem, now: ask } = asked((signalled) =>
    /** @type {Promise<Wire.ClassVoteDesk>} */ (getJson("class/votes", signalled)), EVERY_MS,
  () => root.closest("details")?.open ?? true);
  setTimeout(() => {
    root.closest("details")?.addEventListener("toggle", () => void ask());
    ask();
  });
  effect(() => {
    const { sources = [] } = found.value ?? {};
    const some = kind.value === "texts" ? sources : sources.filter(({ trained }) => trained);
    [source, against].forEach((menu, at) => {
      const before = menu.value;
      menu.replaceChildren(...optionsOf(some.map(({ value, label }) => [value, label])));
      menu.value = (some.find(({ value }) => value === before) ?? some[at] ?? some[0])?.value ?? "";
    });
    second.hidden = kind.value !== "runs";
    none.hidden = !found.value || some.length >= (second.hidden ? 1 : 2);
  });
  effect(() => {
    const { judges = [], doing = "", problem: wrong = "" } = found.value ?? {};
    showParts(now, /** @type {ChildNode[]} */ ([doingOf({ doing, problem: problem.value || wrong }),
      judges.length ? el("p.muted", { "data-key": "head" }, "Trained on votes of this class:") : null,
      ...judgesOf(judges, tools)].filter(Boolean)));
  });
  return root;
}

/** @param {Node[]} which what is voted on @param {(how: object) => void} begin */
function formOf(which, begin) {
  const count = menuOf(COUNTS, { id: "vote-count", value: "40" });
  const each = menuOf(EACHS, { id: "vote-each", value: "20" });
  const means = el("input", { type: "text", maxlength: 140, id: "vote-means",
    placeholder: "for example: the kinder one" });
  const briefs = EXAMPLES.map((example, index) =>
    el("input", { type: "text", maxlength: 140, id: `vote-brief-${index}`, placeholder: example }));
  return el("div.desk-form", which, el("label", { for: means.id }, "What does better mean?"), means,
    el("label", { for: "vote-count" }, "How many"), count,
    el("label", { for: "vote-each" }, "Each person votes on"), each, el("p.muted", ALONE),
    el("details.desk-folded", el("summary", "Two groups: who decides?"),
      el("p.muted", "People are in one of two groups, in turns. Each phone says what its group looks for, and each "
        + "group can have a reward model of its own."),
      briefs.map((field, index) => [el("label", { for: field.id }, `Group ${index + 1} looks for`), field])),
    button("begin", "strong", () => begin({ count: Number(count.value), each: Number(each.value),
      means: means.value, briefs: briefs.map(({ value }) => value) }), "Begin the vote"));
}
