// Values that tell those who read them.

import assert from "node:assert/strict";
import test from "node:test";

import { alike, computed, effect, signal } from "../../../playground/ui/static/core/signals.js";

const soon = () => new Promise((resolve) => setTimeout(resolve, 0));

test("an effect runs at once, and once more however often its values are set", async () => {
  const [a, b, heard] = [signal(1), signal(2), []];
  effect(() => heard.push(a.value + b.value));
  a.value = 10;
  b.value = 20;
  assert.deepEqual(heard, [3]);
  await soon();
  assert.deepEqual(heard, [3, 30]);
});

test("what is the same tells nobody", async () => {
  const [same, list, heard] = [signal(1), signal([1], alike), []];
  effect(() => heard.push([same.value, list.value[0]]));
  same.value = 1;
  list.value = [1];
  await soon();
  assert.equal(heard.length, 1);
});

test("an effect hears only of what it has read in its last run", async () => {
  const [open, text, heard] = [signal(true), signal("a"), []];
  effect(() => heard.push(open.value ? text.value : "closed"));
  open.value = false;
  await soon();
  text.value = "b";
  await soon();
  assert.deepEqual(heard, ["a", "closed"]);
});

test("what follows from a value tells only when it is another one", async () => {
  const [count, heard] = [signal(1), []];
  const odd = computed(() => count.value % 2 === 1);
  effect(() => heard.push(odd.value));
  count.value = 3;
  await soon();
  count.value = 4;
  await soon();
  assert.deepEqual(heard, [true, false]);
});

test("a failing effect does not keep others from running", async () => {
  const a = signal(1);
  let failed = false;
  assert.throws(() => effect(() => {
    failed = true;
    throw new Error("drawing failed");
  }), /drawing failed/);
  const heard = [];
  effect(() => heard.push(a.value));
  a.value = 2;
  await soon();
  assert.deepEqual([failed, heard], [true, [1, 2]]);
});
