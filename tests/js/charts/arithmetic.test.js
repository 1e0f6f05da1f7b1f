// The arithmetic behind the charts.

import assert from "node:assert/strict";
import test from "node:test";

import { binned, changesBefore, drawnIndices, fullRange, marksOf, newestOfEach, niceRange, niceStep, roundTicks,
  smooth, spreadLabels, whenChanged, widened,
} from "../../../playground/ui/static/charts/arithmetic.js";

function assertClose(found, wanted) {
  assert.equal(found.length, wanted.length);
  found.forEach((value, index) => assert.ok(Math.abs(value - wanted[index]) < 1e-9, `${found} is not ${wanted}`));
}

test("smoothing is debiased and skips gaps", () => {
  assertClose([...smooth(Float64Array.of(2, 2, 2), 0.9)], [2, 2, 2]);
  assertClose([...smooth(Float64Array.of(0, 1), 0.5)], [0, 2 / 3]);
  assert.deepEqual([...smooth(Float64Array.of(1, NaN, 1), 0.5)], [1, NaN, 1]);
});

test("a range that still fits is kept", () => {
  assert.deepEqual(niceRange([0.1, 0.9], [0, 1]), [0, 1]);
  const [low, high] = niceRange([0.1, 1.4], [0, 1]);
  assert.ok(low <= 0.1 && high >= 1.4);
  assert.deepEqual([0.3, 1, 2.2, 30].map((rough) => niceStep(rough)), [0.5, 1, 2.5, 50]);
});

test("ticks are round, within both ends, and about as many as asked for", () => {
  assert.deepEqual(roundTicks(0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(roundTicks(-1.3, 2.4, 6), [-1, 0, 1, 2]);
  assert.deepEqual(roundTicks(1, 150, 5), [50, 100, 150]);
  assert.deepEqual(roundTicks(0, 9, 4), [0, 5]); // of counts: never by two and a half
});

test("bins are round, hold every value of all lists, and one value makes one bin", () => {
  const { edges, counts } = binned([[0, 0.5, 1, 1], [-0.2]], 4);
  assert.deepEqual([edges, counts], [[-0.5, 0, 0.5, 1, 1.5], [[0, 1, 1, 2], [1, 0, 0, 0]]]);
  assert.deepEqual(binned([[2, 2, 2]], 4), { edges: [2, 2.25], counts: [[3]] });
  assert.deepEqual(binned([[3, 4, 9]], 14, true).edges, [3, 4, 5, 6, 7, 8, 9, 10]);
  assert.deepEqual(binned([[]], 4), { edges: [], counts: [[]] });
});

test("the horizontal axis has room for all updates, and for the time as far as it can be told", () => {
  assert.deepEqual(fullRange([1, 2], "update", 50), [0, 50.5]);
  assert.deepEqual(fullRange([1, 60], "update", 50), [0, 60.6]);
  assert.deepEqual(fullRange([5, 10], "seconds", 4), [0, 20]);
  assert.deepEqual(fullRange([], "seconds", 4), [0, 1]);
});

test("only as many points are drawn as can be seen, and peaks are kept", () => {
  const values = new Float64Array(2000);
  values[777] = 9;
  values[1333] = -9;
  const drawn = drawnIndices(values, 0, 2000, 300);
  assert.ok(drawn.length <= 302);
  assert.deepEqual(drawn, [...new Set(drawn)].sort((a, b) => a - b));
  for (const index of [0, 777, 1333, 1999]) assert.ok(drawn.includes(index), `${index} is not drawn`);
  assert.deepEqual(drawnIndices(new Float64Array(5), 1, 4, 300), [1, 2, 3]);
});

const EVENTS = [
  { kind: "edit", update: 9, message: "c" }, { kind: "edit", update: 4, message: "a" },
  { kind: "checkpoint", update: 5, message: "x" }, { kind: "edit", update: 4, message: "b" },
];

test("changes become numbered marks, one for each update", () => {
  assert.deepEqual(marksOf(EVENTS), [
    { number: 1, update: 4, messages: ["a", "b"] },
    { number: 2, update: 9, messages: ["c"] },
  ]);
  assert.deepEqual(changesBefore([3, 4, 5, 9], marksOf(EVENTS)), [[], [], ["a", "b"], []]);
  assert.deepEqual([whenChanged(0), whenChanged(12)], ["before update 1", "after update 12"]);
});

test("many events of one kind do not hide the few of another", () => {
  const saved = Array.from({ length: 100 }, (_, index) => ({ kind: "checkpoint", update: index + 1 }));
  const few = [{ kind: "warning", update: 1 }, { kind: "resumed", update: 2 }];
  const events = [...few, ...saved, { kind: "edit", update: 3 }];
  const found = newestOfEach(events, ["checkpoint", "warning", "resumed"], 60);
  assert.equal(found.length, 62);
  assert.deepEqual(found.filter(({ kind }) => kind !== "checkpoint"), few);
  assert.deepEqual(found.filter(({ kind }) => kind === "checkpoint").map(({ update }) => update),
    saved.slice(40).map(({ update }) => update));
});

test("labels at the ends of lines keep apart and inside", () => {
  assert.deepEqual(spreadLabels([50, 52, 10, 99], 15, 0, 100), [50, 65, 10, 99]);
  assert.deepEqual(spreadLabels([95, 96, 97], 15, 0, 100).sort((a, b) => a - b), [70, 85, 100]);
});

test("a range that is too narrow is widened on both sides, and above its floor where it has one", () => {
  assert.deepEqual(widened([4, 5], 3, false), [3, 6]);
  assert.deepEqual(widened([4, 5], 3, true), [4, 7]);
  assert.deepEqual(widened([0, 5], 3, false), [0, 5]);
});
