// Asking the server again and again.

import assert from "node:assert/strict";
import test from "node:test";

const page = { hidden: false, listener: () => {}, addEventListener: (_, listener) => (page.listener = listener) };
globalThis.document = page;
const { poll } = await import("../../../playground/ui/static/core/poll.js");

/** One question whose answers the test gives: {asked, heard, now, turn}; time is the test's own. */
function question(context, more = {}) {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  context.mock.method(AbortSignal, "timeout", () => null); // it would keep the test waiting
  const [asked, heard] = [[], []];
  const now = poll({
    ask: () => new Promise((resolve, reject) => asked.push({ resolve, reject })),
    tell: (answer) => heard.push(answer), fail: (error) => heard.push(error.message), every: () => 8000, ...more,
  });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { asked, heard, now, settle, tick: (ms) => context.mock.timers.tick(ms) };
}

test("without an answer it asks sooner, then later and later, up to the usual time", async (context) => {
  const { asked, heard, now, settle, tick } = question(context);
  now();
  for (const wait of [2000, 4000, 8000, 8000]) {
    const count = asked.length;
    asked.at(-1).reject(new Error("away"));
    await settle();
    tick(wait - 1);
    assert.equal(asked.length, count);
    tick(1);
    assert.equal(asked.length, count + 1);
  }
  assert.deepEqual(heard, ["away", "away", "away", "away"]);
});

test("a late answer does not undo what a later one said", async (context) => {
  const { asked, heard, now, settle } = question(context);
  now();
  now();
  asked[1].resolve("later");
  await settle();
  asked[0].resolve("late");
  await settle();
  assert.deepEqual(heard, ["later"]);
});

test("a hidden page asks nothing, and at once when it is looked at again", async (context) => {
  const { asked, now, settle, tick } = question(context);
  now();
  asked[0].resolve("one");
  await settle();
  page.hidden = true;
  page.listener();
  tick(20000);
  assert.equal(asked.length, 1);
  page.hidden = false;
  page.listener();
  assert.equal(asked.length, 2);
});

test("it stops when nobody wants to know, or nothing will change", async (context) => {
  let [wanted, wait] = [true, 8000];
  const { asked, now, settle, tick } = question(context, { wanted: () => wanted, every: () => wait });
  now();
  wanted = false;
  asked[0].resolve("one");
  await settle();
  tick(20000);
  assert.equal(asked.length, 1);
  [wanted, wait] = [true, 0];
  now();
  asked[1].resolve("two");
  await settle();
  tick(20000);
  assert.equal(asked.length, 2);
});
