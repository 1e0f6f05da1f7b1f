// What can be changed while the run in view trains, and what became of each change. A control of the form shows the
// value that is in use, and sends another one to the run, which takes it from its next update on.
//
// What a person has set stays in sight until the run has it; then what is in use, also when somebody else changed it.

import { rights } from "../core/access.js";
import { answerOf } from "../core/server.js";
import { computed, effect, signal, untracked } from "../core/signals.js";
import { live } from "../core/store.js";

const AFTER_MS = 400; // an arrow key that is held down is one change
const BETA = "kl.coef";
/** @typedef {import("../core/knob.js").Entered} Entered */
/** @typedef {{ draft: Entered | undefined, sent: Entered | undefined, problem: string }} Change */
/** @typedef {NonNullable<ReturnType<typeof steered>>} Steered */

/** @type {Change} */
const UNTOUCHED = { draft: undefined, sent: undefined, problem: "" };

/** By field: what was set and not sent yet (or refused), what was sent and is not in use yet, and what is wrong. */
const changes = signal(/** @type {Record<string, Change>} */ ({}));
/** @type {Map<string, number>} */
const timers = new Map();
/** @type {Ask | null} */
let askServer = null;
/** @type {string | null} */
let runId = null;
let seen = 0;

/** Whether the run in view trains and takes changes from who looks at it. */
const isSteered = computed(() => {
  const { run, status } = live;
  return Boolean(run?.can_steer && status && !status.ended && !["queued", "stopping"].includes(status.state)
    && rights.value.steer);
});

/** @typedef {(run: string, changes: Record<string, Entered>) => Promise<Wire.EditsAnswer>} Ask */

/** `ask(run, changes)` sends new values, {field: value}, to a run. @param {Ask} ask */
export function setSteering(ask) {
  askServer = ask;
  /** @type {number | undefined} */
  let snapshot;
  effect(() => {
    const { snapshots, events } = live;
    untracked(() => (snapshots === snapshot ? hear(events) : begin(events)));
    snapshot = snapshots;
  });
}

/**
 * A setting of the run in view: {value, used, set, draft, sent, problem, remark, since}; null while there is nothing to
 * steer. `value` is what its control shows, `set` what the run was given, from which an adaptive leash moves (`used`).
 * @param {string} field
 */
export function steered(field) {
  if (!askServer || !isSteered.value || !(field in live.settings)) return null;
  const change = changes.value[field] ?? UNTOUCHED;
  const set = live.settings[field];
  const moved = field === BETA && live.run.adaptive ? live.metrics.kl_coef?.at(-1) : null;
  const used = moved ? Number(moved.toPrecision(3)) : set;
  const edit = live.events.findLast((event) => event.kind === "edit" && event.field === field);
  return { ...change, value: change.draft ?? change.sent ?? used, used, set, since: edit?.update ?? null,
    remark: remark(field, used) };
}

/**
 * Send a new value to the run in view, once nothing else has been set for a moment.
 * @param {string} field @param {Entered} value
 */
export function steer(field, value) {
  const run = live.runId;
  note(field, { draft: value, problem: "" });
  clearTimeout(timers.get(field));
  timers.set(field, setTimeout(() => send(run, field, value), AFTER_MS));
}

/** @param {string} run @param {string} field @param {Entered} value */
async function send(run, field, value) {
  if (live.runId !== run) return;
  const { error = "", problems = [], edits = {} } = await answerOf(() => askServer(run, { [field]: value }),
    "; nothing was changed.");
  if (live.runId !== run || changes.value[field]?.draft !== value) return; // another value has been set meanwhile
  if (!(field in edits)) return note(field, { problem: error || problems.map(({ message }) => message).join(" ") });
  // it may have been applied already
  note(field, { draft: undefined, sent: edits[field] === live.settings[field] ? undefined : edits[field] });
}

/** A snapshot: what was set stays if it is the same run. @param {Wire.Event[]} events */
function begin(events) {
  const same = runId === live.runId;
  runId = live.runId;
  seen = events.length;
  const kept = Object.entries(same ? changes.value : {}).map(([field, change]) =>
    [field, change.sent === live.settings[field] ? { ...change, sent: undefined } : change]);
  changes.value = Object.fromEntries(kept);
}

/**
 * Applied changes, whoever asked for them; a run that could not take one says so in a warning.
 * @param {Wire.Event[]} events
 */
function hear(events) {
  for (const { kind, field, message } of events.slice(seen)) {
    if (kind === "edit" && changes.value[field]) note(field, { sent: undefined });
    if (kind !== "warning") continue;
    for (const [waiting, { sent }] of Object.entries(changes.value)) {
      if (sent !== undefined) note(waiting, { sent: undefined, problem: message });
    }
  }
  seen = events.length;
}

/** @param {string} field @param {Partial<Change>} change */
function note(field, change) {
  changes.value = { ...changes.value, [field]: { ...UNTOUCHED, ...changes.value[field], ...change } };
}

/** @param {string} field @param {number} used */
function remark(field, used) {
  const rate = live.metrics.learning_rate?.at(-1);
  if (field === BETA && live.run.adaptive) return "Moves by itself.";
  if (field === "ppo.learning_rate" && rate && Math.abs(rate - used) > 1e-3 * used)
    return `Its schedule has brought it to ${Number(rate.toPrecision(2))}.`;
  return "";
}
