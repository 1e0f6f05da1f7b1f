// Plays a recorded run as if it were live, about 20 seconds long, through the same snapshot and deltas.

import { upTo } from "./counts.js";

const SECONDS = 20;

/** @typedef {Omit<Wire.Snapshot, "status"> & { status: Page.Status }} Snapshot */
/** @typedef {Omit<Wire.Delta, "status"> & { status?: Page.Status }} Delta */

/**
 * Start playing; returns a function that stops. With reduced motion asked for, it shows the end at once.
 * @param {Wire.Snapshot} recorded @param {(data: Snapshot) => void} takeSnapshot
 * @param {(data: Delta) => void} takeDelta
 */
export function play(recorded, takeSnapshot, takeDelta) {
  const updates = recorded.metrics.update;
  const total = updates.at(-1) ?? 0;
  const status = (/** @type {number} */ index) => /** @type {Page.Status} */ ({
    ...recorded.status,
    state: "recorded",
    ended: index >= updates.length,
    update: index ? updates[index - 1] : 0,
    num_updates: total,
    elapsed: index ? recorded.metrics.seconds[index - 1] : 0,
    left: null,
    outcome: index >= updates.length ? recorded.status.outcome : "",
  });
  if (matchMedia("(prefers-reduced-motion: reduce)").matches || !updates.length) {
    takeSnapshot({ ...recorded, status: status(updates.length) });
    return () => {};
  }
  const columns = /** @type {Wire.Columns} */ (
    Object.fromEntries(Object.keys(recorded.metrics).map((name) => [name, /** @type {number[]} */ ([])])));
  const first = recorded.moments.filter((item) => item.update === 0);
  takeSnapshot({ ...recorded, status: status(0), metrics: columns, events: [], moments: first, updates: [0], farmed: "",
    judged: null, alerts: null, behaviours: upTo(recorded.behaviours, 0) });
  let index = 0;
  const timer = setInterval(() => {
    if (document.hidden) return;
    const update = updates[index];
    index += 1;
    /** @type {Delta} */
    const delta = {
      metrics: /** @type {Wire.Columns} */ (Object.fromEntries(Object.entries(recorded.metrics)
        .map(([name, values]) => [name, [values[index - 1]]]))),
      status: status(index),
      events: recorded.events.filter((item) => item.update === update || (index === 1 && item.update === 0)),
    };
    const evaluated = recorded.moments.filter((item) => item.update === update);
    if (evaluated.length) {
      delta.moments = evaluated;
      delta.updates = recorded.updates.filter((item) => item <= update);
      delta.behaviours = upTo(recorded.behaviours, update);
    }
    if (index >= updates.length) {
      const { farmed, judged, behaviours, alerts } = recorded;
      Object.assign(delta, { farmed, judged, behaviours, alerts });
    }
    takeDelta(delta);
    if (index >= updates.length) clearInterval(timer);
  }, (SECONDS * 1000) / updates.length);
  return () => clearInterval(timer);
}
