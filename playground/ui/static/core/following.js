// Following the host of a class: who has joined it, and has `follow=1` in the address, is taken along to the page, the
// run and the windows that the host has open. A slim bar says so, with the way out and back, and that a question is
// open. The host's own page says where it is. What one may do, the server says (ui/auth/access.py); nothing here
// protects anything.

import { buttonOf, el, setHidden, showParts } from "./dom.js";
import { follow, onPlace, place, whereabouts } from "./nav.js";
import { helpButton, placeAsQuery, placeInLesson } from "./in_lesson.js";
import { led, NOTHING, opened } from "./opened.js";
import { poll } from "./poll.js";
import { getJson, url } from "./server.js";
import { alike, computed, effect, signal, untracked } from "./signals.js";
import { live, player } from "./store.js";

const EVERY_MS = 2500;
const SELDOM_MS = 10000; // of who has not joined, and of the host: is there a class?
const SOON_MS = 600; // what the host passes by on the way is not told
/** @type {Record<string, [string, string]>} */
const ASKS = { question: ["A question is open: answer", "Your answer is kept: look at it"],
  vote: ["A vote is open: vote", "A vote is open: go on"],
  game: ["The game is open: take part", "Your reward is kept: look at it"] };

const room = signal(/** @type {Wire.ClassState | null} */ (null), alike); // what was answered last
const here = signal(place(), alike);
const known = computed(() => (live.run ? live.runId : null)); // the run in view, once its texts are here

/**
 * Take part, from the page's banner on; called once, as soon as it is known who asks.
 * @param {Element} header @param {string} mode @param {string} role
 */
export function begin(header, mode, role) {
  if (place().front || place().embedded) return; // the desk leads the class there; no one is in a class in a frame
  onPlace((place) => {
    here.value = place;
  });
  const host = mode === "classroom" && role === "host";
  listen(host && place().follows);
  if (host && !place().follows) return tellWhere();
  header.append(bar());
  effect(take);
  effect(() => {
    const where = ledTo();
    const isThere = where && known.value && known.value === new URLSearchParams(where.query).get("run");
    led.value = isThere ? { update: where.update, text: where.text } : NOTHING;
    if (isThere) untracked(() => playTo(where.played));
  });
  onPlace(leaveOrStay);
}

let ask = async () => {}; // now, and again from then on

/** Ask for the state of the class, again and again. @param {boolean} inFront a screen of the host's that follows */
function listen(inFront) {
  ask = poll({
    ask: async (signal) => (inFront
      ? ofFront(/** @type {Wire.ClassDesk} */ (await getJson("class/front?screen=1", signal)))
      : /** @type {Wire.ClassState} */ (await getJson(`class/state${since()}`, signal))),
    tell: (found) => {
      room.value = found.joined ? { ...room.value, ...found } : found;
    },
    fail: () => {}, // it asks again; what was said last stays
    every: () => (room.value?.joined ? EVERY_MS : SELDOM_MS),
  });
  ask();
}

function since() {
  const { joined, version, lesson = "" } = room.value ?? {};
  return joined && "step" in room.value ? `?since=${version}${placeAsQuery(lesson)}` : "";
}

/** @param {Wire.ClassDesk} found @returns {Wire.ClassState} */
function ofFront({ version, code, location }) {
  return { version, is_open: Boolean(code), joined: true, free: true, location, step: null };
}

/** Where the host leads this page; null: nowhere. */
function ledTo() {
  const { joined, is_open: isOpen, location = null } = room.value ?? {};
  return joined && isOpen && here.value.follows ? location : null;
}

/** Go where the host is. Who may not look around follows. */
function take() {
  const { joined, is_open: isOpen, free } = room.value ?? {};
  if (joined && isOpen && !free && !here.value.follows) untracked(() => follow(true));
  const where = ledTo();
  if (where) untracked(() => {
    if (whereabouts() !== where.query) follow(true, where.query);
  });
}

/** Who goes elsewhere while following looks around from then on, or is brought back. */
function leaveOrStay() {
  const where = untracked(ledTo);
  if (!where || !place().follows) return;
  const host = new URLSearchParams(where.query);
  const { page, run } = place();
  if (page === (host.get("tab") ?? "train") && (!run || run === host.get("run"))) return;
  if (untracked(() => room.value.free)) follow(false);
  else follow(true, where.query);
}

let wasLed = false; // through the recording in view

/** A recording is shown as far as the host has it; null: it plays, or is none. @param {number | null} at */
function playTo(at) {
  const { value: shown } = player;
  if (shown && at !== null && shown.at.value !== at) shown.seek(Math.min(at, shown.updates.length));
  else if (shown && at === null && wasLed) shown.play();
  wasLed = Boolean(shown) && at !== null;
}

/** The bar below the header. */
function bar() {
  const box = el("div.class-bar", { role: "region", "aria-label": "The class", hidden: true });
  effect(() => {
    const parts = barParts();
    setHidden(box, !parts.length, null);
    showParts(box, parts);
  });
  return box;
}

function barParts() {
  const { joined, is_open: isOpen, free, step, location, lesson = "", number = 0 } = room.value ?? {};
  if (!room.value || (!isOpen && !joined)) return [];
  if (!joined) return [el("span", "There is a class. "), linkToClass("Join it")];
  if (!isOpen) return here.value.follows ? [el("span", "The class has ended.")] : [];
  const { follows } = here.value;
  const [asks, kept] = step?.state === "open" ? ASKS[step.kind] : [];
  return [
    el("span", { role: "status" }, follows ? "You follow the host." : "You look around."),
    follows ? free && buttonOf("quiet-button", { "data-key": "leave", onclick: () => follow(false) }, "Look around")
      : buttonOf("quiet-button", { "data-key": "back", onclick: () => follow(true, location?.query) },
        "Back to the host"),
    asks ? el("span.class-asks", { role: "status", "data-key": "asks" },
      linkToClass(String(step.round) in step.mine ? kept : asks)) : linkToClass("Page of the class"),
    number ? helpButton(ask, number) : null,
    lesson && lesson === placeInLesson.value.lesson ? el("span.muted", { "data-key": "seen" },
      `You are number ${number}. The teacher sees your step here and your tries at the task, not your answers.`) : null,
  ].filter(Boolean);
}

/** @param {string} words */
function linkToClass(words) {
  return el("a", { href: url("class"), "data-key": "class" }, words);
}

/** The host's page: where it is now, told to the class as soon as it stays there. */
function tellWhere() {
  let timer = 0;
  let told = "";
  const where = computed(() => {
    const { page } = here.value;
    const shown = player.value;
    return JSON.stringify({ do: "location", ...opened.value,
      query: whereabouts(page === "train" || page === "compare" ? live.runId : null),
      played: shown && !shown.playing.value ? shown.at.value : null });
  });
  const send = async () => {
    if (!room.value?.is_open || told === where.value) return;
    const body = where.value;
    told = body;
    const headers = { "Content-Type": "application/json" };
    const sent = await fetch(url("class/lead"), { method: "POST", headers, body })
      .catch(() => /** @type {Response | null} */ (null));
    if (!sent?.ok && told === body) told = ""; // it is told with the next change, or when there is a class again
  };
  effect(() => {
    if (!room.value?.is_open) told = "";
    if (!where.value) return;
    clearTimeout(timer);
    timer = setTimeout(() => untracked(send), SOON_MS);
  });
}
