// A recorded run is played through the same snapshot and deltas as a live one.

import assert from "node:assert/strict";
import test from "node:test";

import { play } from "../../../playground/ui/static/core/player.js";

const RECORDED = {
  status: { state: "finished", outcome: "It learned.", ended: true },
  metrics: { update: [1, 2], seconds: [3, 6], score: [0.1, 0.2] }, events: [{ kind: "edit", update: 0 }],
  moments: [{ update: 0 }, { update: 2 }], updates: [0, 2], farmed: "", judged: null,
};

function player(context, reduced) {
  globalThis.document = { hidden: false };
  globalThis.matchMedia = () => ({ matches: reduced });
  context.mock.timers.enable({ apis: ["setInterval"] });
  const [snapshots, deltas] = [[], []];
  const stop = play(RECORDED, (data) => snapshots.push(data), (data) => deltas.push(data));
  return { snapshots, deltas, stop, tick: () => context.mock.timers.tick(10000) };
}

test("it is played from the untrained model to the end, update by update", (context) => {
  const { snapshots, deltas, tick } = player(context, false);
  assert.deepEqual([snapshots[0].metrics.score, snapshots[0].moments, snapshots[0].status.ended],
    [[], [{ update: 0 }], false]);
  for (let times = 0; times < 4; times += 1) tick();
  assert.deepEqual(deltas.map(({ metrics }) => metrics.score), [[0.1], [0.2]]);
  assert.deepEqual(deltas.map(({ status }) => [status.ended, status.outcome]), [[false, ""], [true, "It learned."]]);
  assert.deepEqual([deltas[0].events.length, deltas[1].updates], [1, [0, 2]]);
});

test("with reduced motion it shows the end at once, and a stopped one stays where it is", (context) => {
  const { snapshots, deltas, tick } = player(context, true);
  tick();
  assert.deepEqual([snapshots[0].metrics, snapshots[0].status.ended, deltas], [RECORDED.metrics, true, []]);
});
