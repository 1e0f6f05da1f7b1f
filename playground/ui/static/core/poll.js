// Asking the server again and again: nothing while the tab is hidden or nobody wants to know, later and later while
// there is no answer, and a late answer does not undo what a later one said.

import { setWords } from "./dom.js";
import { getJson } from "./server.js";
import { alike, signal } from "./signals.js";

/** How long to wait for an answer: on a connection that has died quietly none ever comes. */
export const ANSWER_MS = 15000;
const AGAIN_MS = 2000; // the first wait when there was no answer; it doubles up to the usual one

/**
 * @template T @param {object} question @param {(signal: AbortSignal) => Promise<T>} question.ask
 * @param {(answer: T) => void} question.tell
 * @param {(error: Error) => void} question.fail
 * @param {() => number} question.every milliseconds to the next time; 0: not again
 * @param {() => boolean} [question.wanted]
 * @returns {() => Promise<void>} asks now, and again from then on
 */
export function poll({ ask, tell, fail, every, wanted = () => true }) {
  let timer = 0;
  let failures = 0;
  let turn = 0;

  async function now() {
    clearTimeout(timer);
    turn += 1;
    const mine = turn;
    if (document.hidden || !wanted()) return;
    let answer;
    /** @type {Error | null} */
    let problem = null;
    try {
      answer = await ask(AbortSignal.timeout(ANSWER_MS));
    } catch (error) {
      problem = error;
    }
    if (mine !== turn) return;
    failures = problem ? failures + 1 : 0;
    if (problem) fail(problem);
    else tell(answer);
    const wait = every();
    if (wait && wanted()) timer = setTimeout(now, failures ? Math.min(AGAIN_MS * 2 ** (failures - 1), wait) : wait);
  }

  document.addEventListener("visibilitychange", now);
  return now;
}

/**
 * What an address answers, asked again and again: its newest `answer`, the `problem` while there is none, and `now`.
 * @template T @param {(signal: AbortSignal) => Promise<T>} ask
 * @param {number} every milliseconds @param {() => boolean} wanted
 */
export function asked(ask, every, wanted = () => true) {
  const answer = signal(/** @type {T | null} */ (null), alike);
  const problem = signal("");
  const now = poll({ ask, tell: (found) => {
    problem.value = "";
    answer.value = found;
  }, fail: ({ message }) => { problem.value = message; }, every: () => every, wanted });
  return { answer, problem, now };
}

/**
 * A part of the page that shows what an address answers, again and again: `show(data)` hears of what is new, unless
 * another address is wanted by then. That there was no answer stands in `note` until there is one. What it returns asks
 * now; with `true` the answer is new in any case.
 * @template Answer
 * @param {{address: () => string, show: (data: Answer) => void, note: HTMLElement, every: () => number,
 *   wanted: () => boolean}} feed
 */
export function follow({ address, show, note, every, wanted }) {
  let lost = false;
  let last = "";
  const now = poll({
    ask: async (signal) => {
      const from = address();
      return { from, data: /** @type {Answer} */ (await getJson(from, signal)) };
    },
    tell: ({ from, data }) => {
      const text = from + JSON.stringify(data);
      if (from !== address() || (text === last && !lost)) return;
      if (lost) setWords(note, ""); // what else stands there stays
      lost = false;
      last = text;
      show(data);
    },
    fail: (error) => {
      setWords(note, error.message);
      lost = true;
    },
    every, wanted,
  });
  return (anew = false) => {
    if (anew) last = "";
    return now();
  };
}
