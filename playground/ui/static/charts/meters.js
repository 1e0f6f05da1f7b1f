// Meters of behaviours: for each a bar from 0 to 100 % with the mark of before, its interval, the band in which its
// preset should end by other seeds, and how it went over the looks. What a bar shows is also told in words.

import { bandInWords, countsInWords, intervalInWords, meterInWords, shareOf, verdictOf,
} from "../core/counts.js";
import { el, headOf, shape, signOf, svg, tableOf } from "../core/dom.js";
import { percent } from "../core/format.js";
import { sparkline } from "./small_plots.js";

/** @type {Record<string, string>} */
const COMPARED = { "as expected": "=", "within chance of expected": "\u2248", "lower than expected": "\u2193",
  "higher than expected": "\u2191" };

/** @type {Record<string, string>} */
const SHORT = { "as expected": "expected", "within chance of expected": "near expected",
  "lower than expected": "lower than expected", "higher than expected": "higher than expected" };

/** What the marks of a bar are. */
export function keyOf(/** @type {string[]} */ sides, /** @type {boolean} */ expected) {
  return el("p.meter-key", { "aria-hidden": "true" },
    [["before", sides[0]], ["now", sides[1]], ["interval", "95 % interval"], expected ? ["band", "expected"] : null]
      .filter(Boolean).map(([kind, name]) => el("span", el("span", { class: `swatch ${kind}` }), name)));
}

/**
 * A behaviour in a row. `sides`: what is compared, in words. `final`: the run has come to its end, and can be held
 * against what was measured.
 */
export function meterRow(/** @type {Wire.Meter} */ meter, { sides = ["before", "now"], between = " \u2192 ",
  final = false, steady = "no clear change" } = {}) {
  const now = meter.counts.at(-1);
  const { sign, text, tone } = verdictOf(meter, steady);
  const later = meter.counts.length > 1;
  return el("li.meter", { "data-key": meter.name },
    el("div.meter-words", el("strong", meter.words), " ", el("span.meter-count", countsInWords(meter, between))),
    barOf(meter, meterInWords(meter, sides)),
    el("div.meter-now", el("strong", percent(shareOf(now))), " ", el("span.muted", intervalInWords(now))),
    el("span.meter-spark", // told by the table
      meter.counts.length > 2 ? sparkline(meter.updates, meter.counts.map(shareOf), [0, 1], "", [0, 1]) : null),
    el("div.meter-verdict",
      later ? el("span", { class: `verdict ${tone}` }, signOf(sign), ` ${text}`)
        : el("span.muted", "before training"),
      final && meter.compared ? el("span.compared", signOf(COMPARED[meter.compared]),
        ` ${meter.compared}`, el("span.muted", ` (${bandInWords(meter.band)})`)) : null));
}

/** A behaviour in a line: its count, the way it went, the bar, and how it compares at the end. */
export function meterLine(/** @type {Wire.Meter} */ meter, /** @type {boolean} */ final) {
  const { sign, text, tone } = verdictOf(meter);
  const later = meter.counts.length > 1;
  return el("li.meter-line", { "data-key": meter.name },
    el("strong", meter.words), el("span.meter-count", countsInWords(meter)),
    later ? el("span", { class: `verdict ${tone}` }, signOf(sign), ` ${text}`) : el("span.muted", "before training"),
    barOf(meter, meterInWords(meter)),
    el("span.compared", final && meter.compared ? { title: `${meter.compared} (${bandInWords(meter.band)})` } : {},
      final && meter.compared ? [signOf(COMPARED[meter.compared]), ` ${SHORT[meter.compared]}`] : null));
}

/** The bar alone. */
export function barOf(/** @type {Wire.Meter} */ { counts, band }, /** @type {string} */ label) {
  const [before, now] = [counts[0], counts.at(-1)];
  const at = (/** @type {number} */ share) => `${(share * 100).toFixed(1)}%`;
  const bar = svg("meter-bar", { height: 22, role: "img", "aria-label": label },
    shape("title", {}, label), shape("rect.rail", { x: 0, y: 8, width: "100%", height: 6, rx: 3 }));
  if (band)
    bar.append(shape("rect.band", { x: at(Math.max(0, band[0] - 0.005)), y: 1, height: 20,
      width: at(Math.max(band[1] - band[0], 0.01)) }));
  bar.append(
    shape("rect.now", { x: 0, y: 8, width: at(shareOf(now)), height: 6, rx: 3 }),
    shape("line.interval", { x1: at(now.low), x2: at(now.high), y1: 11, y2: 11 }),
    ...[now.low, now.high].map((end) => shape("line.interval", { x1: at(end), x2: at(end), y1: 7, y2: 15 })));
  if (counts.length > 1)
    bar.append(shape("line.before", { x1: at(shareOf(before)), x2: at(shareOf(before)), y1: 2, y2: 20 }));
  return bar;
}

/** Every behaviour at every look, as a table. */
export function metersTable(/** @type {Wire.Meter[]} */ meters) {
  const updates = [...new Set(meters.flatMap((meter) => meter.updates))].sort((a, b) => a - b);
  return tableOf("", [headOf("After update", "words"), ...meters.map(({ words }) => words)], updates.map((update) => [
    el("th.words", { scope: "row" }, update || "0, before training"), meters.map((meter) => {
      const count = meter.counts[meter.updates.indexOf(update)];
      return el("td", count ? [`${count.yes} of ${count.of} `, el("span.muted",
        `(${intervalInWords(count)})`)] : "\u2013");
    })]));
}
