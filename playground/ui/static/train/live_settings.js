// "Change while it trains": the settings of a living run that take effect at its next update. The leash is in sight,
// the others are folded.
//
// A field shows what a person typed until it is applied; else what is in use, also when somebody else has changed it.

import { answerOf, buttonOf, el, runTitle, setAttribute, setHidden, setText, setWords } from "../core/dom.js";
import { knobControl, write } from "../core/knob.js";
import { effect } from "../core/signals.js";
import { live } from "../core/store.js";
import { lateness } from "./schedule.js";

const FIRST = "kl.coef";

export class LiveSettings {
  /** `knobs`: words and sliders of every setting; `ask(run, changes)` answers {error, problems, edits}. */
  constructor(element, knobs, ask) {
    this.ask = ask;
    this.runId = null;
    this.seen = 0;
    this.folded = false; // once for each run: a person may unfold it
    this.sending = false; // until the answer has come
    this.fields = new Map(knobs.map((knob) => [knob.field, this.field(knob)]));
    this.apply = buttonOf("button strong", { onclick: () => this.send() }, "Apply");
    this.note = el("span", { class: "live-note", role: "status", "aria-live": "polite" });
    this.count = el("span", { class: "muted" });
    const others = [...this.fields.values()].filter((item) => item.knob.field !== FIRST);
    this.more = el("details", {}, el("summary", {}, "Learning rate, clip range and others"),
      el("div", { class: "live-grid" }, others.map((item) => item.root)));
    this.root = el("section", { class: "live-settings", hidden: true, "aria-label": "Change while it trains" },
      el("div", { class: "live-head" }, el("h2", {}, "Change while it trains"), this.count,
        el("span", { class: "grow" }), this.note, this.apply),
      this.fields.get(FIRST)?.root ?? null, this.more);
    element.append(this.root);
    let snapshot;
    effect(() => {
      if (live.snapshots === snapshot) this.hear();
      else this.begin();
      snapshot = live.snapshots;
      this.refresh();
    });
  }

  field(knob) {
    const control = knobControl(knob, `live-${knob.field.replaceAll(".", "-")}`, {
      markWord: "in use",
      onEdit: (value) => {
        item.draft = value;
        item.problem = "";
        this.refresh();
      },
    });
    const state = el("p", { class: "live-state muted" });
    const problem = el("p", { class: "live-problem", hidden: true, role: "alert" });
    const item = { knob, control, state, problem: "", told: problem, draft: undefined, sent: undefined,
      root: el("div", { class: "live-field", "data-field": knob.field }, control.root, state, problem) };
    return item;
  }

  /** A snapshot: what was typed stays if it is the same run. */
  begin() {
    const same = this.runId === live.runId;
    this.runId = live.runId;
    if (!same) {
      this.folded = false;
      setWords(this.note, "");
    }
    for (const item of this.fields.values()) {
      if (!same) Object.assign(item, { draft: undefined, sent: undefined, problem: "" });
      else if (item.sent === live.settings[item.knob.field]) item.sent = undefined;
    }
    this.seen = live.events.length;
  }

  /** Applied changes, whoever asked for them: the last one counts and everybody sees it. */
  hear() {
    const told = [];
    for (const event of live.events.slice(this.seen)) {
      const item = event.kind === "edit" && this.fields.get(event.field);
      if (item) {
        item.sent = undefined;
        told.push(event.message);
      } else if (event.kind === "warning" && this.waiting()) {
        for (const other of this.fields.values()) other.sent = undefined;
        setWords(this.note, event.message);
      }
    }
    this.seen = live.events.length;
    if (told.length) setWords(this.note, `Applied: ${told.join(", ")}.`);
  }

  waiting() {
    return [...this.fields.values()].some((item) => item.sent !== undefined);
  }

