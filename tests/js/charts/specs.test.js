// What the charts say they draw.

import assert from "node:assert/strict";
import test from "node:test";

import { LINE_CHARTS } from "../../../playground/ui/static/charts/line_specs.js";
import { CHARTS, MORE_CHARTS } from "../../../playground/ui/static/charts/specs.js";

test("every chart says what it is, in a unit, before there is a run", () => {
  for (const spec of [...CHARTS, ...MORE_CHARTS, ...LINE_CHARTS]) {
    assert.ok(spec.title && spec.gloss && spec.span > 0, spec.key);
    assert.equal(typeof spec.unit(null), "string", spec.key);
    assert.equal(typeof spec.note(null), "string", spec.key);
  }
  const keys = [...CHARTS, ...MORE_CHARTS, ...LINE_CHARTS].map(({ key }) => key);
  assert.equal(new Set(keys).size, keys.length);
});

test("a mean outside its own band and a distance below 0 are told in words, and nothing else is", () => {
  const [score, kl] = ["score", "kl"].map((key) => CHARTS.find((spec) => spec.key === key).remark);
  assert.match(score(0.8, 1, 1), /low texts lower the mean/);
  assert.match(score(0.8, -1, 0.7), /high texts lift the mean/);
  assert.equal(score(1.001, 1, 1), ""); // told as the same number
  assert.equal(score(NaN, NaN, NaN), "");
  assert.match(kl(-0.02), /below 0 by chance/);
  assert.deepEqual([kl(-0.001), kl(0.3), kl(NaN)], ["", "", ""]);
});

const [answers, , farmed, judged] = LINE_CHARTS;

test("where the gain comes from has a line for each reward that was measured, and they add up", () => {
  const run = { terms: [{ name: "a", label: "A" }, { name: "b", label: "B" }, { name: "c", label: "C" }] };
  const metrics = { update: [1, 2], "contributions.a": [1, 2], "contributions.b": [0.5, null],
    "contributions.c": [null, null] };
  const lines = farmed.lines({ run, metrics }, "update", 0);
  assert.deepEqual(lines.map(({ label, raw }) => [label, [...raw]]), [["A", [1, 2]], ["B", [0.5, NaN]]]);
  assert.equal(farmed.total([2, NaN]), 2);
  assert.deepEqual(farmed.lines({ run: { terms: run.terms.slice(0, 1) }, metrics }, "update", 0), []);
});

test("the gap is to the lowest judge in the unit of the score", () => {
  const line = (label, mean, comparable = true) => ({ label, mean, comparable, half: [0.1, 0.1] });
  const data = { updates: [0, 5], lines: [line("score", [0, 2]), line("low", [0, 1]),
    line("other unit", [0, -9], false)] };
  const lines = judged.lines({ judged: data, metrics: { update: [1, 5] } }, "update");
  assert.deepEqual(lines.map(({ low }) => [...low]), [[-0.1, 1.9], [-0.1, 0.9], [-0.1, -9.1]]);
  const { low, high } = judged.gap(lines);
  assert.deepEqual([[...low], [...high]], [[0, 1], [0, 2]]);
  assert.equal(judged.total([2, 1, -9], lines), 1);
  assert.ok(Number.isNaN(judged.total([2, NaN, -9], lines)));
});

test("of checked answers a line is drawn for each figure that was measured", () => {
  const metrics = { update: [1, 2], answers_right: [0.5, 1], answers_in_form: [null, null] };
  const lines = answers.lines({ metrics }, "update", 0);
  assert.deepEqual(lines.map(({ label, raw }) => [label, ...raw]), [["right", 0.5, 1]]);
  assert.deepEqual(answers.lines({ metrics: { update: [1, 2] } }, "update", 0), []);
});
