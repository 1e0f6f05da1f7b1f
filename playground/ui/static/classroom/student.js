// What a person of the class has on a phone: the code to join, then the step that the class is at, again and again.

import { buttonOf, el, showParts } from "../core/dom.js";
import { helpButton, placeAsQuery } from "../core/in_lesson.js";
import { IN_CLASS, remember } from "../core/kept.js";
import { poll } from "../core/poll.js";
import { getJson } from "../core/server.js";
import { alike, effect, signal, untracked } from "../core/signals.js";
import { ABOUT } from "./joining.js";
import { KINDS } from "./kinds.js";
import { keyOf, posted, Sending } from "./sending.js";

const EVERY_MS = 2500;
const AWAY = "No answer from the playground at the moment. This page goes on by itself when there is one.";
const KEPT_HERE = "What you have answered is kept on this phone, and sent then.";
const ALONE = "./?tab=lessons";

const root = document.getElementById("class");
const sending = new Sending();
const state = signal(/** @type {Wire.ClassState | null} */ (null), alike);
const away = signal(false);
const complaint = signal(""); // about the code

/** What this page has joined with by itself. */
let tried = "";

const ask = poll({
  ask: (signalled) => /** @type {Promise<Wire.ClassState>} */ (
    getJson(`class/state?since=${state.value?.step === undefined ? "" : state.value.version}${placeAsQuery("")}`,
      signalled)),
  tell: (found) => {
    away.value = false;
    sending.now();
    // where nothing is new, the answer says no more than that
    const { value } = state;
    const same = found.joined && found.step === undefined && value?.joined;
    state.value = same ? { ...value, is_open: found.is_open } : found;
    remember(IN_CLASS, found.joined ? "yes" : "");
    joinByAddress();
  },
  fail: () => { away.value = true; },
  every: () => EVERY_MS,
});

/** The QR code has the code of the class in its address. */
function joinByAddress() {
  const code = new URLSearchParams(location.search).get("code");
  const { is_open, joined } = state.value;
  if (!code || tried === code || !is_open || joined) return;
  tried = code;
  join(code);
}

/** @param {string} code */
async function join(code) {
  complaint.value = "";
  const { error } = /** @type {Wire.ClassLed} */ (await posted("class/join", { code }));
  complaint.value = error;
  if (!error) await ask();
}

const field = el("input", { type: "text", id: "class-code", name: "code", maxlength: 12, autocomplete: "off",
  autocapitalize: "characters", spellcheck: "false", "aria-describedby": "class-wrong" });
const form = el("form.class-join", { "data-key": "join", onsubmit: (event) => {
  event.preventDefault();
  if (field.value.trim()) join(field.value);
} }, el("label", { for: "class-code" }, "The code on the screen in front"), field,
el("button.button.strong", { type: "submit" }, "Join"));

/** @returns {{ title: string, parts: (Node | null)[] }} */
function shown() {
  if (!state.value) return { title: "The class", parts: [el("p.muted", "Loading\u2026")] };
  const { is_open, joined, step } = state.value;
  if (!is_open) return joined
    ? { title: "The class has ended", parts: [el("p", "Thank you for taking part. Your answers carry no name. The "
      + "lessons can be done alone as well."), el("p.muted", ABOUT), alone("Look at the lessons")] }
    : { title: "No class yet", parts: [el("p", "Your teacher opens the class. This page goes on by itself then."),
      alone("Or do a lesson alone")] };
  if (!joined) return { title: "Join the class", parts: [form.isConnected
    ? el("form", { "data-key": "join", "data-kept": "yes" }) : form,
  el("p.problem", { id: "class-wrong", role: "alert" }, complaint.value),
  el("p.muted", "No name and no account: your browser gets a number by chance, and no one sees whose an answer is.")] };
  if (!step) return { title: "You are in", parts: [
    el("p", "Wait for the first question. It comes here by itself."), el("p.muted", ABOUT)] };
  const answer = (/** @type {number} */ item, /** @type {unknown} */ value) =>
    sending.send({ step: step.id, item, value });
  const sent = (/** @type {number} */ item) => sending.sent.value[keyOf(step.id, item)] ?? null;
  return KINDS[step.kind].student(step, { step, answer, sent });
}

/** @param {string} words */
function alone(words) {
  return el("p", el("a.button", { href: ALONE }, words));
}

/** What has become of what was sent in this step, in a line. */
function fate() {
  const { step, joined } = state.value ?? {};
  const waits = Object.values(sending.sent.value).some((sent) => sent.state === "waiting");
  if (away.value) return `${AWAY}${waits ? ` ${KEPT_HERE}` : ""}`;
  if (!step || !joined || step.state !== "open") return "";
  const only = step.kind === "question" ? step.round : null; // of a question, what was answered in this round
  const mine = Object.entries(sending.sent.value).filter(([key]) =>
    (only ? key === keyOf(step.id, only) : key.startsWith(keyOf(step.id, ""))));
  const refused = mine.map(([, { error }]) => error).find(Boolean);
  if (mine.some(([, sent]) => sent.state === "waiting")) return sending.failures.value
    ? "Kept on this phone. It is sent as soon as there is a network." : "Sending\u2026";
  if (refused) return refused;
  const kept = mine.length || (only ? step.mine[only] : Object.keys(step.mine).length);
  return kept ? "Kept. You can change it until it is closed." : "";
}

/** To ask for help; and where the host is, on the full page, or the lesson to do alone. */
function ways() {
  const { joined, is_open, free, lesson, number, step } = state.value ?? {};
  if (!joined || !is_open || !number) return [];
  const mayTry = lesson && free && step.state === "shown"; // before that it would give the answer away
  return [way(), mayTry
    ? el("a.quiet-button", { href: `./?lesson=${encodeURIComponent(lesson)}` }, "Do this lesson yourself") : null,
  helpButton(() => void ask(), number), el("span.muted", `You are number ${number}.`)].filter(Boolean);
}

function way() {
  const { location: where, free } = state.value;
  if (!where && !free) return null;
  const query = new URLSearchParams(where?.query || "tab=train");
  query.set("follow", "1");
  return el("a.quiet-button", { href: `./?${query}` }, where ? "Look at the run" : "Look around on the page");
}

let at = "";

effect(() => {
  const { title, parts } = shown();
  const { step } = state.value ?? {};
  const key = `${title} ${step?.id} ${step?.round} ${step?.state}`;
  document.title = `${title} \u00b7 RLHF Playground`;
  showParts(root, [
    el("div.class-title", { "data-key": "title", "aria-live": "polite" }, el("h1", { tabindex: -1 }, title)),
    el("div.class-parts", { "data-key": "parts" }, parts.filter(Boolean)),
    el("p.class-fate", { "data-key": "fate", role: "status" }, fate()),
    el("div.class-ways", { "data-key": "ways" }, ways()),
    el("p", { "data-key": "again", hidden: !away.value }, buttonOf("quiet-button", { onclick: () => void ask() },
      "Try now")),
  ], root.querySelector("h1"));
  if (at && at !== key) untracked(() => scrollTo({ top: 0 }));
  at = key;
});

addEventListener("online", () => void ask());
ask();
