// After a lesson that says what has been done by the names of the trade: ask the trained model something, and train one
// that is paid for words of one's own.

import { buttonOf, el, setText } from "../core/dom.js";
import { go } from "../core/nav.js";
import { open } from "../core/store.js";
import { setUp } from "./doors.js";
import { asking } from "./turned.js";

const UPDATES = 20;
const NEVER = "A word that the model never writes stays away: nothing can be made more likely that never happens.";
const MOST_WORDS = 8;
const WORDS = /[\p{L}\p{N}'-]+/gu;

/** @param {import("./lesson.js").LessonPanel} panel */
export function waysOn({ lesson: { done }, server }) {
  if (!done) return "";
  if (!server.start_lesson) return el("p", done);
  return el("div.lesson-ways-on", el("p", done),
    el("div.lesson-buttons", buttonOf("button", { onclick: ask }, "Ask a model that was trained like this")),
    rewardForm());
}

/** Where a model of the first page answers. */
function ask() {
  asking.value = true;
  go({ page: "lessons" });
}

function rewardForm() {
  const input = el("input", { type: "text", id: "lesson-own-words", maxlength: "80", autocomplete: "off",
    placeholder: "stars, friend, music" });
  const line = el("p.muted", { role: "status" });
  const form = el("form.own", el("label", { for: "lesson-own-words" }, "Now reward what you like. Words that you want "
    + "to read:"), input, el("p.muted.lesson-note", NEVER),
  el("div.lesson-buttons", buttonOf("button", { type: "submit" }, "Set up this training")), line);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const words = input.value.toLowerCase().match(WORDS)?.slice(0, MOST_WORDS) ?? [];
    if (!words.length) return setText(line, "Type a word or two.");
    const changes = { rewards: [{ kind: "keyword", words: words.join(", ") }], "ppo.num_updates": UPDATES };
    setUp(changes);
    go({ page: "train", run: "" });
    open(null); // the lesson's own run would stand beside a form that holds something else
  });
  return form;
}
