// Plays a recorded run as if it were live, about 20 seconds long, through the same snapshot and deltas; and shows it as
// it was after any of its updates.

import { upTo } from "./counts.js";
import { signal } from "./signals.js";

const SECONDS = 20;

/** @typedef {Omit<Wire.Snapshot, "status"> & { status: Page.Status }} Snapshot */
/** @typedef {Omit<Wire.Delta, "status"> & { status?: Page.Status }} Delta */

/** Whether a run is played, or its end shown at once. */
export function isMotionWelcome() {
  return !matchMedia("(prefers-reduced-motion: reduce)").matches;
}

export class Player {
  /**
   * @param {Wire.Snapshot} recorded
   * @param {(data: Snapshot) => void} takeSnapshot
   * @param {(data: Delta) => void} takeDelta
   */
  constructor(recorded, takeSnapshot, takeDelta) {
    this.recorded = recorded;
    this.takeSnapshot = takeSnapshot;
    this.takeDelta = takeDelta;
    this.updates = recorded.metrics.update;
    this.at = signal(0); // how many of its updates are shown
    this.playing = signal(false);
    this.timer = 0;
    this.begun = false;
  }

  /** Play on from where it is; with reduced motion asked for, show the end at once. */
  play() {
    const end = this.updates.length;
    if (!isMotionWelcome() || !end) return this.seek(end);
    if (this.at.value >= end || !this.begun) this.seek(0);
    this.stop();
    this.playing.value = true;
    this.timer = setInterval(() => this.step(), (SECONDS * 1000) / end);
  }

  /** Stay where it is. */
  stop() {
    clearInterval(this.timer);
    this.playing.value = false;
  }

  /** Show it as it was after so many of its updates. @param {number} at */
  seek(at) {
    this.stop();
    this.begun = true;
    this.at.value = at;
    this.takeSnapshot(this.stateAt(at));
  }

  step() {
    if (document.hidden) return;
    const { recorded } = this;
    const at = this.at.value + 1;
    const update = this.updates[at - 1];
    /** @type {Delta} */
    const delta = {
      metrics: columnsOf(recorded.metrics, (values) => [values[at - 1]]),
      status: this.statusAt(at),
      events: recorded.events.filter((item) => item.update === update || (at === 1 && item.update === 0)),
    };
    const evaluated = recorded.moments.filter((item) => item.update === update);
    if (evaluated.length) Object.assign(delta, { moments: evaluated, ...this.countedBy(update) });
    if (at >= this.updates.length) Object.assign(delta, this.endOf());
    this.at.value = at;
    this.takeDelta(delta);
    if (at >= this.updates.length) this.stop();
  }

  /** @param {number} at @returns {Snapshot} */
  stateAt(at) {
    const { recorded } = this;
    const update = at ? this.updates[at - 1] : 0;
    /** @type {Snapshot} */
    const state = { ...recorded, status: this.statusAt(at),
      metrics: columnsOf(recorded.metrics, (values) => values.slice(0, at)),
      events: at ? recorded.events.filter((item) => item.update <= update) : [],
      moments: recorded.moments.filter((item) => item.update <= update),
      farmed: "", judged: null, alerts: null, ...this.countedBy(update) };
    return at >= this.updates.length ? { ...state, events: recorded.events, ...this.endOf() } : state;
  }

  /** @param {number} update */
  countedBy(update) {
    const { updates, behaviours } = this.recorded;
    return { updates: updates.filter((item) => item <= update), behaviours: upTo(behaviours, update) };
  }

  /** What only the whole run tells. */
  endOf() {
    const { farmed, judged, behaviours, alerts, updates } = this.recorded;
    return { farmed, judged, behaviours, alerts, updates };
  }

  /** @param {number} at @returns {Page.Status} */
  statusAt(at) {
    const { recorded, updates } = this;
    const ended = at >= updates.length;
    return { ...recorded.status, state: "recorded", ended, update: at ? updates[at - 1] : 0,
      num_updates: updates.at(-1) ?? 0, elapsed: at ? recorded.metrics.seconds[at - 1] : 0, left: null,
      outcome: ended ? recorded.status.outcome : "" };
  }
}

/** @param {Wire.Columns} columns @param {(values: (number | null)[]) => (number | null)[]} cut */
function columnsOf(columns, cut) {
  return /** @type {Wire.Columns} */ (
    Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, cut(values)])));
}
