// BokehJS, which draws the curves: its file comes from the installed package once, for all parts that draw. It may be
// blocked, missing or slow, so each part says in words why nothing is drawn, and shows its numbers without it.
// And what all figures of the page have in common.

import { cssValue, el, setText } from "../core/dom.js";
import { addPlotting } from "./plotting.js";

const LATE_MS = 10000; // then the page says that it waits
const LIBRARY = "the library that draws (BokehJS)";

/** @type {Promise<boolean> | null} */
let loading = null;

/** BokehJS; undefined until it has come. */
export function bokeh() {
  return window.Bokeh;
}

/**
 * Whether `what` can be drawn, as soon as that is known. While it is late, or when it does not come, `note` says so,
 * and where the numbers are: `instead`.
 * @param {Element} note @param {string} what @param {string} instead
 */
export async function bokehReady(note, what, instead) {
  const late = setTimeout(() => setText(note,
    `${what} are not drawn yet: ${LIBRARY} is still on its way from the playground. ${instead}`), LATE_MS);
  loading ??= load();
  const ready = await loading;
  clearTimeout(late);
  setText(note,
    ready ? "" : `${what} cannot be drawn: ${LIBRARY} did not come from the playground. Reload the page. If `
    + "it stays like this, something between the browser and the playground keeps it back (an ad blocker, a proxy), or "
    + `the package bokeh is not installed where the playground runs. ${instead}`);
  return ready;
}

/** The head of the page names the file (playground/ui/page.py). */
async function load() {
  try {
    await script(document.querySelector("link[data-bokeh]").getAttribute("href"));
    addPlotting(bokeh()); // which is not there if a proxy has sent a page of its own in place of the file
  } catch {
    return false;
  }
  return true;
}

function script(/** @type {string} */ address) {
  return new Promise((resolve, reject) => {
    document.head.append(el("script", { src: address, onload: resolve, onerror: reject }));
  });
}

/** A figure as on the whole page: no box, no toolbar, as wide as there is room. */
export function plainFigure(/** @type {Record<string, unknown>} */ options) {
  const B = bokeh();
  const range = () => new B.Range1d({ start: 0, end: 1 }); // each figure is a Bokeh document; those share no models
  return B.Plotting.figure({
    sizing_mode: "stretch_width", x_range: range(), y_range: range(), toolbar_location: null,
    min_border_left: 34, min_border_right: 8, background_fill_color: null, border_fill_color: null,
    outline_line_color: null, ...options,
  });
}

/** Whether the page is shown to a room: its letters have the size of the page's text, so that the window decides. */
export function isPresented() {
  return document.body.classList.contains("presentation");
}

/** The size of the numbers at the axes. */
export function axisPixels() {
  if (isPresented()) return Math.ceil(parseFloat(getComputedStyle(document.querySelector(".run-view")).fontSize));
  return document.body.classList.contains("projector") ? 15 : 11;
}

/** Axes and grid as on the whole page: numbers without lines, in the colours and the text size of the moment. */
export function plainAxes(/** @type {Bokeh.Figure} */ figure, /** @type {number} */ yTicks, xTicks = 0) {
  for (const axis of [...figure.xaxes, ...figure.yaxes]) {
    axis.minor_tick_line_color = null;
    axis.major_tick_line_color = null;
    axis.axis_line_color = null;
    axis.major_label_text_color = cssValue("--pg-muted");
    axis.major_label_text_font = "IBM Plex Sans, system-ui, sans-serif";
    axis.major_label_text_font_size = `${axisPixels()}px`;
  }
  for (const axis of figure.yaxes) axis.ticker.desired_num_ticks = yTicks;
  if (xTicks) for (const axis of figure.xaxes) axis.ticker.desired_num_ticks = xTicks;
  for (const grid of figure.xgrids) grid.grid_line_color = null;
  for (const grid of figure.ygrids) grid.grid_line_color = cssValue("--pg-grid");
}

/** A band, the raw values and a smoothed line of one source of columns x, raw, line, low and high. */
export function lineGlyphs(/** @type {Bokeh.Figure} */ figure, { bandAlpha = 0, rawAlpha = 0.22, width = 2.25 }) {
  const B = bokeh();
  const source = new B.ColumnDataSource({ data: { x: [], raw: [], line: [], low: [], high: [] } });
  const x = { field: "x" };
  return {
    source,
    band: bandAlpha
      ? figure.varea({ x, y1: { field: "low" }, y2: { field: "high" }, fill_alpha: bandAlpha, source }) : null,
    raw: figure.line({ x, y: { field: "raw" }, line_width: 1, line_alpha: rawAlpha, source }),
    line: figure.line({ x, y: { field: "line" }, line_width: width, line_join: "round", source }),
  };
}
