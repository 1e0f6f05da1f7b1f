// One update in slow motion: a recorded update, one of its episodes, one of its tokens, and the seven steps from the
// token to the gradient. Which updates were recorded the live run says; the trace itself is fetched when it is wanted.

import { ClipPicture } from "./clip_picture.js";
import { el, getJson, runPath, runTitle, setAttribute, setHidden, setText, setWords,
  showButtons } from "../core/dom.js";
import { number, signed } from "../core/format.js";
import { alike, effect, signal, untracked } from "../core/signals.js";
import { live } from "../core/store.js";
import { stepsOf } from "./slow_steps.js";
import { TokenRow } from "./token_row.js";
import { WhatIf } from "./what_if.js";

const NONE = "No update of this run was recorded. Runs from before this was possible have none; a run that trains "
  + "records one when you press Record.";
const GLOSS_DRAWN = "Recorded by the run itself, token by token; nothing is computed on this page.";

/** After how many updates somebody has asked for one to be recorded: the next that is there is shown. Null: nobody. */
export const recording = signal(/** @type {number | null} */ (null));

export class SlowMotion {
  constructor(element) {
    this.update = signal(null); // the chosen one
    this.trace = signal(null);
    this.place = signal({ episode: 0, token: 0, step: 0, epoch: 1 }, alike);
    this.asking = null;
    this.known = signal([], alike);
    this.parts();
    element.append(this.root);
    let runId;
    effect(() => {
      if (runId !== live.runId) this.forget();
      runId = live.runId;
      this.refreshHead();
    });
    effect(() => {
      const known = this.known.value;
      const asked = recording.value === null ? undefined : known.find((update) => update > recording.value);
      if (asked !== undefined) {
        recording.value = null;
        this.details.open = true;
        this.update.value = asked;
      } else {
        this.update.value ??= known[Math.floor(known.length / 2)] ?? null; // early ones have no leash yet
      }
      const update = this.update.value;
      untracked(() => this.fetch(update)); // a change of the run in view is the first effect's business
    });
    effect(() => this.draw(this.trace.value, this.place.value));
  }

  parts() {
    this.told = el("span", { class: "muted" });
    this.which = el("select", { onchange: () => {
      this.update.value = Number(this.which.value);
    } });
    this.who = el("select", { onchange: () => this.go({ episode: Number(this.who.value), token: 0 }) });
    this.mark = el("strong", { class: "what-if-mark", hidden: true });
    this.none = el("p", { class: "slow-words muted" });
    this.problem = el("p", { class: "problem", role: "alert" });
    this.tabs = el("div", { class: "slow-steps", role: "group", "aria-label": "Steps of the update" });
    this.words = el("p", { class: "slow-words" });
    this.formula = el("div", { class: "slow-formula" });
    this.code = el("p", { class: "slow-code muted" });
    this.prompt = el("p", { class: "output slow-prompt" });
    this.tokens = new TokenRow((token) => this.go({ token }));
    this.picture = new ClipPicture((epoch) => this.go({ epoch }));
    this.whatIf = new WhatIf(() => this.fetch(this.trace.value.update));
    this.body = el("div", { class: "slow-body", hidden: true },
      el("div", { class: "slow-bar" }, el("label", { class: "inline" }, "Update", this.which),
        el("label", { class: "inline" }, "Episode", this.who), this.mark),
      this.tabs, el("div", { "aria-live": "polite" }, this.words, this.formula, this.code),
      this.prompt, this.tokens.root, this.picture.root, this.whatIf.root);
    this.details = el("details", { ontoggle: () => this.fetch(this.update.value) },
      el("summary", {}, el("h2", { title: GLOSS_DRAWN }, "One update in slow motion"), " ", this.told),
      this.none, this.problem, this.body);
    this.root = el("section", { class: "slow-motion", hidden: true, "aria-label": "One update in slow motion" },
      this.details);
  }

  forget() {
    this.update.value = null;
    this.trace.value = null;
    this.place.value = { episode: 0, token: 0, step: 0, epoch: 1 };
    recording.value = null;
    this.whatIf.forget();
    setWords(this.problem, "");
  }

  refreshHead() {
    const updates = live.events.filter(({ kind }) => kind === "trace").map(({ update }) => update);
    const known = [...new Set(updates)].sort((one, other) => one - other);
    this.known.value = known;
    setHidden(this.root, !live.run, runTitle());
    setText(this.told, known.length ? `recorded: update ${listed(known)}` : "none recorded");
    setWords(this.none, known.length ? "" : live.run?.no_traces || NONE);
    if (!alike([...this.which.options].map(({ value }) => Number(value)), known)) {
      const chosen = this.trace.value?.update;
      this.which.replaceChildren(...known.map((update) => el("option", { value: update }, String(update))));
      if (known.includes(chosen)) this.which.value = chosen;
    }
  }

