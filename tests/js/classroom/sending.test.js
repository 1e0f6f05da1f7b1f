// An answer stays until the server has it, and only the newest one to a thing is sent.

import assert from "node:assert/strict";
import test from "node:test";

const kept = {};
globalThis.localStorage = { getItem: (key) => kept[key] ?? null, setItem: (key, text) => { kept[key] = text; } };
const { Sending } = await import("../../../playground/ui/static/classroom/sending.js");
const KEY = "playground-class-answers";
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** A phone whose network the test is: {sending, posts, waits, go}. */
function phone() {
  const [posts, waits] = [[], []];
  const sending = new Sending((answer) => new Promise((resolve) => posts.push({ answer, resolve })),
    (work, milliseconds) => waits.push({ work, milliseconds }));
  const go = async () => {
    waits.at(-1).work();
    await settle();
  };
  return { sending, posts, waits, go };
}

test.beforeEach(() => delete kept[KEY]);

test("an answer is kept in the browser until the server has it", async () => {
  const { sending, posts, go } = phone();
  sending.send({ step: 3, item: 1, value: { choice: 2 } });
  assert.deepEqual(JSON.parse(kept[KEY])["3:1"].value, { choice: 2 });
  assert.equal(sending.sent.value["3:1"].state, "waiting");
  await go();
  posts[0].resolve({ done: true, error: "" });
  await settle();
  assert.equal(sending.sent.value["3:1"].state, "kept");
  assert.equal(kept[KEY], "{}");
});

test("without a network it is sent again, later and later, and at once when the network is back", async () => {
  const { sending, posts, waits, go } = phone();
  sending.send({ step: 3, item: 1, value: 0 });
  for (const wait of [1000, 2000, 4000, 8000, 15000, 15000]) {
    await go();
    posts.at(-1).resolve({ done: false });
    await settle();
    const { milliseconds } = waits.at(-1);
    assert.ok(milliseconds >= wait * 0.75 && milliseconds <= wait * 1.25, `${milliseconds} for ${wait}`);
  }
  sending.now();
  assert.equal(waits.at(-1).milliseconds, 0);
  await go();
  posts.at(-1).resolve({ done: true, error: "" });
  await settle();
  assert.equal(sending.sent.value["3:1"].state, "kept");
  assert.equal(sending.failures.value, 0);
});

test("what is changed while it is on its way is sent once more, as it is then", async () => {
  const { sending, posts, go } = phone();
  sending.send({ step: 3, item: 1, value: "a" });
  await go();
  sending.send({ step: 3, item: 1, value: "b" });
  sending.send({ step: 3, item: 1, value: "c" });
  posts[0].resolve({ done: true, error: "" });
  await settle();
  assert.deepEqual(posts.map(({ answer }) => answer.value), ["a", "c"]);
  posts[1].resolve({ done: true, error: "" });
  await settle();
  assert.deepEqual(sending.sent.value["3:1"], { state: "kept", value: "c", error: "" });
});

test("what the server refuses is not sent again, and says why", async () => {
  const { sending, posts, go } = phone();
  sending.send({ step: 3, item: 1, value: 0 });
  sending.send({ step: 3, item: 2, value: 1 });
  await go();
  posts[0].resolve({ done: true, error: "This is closed." });
  await settle();
  posts[1].resolve({ done: true, error: "" });
  await settle();
  assert.deepEqual(sending.sent.value["3:1"], { state: "refused", value: 0, error: "This is closed." });
  assert.equal(sending.sent.value["3:2"].state, "kept");
  assert.equal(posts.length, 2);
});

test("a page that is loaded anew sends what the last one could not", async () => {
  phone().sending.send({ step: 3, item: 1, value: { choice: 2 } });
  const { sending, posts, go } = phone();
  assert.deepEqual(sending.sent.value["3:1"].value, { choice: 2 });
  await go();
  assert.deepEqual(posts[0].answer, { step: 3, item: 1, value: { choice: 2 } });
});
