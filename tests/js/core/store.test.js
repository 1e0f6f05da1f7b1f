// How the run in view is kept: columns that grow, and updates that are told again after a resume.

import assert from "node:assert/strict";
import test from "node:test";

globalThis.document = { addEventListener() {}, hidden: false };
const { appendColumns } = await import("../../../playground/ui/static/core/store.js");

test("what is new is added, and a column that comes later begins then", () => {
  const columns = { update: [1], score: [0.1] };
  appendColumns(columns, { update: [2, 3], score: [0.2, 0.3] });
  assert.deepEqual(columns, { update: [1, 2, 3], score: [0.1, 0.2, 0.3] });
});

test("an update that is told again replaces what came after it", () => {
  const columns = { update: [1, 2, 3], score: [0.1, 0.2, 0.3] };
  appendColumns(columns, { update: [2], score: [0.9] });
  assert.deepEqual(columns, { update: [1, 2], score: [0.1, 0.9] });
});
