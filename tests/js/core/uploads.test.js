// What is said of a file that a person has chosen.

import assert from "node:assert/strict";
import test from "node:test";

/** @type {(event: object) => void} */
let change = () => {};
globalThis.document = { addEventListener: (_, listener) => (change = listener), baseURI: "http://a/" };
let answer = () => Promise.resolve(new globalThis.Response("[]"));
globalThis.fetch = () => answer();
const { sayOfUploads } = await import("../../../playground/ui/static/core/uploads.js");

const refusal = (status, body) => () => Promise.resolve(new globalThis.Response(body, { status }));
for (const [what, name, size, gone, ...said] of [
  ["one that is taken", "a.csv", 1, null, "Sending a.csv"],
  ["an ending in capitals", "A.CSV", 1, null, "Sending A.CSV"],
  ["another ending", "a.pdf", 1, null, "a.pdf must end in one of .csv, .gz.", "Save it as one of these."],
  ["too large a one", "a.csv", 3e6, null, "a.csv has 3 MB and at most 1 MB can be uploaded.",
    "Keep only the rows that are needed, or put it beside the playground and type its path."],
  ["one that the server refuses", "a.csv", 1, refusal(503, '{"error": "Try later."}'), "a.csv: Try later."],
  ["a proxy's page", "a.csv", 1, refusal(413, "<html>"), "a.csv: The playground answered with error 413."],
  ["a lost connection", "a.csv", 1, () => Promise.reject(new TypeError("network")),
    "a.csv: The page cannot reach the playground.", "Is it still running?"],
]) {
  test(`of ${what} it says what became of it`, async () => {
    const heard = [];
    const input = { type: "file", accept: ".csv, .gz", files: [{ name, size }], value: name, closest: () => input };
    const event = { target: input, stopImmediatePropagation: () => heard.push("stopped") };
    sayOfUploads("#part", 1e6, (sentence, isProblem) => heard.push([sentence, isProblem]));
    change(event);
    const stops = heard.includes("stopped");
    assert.equal(stops, heard.at(-1)[1]);
    if (gone) answer = gone;
    if (!stops) await globalThis.fetch("http://a/gradio_api/upload?upload_id=1").catch(() => {});
    const isProblem = said[0] !== `Sending ${name}`;
    assert.deepEqual(heard.at(-1), [[...(isProblem ? ["The file was not taken."] : []), ...said].join(" "), isProblem]);
    assert.equal(input.value, isProblem ? "" : name);
  });
}
