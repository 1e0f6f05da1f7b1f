// Which counts stand beside each other.

import assert from "node:assert/strict";
import test from "node:test";

import { seriesIn } from "../../../playground/ui/static/classroom/tally.js";

const round = (more) => ({ answered: 0, counts: [], numbers: [], shapes: {}, hands: [], ...more });

test("two rounds and their hands stand beside each other, each with its own total", () => {
  const found = seriesIn({ kind: "choice" }, [round({ answered: 3, counts: [2, 1] }),
    round({ answered: 3, counts: [1, 2], hands: [4, 5] })]);
  assert.deepEqual(found, [
    { name: "First round", kind: "before", total: 3, counts: [2, 1] },
    { name: "Second round", kind: "now", total: 3, counts: [1, 2] },
    { name: "Second round, hands", kind: "now hands", total: 9, counts: [4, 5] },
  ]);
});

test("where all raised their hands, no empty row of phones stands beside them", () => {
  const found = seriesIn({ kind: "choice" }, [round({ counts: [0, 0], hands: [4, 5] })]);
  assert.deepEqual(found.map(({ name }) => name), ["The class, hands"]);
});

test("shapes are counted, in the order of the question", () => {
  const [{ counts }] = seriesIn({ kind: "curve", shapes: ["rises", "falls", "stays"] },
    [round({ answered: 3, shapes: { stays: 2, rises: 1 } })]);
  assert.deepEqual(counts, [1, 0, 2]);
});
