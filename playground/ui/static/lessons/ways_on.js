// After a lesson that says what has been done by the names of the trade: ask the trained model something, and train one
// that is paid for words of one's own.

import { buttonOf, el, setText } from "../core/dom.js";
import { recordingOf } from "../core/experiments.js";
import { form } from "../core/form.js";
import { go } from "../core/nav.js";
import { snapshotOf } from "../core/server.js";
import { open } from "../core/store.js";
import { wordUse } from "../core/texts.js";
import { PRESET, trainNow } from "./doors.js";
import { asking } from "./leash.js";

const UPDATES = 20;
const NEVER = "A word that the model never writes stays away: nothing can be made more likely that never happens.";
const MOST_WORDS = 8;
const WORDS = /[\p{L}\p{N}'-]+/gu;
const COUNTED = ["positive", "parses", "ends"]; // beside the use of the words

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
    placeholder: "stars, friend, music", oninput: () => tell() });
  const line = el("p.muted.lesson-note", { role: "status" }, NEVER);
  const start = buttonOf("button", { type: "submit" }, form.value.queue ? "Add it to the queue" : "Train it");
  const words = () => input.value.toLowerCase().match(WORDS)?.slice(0, MOST_WORDS) ?? [];
  const tell = async () => {
    const texts = await untrainedTexts();
    setText(line, words().length && texts.length ? wordUse(words(), texts) : NEVER);
  };
  const root = el("form.own", el("label", { for: input.id }, "Now reward what you like. Words that you want to read:"),
    input, line, el("div.lesson-buttons", start));
  root.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!words().length) return setText(line, "Type a word or two.");
    const measure = { kind: "keyword", weight: 1, normalise: false, cap: "", words: words().join(", ") };
    const uses = { name: "your-words", words: "uses your words", aim: "more", above: 0, measure };
    trainNow({ rewards: [measure], behaviours: [uses, ...COUNTED], "ppo.num_updates": UPDATES });
    go({ page: "train", run: "" });
    open(null); // the lesson's own run would stand beside a form that holds something else
  });
  return root;
}

/** What the model writes before training to the fixed prompts. */
async function untrainedTexts() {
  const recording = recordingOf(PRESET);
  const snapshot = recording ? await snapshotOf(recording) : null;
  return snapshot?.moments[0].rows.map(({ text }) => text) ?? [];
}
