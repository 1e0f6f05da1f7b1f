// "Train a reward model": what to learn from and with, start and stop, the curve while it learns, and what it is worth
// in the end. All that is shown comes from the disk (`live/_rewards`), so a reload or another tab shows the same.

import { buttonOf, confirmed, el, showParts, signOf } from "../core/dom.js";
import { answerOf, getJson } from "../core/server.js";
import { percent, stateOf, when } from "../core/format.js";
import { go, onPlace, place } from "../core/nav.js";
import { poll } from "../core/poll.js";
import { sayOfUploads } from "../core/uploads.js";
import { Widget } from "../core/widget.js";
import { trained } from "./lists.js";
import { whenOpened } from "./tabs.js";
import { TrainingForm } from "./training_form.js";
import { TrainingReport } from "./training_report.js";

const BUSY_MS = 1000;
const IDLE_MS = 6000;

const about = (/** @type {string} */ sentence) => el("p.muted", sentence);

/** @typedef {{ value: Wire.UploadedPairs & { test?: string }, form: Wire.RewardForm, limit: number }} Props */
/** @typedef {{ found: Wire.RewardModels, names: string[], shown: string | null, detail: Wire.RewardTraining }} Found */

/** @param {Element} element @param {Props} props @param {Page.Tools} page */
export const mount = (element, props, page) => whenOpened("train", () => new Training(element, props, page));

/** @extends {Widget<Props>} */
class Training extends Widget {
  /** @param {Element} element @param {Props} props @param {Page.Tools} page */
  constructor(element, props, page) {
    super(props, page);
    this.chosen = /** @type {string | null} */ (null); // the one in view; null: the one in training, or the newest
    this.living = /** @type {string | null} */ (null);
    this.lost = false; // the complaint is that nothing could be fetched
    this.form = new TrainingForm(props.form, (values) => this.start(values));
    this.report = new TrainingReport({ stop: (name) => this.stop(name), remove: (name) => this.remove(name),
      test: (name) => {
        this.choose(name);
        go({ page: "rewards", part: "test" });
      } });
    this.list = el("ul.reward-models");
    this.known = el("section.known-models", { hidden: true }, el("h3", "Trained here"), this.list);
    this.view = el("div.reward-view", this.known, this.report.root);
    element.append(el("section.panel.reward-training",
      el("h2", "Train a reward model"),
      el("p.muted.small-text", "Learns from pairs in which one answer was preferred, then scores any answer. PPO can "
        + "then train against it."),
      el("div.reward-training-columns", this.form.root, this.view)));
    if (!this.placeUpload()) {
      new MutationObserver((_, observer) => {
        if (this.placeUpload()) observer.disconnect();
      }).observe(document.body, { childList: true, subtree: true });
    }
    this.refresh = poll({ ask: (signal) => this.ask(signal), tell: (found) => this.take(found), fail: (error) => {
      this.report.complain(error.message);
      this.lost = true;
    }, every: () => (this.living ? BUSY_MS : IDLE_MS), wanted: () => place().page === "rewards" });
    page.watch("value", () => this.form.uploaded(props.value));
    sayOfUploads("#upload-pairs", props.limit, (sentence, isProblem) => this.form.sayOfUpload(sentence, isProblem));
    onPlace(this.refresh);
  }

  /** Gradio's upload button among our own fields: whether it is there. */
  placeUpload() {
    const button = document.getElementById("upload-pairs");
    if (button) this.form.uploadPlace.append(button);
    return Boolean(button);
  }

  /** @param {AbortSignal} signal @returns {Promise<Found>} */
  async ask(signal) {
    /** @type {Wire.RewardModels} */
    const found = await getJson("live/_rewards", signal);
    const names = found.models.map((item) => item.name);
    const shown = names.includes(this.chosen) ? this.chosen : found.living ?? names[0] ?? null;
    /** @type {Wire.RewardTraining | null} */
    const detail = shown ? await getJson(`live/_rewards/${encodeURIComponent(shown)}`, signal) : null;
    return { found, names, shown, detail };
  }

  take(/** @type {Found} */ { found, names, shown, detail }) {
    const ready = found.models.filter((item) => item.accuracy !== null).map((item) => item.name);
    if (this.living !== found.living && ready.includes(this.living)) this.choose(this.living); // it has ended
    this.living = found.living;
    trained.value = ready;
    if (!names.includes(this.chosen)) this.chosen = null;
    this.form.know(found, names);
    this.known.hidden = !names.length;
    showParts(this.list, found.models.map((item) => this.item(item, shown)));
    this.report.show(detail);
    if (this.lost) this.report.complain(""); // what came of a press on a button stays
    this.lost = false;
  }

  /** @param {Wire.RewardModelRow} model @param {string | null} shown */
  item({ name, state, accuracy, started_at: started }, shown) {
    const { icon, word } = stateOf(state);
    return el("li", { "data-key": name }, buttonOf("quiet-button", { "aria-pressed": String(name === shown),
      "data-name": name, title: `${word}, ${when(started)}`, onclick: () => this.look(name) },
    signOf(`${icon} `), name, ` ${accuracy === null ? word : percent(accuracy)}`));
  }

  look(/** @type {string | null} */ name) {
    this.chosen = name;
    return this.refresh();
  }

  /** It is what the test below tests next. */
  choose(/** @type {string} */ name) {
    this.give({ ...this.props.value, test: name });
  }

  async start(/** @type {import("./training_form.js").Values} */ values, replace = false) {
    const { form } = this;
    form.tell([]);
    form.setStarting(true, null);
    const answer = await answerOf(() => this.server.start_training({ values, replace }));
    if (answer.exists && !replace && (await confirmed(`Replace ${values.name}?`, about("There is already a reward "
      + "model of this name. The new one takes its place; the old one is kept, with -before added to its name."),
        "Replace it"))) {
      await this.start(values, true);
      return;
    }
    form.tell(answer.exists ? [] : answer.problems ?? [{ field: "", message: answer.error }]);
    form.setStarting(false, answer.name ?? null);
    if (!answer.name) return;
    this.living = answer.name; // it may have ended before it is first seen
    await this.look(answer.name);
    this.report.body.scrollIntoView({ block: "start" }); // the form is longer than most windows; so may the report be
  }

  async stop(/** @type {string} */ name) {
    const { error = "" } = await answerOf(() => this.server.stop_training(name));
    this.report.complain(error);
    await this.refresh();
  }

  async remove(/** @type {string} */ name) {
    if (!(await confirmed(`Delete ${name}?`, about("The reward model and the record of its training are deleted "
      + "for good. Runs that were trained against it keep their figures."), "Delete"))) return;
    const { error = "" } = await answerOf(() => this.server.delete_reward_model(name));
    this.report.complain(error);
    await this.look(null);
  }
}