  refresh() {
    const ready = live.run && live.status && !live.status.ended && !["queued", "stopping"].includes(live.status.state)
      && live.run.can_steer && Object.keys(live.settings).length > 0;
    setHidden(this.root, !ready, runTitle());
    if (!ready) return;
    if (!this.folded) this.more.open = !(FIRST in live.settings); // a method without a leash
    this.folded = true;
    this.fields.get(FIRST)?.control.setRegimes(live.regimes,
      Boolean(live.run) && !live.metrics.update.length);
    for (const item of this.fields.values()) this.show(item);
    const drafts = this.drafts().length;
    setText(this.apply, drafts > 1 ? `Apply ${drafts} changes` : "Apply");
    setAttribute(this.apply, "aria-disabled", String(this.sending
      || !drafts)); // not `disabled`, which would take the focus away
    setText(this.count, drafts ? `${drafts} not applied yet`
      : "takes effect at the next update");
  }

  show(item) {
    const { field } = item.knob;
    item.root.hidden = !(field in live.settings);
    if (item.root.hidden) return;
    const used = this.used(field);
    if (item.draft !== undefined && item.draft === used) item.draft = undefined;
    item.control.setMark(used);
    item.control.show(item.draft ?? item.sent ?? used);
    setText(item.state, item.sent !== undefined ? `${write(item.sent)} applies at the next update`
      : this.remark(field, used));
    item.state.classList.toggle("waiting", item.sent !== undefined);
    setWords(item.told, item.problem);
    item.told.hidden = !item.problem;
    if (item.problem) item.control.field.setAttribute("aria-invalid", "true");
    else item.control.field.removeAttribute("aria-invalid");
  }

  /** What is in use now: an adaptive leash moves by itself. */
  used(field) {
    const moved = field === "kl.coef" && live.run.adaptive ? live.metrics.kl_coef?.at(-1) : null;
    return moved ?? live.settings[field];
  }

  remark(field, used) {
    const rate = live.metrics.learning_rate?.at(-1);
    if (field === FIRST) {
      const moves = live.run.adaptive ? "Moves by itself towards the target KL. " : "";
      return moves + lateness({ ...live.run, num_updates: live.status.num_updates }, live.status.update);
    }
    if (field === "ppo.learning_rate" && rate && Math.abs(rate - used) > 1e-3 * used)
      return `The schedule has brought it to ${write(Number(rate.toPrecision(2)))}.`;
    return "";
  }

  drafts() {
    return [...this.fields.values()].filter((item) => item.draft !== undefined && !item.root.hidden);
  }

  async send() {
    const run = live.runId;
    const drafts = this.drafts();
    if (this.sending || !drafts.length) return;
    const changes = Object.fromEntries(drafts.map((item) => [item.knob.field, item.draft]));
    this.sending = true;
    this.refresh();
    const none = { problems: [], edits: {} };
    const answer = { ...none, ...await answerOf(() => this.ask(run, changes), "; nothing was changed.") };
    this.sending = false;
    if (live.runId !== run) return this.refresh();
    for (const { field, message } of answer.problems)
      if (this.fields.has(field)) this.fields.get(field).problem = `${this.fields.get(field).knob.label} ${message}`;
    for (const item of drafts) {
      if (!(item.knob.field in answer.edits)) continue;
      const sent = answer.edits[item.knob.field];
      item.sent = sent === live.settings[item.knob.field] ? undefined : sent; // it may have been applied already
      if (item.draft === changes[item.knob.field]) item.draft = undefined;
    }
    const wrong = answer.problems.length;
    if (answer.error) setWords(this.note, answer.error);
    else if (wrong) setWords(this.note, "Nothing was changed yet: mend what is marked, then apply again.");
    else if (this.waiting()) setWords(this.note, "Sent; it applies at the next update.");
    this.note.classList.toggle("problem", Boolean(answer.error || wrong));
    this.refresh();
    if (!wrong) return;
    if (answer.problems.some(({ field }) => field !== FIRST)) this.more.open = true;
    this.fields.get(answer.problems[0].field)?.control.field.focus();
  }
}
