import assert from "node:assert/strict";
import { test } from "node:test";
import { formulaOf } from "../../../playground/ui/static/lessons/formula.js";

/** As much of an element as a formula needs. */
class Node {
  constructor(space, name) {
    Object.assign(this, { space, name, attributes: {}, parts: [] });
  }

  setAttribute(key, value) {
    this.attributes[key] = value;
  }

  append(...parts) {
    this.parts.push(...parts.filter((part) => part !== ""));
  }
}

test("no formula brings markup: other elements and attributes are left out, and texts stay texts", (context) => {
  globalThis.document = { createElementNS: (space, name) => new Node(space, name) };
  context.after(() => delete globalThis.document);
  const text = "<img src=x onerror=taken()>";
  const attributes = { onclick: "taken()", href: "javascript:taken()", display: "block" };
  const drawn = formulaOf({ name: "math", attributes,
    parts: [{ name: "script", parts: ["taken()"] }, { name: "annotation-xml", parts: ["x"] },
      { name: "mi", attributes: { style: "color: red", href: "#" }, parts: [text] },
      { name: "semantics", parts: [{ name: "mi", parts: ["y"] }] }] });
  assert.deepEqual([drawn.space, drawn.name, drawn.attributes],
    ["http://www.w3.org/1998/Math/MathML", "math", { display: "block" }]);
  assert.deepEqual(drawn.parts.map((part) => [part.name, part.attributes, part.parts]), [["mi", {}, [text]]]);
  assert.equal(formulaOf({ name: "script", parts: ["taken()"] }), "");
});
