// A vote of the class: two texts, of which a person says which is better, and the next two at once; and what came of
// it. The host's part is in vote_desk.js.

import { buttonOf, el, setText } from "../core/dom.js";
import { capital } from "../core/format.js";
import { signal } from "../core/signals.js";
import { desk, offer } from "./vote_desk.js";

export { desk, offer };

/** @typedef {import("./kinds.js").StudentTools} Tools @typedef {"left" | "right" | "tie"} Choice */

const DOING = "Tap the better one on your phone, each for yourself. Both may be as good.";
const MEANS = "\u201cBetter\u201d means here: ";
const SETTLE_MS = 350; // so long a new pair takes no vote: the second tap of a double one is not for it
/** @type {Record<string, Choice | "back">} */
const KEYS = { a: "left", ArrowLeft: "left", b: "right", ArrowRight: "right", t: "tie", ArrowDown: "tie",
  ArrowUp: "back", Backspace: "back" };

/** The pair that is in view, of each vote: how many stand before it. @type {Map<number, { value: number }>} */
const places = new Map();
/** What the keys do now. @type {((key: Choice | "back") => void) | null} */
let pressed = null;
const settled = signal(true);
let settling = 0;

globalThis.document?.addEventListener("keydown", (event) => {
  const key = KEYS[event.key];
  const typing = /** @type {Element} */ (event.target).matches?.("input, textarea, select");
  if (!key || !pressed || typing || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  event.preventDefault();
  pressed(key);
});

/** What this person has voted on a pair: here, or before in this browser. */
function mineOf(/** @type {Wire.ClassStep} */ step, /** @type {Tools} */ tools, /** @type {number} */ number) {
  const sent = tools.sent(number);
  return /** @type {Choice | undefined} */ (sent && sent.state !== "refused" ? sent.value : step.mine[number]);
}

/** @param {Wire.ClassStep} step @param {Tools} tools @returns {{ title: string, parts: Node[] }} */
export function student(step, tools) {
  const { vote, state } = step;
  pressed = null;
  if (vote.wait) return { title: vote.title, parts: [el("p", vote.wait)] };
  const done = vote.pairs.filter(({ number }) => mineOf(step, tools, number)).length;
  if (state === "open") return { title: vote.title, parts: voting(step, tools, done) };
  const voted = el("p", `You have voted on ${done} of your ${vote.pairs.length} pairs.`);
  if (state === "closed")
    return { title: vote.title, parts: [voted, el("p.muted", "No more votes now. It goes on in front.")] };
  const own = vote.sides.length ? ownBlind(step, tools) : voted;
  return { title: vote.title, parts: [own, ...tallyOf(vote.tally, vote.sides)] };
}

/** @param {Wire.ClassStep} step @param {Tools} tools @param {number} done @returns {Node[]} */
function voting(step, tools, done) {
  const { vote, id } = step;
  const { pairs } = vote;
  if (!places.has(id)) {
    const first = pairs.findIndex(({ number }) => !mineOf(step, tools, number));
    places.set(id, signal(first < 0 ? pairs.length : first));
  }
  const place = places.get(id);
  const at = Math.min(place.value, pairs.length);
  const go = (/** @type {number} */ to) => {
    settled.value = false;
    clearTimeout(settling);
    settling = setTimeout(() => { settled.value = true; }, SETTLE_MS);
    place.value = to;
  };
  const brief = vote.brief || vote.means ? el("p.vote-brief", { "data-key": "brief" },
    vote.brief ? "Your group looks for: " : MEANS, el("strong", vote.brief || vote.means)) : null;
  const back = at > 0
    ? buttonOf("quiet-button", { "data-key": "back", onclick: () => go(at - 1) }, "\u2190 The pair before") : null;
  if (at === pairs.length) {
    pressed = (key) => key === "back" && go(at - 1);
    return [brief, ...thanks(step, tools, done, back, go)].filter(Boolean);
  }
  const pair = pairs[at];
  const mine = mineOf(step, tools, pair.number);
  const choose = (/** @type {Choice} */ choice) => {
    if (!settled.value) return;
    tools.answer(pair.number, choice);
    go(at + 1);
  };
  pressed = (key) => (key === "back" ? at > 0 && go(at - 1) : choose(key));
  const card = (/** @type {"left" | "right"} */ side, /** @type {string} */ letter) =>
    buttonOf("vote-text", { "data-key": side, "aria-pressed": String(mine === side), onclick: () => choose(side) },
      el("span.vote-letter", letter), el("span.vote-words", pair[side]));
  return [brief,
    el("p.vote-count.muted", { "data-key": "count", role: "status" }, `Pair ${at + 1} of ${pairs.length}`),
    el("p.vote-prompt", { "data-key": "prompt" }, el("span.muted", "It begins: "), pair.prompt),
    el("div.vote-pair", { "data-key": "pair", "data-settled": String(settled.value), role: "group",
      "aria-label": "Which text is better?" },
      card("left", "A"), card("right", "B")),
    buttonOf("button vote-tie", { "data-key": "tie", "aria-pressed": String(mine === "tie"),
      onclick: () => choose("tie") }, "Both are as good"),
    el("div.vote-ways", { "data-key": "ways" }, back),
    el("p.muted.vote-keys", { "data-key": "keys" },
      "Keys: A or \u2190, B or \u2192, T or \u2193 for both, \u2191 for the pair before."),
  ].filter(Boolean);
}

/**
 * @param {Wire.ClassStep} step @param {Tools} tools @param {number} done @param {Node | null} back
 * @param {(to: number) => void} go
 */
function thanks(step, tools, done, back, go) {
  const { pairs } = step.vote;
  const open = pairs.findIndex(({ number }) => !mineOf(step, tools, number));
  return [el("p", { "data-key": "done", role: "status" }, el("strong", "Thank you. "), done === pairs.length
    ? `You have voted on all ${done} pairs.` : `You have voted on ${done} of ${pairs.length} pairs.`),
  el("p.muted", { "data-key": "hint" }, "You can go back and change a vote until this is closed."),
  el("div.vote-ways", { "data-key": "ways" }, back,
    open < 0 ? null : buttonOf("button", { onclick: () => go(open) }, "To the open one"))];
}

/** Which texts this person has voted for, once it may be known. @param {Wire.ClassStep} step @param {Tools} tools */
function ownBlind(step, tools) {
  const [first, second] = step.vote.sides;
  const given = step.vote.pairs.map(({ number, after }) => ({ mine: mineOf(step, tools, number), after }));
  const voted = given.filter(({ mine }) => mine);
  const later = voted.filter(({ mine, after }) => mine === after).length;
  const ties = voted.filter(({ mine }) => mine === "tie").length;
  if (!voted.length) return el("p", "You have not voted.");
  return el("p", `Of your ${voted.length} votes ${later} went to the text ${second} and `
    + `${voted.length - later - ties} to the one ${first}${ties ? `; ${ties} to both` : ""}.`);
}

/** @param {Wire.ClassTally} tally @param {string[]} sides @returns {Node[]} */
function tallyOf({ said, clear, split, agree }, sides) {
  const list = (/** @type {string} */ title, /** @type {Wire.ClassVotedPair[]} */ pairs) => (pairs.length
    ? el("section.vote-pairs", el("h2", title), pairs.map((pair) => votedPair(pair, sides))) : null);
  return [...said.map((words) => el("p.vote-said", words)), el("div.vote-some", list("The clearest", clear),
    agree ? el("p", "You agree everywhere: on no pair are you divided.") : list("Where you disagree", split))];
}

/** @param {Wire.ClassVotedPair} pair @param {string[]} sides */
function votedPair({ prompt, first, second, votes }, sides) {
  const text = (/** @type {string | undefined} */ side, /** @type {string} */ words, /** @type {number} */ count) =>
    el("div.vote-voted", el("p.vote-share", side ? `${capital(side)}: ` : "",
      `${count} ${count === 1 ? "vote" : "votes"}`), el("p", words));
  return el("div.vote-result", el("p.muted", `${prompt} \u2026`),
    el("div.vote-pair", text(sides[0], first, votes.first), text(sides[1], second, votes.second)),
    votes.tie ? el("p.muted", `${votes.tie} said that both are as good.`) : null);
}

/** How many have voted on all of their pairs, and how many have begun. @param {Wire.ClassDesk} front */
function votedIn({ step: { vote: { done, begun } }, joined }) {
  const all = `${done} of ${joined} ${done === 1 ? "has" : "have"} voted on all of their pairs.`;
  return begun ? `${all} ${begun} more ${begun === 1 ? "has" : "have"} begun.` : all;
}

/** @param {Wire.ClassStep} step @param {Wire.ClassDesk} front @returns {Node[]} */
export function screen(step, front) {
  const { vote, state } = step;
  const head = el("h1", vote.title);
  if (vote.wait) return [head, el("p", { role: "status" }, vote.wait)];
  if (state === "shown" && vote.tally) {
    const { clear, split, ...rest } = vote.tally;
    return [head, ...tallyOf({ ...rest, clear: clear.slice(0, 1), split: split.slice(0, 1) }, vote.sides)];
  }
  const count = el("p.screen-count", { role: "status" });
  setText(count, `${votedIn(front)}${state === "open" ? "" : " No more votes now."}`);
  const [first, second] = vote.sides;
  return [head, el("p", second
    ? `Two texts for the same beginning, one ${first} and one ${second}. Which is which is hidden.`
    : "Two texts for the same beginning. Which one is better?"),
  vote.means ? el("p", MEANS, el("strong", vote.means)) : null,
  state === "open" ? el("p.screen-do", DOING) : null,
  ...vote.briefs.map((brief, index) => el("p", el("strong", `Group ${index + 1} looks for: `), brief)), count]
    .filter(Boolean);
}
