// What a phone sends: an answer stays in the browser until the server has it, over a network that comes and goes. The
// newest answer to a thing is the one that counts, so only that one is sent.

import { recall, remember } from "../core/kept.js";
import { ANSWER_MS } from "../core/poll.js";
import { url } from "../core/server.js";
import { signal } from "../core/signals.js";

const KEY = "playground-class-answers";
const SETTLE_MS = 250; // a slider that moves sends where it stops
const FIRST_MS = 1000; // the first wait when there was no answer; it doubles
const LONGEST_MS = 15_000;
const AGAIN = [408, 425, 429]; // of what a server refuses: not now
const NO_ANSWER = "The page cannot reach the playground. Is the network there?";

/**
 * @typedef {{ step: number, item: number, value: unknown }} Answer
 * @typedef {{ state: "waiting" | "kept" | "refused", value: unknown, error: string }} Sent
 * @typedef {{ done: boolean, error?: string }} Posted `done`: there is no need to send it again
 */

/**
 * Send JSON to an address of the class. Without an answer {error}, and `again`: it may succeed later.
 * @template {{ error: string }} Given @param {string} path @param {object} body
 * @returns {Promise<Given & { again?: boolean }>}
 */
export async function posted(path, body) {
  try {
    const response = await fetch(url(path), { method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body), signal: AbortSignal.timeout(ANSWER_MS) });
    const again = response.status >= 500 || AGAIN.includes(response.status);
    // a network that asks for a password first answers with a page of its own, which is no JSON
    const data = await response.json().catch(() => (again || response.ok ? null : {}));
    if (typeof data?.error === "string") return { ...data, again };
    return /** @type {Given & { again: boolean }} */ ({ again: again || response.ok,
      error: `The playground answered with error ${response.status}.` });
  } catch {
    return /** @type {Given & { again: boolean }} */ ({ error: NO_ANSWER, again: true });
  }
}

/** @param {Answer} answer @returns {Promise<Posted>} */
async function postAnswer(answer) {
  const { error, again } = await posted("class/answer", answer);
  return { done: !again, error };
}

/** @param {number} step @param {number | ""} item */
export function keyOf(step, item) {
  return `${step}:${item}`;
}

export class Sending {
  /**
   * @param {(answer: Answer) => Promise<Posted>} post
   * @param {(work: () => void, milliseconds: number) => number} later
   */
  constructor(post = postAnswer, later = (work, milliseconds) => setTimeout(work, milliseconds)) {
    this.post = post;
    this.later = later;
    this.waiting = new Map(Object.entries(read()));
    this.failures = signal(0); // in a row
    /** By `keyOf`: what has become of each answer of this page. */
    this.sent = signal(/** @type {Record<string, Sent>} */ (Object.fromEntries([...this.waiting]
      .map(([key, { value }]) => [key, { state: "waiting", value, error: "" }]))));
    this.busy = false;
    this.timer = 0;
    if (this.waiting.size) this.plan(0);
  }

  /** Keep it, and send it as soon as it can be. @param {Answer} answer */
  send(answer) {
    const key = keyOf(answer.step, answer.item);
    this.waiting.set(key, answer);
    keep(key, answer);
    this.tell(key, { state: "waiting", value: answer.value, error: "" });
    if (!this.failures.value) this.plan(SETTLE_MS);
  }

  /** The network is back, as it seems: do not wait any longer. */
  now() {
    if (this.failures.value && this.waiting.size) this.plan(0);
  }

  /** @param {number} milliseconds */
  plan(milliseconds) {
    if (this.busy) return; // which goes on with what has come
    clearTimeout(this.timer);
    this.timer = this.later(() => this.turn(), milliseconds);
  }

  /** Send all, one after the other. */
  async turn() {
    if (this.busy) return;
    this.busy = true;
    while (this.waiting.size) {
      const [[key, answer]] = this.waiting;
      const { done, error } = await this.post(answer);
      if (!done) break;
      this.failures.value = 0;
      if (this.waiting.get(key) !== answer) continue; // changed meanwhile: the newer one is next
      this.waiting.delete(key);
      keep(key, null, answer);
      this.tell(key, { state: error ? "refused" : "kept", value: answer.value, error });
    }
    this.busy = false;
    if (!this.waiting.size) return;
    this.failures.value += 1;
    this.plan(Math.min(FIRST_MS * 2 ** (this.failures.value - 1), LONGEST_MS) * (0.75 + Math.random() / 2));
  }

  /** @param {string} key @param {Sent} sent */
  tell(key, sent) {
    this.sent.value = { ...this.sent.value, [key]: sent };
  }
}

/** @returns {Record<string, Answer>} */
function read() {
  try {
    const found = JSON.parse(recall(KEY) ?? "{}");
    return found && typeof found === "object" ? found : {};
  } catch {
    return {};
  }
}

/**
 * Beside what other pages of this browser keep. `gone`: it is sent; a newer one of another page stays.
 * @param {string} key @param {Answer | null} answer @param {Answer | null} gone
 */
function keep(key, answer, gone = null) {
  const all = read();
  if (answer) all[key] = answer;
  else if (JSON.stringify(all[key]) === JSON.stringify(gone)) delete all[key];
  remember(KEY, JSON.stringify(all));
}
