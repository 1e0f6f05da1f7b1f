// The model that answers on pages without a server computes what transformers computes of the same files.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { stepsOf, weightsOf } from "../../../playground/ui/static/standalone/asking.js";
import { tokenizerOf } from "../../../playground/ui/static/standalone/tokenizer.js";

const FOLDER = new URL("../../../playground/pocket/models/pocket-2m/", import.meta.url);
const read = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"));
const { text, tokens, logits } = read("asking.json"); // tests/ui/test_standalone.py compares it with transformers

test("a text becomes the tokens of its tokenizer, and they the text", () => {
  const { encode, decode } = tokenizerOf(JSON.parse(readFileSync(new URL("tokenizer.json", FOLDER), "utf8")));
  assert.deepEqual(encode(text), tokens.slice(1));
  assert.equal(decode(tokens.slice(1)), text);
});

test("the logits after a text are those of transformers", () => {
  const file = readFileSync(new URL("model.safetensors", FOLDER));
  const step = stepsOf(weightsOf(file.buffer.slice(file.byteOffset, file.byteOffset + file.length)));
  const last = tokens.map(step).at(-1);
  logits.forEach((logit, token) => assert.ok(Math.abs(last[token] - logit) < 1e-3, `${token}: ${last[token]}`));
});
