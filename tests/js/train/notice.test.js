// What the page says about a run that ended, waits or does not answer.

import assert from "node:assert/strict";
import test from "node:test";

import { noticeOf } from "../../../playground/ui/static/train/notice.js";

const running = { ended: false, state: "running", before: null };
const facts = (more) => ({ run: { recorded: false }, status: running, lost: null, silent: null, stopping: null,
  offer: null, ...more });

test("a run that is well needs no notice", () => {
  assert.equal(noticeOf(facts({})), null);
  assert.equal(noticeOf(facts({ stopping: 9 })), null);
  assert.equal(noticeOf(facts({ status: { ended: true, state: "finished" } })), null);
});

test("the notice says what is wrong and offers the way out", () => {
  assert.deepEqual(noticeOf(facts({ lost: 3 })).actions, ["retry"]);
  assert.deepEqual(noticeOf(facts({ silent: 60 })).actions, ["end"]);
  assert.equal(noticeOf(facts({ stopping: 10 })).title, "Still stopping after 10 s");
  assert.equal(noticeOf(facts({ status: { ...running, before: 1 } })).title, "Waiting: 1 run before it");
});

test("an end says what happened once, what to do, and where the run would go on", () => {
  const status = { ended: true, state: "failed", attempt: 1, reason: "memory",
    message: "It ran out of memory. At update 3.",
    end: { title: "It ran out of memory", remedy: "Take a smaller batch." } };
  const notice = noticeOf(facts({ status, offer: { from: 2, skipped: ["Update 3 is damaged."] } }));
  assert.deepEqual(notice.lines, ["At update 3.", "Update 3 is damaged."]);
  assert.equal(notice.remedy, "What to do: take a smaller batch.");
  assert.deepEqual(notice.actions, ["resume", "again"]);
  const run = { recorded: false, watched: true }; // by another program
  assert.deepEqual(noticeOf(facts({ run, status, offer: { from: null, skipped: [] } })).actions, []);
});

test("a run that has finished early says why, and that it can go on", () => {
  const status = { ended: true, state: "finished", attempt: 1, reason: "early_stop", message: "Its KL was high.",
    end: { title: "Finished early", remedy: "Resume it." } };
  const notice = noticeOf(facts({ status, offer: { from: 2, skipped: [] } }));
  assert.deepEqual([notice.tone, notice.icon, notice.lines], ["quiet", "\u2713", ["Its KL was high."]]);
  assert.deepEqual(notice.actions, ["resume", "again"]);
});
