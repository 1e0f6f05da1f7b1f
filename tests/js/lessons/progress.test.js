// How far a lesson is: which step is open, what comes after it, and which lesson is next.

import assert from "node:assert/strict";
import test from "node:test";

import { comesBack, markOf, newAnswers, newestRun, nextLesson, nextStep, stepOf, stepsOf,
} from "../../../playground/ui/static/lessons/progress.js";

const lesson = { runs: [{}, {}], break_it: {} };
const told = (id) => ({ id, recorded: true, told: { said: [] } });

test("the steps are what the lesson has", () => {
  assert.deepEqual(stepsOf(lesson), ["predict", "run-0", "run-1", "explain", "break", "transfer", "end"]);
  assert.deepEqual(stepsOf({ runs: [{}], break_it: null }), ["predict", "run-0", "explain", "transfer", "end"]);
  assert.equal(nextStep(lesson, "run-1"), "explain");
  assert.equal(nextStep(lesson, "end"), "end");
});

test("the kept step is open, unless the lesson has no such step any more or a run before it is missing", () => {
  assert.equal(stepOf(lesson, newAnswers()), "predict");
  assert.equal(stepOf(lesson, { ...newAnswers(), at: "run-2" }), "predict");
  const answers = { ...newAnswers(), runs: [told("a"), told("b")] };
  assert.equal(stepOf(lesson, { ...answers, at: "transfer" }), "transfer");
  assert.equal(stepOf(lesson, { ...answers, at: "transfer", runs: [told("a")] }), "run-1");
  assert.equal(stepOf(lesson, { ...answers, at: "run-1", runs: [told("a"), { id: "b", recorded: false }] }), "run-1");
});

test("the newest run of a lesson belongs into view, a try to break it after its runs", () => {
  assert.equal(newestRun(newAnswers()), null);
  assert.equal(newestRun({ ...newAnswers(), runs: [told("a"), told("b")] }).id, "b");
  assert.equal(newestRun({ ...newAnswers(), runs: [told("a")], tries: [told("c")] }).id, "c");
});

test("what was begun comes next, else the first that was not done, else nothing", () => {
  const courses = [{ lessons: [{ name: "one" }, { name: "two" }] }, { lessons: [{ name: "three" }] }];
  const at = (step) => ({ ...newAnswers(), at: step, prediction: { choice: 1 } });
  assert.equal(nextLesson(courses, {}).name, "one");
  assert.equal(nextLesson(courses, { one: at("end") }).name, "two");
  assert.equal(nextLesson(courses, { three: at("run-0") }).name, "three");
  assert.equal(nextLesson(courses, { one: at("end"), two: at("end"), three: at("end") }), null);
  assert.equal(nextLesson(courses, {}, "two").name, "three");
  assert.equal(nextLesson(courses, {}, "three"), null);
  assert.deepEqual([undefined, newAnswers(), at("explain"), at("end")].map(markOf), ["", "", "begun", "done"]);
});

test("a question comes back a day after its lesson: one answered wrongly, else the oldest, once a day", () => {
  const transfer = { options: [{ right: true }, { right: false }] };
  const courses = [{ lessons: ["one", "two", "three"].map((name) => ({ name, transfer })) }];
  const now = Date.parse("2026-03-10T12:00:00Z");
  const done = (day, chosen, again) => ({ ...newAnswers(), at: "end", prediction: {}, transfer: chosen,
    done: `2026-03-${day}T12:00:00Z`, again });
  const due = (kept) => comesBack(courses, kept, now)?.name ?? null;
  assert.equal(due({ one: done("10", 1), two: { ...done("01", 1), at: "transfer" } }), null);
  assert.equal(due({ one: done("09", 0), two: done("08", 0) }), "two");
  assert.equal(due({ one: done("09", 0), two: done("08", 0), three: done("09", 1) }), "three");
  const right = { at: "2026-03-09T12:00:00Z", right: true };
  assert.equal(due({ one: done("05", 1, right), two: done("08", 0) }), "two");
  assert.equal(due({ one: done("05", 1, { ...right, right: false }), two: done("04", 0) }), "one");
  assert.equal(due({ one: done("05", 1, { ...right, right: null }) }), null);
  assert.equal(due({ one: done("05", 0, { at: "2026-03-10T01:00:00Z", right: true }), two: done("04", 1) }), null);
});
