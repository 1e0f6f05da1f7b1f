// How a chart is read and opened. A pointer reads it, a drag zooms in, a double click goes back to the whole run, a
// click opens the update of the nearest point. Keys do the same: arrows, Home, End and Page move a cursor, Enter opens.

import { moved, pointAt, pointsOf } from "./cursor.js";
import { el, setAttribute } from "../core/dom.js";

/** @typedef {import("./chart.js").Chart} Chart */

const DOUBLE_CLICK_MS = 250; // a second click may follow
const LEAST_DRAG = 6; // pixels
const KEYS = "The left and right arrow keys go from point to point, Enter opens the update.";
const KEYS_OF_LINES = `${KEYS} Up and down go from line to line.`;

/** Hear the pointer on a chart, and the keys if its points can be opened. */
export function listen(/** @type {Chart} */ chart) {
  listenToDrags(chart);
  if (!chart.group.opened) return;
  chart.dot = el("div.cursor-dot");
  chart.stage.append(chart.dot);
  for (const [name, value] of Object.entries({ role: "slider", tabindex: "0", "aria-valuenow": "0" }))
    chart.stage.setAttribute(name, value);
  listenToClicks(chart);
  listenToKeys(chart);
}

function listenToDrags(/** @type {Chart} */ chart) {
  const { stage, group, selection } = chart;
  /** @type {number | null} */
  let from = null;
  stage.addEventListener("pointermove", (event) => {
    const x = xAt(chart, event);
    if (x === null) return;
    if (group.opened) setCursor(chart, under(chart, event));
    group.point(x);
    if (from !== null) select(chart, from, x);
  });
  stage.addEventListener("pointerleave", () => leave(chart));
  stage.addEventListener("pointerdown", (event) => {
    chart.dragged = false;
    if (event.pointerType !== "mouse" || event.button !== 0) return; // on touch screens a drag scrolls the page
    from = xAt(chart, event);
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointerup", (event) => {
    const to = xAt(chart, event);
    const wide = from !== null && to !== null && Math.abs(chart.pixel(to) - chart.pixel(from)) > LEAST_DRAG;
    const range = wide ? [Math.min(from, to), Math.max(from, to)] : null;
    from = null;
    selection.style.visibility = "hidden";
    chart.dragged = wide;
    if (range) group.setZoom(range);
  });
  if (!group.opened) stage.addEventListener("dblclick", () => group.setZoom(null));
}

/** The value along the foot under a pointer. */
function xAt(/** @type {Chart} */ chart, /** @type {MouseEvent} */ event) {
  const box = chart.frame();
  if (!box) return null;
  const { start, end } = chart.group.range;
  const share = (event.clientX - chart.stage.getBoundingClientRect().left - box.left) / box.width;
  return start + Math.min(Math.max(share, 0), 1) * (end - start);
}

/** @param {Chart} chart @param {number} from @param {number} to */
function select(chart, from, to) {
  const [a, b] = [chart.pixel(Math.min(from, to)), chart.pixel(Math.max(from, to))];
  if (a === null || b === null) return;
  Object.assign(chart.selection.style, { visibility: "visible", left: `${a}px`, width: `${b - a}px` });
}

/** A click opens the nearest point, unless it ends a drag, or another one follows, which goes back to the whole run. */
function listenToClicks(/** @type {Chart} */ chart) {
  const { stage, group } = chart;
  let opening = 0;
  /** @type {Charts.Point | null} */
  let pressed = null; // a click tells its place in whole pixels only, which may be beside what the cursor shows
  stage.addEventListener("pointerdown", (event) => {
    pressed = under(chart, event);
  });
  stage.addEventListener("click", ({ detail }) => {
    clearTimeout(opening);
    const point = chart.dragged || detail > 1 ? null : pressed;
    if (point) opening = setTimeout(() => open(chart, point), DOUBLE_CLICK_MS);
  });
  stage.addEventListener("dblclick", () => {
    if (group.zoom) group.setZoom(null);
    else if (pressed) open(chart, pressed);
  });
}

/** The point nearest to a pointer. @param {Chart} chart @param {MouseEvent} event @returns {Charts.Point | null} */
function under(chart, event) {
  if (!chart.frame() || !chart.yBounds) return null;
  const box = chart.stage.getBoundingClientRect();
  const lines = chart.series.map((line) => pointsOf(line, chart.group.range).map((at) =>
    ({ line, at, ...placeOf(chart, line, at) })));
  return pointAt(lines, { left: event.clientX - box.left, top: event.clientY - box.top }, chart.goesBack) ?? null;
}