  /** Show another place in the trace. */
  go(place) {
    this.place.value = { ...this.place.value, ...place };
  }

  /** Get a trace, once somebody has unfolded the panel; the newest question counts. */
  async fetch(update) {
    const wanted = `${live.runId} ${update} ${this.whatIf.query()}`;
    if (update === null || !this.details.open || wanted === this.asked) return;
    this.asked = wanted;
    this.asking?.abort();
    this.asking = new AbortController();
    try {
      const path = runPath(live.runId, `trace/${update}${this.whatIf.query()}`);
      const found = await getJson(path, this.asking.signal);
      if (this.asked !== wanted) return;
      setWords(this.problem, "");
      const other = this.trace.value?.update !== update;
      if (other) this.place.value = { ...this.place.value, ...startOf(found) };
      this.trace.value = found;
    } catch (error) {
      if (this.asked !== wanted) return;
      this.asked = "";
      setWords(this.problem, error.message);
    }
  }

  draw(trace, { episode: chosen, token, step: at, epoch }) {
    this.body.hidden = !trace;
    if (!trace) return;
    const episode = trace.episodes[chosen];
    const pass = episode.passes.find((item) => trace.steps[item.step].epoch === epoch);
    const steps = stepsOf(trace, episode, token, pass, live.run?.unit);
    const now = steps[at];
    this.which.value = trace.update;
    setHidden(this.mark, !trace.changed);
    setText(this.mark, `What if: ${differences(trace)}`);
    this.listEpisodes(trace.episodes, chosen);
    this.showSteps(steps, at);
    setText(this.words, now.words);
    this.formula.replaceChildren(...now.formula.map((line) => el("p", {}, line.map(part))));
    this.code.replaceChildren("Computed by ", ...now.code.flatMap((made, index) => [
      index ? " and " : "", el("code", {}, made[0]), ` in ${made[1]}`]));
    setText(this.prompt, episode.prompt_pieces.join(""));
    this.tokens.show(episode.pieces, now, token);
    setHidden(this.picture.root, now.key !== "clip", runTitle());
    if (now.key === "clip") this.picture.show(trace, episode, token, epoch);
    this.whatIf.show(trace);
  }

  listEpisodes(episodes, chosen) {
    const names = episodes.map(({ why, score }, index) => `${index + 1}: ${why} (${signed(score)})`);
    if (!alike([...this.who.options].map(({ text }) => text), names))
      this.who.replaceChildren(...names.map((name, index) => el("option", { value: index }, name)));
    this.who.value = chosen;
  }

  showSteps(steps, at) {
    showButtons(this.tabs, [
      { key: "back", text: "\u2190 Previous", kind: "quiet-button", off: at === 0,
        act: () => this.go({ step: this.place.value.step - 1 }) },
      ...steps.map(({ key, title }, index) => ({ key, text: `${index + 1} ${title}`,
        kind: `quiet-button slow-step${index === at ? " now" : ""}`, act: () => this.go({ step: index }) })),
      { key: "on", text: "Next \u2192", kind: "quiet-button", off: at === steps.length - 1,
        act: () => this.go({ step: this.place.value.step + 1 }) }]);
    for (const [index, node] of [...this.tabs.children].entries()) {
      if (index - 1 === at) setAttribute(node, "aria-current", "step");
      else node.removeAttribute("aria-current");
    }
  }
}

/** Where to begin: at the last epoch, at a token that is clipped in it, if there is one. */
function startOf({ episodes, steps }) {
  const epoch = steps.at(-1).epoch;
  const clipped = episodes.map(({ passes }) => passes.findLast(({ step }) => steps[step].epoch === epoch)
    ?.clipped.indexOf(true) ?? -1);
  const episode = Math.max(0, clipped.findIndex((token) => token >= 0));
  return { epoch, episode, token: Math.max(0, clipped[episode]) };
}

function differences({ knobs, recorded, settings }) {
  return knobs.filter(({ name }) => recorded[name] !== settings[name])
    .map(({ name, label }) => `${label} ${number(recorded[name])} \u2192 ${number(settings[name])}`).join(", ");
}

function part(piece) {
  if (typeof piece === "string") return piece;
  if (piece.sub) return el("sub", {}, piece.sub);
  if (piece.hat) return el("span", { class: "hat" }, piece.hat, "\u0302");
  return el("strong", {}, piece.strong);
}

function listed(updates) {
  const most = 8;
  const shown = updates.slice(-most).map(number);
  return `${updates.length > most ? "\u2026, " : ""}${shown.join(", ")}`;
}
