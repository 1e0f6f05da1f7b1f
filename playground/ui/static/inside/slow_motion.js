// One update in slow motion: a recorded update, one of its episodes, one of its tokens, and the seven steps from the
// token to the gradient. Which updates were recorded the live run says; the trace itself is fetched when it is wanted.

import { clipPicture } from "./clip_picture.js";
import { rights } from "../core/access.js";
import { buttonOf, el, helpOf, menuOf, runTitle, setHidden, setOff, setText, setWords, showParts,
} from "../core/dom.js";
import { answerOf, getJson, runPath } from "../core/server.js";
import { number, signed } from "../core/format.js";
import { wantedTrace } from "../core/opened.js";
import { alike, effect, signal, untracked } from "../core/signals.js";
import { opened, openSection } from "../core/sections.js";
import { live } from "../core/store.js";
import { Formulas } from "./formulas.js";
import { MinimalPart } from "./minimal_part.js";
import { stepsOf } from "./slow_steps.js";
import { figuredTokens, Tokens } from "./tokens.js";
import { WhatIf } from "./what_if.js";

const NONE = "No update of this run was recorded. A run that is training records one when you press Record the next "
  + "update; runs of older versions have none.";
const GLOSS_DRAWN = "Recorded by the run itself, token by token; nothing is computed on this page.";

/** After how many updates somebody has asked for one to be recorded: the next that is there is shown. Null: nobody. */
export const recording = signal(/** @type {number | null} */ (null));

/**
 * @typedef {import("./slow_steps.js").Step} Step
 * @typedef {{ episode: number, token: number, step: number, epoch: number }} Place
 */

export class SlowMotion {
  /**
   * `steer(run, command)` asks a run that trains to record its next update, and answers {error}.
   * @param {Element} element @param {(run: string, command: string) => Promise<Wire.Done>} steer
   */
  constructor(element, steer) {
    this.ask = steer;
    this.update = signal(/** @type {number | null} */ (null)); // the chosen one
    this.trace = signal(/** @type {Wire.Trace | null} */ (null));
    this.place = signal({ episode: 0, token: 0, step: 0, epoch: 1 }, alike);
    this.asking = /** @type {AbortController | null} */ (null);
    this.asked = ""; // for what
    this.sought = false; // somebody comes from elsewhere, for the formulas
    this.known = signal(/** @type {number[]} */ ([]), alike);
    this.parts();
    element.append(this.root);
    let runId = "";
    effect(() => {
      if (runId !== live.runId) this.forget();
      runId = live.runId;
      this.refreshHead();
    });
    effect(() => {
      const known = this.known.value;
      const asked = recording.value === null ? undefined : known.find((update) => update > recording.value);
      if (known.includes(wantedTrace.value)) {
        this.update.value = wantedTrace.value;
        wantedTrace.value = null;
        this.sought = true;
      } else if (asked !== undefined) {
        recording.value = null;
        openSection("update");
        this.update.value = asked;
      } else {
        this.update.value ??= known[Math.floor(known.length / 2)] ?? null; // early ones have no leash yet
      }
      const update = this.update.value;
      this.open = opened.value.has("update");
      untracked(() => this.fetch(update)); // a change of the run in view is the first effect's business
    });
    effect(() => this.draw(this.trace.value, this.place.value));
  }

  parts() {
    this.told = el("span.muted");
    this.none = el("p.slow-words.muted");
    this.problem = el("p.problem", { role: "alert" });
    this.caption = el("p.muted");
    this.tokens = new Tokens({ class: "tokens", role: "group", "aria-label": "Tokens: the arrow keys choose one" },
      (token) => this.go({ token }));
    this.row = el("div.token-row", this.caption, this.tokens.root);
    this.minimal = new MinimalPart();
    this.formulas = new Formulas();
    this.whatIf = new WhatIf(() => this.fetch(this.trace.value.update));
    this.body = el("div.slow-body", { hidden: true });
    this.record = buttonOf("button", { hidden: true, off: false, onclick: () => this.requestTrace(),
      title: "The next update is recorded token by token; a paused run makes one for it" }, "Record the next update");
    this.root = el("section.slow-motion", { hidden: true, "aria-label": "One update in slow motion" },
      el("div.chart-bar", el("h2", "One update in slow motion"), helpOf("slow motion", GLOSS_DRAWN), this.told,
        el("span.grow"), this.record),
      this.none, this.problem, this.body);
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
    const { run, status } = live;
    const can = rights.value.steer && run?.can_steer && !run.no_traces && status && !status.ended
      && ["running", "paused"].includes(status.state);
    setHidden(this.record, !can, runTitle());
    setOff(this.record, recording.value !== null);
    setText(this.record, recording.value === null ? "Record the next update" : "Recording\u2026");
  }

  async requestTrace() {
    const run = live.runId;
    recording.value = live.status.update;
    const { error = "" } = await answerOf(() => this.ask(run, "trace"), "; nothing is recorded.");
    if (live.runId !== run) return;
    setWords(this.problem, error);
    if (error) recording.value = null;
  }

  /** Show another place in the trace. */
  go(/** @type {Partial<Place>} */ place) {
    this.place.value = { ...this.place.value, ...place };
  }