/** @param {Chart} chart @param {Charts.Point["line"]} line @param {number} at */
function placeOf(chart, { x, line }, at) {
  return { left: chart.pixel(x[at]), top: chart.height(line[at]) };
}

function open(/** @type {Chart} */ chart, /** @type {Charts.Point} */ { line, at }) {
  chart.group.opened(line.updates[at], line);
}

function listenToKeys(/** @type {Chart} */ chart) {
  const { stage, group } = chart;
  stage.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const point = event.key === "Enter" ? here(chart) : pointAfter(chart, event.key);
    if (!point) return;
    event.preventDefault();
    setCursor(chart, point);
    group.point(point.line.x[point.at]);
    if (event.key === "Enter") open(chart, point);
  });
  stage.addEventListener("blur", ({ relatedTarget }) => {
    if (!(/** @type {Element} */ (relatedTarget)?.closest("dialog"))) leave(chart);
  });
}

/** Where the cursor is, or the last point; null without points. @param {Chart} chart @returns {Charts.Point | null} */
function here(chart) {
  const { cursor, group } = chart;
  const lines = openable(chart);
  if (!lines.length) return null;
  const line = lines.find(({ label }) => label === cursor?.line.label) ?? lines[0];
  const points = pointsOf(line, group.range);
  return { line, at: cursor && points.includes(cursor.at) ? cursor.at : points.at(-1) };
}

/** The lines that have points in view which can be opened. */
function openable(/** @type {Chart} */ { series, group }) {
  return series.filter((line) => pointsOf(line, group.range).length);
}

/** @param {Chart} chart @param {string} key @returns {Charts.Point | null} */
function pointAfter(chart, key) {
  const now = here(chart);
  if (!now) return null;
  const lines = openable(chart);
  const step = key === "ArrowUp" ? -1 : key === "ArrowDown" ? 1 : 0;
  if (step && lines.length > 1) {
    const line = lines[(lines.indexOf(now.line) + step + lines.length) % lines.length];
    const points = pointsOf(line, chart.group.range).map((at) => ({ at, left: line.x[at], top: 0 }));
    return { line, at: pointAt([points], { left: now.line.x[now.at], top: 0 }).at };
  }
  const at = moved(pointsOf(now.line, chart.group.range), chart.cursor ? now.at : null, key);
  return at === null ? null : { line: now.line, at };
}

function leave(/** @type {Chart} */ chart) {
  setCursor(chart, null);
  chart.group.point(null);
}

/** Put the cursor on a point of a line, or nowhere. */
function setCursor(/** @type {Chart} */ chart, /** @type {Charts.Point | null} */ point) {
  chart.cursor = point;
  placeCursor(chart);
  describeCursor(chart);
}

/** The dot to where its point is now. */
export function placeCursor(/** @type {Chart} */ chart) {
  const { dot, cursor, yBounds } = chart;
  if (!dot) return;
  const place = cursor && yBounds && chart.frame() ? placeOf(chart, cursor.line, cursor.at) : null;
  dot.style.visibility = place && place.left !== null ? "visible" : "hidden";
  if (place?.left) dot.style.transform = `translate(${place.left}px, ${place.top}px)`;
}

/** Say where the cursor is, or the newest value. */
export function describeCursor(/** @type {Chart} */ chart) {
  const { stage, series, spec, run } = chart;
  const point = chart.dot && here(chart);
  if (!point) return;
  if (chart.cursor) chart.cursor = point; // its line may have been drawn anew
  const { line, at } = point;
  const known = line.updates.filter((update) => update > 0);
  const several = series.length > 1;
  const name = several ? `${line.title ?? line.label ?? spec.title}, ` : "";
  for (const [attribute, value] of Object.entries({
    "aria-valuemin": known[0], "aria-valuemax": known.at(-1), "aria-valuenow": line.updates[at],
    "aria-valuetext": `${name}update ${line.updates[at]}: ${chart.said(line.raw[at])} ${spec.unit(run)}`.trim(),
    "aria-description": several ? KEYS_OF_LINES : KEYS,
  })) setAttribute(stage, attribute, String(value));
}
