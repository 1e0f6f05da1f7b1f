// The models of the leash, asked in the browser: pages without a server have their files. A model of this kind (Llama,
// 2 million weights in half precision) writes an answer in some tenths of a second.

import { tokenizerOf } from "./tokenizer.js";

const TOKENS = 32; // at most, in an answer
const SHAPE = { width: 192, layers: 4, heads: 6, theta: 10_000, epsilon: 1e-6, longest: 128 };
const BEGIN = 1; // of a text, as a token; and its end
const END = 2;
const MISSING = "The model could not be loaded. Reload the page.";

/** @typedef {Float32Array<ArrayBuffer>} Vector @typedef {Record<string, Vector>} Weights by name */

/** @type {Map<string, Promise<unknown>>} */
const files = new Map();

/**
 * One answer each of the model before training and of that of a leash, as the server's function of this name gives it.
 * @param {{ beta: number, prompt: string, seed: number }} asked @returns {Promise<Wire.PolicyAnswer>}
 */
export async function askPolicy({ beta, prompt, seed }) {
  if (!prompt.trim()) return { error: "Type the beginning of a review first.", before: "", now: "" };
  try {
    const [tokenizer, before, now] = await Promise.all([once("tokenizer.json", tokenizerFrom),
      once("before.safetensors", weightsFrom), once(`leash-${beta}.safetensors`, weightsFrom)]);
    const tokens = [BEGIN, ...tokenizer.encode(prompt.trim())];
    if (tokens.length > SHAPE.longest - TOKENS) return { error: "Shorten the beginning.", before: "", now: "" };
    const write = (/** @type {Weights} */ weights) => tokenizer.decode(completion(weights, tokens, randomOf(seed)));
    return { error: "", before: write(before), now: write(now) };
  } catch {
    files.clear();
    return { error: MISSING, before: "", now: "" };
  }
}

/** @template T @param {string} name @param {(response: Response) => Promise<T>} read @returns {Promise<T>} */
function once(name, read) {
  if (!files.has(name)) files.set(name, fetchFile(name).then(read));
  return /** @type {Promise<T>} */ (files.get(name));
}

/** @param {string} name */
async function fetchFile(name) {
  const response = await fetch(new URL(`../models/${name}`, import.meta.url));
  if (!response.ok) throw new Error(MISSING);
  return response;
}

/** @param {Response} response */
async function tokenizerFrom(response) {
  return tokenizerOf(await response.json());
}

/** @param {Response} response */
async function weightsFrom(response) {
  return weightsOf(await response.arrayBuffer());
}

/** What a file of the format safetensors holds, in half precision. @param {ArrayBuffer} file @returns {Weights} */
export function weightsOf(file) {
  const length = Number(new DataView(file).getBigUint64(0, true));
  const begin = 8 + length;
  const tensors = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 8, length)));
  delete tensors.__metadata__;
  return Object.fromEntries(Object.entries(tensors).map(([name, { data_offsets: [from, to] }]) =>
    [name, Float32Array.from(new Uint16Array(file.slice(begin + from, begin + to)), singleOf)]));
}

/** A number of 16 bits (IEEE 754, half precision). @param {number} half */
function singleOf(half) {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  return exponent ? sign * 2 ** (exponent - 25) * (1024 + fraction) : sign * fraction * 2 ** -24;
}

/** @param {Weights} weights @param {number[]} prompt @param {() => number} random @returns {number[]} */
function completion(weights, prompt, random) {
  const step = stepsOf(weights);
  let logits = new Float32Array(0);
  for (const token of prompt) logits = step(token);
  const written = [];
  while (written.length < TOKENS) {
    const token = drawn(logits, random());
    if (token === END) break;
    written.push(token);
    logits = step(token);
  }
  return written;
}

/** @param {Vector} logits @param {number} share from 0 to 1 */
function drawn(logits, share) {
  const most = Math.max(...logits);
  const odds = Array.from(logits, (logit) => Math.exp(logit - most));
  let left = share * odds.reduce((sum, odd) => sum + odd, 0);
  const token = odds.findIndex((odd) => (left -= odd) < 0);
  return token < 0 ? END : token;
}

