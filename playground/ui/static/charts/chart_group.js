// Charts that share one horizontal range, its zoom and the crosshair: the curves of a run, of overlaid runs, of a
// sweep.

/**
 * @typedef {import("./chart.js").Chart} Chart
 * @typedef {import("./lines_chart.js").LinesChart} LinesChart
 * @typedef {(update: number, line: Charts.Series) => void} Opened
 */

export class ChartGroup {
  /**
   * `draw()` gives the charts what they show, and is called when the zoom has become another; `hovered(x)` hears where
   * somebody points (null: nowhere); `place(chart)` puts what stands above a canvas to where the canvas has it;
   * `opened(update, line)`, where there is one, hears which point of which line is to be opened.
   * @param {{ draw: () => void, hovered?: (x: number | null) => void, place?: (chart: Chart) => void,
   *   canZoom?: boolean, opened?: Opened | null }} options
   */
  constructor({ draw, hovered = () => {}, place = (chart) => /** @type {LinesChart} */ (chart).placeEnds(),
    canZoom = true, opened = null }) {
    this.draw = draw;
    this.hovered = hovered;
    this.place = place;
    this.canZoom = canZoom;
    this.opened = opened;
    this.range = { start: 0, end: 1 };
    this.zoom = /** @type {number[] | null} */ (null);
    this.hover = /** @type {number | null} */ (null);
    /** @type {Chart[]} */
    this.charts = [];
    document.addEventListener("playground-look", () => {
      for (const chart of this.charts) chart.look();
    });
  }

  /** @template {Chart} C @param {C} chart @param {Element} box */
  add(chart, box) {
    this.charts.push(chart);
    box.append(chart.card);
    return chart;
  }

  /** Keep what stands above the drawings in its place when a box has another size, or is there again. */
  watch(/** @type {Element} */ box) {
    new ResizeObserver(() => this.settle()).observe(box);
  }

  settle() {
    for (const chart of this.charts) {
      this.place(chart);
      chart.placeCross();
    }
  }

  /** A chart has been drawn, or has come into sight again. */
  seen(/** @type {Chart} */ chart) {
    chart.readOut(this.hover);
    this.place(chart);
  }

  /**
   * Give each chart what it shows; `whole` is the range without a zoom.
   * @param {number[]} whole @param {(chart: Chart) => void} update
   */
  show(whole, update) {
    [this.range.start, this.range.end] = this.zoom ?? whole;
    for (const chart of this.charts) update(chart);
    this.point(this.hover);
    requestAnimationFrame(() => this.settle());
  }

  point(/** @type {number | null} */ x) {
    this.hover = x;
    for (const chart of this.charts) chart.readOut(x);
    this.hovered(x);
  }

  setZoom(/** @type {number[] | null} */ range) {
    if (!this.canZoom) return;
    this.forget();
    this.zoom = range;
    this.draw();
  }

  /** Other runs: another range, and other heights. */
  forget() {
    this.zoom = null;
    for (const chart of this.charts) chart.forget();
  }
}
