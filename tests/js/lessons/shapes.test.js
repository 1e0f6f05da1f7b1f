// The series of a lesson's curve: how it is called in a sentence and on its axis.

import assert from "node:assert/strict";
import test from "node:test";

import { seriesOf } from "../../../playground/ui/static/lessons/shapes.js";

test("a column has a name for a sentence and an axis with its unit", () => {
  assert.deepEqual(seriesOf("score_mean"),
    { name: "the score", axis: "score, in sd", colour: "--pg-score", floor: false, span: 2 });
  assert.deepEqual(seriesOf("kl_to_reference"),
    { name: "the distance", axis: "distance, in nats", colour: "--pg-kl", floor: true, span: 1 });
  assert.deepEqual(["policy_loss", "distinct_2"].map((column) => seriesOf(column).axis),
    ["policy loss", "share of different word pairs"]);
});
