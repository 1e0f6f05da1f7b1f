import assert from "node:assert/strict";
import test from "node:test";

import { changes, MEASURES, rangeOf, shadeOf, inWords }
  from "../../../playground/ui/static/inside/measures.js";

const half = Math.log(0.5);
const quarter = Math.log(0.25);
const LOOK = {
  pieces: [" a", "b"],
  log_probs: [half, quarter], reference_log_probs: [quarter, half], kl: [0.3, 0], entropies: [1, 2],
  values: null, leash: [-0.2, 0.2], rewards: [-0.2, 1.2], advantages: null,
};
const of = (key) => MEASURES.find((measure) => measure.key === key);

test("a figure is read from the look, and what a look has not is nothing", () => {
  const [ratio, change] = [of("ratio"), of("change")].map((measure) => measure.of(LOOK));
  assert.ok(Math.abs(ratio[0] - Math.log(2)) < 1e-12 && Math.abs(ratio[1] + Math.log(2)) < 1e-12);
  assert.ok(Math.abs(change[0] - 0.25) < 1e-12 && Math.abs(change[1] + 0.25) < 1e-12);
  assert.equal(of("value").of(LOOK), null);
  assert.deepEqual(of("reward").of(LOOK), [-0.2, 1.2]);
});

test("a scale is as wide on both sides, and one for all looks", () => {
  assert.equal(rangeOf(of("reward"), [LOOK, { ...LOOK, rewards: [-3, null] }]), 3);
  assert.equal(rangeOf(of("value"), [LOOK]), 0);
  assert.deepEqual(shadeOf(-1.5, 3), { side: "below", percent: 50 });
  assert.deepEqual(shadeOf(9, 3), { side: "above", percent: 100 });
  assert.deepEqual([shadeOf(0, 3), shadeOf(null, 3), shadeOf(1, 0)].map(({ side }) => side), ["none", "none", "none"]);
});

test("figures are told with a sign where they can be below 0", () => {
  assert.deepEqual([inWords(0.5, "nats"), inWords(-0.5), inWords(0.5, "nats", true), inWords(-1e-9), inWords(null)],
    ["+0.50 nats", "\u22120.50", "0.50 nats", "0", "no figure"]);
});

test("what gained most stands first, what lost most last, and the drawn token is marked", () => {
  const rows = changes([["x", 0.5, 0.1], ["y", 0.1, 0.6], ["z", 0.2, 0.2]]);
  assert.deepEqual(rows.map(({ text, drawn }) => [text, drawn]), [["y", false], ["z", false], ["x", true]]);
  assert.ok(Math.abs(rows[0].change - 0.5) < 1e-12);
});
