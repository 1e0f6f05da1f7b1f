// A recorded run is played through the same snapshot and deltas as a live one, and shown as it was at any update.

import assert from "node:assert/strict";
import test from "node:test";

import { Player } from "../../../playground/ui/static/core/player.js";

const RECORDED = {
  status: { state: "finished", outcome: "It learned.", ended: true },
  metrics: { update: [1, 2], seconds: [3, 6], score: [0.1, 0.2] },
  events: [{ kind: "edit", update: 0 }, { kind: "checkpoint", update: 2 }],
  moments: [{ update: 0 }, { update: 2 }], updates: [0, 2], farmed: "", judged: "more", alerts: ["calm"],
};

function played(context, reduced) {
  globalThis.document = { hidden: false };
  globalThis.matchMedia = () => ({ matches: reduced });
  context.mock.timers.enable({ apis: ["setInterval"] });
  const [snapshots, deltas] = [[], []];
  const player = new Player(RECORDED, (data) => snapshots.push(data), (data) => deltas.push(data));
  player.play();
  return { player, snapshots, deltas, tick: () => context.mock.timers.tick(10000) };
}

test("it is played from the untrained model to the end, update by update", (context) => {
  const { player, snapshots, deltas, tick } = played(context, false);
  assert.deepEqual([snapshots[0].metrics.score, snapshots[0].moments, snapshots[0].status.ended, snapshots[0].events],
    [[], [{ update: 0 }], false, []]);
  assert.equal(player.playing.value, true);
  for (let times = 0; times < 4; times += 1) tick();
  assert.deepEqual(deltas.map(({ metrics }) => metrics.score), [[0.1], [0.2]]);
  assert.deepEqual(deltas.map(({ status }) => [status.ended, status.outcome]), [[false, ""], [true, "It learned."]]);
  assert.deepEqual([deltas[0].events.length, deltas[1].updates, deltas[1].judged], [1, [0, 2], "more"]);
  assert.deepEqual([player.at.value, player.playing.value], [2, false]);
});

test("with reduced motion it shows the end at once, and a stopped one stays where it is", (context) => {
  const { player, snapshots, deltas, tick } = played(context, true);
  tick();
  assert.deepEqual([snapshots[0].metrics, snapshots[0].status.ended, deltas], [RECORDED.metrics, true, []]);
  assert.deepEqual([snapshots[0].events, player.playing.value], [RECORDED.events, false]);
});

test("it shows the run as it was after an update, without what its end tells, and plays on from there", (context) => {
  const { player, snapshots, deltas, tick } = played(context, false);
  tick();
  player.seek(1);
  tick();
  assert.deepEqual([player.at.value, player.playing.value, deltas.length], [1, false, 1]);
  const { metrics, moments, events, judged, alerts, status } = snapshots.at(-1);
  assert.deepEqual([metrics.score, moments, events], [[0.1], [{ update: 0 }], [RECORDED.events[0]]]);
  assert.deepEqual([judged, alerts, status.update, status.elapsed, status.outcome], [null, null, 1, 3, ""]);
  player.play();
  tick();
  assert.deepEqual([deltas.length, deltas[1].metrics.score, player.at.value], [2, [0.2], 2]);
  player.play();
  assert.deepEqual([player.at.value, snapshots.at(-1).metrics.score], [0, []], "played again, it begins anew");
});
