// The run in view, as data: one connection to `/live/<run>` for all parts of the page.
//
// Stream first (server-sent events); if that does not work, polling with back-off; nothing while the tab is hidden.
// `live.settings` holds the values of what can be changed in mid-run, as they are now. Every field of `live` is a
// signal: an effect that reads one runs again when it is set. Parts read it; they never talk to the server about the
// run themselves.

import { getJson, runPath, url } from "./server.js";
import { Player } from "./player.js";
import { ANSWER_MS } from "./poll.js";
import { computed, signal } from "./signals.js";

const ATWORK = ["starting", "running"];
const LATE_SECONDS = 20; // by more than that a message says something else: a clock was set
const MAX_POINTS = 2600; // the server sends at most 2,000 at once; a long-watched run is fetched anew beyond this

/** The run in view. `snapshots` counts how often all of it was told anew. */
export const live = { ...empty(null), snapshots: 0 };
for (const [name, value] of Object.entries(live)) {
  const held = signal(value);
  Object.defineProperty(live, name, {
    get: () => held.value,
    set: (next) => {
      held.value = next;
    },
  });
}

/** Whether the run in view has ended, and how many updates it will have: these change less often than its status. */
export const hasEnded = computed(() => Boolean(live.status?.ended));
export const numUpdates = computed(() => live.status?.num_updates ?? 0);

/** What plays the recorded run in view; null while none is. */
export const player = signal(/** @type {Player | null} */ (null));

/** @type {EventSource | null} */
let source = null;
let timer = 0;
let failures = 0;
let chain = 0; // counts connections, so that a late answer to one that was given up is not heard
let cursor = "";
let nextTry = 0; // when the next one is made while the connection is lost, by performance.now()
let awaited = 0; // an attempt that was asked for or seen elsewhere: until it shows, an ended run is not the last word

/** Look at a run; null means at nothing. @param {string | null} runId */
export function open(runId) {
  close();
  Object.assign(live, empty(runId), { snapshots: live.snapshots + 1 });
  cursor = "";
  failures = 0;
  awaited = 0;
  if (runId) connect();
}

/** Whether an id is that of a recorded run. @param {string | null} runId */
export function isRecording(runId) {
  return Boolean(runId?.startsWith("_"));
}

/** Play a recorded run again from the start. */
export async function replay() {
  player.value?.play();
}

/**
 * The run in view goes on as this attempt: listen again, in place, without forgetting what is shown.
 * @param {number} attempt
 */
export function expectAttempt(attempt) {
  if (!live.runId || isRecording(live.runId) || (live.status?.attempt ?? 0) >= attempt) return;
  awaited = attempt;
  retry();
}

/** Try the connection now: it is lost, or what we heard last may be out of date. */
export function retry() {
  if (!live.runId || isRecording(live.runId) || live.connection === "failed" || resting()) return;
  close();
  connect();
}

/** What the run came to, fetched again when it has ended. */
export async function fetchOutcome() {
  const { runId, status } = live;
  const found = /** @type {Wire.Outcome} */ (await getJson(runPath(runId, "outcome")));
  if (live.runId === runId && live.status?.ended && live.status.attempt === status?.attempt) live.outcome = found;
}

/** One evaluation; fetched if it has not been seen yet. @param {number} update */
export async function moment(update) {
  if (live.moments.has(update)) return live.moments.get(update);
  const runId = live.runId;
  const found = /** @type {Wire.Moment} */ (await getJson(runPath(runId, `moment/${update}`)));
  if (live.runId === runId) live.moments.set(update, found);
  return found;
}

/**
 * Seconds, counted on since the server said so: at work, left (from the likely least to the likely most), silent,
 * stopping (null: not); and to the next try.
 */
