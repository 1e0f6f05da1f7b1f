// Meters of behaviours: for each a bar from 0 to 100 % with the mark of before, its interval, the band in which its
// preset should end by other seeds, and how it went over the looks. What a bar shows is also told in words.

import { bandTold, countsTold, intervalTold, meterTold, shareOf, verdictOf } from "../core/counts.js";
import { el, headOf, shape, signOf, svg } from "../core/dom.js";
import { percent } from "../core/format.js";

const COMPARED = { "as expected": "\u2713", "within chance of expected": "\u2713", "lower than expected": "\u2193",
  "higher than expected": "\u2191" };
const SPARK = { width: 96, height: 28, edge: 3 };

/** What the marks of a bar are. */
export function keyOf(sides, expected) {
  return el("p", { class: "meter-key", "aria-hidden": "true" },
    [["before", sides[0]], ["now", sides[1]], ["interval", "95 % interval"], expected ? ["band", "expected"] : null]
      .filter(Boolean).map(([kind, name]) => el("span", {}, el("span", { class: `swatch ${kind}` }), name)));
}

/**
 * A behaviour in a row. `sides`: what is compared, in words. `final`: the run has come to its end, and can be held
 * against what was measured.
 */
export function meterRow(meter, { sides = ["before", "now"], between = " to ", final = false,
  steady = "no clear change" } = {}) {
  const now = meter.counts.at(-1);
  const { sign, text, tone } = verdictOf(meter, steady);
  const later = meter.counts.length > 1;
  return el("li", { class: "meter", "data-key": meter.name },
    el("div", { class: "meter-words" }, el("strong", {}, meter.words), " ",
      el("span", { class: "meter-count" }, countsTold(meter, between))),
    barOf(meter, meterTold(meter, sides)),
    el("div", { class: "meter-now" }, el("strong", {}, percent(shareOf(now))), " ",
      el("span", { class: "muted" }, intervalTold(now))),
    meter.counts.length > 2 ? sparkOf(meter) : el("span", { class: "meter-spark" }),
    el("div", { class: "meter-verdict" },
      later ? el("span", { class: `verdict ${tone}` }, signOf(sign), ` ${text}`)
        : el("span", { class: "muted" }, "before training"),
      final && meter.compared ? el("span", { class: "compared" }, signOf(COMPARED[meter.compared]),
        ` ${meter.compared}`, el("span", { class: "muted" }, ` (${bandTold(meter.band)})`)) : null));
}

/** The bar alone. */
export function barOf({ counts, band }, label) {
  const [before, now] = [counts[0], counts.at(-1)];
  const at = (share) => `${(share * 100).toFixed(1)}%`;
  const bar = svg({ class: "meter-bar", height: 22, role: "img", "aria-label": label },
    shape("rect", { class: "rail", x: 0, y: 8, width: "100%", height: 6, rx: 3 }));
  if (band)
    bar.append(shape("rect", { class: "band", x: at(Math.max(0, band[0] - 0.005)), y: 1, height: 20,
      width: at(Math.max(band[1] - band[0], 0.01)) }));
  bar.append(
    shape("rect", { class: "now", x: 0, y: 8, width: at(shareOf(now)), height: 6, rx: 3 }),
    shape("line", { class: "interval", x1: at(now.low), x2: at(now.high), y1: 11, y2: 11 }),
    ...[now.low, now.high].map((end) => shape("line", { class: "interval", x1: at(end), x2: at(end), y1: 7, y2: 15 })));
  if (counts.length > 1)
    bar.append(shape("line", { class: "before", x1: at(shareOf(before)), x2: at(shareOf(before)), y1: 2, y2: 20 }));
  return bar;
}

/** Share over the looks, from 0 to 100 %. Told by the table. */
export function sparkOf({ updates, counts }) {
  const { width, height, edge } = SPARK;
  const span = updates.at(-1) - updates[0] || 1;
  const points = counts.map((count, index) => [edge + ((updates[index] - updates[0]) / span) * (width - 2 * edge),
    height - edge - shareOf(count) * (height - 2 * edge)].map((place) => place.toFixed(1)));
  const node = svg({ class: "spark meter-spark", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    shape("line", { class: "grid", x1: 0, x2: width, y1: edge, y2: edge }),
    shape("line", { class: "grid", x1: 0, x2: width, y1: height - edge, y2: height - edge }),
    shape("polyline", { points: points.map((point) => point.join(",")).join(" ") }));
  const [x, y] = points.at(-1);
  node.append(shape("circle", { cx: x, cy: y, r: 2.5 }));
  return node;
}

/** Every behaviour at every look, as a table. */
export function metersTable(meters) {
  const updates = [...new Set(meters.flatMap((meter) => meter.updates))].sort((a, b) => a - b);
  return el("table", {}, el("thead", {}, el("tr", {}, headOf("After update", "words"),
    meters.map(({ words }) => headOf(words)))),
  el("tbody", {}, updates.map((update) => el("tr", {},
    el("th", { scope: "row", class: "words" }, update || "0, before training"), meters.map((meter) => {
      const count = meter.counts[meter.updates.indexOf(update)];
      return el("td", {}, count ? [`${count.yes} of ${count.of} `, el("span", { class: "muted" },
        `(${intervalTold(count)})`)] : "\u2013");
    })))));
}