  /** Get a trace, once somebody has unfolded the panel; the newest question counts. */
  async fetch(/** @type {number | null} */ update) {
    const wanted = `${live.runId} ${update} ${this.whatIf.query()}`;
    if (update === null || !this.open || wanted === this.asked) return;
    this.asked = wanted;
    this.asking?.abort();
    this.asking = new AbortController();
    try {
      const query = this.whatIf.query();
      const path = runPath(live.runId, `${query ? "what-if" : "trace"}/${update}${query}`);
      /** @type {Wire.Trace} */
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

  /** @param {Wire.Trace | null} trace @param {Place} place */
  draw(trace, { episode: chosen, token, step: at, epoch }) {
    this.body.hidden = !trace;
    if (!trace) return;
    const episode = trace.episodes[chosen];
    const pass = episode.passes.find((item) => trace.steps[item.step].epoch === epoch);
    const steps = stepsOf(trace, episode, token, pass, live.run?.unit);
    const now = steps[at];
    setText(this.caption, `Under each token: ${now.unit}`);
    this.tokens.show(figuredTokens(episode.pieces, now, token), token);
    this.whatIf.show(trace);
    this.minimal.show(trace, now.key);
    this.formulas.show(trace, live.run?.unit ?? "sd");
    showParts(this.body, [this.bar(trace, chosen), this.stepButtons(steps, at), wordsOf(now), this.minimal.root,
      el("p.output.slow-prompt", el("span", episode.prompt_pieces.join(""))), this.row,
      now.key === "clip" ? clipPicture(trace, episode, token, epoch, (wanted) => this.go({ epoch: wanted })) : null,
      this.whatIf.root, this.formulas.root].filter(Boolean), runTitle());
    if (this.sought && trace.update === this.update.value) {
      this.sought = false;
      requestAnimationFrame(() => this.formulas.focus());
    }
  }

  /** Which update, which of its episodes, and what was asked for otherwise. */
  bar(/** @type {Wire.Trace} */ trace, /** @type {number} */ chosen) {
    const updates = menuOf(this.known.value.map((update) => [update, update]), { value: trace.update,
      onchange: ({ target }) => {
        this.update.value = Number(target.value);
      } });
    const episodes = menuOf(trace.episodes.map(({ why, score }, index) =>
      [index, `${index + 1}: ${why} (${signed(score)})`]), { value: chosen,
      onchange: ({ target }) => this.go({ episode: Number(target.value), token: 0 }) });
    return el("div.slow-bar", el("label.inline", "Update", updates), el("label.inline", "Episode", episodes),
      trace.changed ? el("strong.what-if-mark", `What if: ${differences(trace)}`) : null);
  }

  stepButtons(/** @type {Step[]} */ steps, /** @type {number} */ at) {
    /** @param {string} key @param {string} text @param {number} step @param {Record<string, unknown>} more */
    const button = (key, text, step, more = {}, kind = "") => buttonOf(`button quiet-button ${kind}`.trim(),
      { "data-key": key, onclick: () => this.go({ step }), ...more }, text);
    return el("div.slow-steps", { role: "group", "aria-label": "Steps of the update" },
      button("back", "\u2190 Previous", at - 1, { off: at === 0 }),
      steps.map(({ key, title }, index) => button(key, `${index + 1} ${title}`, index,
        { "aria-current": index === at ? "step" : null }, `slow-step${index === at ? " now" : ""}`)),
      button("on", "Next \u2192", at + 1, { off: at === steps.length - 1 }));
  }
}

/** What a step does, its formula, and where it is computed. */
function wordsOf(/** @type {Step} */ { words, formula, code }) {
  return el("div", { "aria-live": "polite" }, el("p.slow-words", words),
    el("div.slow-formula", formula.map((line) => el("p", line.map(part)))),
    el("p.slow-code.muted", "Computed by ", code.map(([name, file], index) => [
      index ? " and " : "", el("code", name), ` in ${file}`])));
}

/** Where to begin: at the last epoch, at a token that is clipped in it, if there is one. */
function startOf(/** @type {Wire.Trace} */ { episodes, steps }) {
  const epoch = steps.at(-1).epoch;
  const clipped = episodes.map(({ passes }) => passes.findLast(({ step }) => steps[step].epoch === epoch)
    ?.clipped.indexOf(true) ?? -1);
  const episode = Math.max(0, clipped.findIndex((token) => token >= 0));
  return { epoch, episode, token: Math.max(0, clipped[episode]) };
}

function differences(/** @type {Wire.Trace} */ { knobs, recorded, settings }) {
  return /** @type {{ name: keyof Wire.WhatIf, label: string }[]} */ (knobs)
    .filter(({ name }) => recorded[name] !== settings[name]).map(({ name, label }) =>
      `${label} ${number(recorded[name])} \u2192 ${number(settings[name])}`).join(", ");
}

function part(/** @type {import("./slow_steps.js").Part} */ piece) {
  if (typeof piece === "string") return piece;
  if (piece.sub) return el("sub", piece.sub);
  if (piece.hat) return el("span.hat", piece.hat, "\u0302");
  return el("strong", piece.strong);
}

function listed(/** @type {number[]} */ updates) {
  const most = 8;
  const shown = updates.slice(-most).map(number);
  return `${updates.length > most ? "\u2026, " : ""}${shown.join(", ")}`;
}
