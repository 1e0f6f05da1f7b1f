// Asking the server: addresses, answers, and what a page says when there is no answer.

const UNREACHED = "The page cannot reach the playground";
const STILL_RUNNING = ". Is it still running?";

/**
 * What answers instead of a server, on a page that has none (standalone/answers.js): `files` can be saved.
 * @typedef {{ json: (path: string) => Promise<unknown>, files: string[],
 *   save: (run: string, what: string) => void }} Answers
 */

/** @type {Answers | null} */
let answers = null;

/** @param {Answers} source */
export function answerFrom(source) {
  answers = source;
}

/** A name that nobody else has, for a press that may arrive twice. (`randomUUID` is for https only.) */
export function newName() {
  return [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(16).padStart(8, "0")).join("");
}

/** What the server has of a run, relative to the page. @param {string} run @param {string} what */
export function runPath(run, what) {
  return `live/${encodeURIComponent(run)}/${what}`;
}

/** All that is known of a run, asked for once; null where that cannot be had. @param {string} run */
export async function snapshotOf(run) {
  const { snapshot = null } = /** @type {Wire.Poll} */ (await getJson(runPath(run, "poll")).catch(() => ({})));
  return snapshot;
}

/** An address relative to the page, so that the app works under a sub-path. @param {string} path */
export function url(path) {
  return new URL(path, document.baseURI).toString();
}

/**
 * A file of a run, as the attributes of a link that saves it; null where there is none.
 * @param {string} run
 * @param {string} what
 */
export function fileOf(run, what) {
  if (!answers) return { href: url(runPath(run, what)), download: "" };
  return answers.files.includes(what) ? { href: "#", onclick: (/** @type {Event} */ event) => {
    event.preventDefault();
    answers.save(run, what);
  } } : null;
}

/**
 * Fetch JSON; an answer that is not ok becomes an Error with the server's own sentence.
 * @template Answer who asks says which payload it is: `@type {Promise<Wire.Home>}`
 * @param {string} path @param {AbortSignal | null} signal @returns {Promise<Answer>}
 */
export async function getJson(path, signal = null) {
  if (answers) return /** @type {Promise<Answer>} */ (answers.json(path));
  /** @type {Response} */
  let response;
  try {
    response = await fetch(url(path), { cache: "no-store", signal });
  } catch {
    throw new Error(UNREACHED + STILL_RUNNING);
  }
  if (!response.ok) throw new Error(await noAnswer(response));
  try {
    return await response.json();
  } catch {
    throw new Error(UNREACHED + STILL_RUNNING); // it broke off on its way
  }
}

/** Why there is no answer: the server's own sentence, if there is one. @param {Response | null} response */
export async function noAnswer(response) {
  if (!response) return UNREACHED + STILL_RUNNING;
  /** @type {{ error?: string } | null} */
  let data = null;
  try {
    data = await response.json();
  } catch {
    // it has no sentence for us
  }
  return data?.error ?? `The playground answered with error ${response.status}.`;
}

/** A text of the server; without an answer the sentence `instead`. @param {string} path @param {string} instead */
export async function getText(path, instead) {
  try {
    return answers ? String(await answers.json(path)) : await (await fetch(url(path))).text();
  } catch {
    return instead;
  }
}

/**
 * The functions of the server that a part may call, but one that gets no answer fails: Gradio's own come back with
 * nothing then, as if all were well (docs/upstream.md#a-server-function-that-fails-answers-nothing).
 * @param {Page.Server | null} server
 */
export function answering(server) {
  const calls = Object.entries(server ?? {}).map(([name, call]) => [name, async (/** @type {unknown[]} */ ...given) => {
    const answer = await call(...given);
    if (answer === undefined) throw new Error(UNREACHED + STILL_RUNNING);
    return answer;
  }]);
  return /** @type {Page.Server} */ (Object.fromEntries(calls));
}

/**
 * What the server answers to something a person asked of it; without an answer {error}, which ends in `so`.
 * @template {{ error?: string }} Answer @param {() => Promise<Answer>} call
 */
export async function answerOf(call, so = STILL_RUNNING) {
  try {
    return (await call()) ?? /** @type {Answer} */ ({});
  } catch {
    return /** @type {Answer} */ ({ error: UNREACHED + so });
  }
}

/**
 * Asks for an address once for all who ask; without an answer the next one who asks tries again.
 * @param {string} address @returns {() => Promise<unknown>}
 */
export function askedOnce(address) {
  /** @type {Promise<unknown> | null} */
  let asked = null;
  return () => {
    asked ??= brought(address) ?? getJson(address).catch((error) => {
      asked = null;
      throw error;
    });
    return asked;
  };
}

/** The answer that the page itself has brought (ui/page.py), if it has. @param {string} address */
function brought(address) {
  const answer = document.querySelector(`script[data-answer="${address}"]`);
  return answer ? Promise.resolve(JSON.parse(answer.textContent)) : null;
}
