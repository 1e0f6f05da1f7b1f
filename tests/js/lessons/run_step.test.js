// When the step of a run says that the machine is busy.

import assert from "node:assert/strict";
import test from "node:test";

globalThis.document = { addEventListener() {}, documentElement: { dataset: {} }, baseURI: "http://127.0.0.1:7860/" };
const { busyWords } = await import("../../../playground/ui/static/lessons/run_step.js");

test("a run that alone takes longer than its lesson says that the machine is busy, and how long; others do not", () => {
  assert.match(busyWords(7, { elapsed: 421, left: null }), /busy with other work.*7 min 01 s or more.*7 minutes/);
  assert.match(busyWords(7, { elapsed: 60, left: [1140, 3000] }), /20 min 00 s or more/);
  assert.equal(busyWords(7, { elapsed: 100, left: [300, 900] }), "");
  assert.equal(busyWords(7, { elapsed: 420, left: null }), "");
});
