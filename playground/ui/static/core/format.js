// Numbers and times for reading: three significant digits, a real minus sign, a unit and a direction. Pure.

const MINUS = "\u2212";

/** At most three significant digits: 0.0123, 1.23, 12.3, 123, 12,300. @param {number | null | undefined} value */
export function number(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "\u2013";
  if (Number.isInteger(value) && Math.abs(value) < 1000) return value < 0 ? MINUS + -value : String(value);
  const size = Math.abs(value);
  let text;
  if (size >= 1000) text = Math.round(Number(size.toPrecision(3))).toLocaleString("en-US");
  else if (size < 0.001) text = size.toExponential(1).replace("e-", "e\u2212");
  else text = size.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 4);
  if (size < 0.1 && size >= 0.001) text = String(Number(size.toPrecision(2)));
  return (value < 0 && Number(text.replaceAll(",", "")) !== 0 ? MINUS : "") + text;
}

/** All digits of a value. @param {number | null | undefined} value */
export function exact(value) {
  return withMinus(String(value ?? ""));
}

/** A sentence of the server with a real minus before its numbers. @param {string} sentence */
export function withMinus(sentence) {
  return sentence.replace(/(^|[\s(e])-(?=\d)/g, `$1${MINUS}`);
}

/** Like number, with everything below `step` rounded away: 0.0000018 nats are 0. @param {number | null} value */
export function rounded(value, step = 0.01) {
  return value === null || value === undefined ? number(value) : number(Math.round(value / step) * step || 0);
}

/** A score, always with a sign and to a hundredth at most: +1.23. @param {number | null} value */
export function signed(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "\u2013";
  return (Math.round(value * 100) > 0 ? "+" : "") + rounded(value);
}

/**
 * A figure and half of its interval: +1.42 \u00b1 0.30; with more digits where the interval would have no width, as in
 * `analysis/before_after.py`. Without `half` the figure alone.
 * @param {number | null} value @param {number | null} half
 */
export function withHalf(value, half, { sign = false } = {}) {
  if (half > 0 && half < 0.005) {
    const digits = Math.min(6, -Math.floor(Math.log10(half)));
    const size = Math.abs(value).toFixed(digits);
    const before = Number(size) === 0 ? "" : value < 0 ? MINUS : sign ? "+" : "";
    return `${before}${size} \u00b1 ${half.toFixed(digits)}`;
  }
  const told = sign ? signed(value) : rounded(value);
  return half === null || half === undefined ? told : `${told} \u00b1 ${rounded(half)}`;
}

/**
 * The gain by which a run is known, with its 95 % interval; one of training batches has none, and says so.
 * @param {Pick<Wire.Headline, "gain" | "high" | "source">} headline
 */
export function gainOf({ gain, high, source }) {
  const told = withHalf(gain, high === null ? null : high - gain, { sign: true });
  return source === "training batch" ? `${told} (training batch)` : told;
}

/**
 * Which way a score went, for its colour: `up`, `down`, or neither where it is told as the same number.
 * @param {number | null} before @param {number | null} after
 */
export function directionOf(before, after) {
  if (!Number.isFinite(before) || !Number.isFinite(after) || signed(before) === signed(after)) return "";
  return after > before ? "up" : "down";
}

/** 0.97 -> 97 %. @param {number | null} value */
export function percent(value) {
  return value === null || value === undefined ? "\u2013" : `${Math.round(value * 100)} %`;
}

/** Bytes in words: 1.3 GB, 12 MB; below a megabyte 1 MB. @param {number} bytes */
export function bytesTold(bytes) {
  if (bytes >= 1e8) return `${bytes >= 1e10 ? Math.round(bytes / 1e9) : (bytes / 1e9).toFixed(1)} GB`;
  return bytes ? `${number(Math.max(1, Math.round(bytes / 1e6)))} MB` : "0.0 GB";
}

/** Seconds in words, as in `setup/describe.py`: 0.4 s, 75 s, 2 min 05 s, 1 h 03 min. @param {number | null} seconds */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "\u2013";
  if (seconds > 0 && seconds < 1.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 100) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, "0")} min`;
}

const SECONDS = { s: 1, min: 60, h: 3600, days: 86400 };

/**
 * An estimate in one unit: about 20 to 35 s, about 1 to 2 min, about 3 h. Two digits are more than it knows.
 * @param {number} shortest @param {number} longest
 */
export function timeRange(shortest, longest) {
  if (longest < 1) return "less than a second";
  const [high, unit] = coarse(longest);
  const low = Math.max(Math.round(shortest / SECONDS[unit]), 1);
  return low === high ? `about ${high} ${unit}` : `about ${low} to ${high} ${unit}`;
}

/** @param {number} seconds */
function coarse(seconds) {
  const unit = seconds < 100 ? "s" : seconds < 5400 ? "min" : seconds < 172800 ? "h" : "days";
  return /** @type {const} */ ([Math.max(Math.round(seconds / SECONDS[unit]), 1), unit]);
}

/** When something was, for a lab book: today 14:05, yesterday 09:12, 21 Nov 2026 14:05. @param {number} unixSeconds */
export function when(unixSeconds, now = new Date()) {
  const date = new Date(unixSeconds * 1000);
  const time = `${String(date.getHours()).padStart(2, "0")}:${String(date.getMinutes()).padStart(2, "0")}`;
  /** @param {Date} moment */
  const day = (moment) => new Date(moment.getFullYear(), moment.getMonth(), moment.getDate()).getTime();
  const days = Math.round((day(now) - day(date)) / 86400000);
  if (days === 0) return `today ${time}`;
  if (days === 1) return `yesterday ${time}`;
  const month = date.toLocaleString("en-GB", { month: "short" });
  return `${date.getDate()} ${month} ${date.getFullYear()} ${time}`;
}

/** Words at the beginning of a sentence. @param {string} words */
export function capital(words) {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** State of a run: icon, word, and the class that colours it. @param {string} state */
export function stateOf(state) {
  /** @type {Record<string, string[]>} */
  const states = {
    queued: ["\u25CB", "waiting", "quiet"],
    starting: ["\u25D4", "starting", "busy"],
    running: ["\u25CF", "running", "busy"],
    paused: ["\u2016", "paused", "quiet"],
    stopping: ["\u25D1", "stopping", "busy"],
    finished: ["\u2713", "finished", "good"],
    stopped: ["\u25A0", "stopped", "quiet"],
    failed: ["\u2715", "failed", "bad"],
    interrupted: ["!", "interrupted", "bad"],
    recorded: ["\u25B6", "example, recorded", "quiet"],
  };
  const [icon, word, tone] = states[state] ?? ["?", String(state), "quiet"];
  return { icon, word, tone };
}
