// Predicted curves: a named shape is drawn as what it says, a drawing is told by what it does, and a run's curve begins
// where the drawing does.

import assert from "node:assert/strict";
import test from "node:test";

import { bandOf, COLUMNS, drawingOf, scaled, seriesOf, shapeAmong, shapeOf,
} from "../../../playground/ui/static/lessons/shapes.js";

const SHAPES = ["rises", "falls", "stays", "rises, then falls", "rises, then stays"];
const drawn = (place) => Array.from({ length: COLUMNS + 1 }, (_, column) => place(column / COLUMNS));

test("each named shape begins at the dot and is told as itself", () => {
  for (const shape of SHAPES) {
    const drawing = drawingOf(shape);
    assert.equal(drawing.length, COLUMNS + 1);
    assert.equal(drawing[0], 0);
    assert.ok(drawing.every((place) => Math.abs(place) <= 1));
    assert.equal(shapeOf(drawing), shape);
  }
});

test("a drawing by hand is told by where it goes, not by its small waves", () => {
  const wave = (at) => 0.04 * Math.sin(40 * at);
  assert.equal(shapeOf(drawn((at) => 0.6 * at + wave(at))), "rises");
  assert.equal(shapeOf(drawn((at) => -0.6 * at + wave(at))), "falls");
  assert.equal(shapeOf(drawn(wave)), "stays");
  assert.equal(shapeOf(drawn((at) => 2.4 * at * (1 - at) + wave(at))), "rises, then falls");
  assert.equal(shapeOf(drawn((at) => Math.min(4 * at, 0.7) + wave(at))), "rises, then stays");
  assert.equal(shapeOf(drawn((at) => -2.4 * at * (1 - at))), "falls, then rises");
});

test("of a lesson's own shapes, a drawing has the one that it begins as, or comes nearest to", () => {
  assert.equal(shapeAmong(drawingOf("rises, then stays"), ["rises", "falls", "stays"]), "rises");
  assert.equal(shapeAmong(drawingOf("falls, then rises"), ["rises", "stays", "rises, then falls"]), "stays");
  assert.equal(shapeAmong(drawingOf("rises, then falls"), ["rises", "rises, then falls"]), "rises, then falls");
});

test("a run's curve begins at the dot, its farthest point lies at 0.85, and its numbers can be read there", () => {
  const { points, valueAt, placeOf, updates } = scaled([[1, 2], [11, 6], [21, 0]], "rises, then falls");
  assert.deepEqual(points, [[0, 0], [0.5, 0.85], [1, -0.425]]);
  assert.equal(valueAt(0.85), 6);
  assert.equal(placeOf(0), -0.425);
  assert.deepEqual(updates, [1, 21]);
});

test("the noise of a curve that stays is not blown up to a change", () => {
  const { points } = scaled([[1, 5], [2, 5.1], [3, 4.95]], "stays");
  assert.ok(points.every(([, place]) => Math.abs(place) < 0.1));
});

test("a column has a name for a sentence and an axis with its unit; only the distance cannot fall", () => {
  assert.deepEqual(seriesOf("score_mean"),
    { name: "the score", axis: "score, in sd", colour: "--pg-score", floor: false });
  assert.deepEqual(seriesOf("kl_to_reference"),
    { name: "the distance", axis: "distance, in nats", colour: "--pg-kl", floor: true });
  assert.deepEqual(["policy_loss", "distinct_2"].map((column) => seriesOf(column).axis),
    ["policy loss", "share of different word pairs"]);
});

test("the band of many drawings leaves out the lowest and the highest tenth", () => {
  const flat = (place) => drawn(() => place);
  const { low, middle, high } = bandOf(Array.from({ length: 11 }, (_, index) => flat(index / 10)));
  assert.deepEqual([low[0], middle[20], high[COLUMNS]], [0.1, 0.5, 0.9]);
  const alone = bandOf([[0, 0.5, 1]]); // of fewer points
  assert.deepEqual([alone.low[0], alone.middle[20], alone.high[COLUMNS]], [0, 0.5, 1]);
});