/** Numbers from 0 to 1 (mulberry32). @param {number} seed */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * What reads a text token by token: from each, the logits of the next.
 * @param {Weights} weights @returns {(token: number) => Vector}
 */
export function stepsOf(weights) {
  const { width, layers, epsilon } = SHAPE;
  const embeddings = weights["model.embed_tokens.weight"];
  const keys = Array.from({ length: layers }, () => /** @type {Vector[]} */ ([]));
  const values = Array.from({ length: layers }, () => /** @type {Vector[]} */ ([]));
  return (token) => {
    const position = keys[0].length;
    let hidden = embeddings.slice(token * width, (token + 1) * width);
    for (let layer = 0; layer < layers; layer += 1) {
      const of = (/** @type {string} */ name) => weights[`model.layers.${layer}.${name}.weight`];
      const seen = normalised(hidden, of("input_layernorm"), epsilon);
      const query = turned(product(of("self_attn.q_proj"), seen), position);
      keys[layer].push(turned(product(of("self_attn.k_proj"), seen), position));
      values[layer].push(product(of("self_attn.v_proj"), seen));
      hidden = sum(hidden, product(of("self_attn.o_proj"), attended(query, keys[layer], values[layer])));
      const read = normalised(hidden, of("post_attention_layernorm"), epsilon);
      const gate = product(of("mlp.gate_proj"), read);
      const up = product(of("mlp.up_proj"), read);
      const inner = gate.map((value, index) => (value / (1 + Math.exp(-value))) * up[index]); // SiLU
      hidden = sum(hidden, product(of("mlp.down_proj"), inner));
    }
    return product(embeddings, normalised(hidden, weights["model.norm.weight"], epsilon)); // tied embeddings
  };
}

/** @param {Vector} matrix row by row @param {Vector} vector */
function product(matrix, vector) {
  const { length } = vector;
  const result = new Float32Array(matrix.length / length);
  for (let row = 0; row < result.length; row += 1) {
    let total = 0;
    for (let column = 0; column < length; column += 1) total += matrix[row * length + column] * vector[column];
    result[row] = total;
  }
  return result;
}

/** @param {Vector} one @param {Vector} other */
function sum(one, other) {
  return one.map((value, index) => value + other[index]);
}

/** By its root mean square. @param {Vector} vector @param {Vector} scale @param {number} epsilon */
function normalised(vector, scale, epsilon) {
  const square = vector.reduce((total, value) => total + value * value, 0) / vector.length;
  return vector.map((value, index) => (value / Math.sqrt(square + epsilon)) * scale[index]);
}

/** Rotary position embedding, head by head. @param {Vector} vector @param {number} position */
function turned(vector, position) {
  const size = vector.length / SHAPE.heads;
  const half = size / 2;
  return vector.map((value, index) => {
    const place = index % size;
    const angle = position / SHAPE.theta ** ((2 * (place % half)) / size);
    const partner = place < half ? -vector[index + half] : vector[index - half];
    return value * Math.cos(angle) + partner * Math.sin(angle);
  });
}

/** @param {Vector} query @param {Vector[]} keys @param {Vector[]} values of all tokens so far */
function attended(query, keys, values) {
  const size = query.length / SHAPE.heads;
  const result = new Float32Array(query.length);
  for (let begin = 0; begin < query.length; begin += size) {
    const scores = keys.map((key) => {
      let total = 0;
      for (let place = begin; place < begin + size; place += 1) total += query[place] * key[place];
      return total / Math.sqrt(size);
    });
    const most = Math.max(...scores);
    const odds = scores.map((score) => Math.exp(score - most));
    const whole = odds.reduce((total, odd) => total + odd, 0);
    values.forEach((value, token) => {
      for (let place = begin; place < begin + size; place += 1) result[place] += (odds[token] / whole) * value[place];
    });
  }
  return result;
}