export function clock() {
  const status = live.status;
  const retryIn = Math.max(0, (nextTry - performance.now()) / 1000);
  if (!status) return { elapsed: 0, left: null, silent: null, stopping: null, retryIn };
  const lost = live.connection === "lost";
  const since = status.ended ? 0 : (performance.now() - live.statusAt) / 1000;
  /** @param {number | null} seconds */
  const on = (seconds) => (status.ended || lost || seconds === null || seconds === undefined ? null : seconds + since);
  const left = status.left ? status.left.map((seconds) => Math.max(0, seconds - since)) : null;
  const elapsed = status.elapsed + (status.state === "paused" ? 0 : since);
  return { elapsed, left, silent: on(status.silent), stopping: on(status.stopping), retryIn };
}

/** @typedef {import("./player.js").Snapshot} Snapshot */
/** @typedef {import("./player.js").Delta} Delta */
/**
 * @typedef {Pick<Snapshot, "run" | "status" | "metrics" | "events" | "prompts" | "updates" | "farmed" | "judged" |
 *   "behaviours" | "alerts" | "regimes" | "text"> & { runId: string | null, statusAt: number,
 *   outcome: Wire.Outcome | null, settings: Snapshot["live"], moments: Map<number, Wire.Moment>,
 *   connection: "none" | "connecting" | "open" | "lost" | "failed", problem: string }} Viewed
 */

/** @param {string | null} runId @returns {Viewed} */
function empty(runId) {
  return {
    runId, run: null, status: null, statusAt: 0, metrics: { update: [] }, events: [], prompts: [], updates: [],
    farmed: "", judged: null, behaviours: null, alerts: null, regimes: null, text: [], outcome: null, settings: {},
    moments: new Map(), connection: runId ? "connecting" : "none", problem: "",
  };
}

function connect() {
  const runId = live.runId;
  if (isRecording(runId)) return fetchRecorded(runId);
  if (document.hidden) return;
  const query = cursor ? `?since=${encodeURIComponent(cursor)}` : "";
  source = new EventSource(url(`live/${encodeURIComponent(runId)}${query}`));
  source.addEventListener("snapshot", (event) => receive(event, takeSnapshot));
  source.addEventListener("delta", (event) => receive(event, takeDelta));
  source.addEventListener("gone", () => fail("This run was deleted.", true));
  source.onerror = () => {
    source?.close();
    source = null;
    failures += 1; // not lost yet: a stream may end for many reasons, and the poll below tells
    timer = setTimeout(poll, failures > 1 ? backOff() : 200);
  };
}

/** Milliseconds to wait, longer each time, not the same for every page that lost the same server. */
function backOff() {
  const wait = Math.min(500 * 2 ** failures, 10000) * (0.75 + 0.5 * Math.random());
  nextTry = performance.now() + wait;
  return wait;
}

/** @template Data @param {MessageEvent<string>} event @param {(data: Data) => void} take */
function receive(event, take) {
  cursor = event.lastEventId;
  failures = 0;
  take(/** @type {Data} */ (JSON.parse(event.data)));
  live.connection = "open";
  rest();
}

async function poll() {
  if (document.hidden || !live.runId) return;
  const runId = live.runId;
  const mine = chain;
  try {
    const response = await fetch(url(`live/${encodeURIComponent(runId)}/poll?since=${encodeURIComponent(cursor)}`),
      { signal: AbortSignal.timeout(ANSWER_MS) });
    if (response.status === 429) failures += 3;
    const answer = /** @type {Wire.Poll & Wire.Error} */ (await response.json());
    if (chain !== mine) return;
    if (response.status === 404 || response.status === 409) return fail(answer.error, true);
    if (!response.ok) throw new Error("not now");
    cursor = answer.cursor;
    if (answer.snapshot) takeSnapshot(answer.snapshot);
    for (const delta of answer.deltas ?? []) takeDelta(delta);
    live.connection = "open";
    if (rest()) return;
    if (failures > 2) timer = setTimeout(poll, 1500); // streams do not get through here
    else connect();
  } catch {
    if (chain !== mine) return;
    failures += 1;
    timer = setTimeout(poll, backOff());
    live.connection = "lost";
  }
}

