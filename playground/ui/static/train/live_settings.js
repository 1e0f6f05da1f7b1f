// "Change while it trains": the settings of a living run that take effect at its next update. The leash is in sight,
// the others are folded.
//
// A field shows what a person typed until it is applied; else what is in use, also when somebody else has changed it.

import { buttonOf, el, runTitle, setAttribute, setHidden, setOff, setText, setWords } from "../core/dom.js";
import { answerOf } from "../core/server.js";
import { knobControls, write } from "../core/knob.js";
import { effect } from "../core/signals.js";
import { live } from "../core/store.js";

const FIRST = "kl.coef";
const UNTOUCHED = { draft: undefined, sent: undefined, problem: "" };

export class LiveSettings {
  /** `knobs`: words and sliders of every setting; `ask(run, changes)` answers {error, problems, edits}. */
  constructor(element, knobs, ask) {
    this.ask = ask;
    this.runId = null;
    this.seen = 0;
    this.folded = false; // once for each run: a person may unfold it
    this.sending = false; // until the answer has come
    this.items = this.itemsOf(knobs);
    this.apply = buttonOf("button strong", { off: true, onclick: () => this.send() }, "Apply");
    this.note = el("span.live-note", { role: "status", "aria-live": "polite" });
    this.count = el("span.muted");
    const others = [...this.items].filter(([field]) => field !== FIRST).map(([, { root }]) => root);
    this.more = el("details", el("summary", "Learning rate, clip range and others"), el("div.live-grid", others));
    this.root = el("section.live-settings", { hidden: true, "aria-label": "Change while it trains" },
      el("div.live-head", el("h2", "Change while it trains"), this.count, el("span.grow"), this.note, this.apply),
      this.items.get(FIRST)?.root ?? null, this.more);
    element.append(this.root);
    let snapshot;
    effect(() => {
      if (live.snapshots === snapshot) this.hear();
      else this.begin();
      snapshot = live.snapshots;
      this.refresh();
    });
  }

  /** What is known of each field: its control, what was typed and what was sent, and what is wrong with it. */
  itemsOf(knobs) {
    const controls = knobControls(knobs, "live", "in use", (field, value) => {
      Object.assign(this.items.get(field), { draft: value, problem: "" });
      this.refresh();
    });
    return new Map(knobs.map(({ field, label }) => {
      const control = controls.get(field);
      const state = el("p.live-state.muted");
      const told = el("p.live-problem", { hidden: true, role: "alert" });
      return [field, { field, label, control, state, told, ...UNTOUCHED,
        root: el("div.live-field", { "data-field": field }, control.root, state, told) }];
    }));
  }

  /** A snapshot: what was typed stays if it is the same run. */
  begin() {
    const same = this.runId === live.runId;
    this.runId = live.runId;
    if (!same) {
      this.folded = false;
      setWords(this.note, "");
    }
    for (const item of this.items.values()) {
      if (!same) Object.assign(item, UNTOUCHED);
      else if (item.sent === live.settings[item.field]) item.sent = undefined;
    }
    this.seen = live.events.length;
  }

  /** Applied changes, whoever asked for them: the last one counts and everybody sees it. */
  hear() {
    const told = [];
    for (const event of live.events.slice(this.seen)) {
      const item = event.kind === "edit" && this.items.get(event.field);
      if (item) {
        item.sent = undefined;
        told.push(event.message);
      } else if (event.kind === "warning" && this.waiting()) {
        for (const other of this.items.values()) other.sent = undefined;
        setWords(this.note, event.message);
      }
    }
    this.seen = live.events.length;
    if (told.length) setWords(this.note, `Applied: ${told.join(", ")}.`);
  }

  waiting() {
    return [...this.items.values()].some((item) => item.sent !== undefined);
  }

  refresh() {
    const ready = live.run && live.status && !live.status.ended && !["queued", "stopping"].includes(live.status.state)
      && live.run.can_steer && Object.keys(live.settings).length > 0;
    setHidden(this.root, !ready, runTitle());
    if (!ready) return;
    if (!this.folded) this.more.open = !(FIRST in live.settings); // a method without a leash
    this.folded = true;
    this.items.get(FIRST)?.control.setRegimes(live.regimes, Boolean(live.run) && !live.metrics.update.length);
    for (const item of this.items.values()) this.show(item);
    const drafts = this.drafts().length;
    setText(this.apply, drafts > 1 ? `Apply ${drafts} changes` : "Apply");
    setOff(this.apply, this.sending || !drafts);
    setText(this.count, drafts ? `${drafts} not applied yet` : "takes effect at the next update");
  }

  show(item) {
    const { field, control, state } = item;
    item.root.hidden = !(field in live.settings);
    if (item.root.hidden) return;
    const used = this.used(field);
    if (item.draft === used) item.draft = undefined;
    control.setMark(used);
    control.show(item.draft ?? item.sent ?? used);
    setText(state, item.sent !== undefined ? `${write(item.sent)} applies at the next update`
      : this.remark(field, used));
    state.classList.toggle("waiting", item.sent !== undefined);
    setWords(item.told, item.problem);
    item.told.hidden = !item.problem;
    if (item.problem) setAttribute(control.field, "aria-invalid", "true");
    else control.field.removeAttribute("aria-invalid");
  }

  /** What is in use now: an adaptive leash moves by itself. */
  used(field) {
    const moved = field === FIRST && live.run.adaptive ? live.metrics.kl_coef?.at(-1) : null;
    return moved ?? live.settings[field];
  }

  remark(field, used) {
    const rate = live.metrics.learning_rate?.at(-1);
    if (field === FIRST) return live.run.adaptive ? "Moves by itself towards the target KL." : "";
    if (field === "ppo.learning_rate" && rate && Math.abs(rate - used) > 1e-3 * used)
      return `The schedule has brought it to ${write(Number(rate.toPrecision(2)))}.`;
    return "";
  }

  drafts() {
    return [...this.items.values()].filter((item) => item.draft !== undefined && !item.root.hidden);
  }

  async send() {
    const run = live.runId;
    const drafts = this.drafts();
    const changes = Object.fromEntries(drafts.map(({ field, draft }) => [field, draft]));
    this.sending = true;
    this.refresh();
    const answer = { problems: [], edits: {},
      ...await answerOf(() => this.ask(run, changes), "; nothing was changed.") };
    this.sending = false;
    if (live.runId === run) this.take(answer, drafts, changes);
    this.refresh();
    if (live.runId !== run || !answer.problems.length) return;
    if (answer.problems.some(({ field }) => field !== FIRST)) this.more.open = true;
    this.items.get(answer.problems[0].field)?.control.field.focus();
  }

  /** What became of the changes that were sent. */
  take({ error, problems, edits }, drafts, changes) {
    for (const { field, message } of problems) {
      const item = this.items.get(field);
      if (item) item.problem = `${item.label} ${message}`;
    }
    for (const item of drafts) {
      const { field } = item;
      if (!(field in edits)) continue;
      item.sent = edits[field] === live.settings[field] ? undefined : edits[field]; // it may have been applied already
      if (item.draft === changes[field]) item.draft = undefined;
    }
    if (error) setWords(this.note, error);
    else if (problems.length) setWords(this.note, "Nothing was changed yet: mend what is marked, then apply again.");
    else if (this.waiting()) setWords(this.note, "Sent; it applies at the next update.");
    this.note.classList.toggle("problem", Boolean(error || problems.length));
  }
}
