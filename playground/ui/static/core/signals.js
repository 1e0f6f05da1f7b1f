// Values that tell those who read them: a `signal` holds one, `computed` derives one from others, an `effect` runs now,
// and again in the next frame after something that it has read has changed. Knows nothing of the page.

/** @typedef {{ run: () => void, sources: Set<Set<Reader>>, again?: () => void }} Reader */

/** @type {Reader | null} */
let reading = null; // who is running, and hears of what is read meanwhile
/** @type {Set<Reader>} */
const waiting = new Set();

/** The same to look at. @param {unknown} one @param {unknown} other */
export function alike(one, other) {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/**
 * A value that may be set. Setting what is the `same` tells nobody.
 * @template T @param {T} value @param {(one: T, other: T) => boolean} same @returns {{ value: T }}
 */
export function signal(value, same = Object.is) {
  /** @type {Set<Reader>} */
  const readers = new Set();
  return {
    get value() {
      if (reading) {
        readers.add(reading);
        reading.sources.add(readers);
      }
      return value;
    },
    set value(next) {
      if (same(value, next)) return;
      value = next;
      for (const reader of [...readers]) reader.run();
    },
  };
}

/**
 * A value that follows from others; who reads it hears only when it is another one.
 * @template T @param {() => T} derive @param {(one: T, other: T) => boolean} same @returns {{ readonly value: T }}
 */
export function computed(derive, same = Object.is) {
  const held = signal(/** @type {T} */ (undefined), same);
  /** @type {Reader} */
  const reader = { sources: new Set(), run: () => { held.value = heard(reader, derive); } };
  reader.run();
  return held;
}

/** Run now, and again whenever something has changed that was read in the last run. @param {() => void} run */
export function effect(run) {
  const again = () => heard(reader, run);
  /** @type {Reader} */
  const reader = { sources: new Set(), again, run: () => {
    if (!waiting.size) soon(flush);
    waiting.add(reader);
  } };
  again();
}

/** Read without hearing of changes. @template T @param {() => T} read @returns {T} */
export function untracked(read) {
  return heard(null, read);
}

/** @template T @param {Reader | null} reader @param {() => T} run */
function heard(reader, run) {
  for (const readers of reader?.sources ?? []) readers.delete(reader);
  reader?.sources.clear();
  const before = reading;
  reading = reader;
  try {
    return run();
  } finally {
    reading = before;
  }
}

function flush() {
  const now = [...waiting];
  waiting.clear();
  for (const reader of now) reader.again();
}

/**
 * At most once a frame: a slow page takes what came meanwhile in one. A hidden one has none.
 * @param {() => void} work
 */
function soon(work) {
  if (globalThis.document?.hidden === false) requestAnimationFrame(work);
  else queueMicrotask(work);
}