/** @param {string} runId */
async function fetchRecorded(runId) {
  try {
    const answer = /** @type {Wire.Poll} */ (await getJson(runPath(runId, "poll")));
    if (live.runId !== runId) return;
    live.connection = "open";
    player.value = new Player(answer.snapshot, takeSnapshot, takeDelta);
    player.value.play();
  } catch (error) {
    fail(error.message, true);
  }
}

/** True for an ended run that nobody has taken up again: it does not change any more. */
function resting() {
  return Boolean(live.status?.ended) && live.status.attempt >= awaited;
}

/** Let the connection of such a run go. */
function rest() {
  if (!resting()) return false;
  source?.close();
  source = null;
  return true;
}

function close() {
  chain += 1;
  source?.close();
  source = null;
  clearTimeout(timer);
  player.value?.stop();
  player.value = null;
}

/** @param {string} message @param {boolean} final */
function fail(message, final) {
  close();
  live.problem = message;
  live.connection = final ? "failed" : "lost";
}

/**
 * Where the run is now. What it had come to before it was taken up again is not what it comes to; and news that a busy
 * page reads late does not turn its time back.
 * @param {Page.Status} status
 */
function takeStatus(status) {
  if (!status.ended || status.attempt !== live.status?.attempt) live.outcome = null;
  const same = status.attempt === live.status?.attempt && ATWORK.includes(status.state)
    && ATWORK.includes(live.status.state);
  const counted = same ? live.status.elapsed + (performance.now() - live.statusAt) / 1000 : 0;
  const late = counted > status.elapsed && counted < status.elapsed + LATE_SECONDS;
  Object.assign(live, { status: late ? { ...status, elapsed: counted } : status, statusAt: performance.now() });
}

/** @param {Snapshot} data */
function takeSnapshot(data) {
  const { run, status, metrics, events, farmed = "", judged = null, behaviours = null, alerts = null, regimes = null,
    text = [], prompts, updates } = data;
  takeStatus(status);
  Object.assign(live, {
    run, metrics, events, farmed, judged, behaviours, alerts, regimes, text,
    prompts, updates,
    settings: { ...data.live }, moments: byUpdate(data.moments),
    snapshots: live.snapshots + 1,
  });
}

/** @param {Wire.Moment[]} moments */
function byUpdate(moments) {
  return new Map(moments.map((item) => [item.update, item]));
}

/** @param {Delta} data */
function takeDelta(data) {
  if (data.metrics) {
    appendColumns(live.metrics, data.metrics);
    live.metrics = { ...live.metrics };
    if (live.metrics.update.length > MAX_POINTS) cursor = "";
  }
  const { farmed, judged, behaviours, alerts, regimes, prompts, updates, text } = data;
  for (const [name, value] of Object.entries({ farmed, judged, behaviours, alerts, regimes, prompts, updates, text })) {
    if (value !== undefined && value !== null) Object.assign(live, { [name]: value });
  }
  if (data.run) live.run = { ...live.run, ...data.run }; // somebody has named it
  if (data.moments) live.moments = new Map([...live.moments, ...byUpdate(data.moments)]);
  if (data.events) {
    live.events = [...live.events, ...data.events];
    const edits = data.events.filter(({ kind, field }) => kind === "edit" && field in live.settings);
    live.settings = { ...live.settings, ...Object.fromEntries(edits.map(({ field, value }) => [field, value])) };
  }
  if (data.status) takeStatus(data.status);
  if (cursor === "" && source) {
    close();
    connect(); // too many points: take a thinned snapshot
  }
}

/**
 * Append columns; a repeated update replaces what came after it.
 * @param {Wire.Columns} columns @param {Wire.Columns} added
 */
export function appendColumns(columns, added) {
  const first = added.update[0];
  while (columns.update.length && columns.update.at(-1) >= first) for (const name in columns) columns[name].pop();
  for (const name in added) (columns[name] ??= []).push(...added[name]);
}

document.addEventListener("visibilitychange", () => {
  if (!live.runId || isRecording(live.runId)) return;
  if (document.hidden) close();
  else if (!live.status?.ended) retry();
});
