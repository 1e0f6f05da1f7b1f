// How the run in view is kept: columns that grow, updates that are told again after a resume, and where a connection
// that broke goes on.

import assert from "node:assert/strict";
import test from "node:test";

const sources = [];
globalThis.document = { addEventListener() {}, hidden: false, baseURI: "http://127.0.0.1:7860/" };
globalThis.EventSource = class {
  constructor(address) {
    this.address = address;
    this.heard = {};
    sources.push(this);
  }

  addEventListener(name, heard) {
    this.heard[name] = heard;
  }

  say(name, cursor, data) {
    this.heard[name]({ lastEventId: cursor, data: JSON.stringify(data) });
  }

  close() {}
};
const { appendColumns, clock, fetchOutcome, hasEnded, live, numUpdates, open } =
  await import("../../../playground/ui/static/core/store.js");

const STATUS = { state: "running", ended: false, attempt: 1, update: 1, num_updates: 40 };
const SNAPSHOT = {
  run: { id: "one" }, status: STATUS, metrics: { update: [1], score: [0.5] }, events: [], moments: [], prompts: [],
  updates: [], live: { "kl.coef": 0.3 },
};

test("an update that is told again replaces what came after it", () => {
  const columns = { update: [1, 2, 3], score: [0.1, 0.2, 0.3] };
  appendColumns(columns, { update: [2], score: [0.9] });
  assert.deepEqual(columns, { update: [1, 2], score: [0.1, 0.9] });
});

test("the time counts on while a run works, and stands still in a pause", () => {
  let now = 1000;
  globalThis.performance.now = () => now;
  open("one");
  const source = sources.at(-1);
  const told = { ...STATUS, elapsed: 30, left: [20, 40] };
  source.say("snapshot", "b.1", { ...SNAPSHOT, status: told });
  now += 25000;
  assert.deepEqual([clock().elapsed, clock().left], [55, [0, 15]]);
  source.say("delta", "b.2", { status: { ...told, state: "paused", left: null } });
  now += 60000;
  assert.deepEqual([clock().elapsed, clock().left], [30, null]);
  delete globalThis.performance.now;
});

test("news that is read late does not turn the time of a run back", () => {
  let now = 1000;
  globalThis.performance.now = () => now;
  open("one");
  const source = sources.at(-1);
  source.say("snapshot", "b.1", { ...SNAPSHOT, status: { ...STATUS, state: "starting", elapsed: 0 } });
  now += 4000; // a busy page: both were sent long before it could hear them
  source.say("delta", "b.2", { status: { ...STATUS, elapsed: 1 } });
  assert.equal(clock().elapsed, 4);
  source.say("delta", "b.3", { status: { ...STATUS, elapsed: 7 } });
  assert.equal(clock().elapsed, 7);
  now += 60000;
  source.say("delta", "b.4", { status: { ...STATUS, elapsed: 9 } }); // not late: it says otherwise
  assert.equal(clock().elapsed, 9);
  source.say("delta", "b.5", { status: { ...STATUS, state: "finished", ended: true, elapsed: 8 } });
  assert.equal(clock().elapsed, 8);
  delete globalThis.performance.now;
});

test("a snapshot is all there is, and a change adds to it", () => {
  open("one");
  const source = sources.at(-1);
  assert.equal(source.address, "http://127.0.0.1:7860/live/one");
  source.say("snapshot", "a.1", SNAPSHOT);
  assert.deepEqual([live.connection, numUpdates.value, hasEnded.value], ["open", 40, false]);
  source.say("delta", "a.2", {
    metrics: { update: [2], score: [0.6] }, events: [{ kind: "edit", field: "kl.coef", value: 0.5 }],
    moments: [{ update: 2, rows: [] }], updates: [2],
  });
  assert.deepEqual(live.metrics, { update: [1, 2], score: [0.5, 0.6] });
  assert.deepEqual([live.settings, live.updates, [...live.moments.keys()]], [{ "kl.coef": 0.5 }, [2], [2]]);
});

test("a connection that broke goes on after the last news, and a stream is tried again", async (context) => {
  open("one");
  sources.at(-1).say("snapshot", "a.7", SNAPSHOT);
  context.mock.timers.enable({ apis: ["setTimeout"] });
  context.mock.method(AbortSignal, "timeout", () => null);
  const asked = [];
  context.mock.method(globalThis, "fetch", async (address) => {
    asked.push(address);
    return { ok: true, status: 200, json: async () =>
      ({ cursor: "a.8", deltas: [{ status: { ...STATUS, update: 9 } }] }) };
  });
  const broken = sources.length;
  sources.at(-1).onerror();
  context.mock.timers.tick(200);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(asked, ["http://127.0.0.1:7860/live/one/poll?since=a.7"]);
  assert.equal(live.status.update, 9);
  assert.deepEqual([sources.length, sources.at(-1).address], [broken + 1, "http://127.0.0.1:7860/live/one?since=a.8"]);
});

test("an ended run is let go", () => {
  open("one");
  let closed = false;
  sources.at(-1).close = () => (closed = true);
  sources.at(-1).say("snapshot", "a.1", { ...SNAPSHOT, status: { ...STATUS, state: "finished", ended: true } });
  assert.deepEqual([closed, hasEnded.value], [true, true]);
});

test("what an ended run came to is forgotten when it goes on, also by an answer that comes late", async (context) => {
  open("one");
  const source = sources.at(-1);
  const stopped = { ...STATUS, state: "stopped", ended: true, update: 20 };
  source.say("snapshot", "a.1", { ...SNAPSHOT, status: stopped });
  let answer;
  context.mock.method(globalThis, "fetch", () => new Promise((resolve) => {
    answer = (sentence) => resolve({ ok: true, status: 200, json: async () => ({ sentence }) });
  }));
  let fetching = fetchOutcome();
  answer("960 episodes");
  await fetching;
  assert.deepEqual(live.outcome, { sentence: "960 episodes" });
  source.say("snapshot", "a.2", { ...SNAPSHOT, status: stopped }); // the same end, told again
  assert.deepEqual(live.outcome, { sentence: "960 episodes" });
  fetching = fetchOutcome();
  source.say("delta", "a.3", { status: { ...stopped, ended: false, state: "running", attempt: 2 } });
  assert.equal(live.outcome, null);
  answer("960 episodes");
  await fetching;
  assert.equal(live.outcome, null);
  source.say("delta", "a.4", { status: { ...stopped, attempt: 2, update: 40 } });
  fetching = fetchOutcome();
  answer("1,920 episodes");
  await fetching;
  assert.deepEqual(live.outcome, { sentence: "1,920 episodes" });
  source.say("snapshot", "a.5", { ...SNAPSHOT, status: { ...stopped, attempt: 3 } }); // a page that slept through it
  assert.equal(live.outcome, null);
});
