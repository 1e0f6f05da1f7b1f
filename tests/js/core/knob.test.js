// The arithmetic of a slider, and what is read from and written into its field.

import assert from "node:assert/strict";
import test from "node:test";

import { makeScale, read, write, zoneOf, ZONES } from "../../../playground/ui/static/core/knob.js";

test("a logarithmic knob reaches exactly zero and its ends", () => {
  const scale = makeScale({ slider: [0, 5, 0], log: true });
  assert.deepEqual([scale.toValue(0), scale.toValue(scale.steps)], [0, 5]);
  for (const value of [0, 0.05, 0.1, 0.3, 1, 5]) {
    const back = scale.toValue(Math.round(scale.toStep(value)));
    assert.ok(Math.abs(back - value) <= 0.03 * value, `${value} came back as ${back}`);
  }
});

test("what is typed is read as number, nothing or text", () => {
  assert.deepEqual(["3e-4", "0,5", "", "off", "abc", " 7 "].map(read), [0.0003, 0.5, "", "", "abc", 7]);
  assert.deepEqual([0.0003, 40, 0, "", 0.25].map(write), ["3e-4", "40", "0", "", "0.25"]);
});

test("a beta goes far, holds or barely moves, and where nothing goes far it holds down to 0", () => {
  const nameOf = (value, regimes) => ZONES[zoneOf(value, regimes)];
  const both = { loose: 0.15, tight: 4 };
  assert.deepEqual([0, 0.1, 0.15, 1, 4, 5].map((value) => nameOf(value, both)),
    ["goes far", "goes far", "holds", "holds", "holds", "barely moves"]);
  assert.equal(nameOf(0, { loose: null, tight: 4 }), "holds");
  assert.equal(nameOf(5, { loose: null, tight: null }), "holds");
});
