// What becomes of a change of a live setting, as the form's control says it: sent, in use, refused, or of others.

import assert from "node:assert/strict";
import test from "node:test";

globalThis.document = { addEventListener() {}, hidden: false, baseURI: "http://127.0.0.1:7860/" };
globalThis.requestAnimationFrame = (work) => {
  Promise.resolve().then(work);
  return 0;
};
const { live } = await import("../../../playground/ui/static/core/store.js");
const { rights } = await import("../../../playground/ui/static/core/access.js");
const { sentenceOf } = await import("../../../playground/ui/static/train/form_knob.js");
const { setSteering, steer, steered } = await import("../../../playground/ui/static/train/steering.js");

const asked = [];
let answer = {};
const drawn = () => new Promise((done) => setTimeout(done));

function showRun(changes = {}) {
  Object.assign(live, { runId: "one", run: { can_steer: true, adaptive: false }, status: { state: "running" },
    events: [], settings: { "kl.coef": 0.25 }, metrics: { update: [] }, snapshots: live.snapshots + 1, ...changes });
  rights.value = { steer: true };
  return drawn();
}

const told = (next = 0.25, wrong = false) => sentenceOf(steered("kl.coef"), next, wrong);

test("without a run that trains and may be steered there is nothing to steer", async (context) => {
  assert.equal(steered("kl.coef"), null);
  setSteering((run, changes) => {
    asked.push([run, changes]);
    return Promise.resolve(answer);
  });
  await showRun();
  assert.equal(steered("kl.coef").value, 0.25);
  assert.equal(steered("kl.target"), null);
  for (const status of [{ state: "running", ended: true }, { state: "queued" }, { state: "stopping" }]) {
    await showRun({ status });
    assert.equal(steered("kl.coef"), null, context.name);
  }
  await showRun();
  rights.value = { steer: false };
  await drawn();
  assert.equal(steered("kl.coef"), null);
});

test("several changes in a moment are sent as the last one, which is in use when the run says so", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  showRun();
  await Promise.resolve();
  answer = { edits: { "kl.coef": 0.1 } };
  for (const value of [0.2, 0.15, 0.1]) steer("kl.coef", value);
  assert.equal(told(), "Sending 0.1");
  context.mock.timers.tick(500);
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  assert.deepEqual(asked, [["one", { "kl.coef": 0.1 }]]);
  assert.equal(steered("kl.coef").value, 0.1);
  assert.equal(told(0.1), "0.1 from the next update");
  live.settings = { "kl.coef": 0.1 };
  live.events = [{ kind: "edit", field: "kl.coef", value: 0.1, update: 12 }];
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  assert.equal(told(0.1), "Set after update 12.");
  assert.equal(told(0.05), "Set after update 12. Next run: 0.05.");
  assert.equal(told(""), "Set after update 12. Next run: off.");
});

test("what was refused stays in sight with the reason, until it is mended or another run comes", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  showRun();
  await Promise.resolve();
  answer = { problems: [{ field: "kl.coef", message: "must be a number (got 'plenty')." }] };
  steer("kl.coef", "plenty");
  context.mock.timers.tick(500);
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  assert.equal(steered("kl.coef").value, "plenty");
  assert.equal(told("plenty"), "must be a number (got 'plenty'). The run keeps 0.25.");
  assert.equal(told("plenty", true), "The run keeps 0.25.");
  showRun({ runId: "two" });
  await Promise.resolve();
  assert.equal(steered("kl.coef").value, 0.25);
});

test("a run that cannot take a change says so, and an adaptive leash moves by itself", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  showRun({ runId: "three", run: { can_steer: true, adaptive: true }, metrics: { update: [1], kl_coef: [0.31234] } });
  await Promise.resolve();
  assert.deepEqual([steered("kl.coef").value, told()], [0.312, "Moves by itself."]);
  answer = { edits: { "kl.coef": 1 } };
  steer("kl.coef", 1);
  context.mock.timers.tick(500);
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  live.events = [{ kind: "warning", message: "Not now." }];
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  assert.equal(told(), "Not now. The run keeps 0.312.");
});
