// "Train a reward model": what to learn from and with, start and stop, the curve while it learns, and what it is worth
// in the end. All that is shown comes from the disk (`live/_rewards`), so a reload or another tab shows the same.

import { answerOf, confirmed, el, getJson, showParts } from "../core/dom.js";
import { percent, stateOf, when } from "../core/format.js";
import { onPlace, place } from "../core/nav.js";
import { poll } from "../core/poll.js";
import { whenNew } from "../core/signals.js";
import { trained } from "./lists.js";
import { TrainingForm } from "./training_form.js";
import { TrainingReport } from "./training_report.js";

const BUSY_MS = 1000;
const IDLE_MS = 6000;

const about = (sentence) => el("p", { class: "muted" }, sentence);

export function mount(element, props, { trigger, watch, server }) {
  const form = new TrainingForm(props.form, start);
  const report = new TrainingReport({ stop, remove, test: (name) => {
    choose(name);
    document.getElementById("reward-check")?.scrollIntoView({ block: "start" });
  } });
  const list = el("ul", { class: "reward-models" });
  const known = el("section", { class: "known-models", hidden: true }, el("h3", {}, "Trained here"), list);
  const view = el("div", { class: "reward-view" }, known, report.root);
  element.append(el("section", { class: "panel reward-training" },
    el("h2", {}, "Train a reward model"),
    el("p", { class: "muted small-text" }, "From pairs of answers of which somebody preferred one, a model learns to "
      + "give one number to any answer. PPO can then train against it."),
    el("div", { class: "reward-training-columns" }, form.root, view)));
  if (!placeUpload()) {
    new MutationObserver((_, observer) => {
      if (placeUpload()) observer.disconnect();
    }).observe(document.body, { childList: true, subtree: true });
  }

  let chosen = null; // the reward model in view; null: the one in training, or the newest
  let overview = { living: null, run: null, models: [] };
  let lost = false; // the complaint is that nothing could be fetched

  /** Gradio's upload button among our own fields: whether it is there. */
  function placeUpload() {
    const button = document.getElementById("upload-pairs");
    if (button) form.uploadPlace.append(button);
    return Boolean(button);
  }

  const refresh = poll({
    async ask(signal) {
      const found = await getJson("live/_rewards", signal);
      const names = found.models.map((item) => item.name);
      const shown = names.includes(chosen) ? chosen : found.living ?? names[0] ?? null;
      const detail = shown ? await getJson(`live/_rewards/${encodeURIComponent(shown)}`, signal) : null;
      return { found, names, shown, detail };
    },
    tell({ found, names, shown, detail }) {
      const ready = found.models.filter((item) => item.accuracy !== null).map((item) => item.name);
      const ended = overview.living && overview.living !== found.living ? overview.living : null;
      if (ended && ready.includes(ended)) choose(ended);
      overview = found;
      trained.value = ready;
      if (!names.includes(chosen)) chosen = null;
      form.know(found, names);
      known.hidden = !names.length;
      showList(found.models, shown);
      report.show(detail);
      if (lost) report.complain(""); // what came of a press on a button stays
      lost = false;
    },
    fail(error) {
      report.complain(error.message);
      lost = true;
    },
    every: () => (overview.living ? BUSY_MS : IDLE_MS),
    wanted: () => place().page === "rewards",
  });

  const showList = whenNew((models, shown) => showParts(list, models.map((item) => {
    const { icon, word } = stateOf(item.state);
    const told = item.accuracy === null ? ` ${word}` : ` ${percent(item.accuracy)}`;
    return el("li", { "data-key": item.name }, el("button", {
      type: "button", class: "quiet-button", "aria-pressed": String(item.name === shown), "data-name": item.name,
      title: `${word}, ${when(item.started_at)}`, onclick: () => {
        chosen = item.name;
        refresh();
      } }, el("span", { "aria-hidden": "true" }, `${icon} `), item.name, told));
  })));

  /** It is what the test below tests next. */
  function choose(name) {
    props.value = { ...props.value, test: name };
    trigger("input");
  }

  async function start(values, replace = false) {
    form.tell([]);
    form.setStarting(true, null);
    const answer = await answerOf(() => server.start_training({ values, replace }));
    if (answer.exists && !replace && (await confirmed(`Replace ${values.name}?`, about("There is a reward model of "
      + "that name. The new one takes its place; the present one is kept, and its name gets -before at the end."),
        "Replace it"))) {
      return start(values, true);
    }
    form.tell(answer.exists ? [] : answer.problems ?? [{ field: "", message: answer.error }]);
    form.setStarting(false, answer.name ?? null);
    if (answer.name) {
      chosen = answer.name;
      await refresh();
      view.scrollIntoView({ block: "nearest" }); // the form is longer than most windows
    }
    return undefined;
  }

  async function stop(name) {
    const answer = await answerOf(() => server.stop_training(name));
    report.complain(answer.error ?? "");
    await refresh();
  }

  async function remove(name) {
    if (!(await confirmed(`Delete ${name}?`, about("The reward model and the record of its training are deleted for "
      + "good. Runs that were trained against it keep their figures."), "Delete"))) return;
    const answer = await answerOf(() => server.delete_reward_model(name));
    report.complain(answer.error ?? "");
    chosen = null;
    await refresh();
  }

  watch("value", () => form.uploaded(props.value));
  onPlace(refresh);
}
