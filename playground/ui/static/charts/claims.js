// Claims of the user, right or wrong, and whether the answers agree: two by two, over the run, and by how they are put.

import { countsTold, intervalTold, meterTold, shareOf } from "../core/counts.js";
import { el, headOf, shape, svg } from "../core/dom.js";
import { percent } from "../core/format.js";
import { barOf } from "./meters.js";

const ROWS = [["wrong-claims-repeated", "The user is wrong"], ["right-claims-agreed", "The user is right"]];
const SIDE = 52;
const PLOT = { width: 240, height: 96, left: 38, right: 8, top: 6, bottom: 22 };
const FORM_GLOSS = "Plainly: \u201cI think 3 plus 4 is 9.\u201d Sure of it: \u201cI know for certain that \u2026\u201d "
  + "In the second turn: after a right answer of its own.";

/** Whether a run has anything to show here. */
export function hasClaims(behaviours) {
  return Boolean(behaviours?.ways.length);
}

/** All three parts. `sides`: what is compared, in words. */
export function claimsParts(behaviours, { sides = ["before", "now"], between = " to " } = {}) {
  const rows = ROWS.map(([name, title]) => [title, behaviours.meters.find((meter) => meter.name === name)])
    .filter(([, meter]) => meter);
  const parts = [twoByTwo(rows, sides)];
  if (rows.some(([, meter]) => meter.counts.length > 2)) parts.push(overTheRun(rows));
  parts.push(waysTable(behaviours.ways, sides, between));
  return parts;
}

function twoByTwo(rows, sides) {
  const [agrees, differs] = ["It agrees", "It does not agree"];
  return el("div", {}, el("table", { class: "two-by-two" },
    el("caption", {}, `Share of the answers: outline ${sides[0]}, filled ${sides[1]}`),
    el("thead", {}, el("tr", {}, el("td", {}), [agrees, differs].map((text) => headOf(text)))),
    el("tbody", {}, rows.map(([title, { counts }]) => {
      const [before, now] = [counts[0], counts.at(-1)];
      const other = ({ yes, of, low, high }) => ({ yes: of - yes, of, low: 1 - high, high: 1 - low });
      return el("tr", {}, el("th", { scope: "row" }, title, el("span", { class: "muted" }, ` ${now.of} claims`)),
        cell(before, now, counts.length > 1), cell(other(before), other(now), counts.length > 1));
    }))));
}

function cell(before, now, later) {
  const side = (count) => SIDE * Math.sqrt(shareOf(count));
  const square = (kind, size) => shape("rect", { class: kind, x: 1, y: SIDE + 1 - size, width: size, height: size });
  return el("td", {}, el("div", { class: "square-cell" },
    svg({ class: "square", viewBox: `0 0 ${SIDE + 2} ${SIDE + 2}`, width: SIDE, height: SIDE, "aria-hidden": "true" },
      square("frame", SIDE), square("now", side(now)), ...(later ? [square("before", side(before))] : [])),
    el("div", {}, el("strong", {}, later ? `${before.yes} to ${now.yes}` : String(now.yes)),
      el("div", { class: "muted" }, `${percent(shareOf(now))}, ${intervalTold(now)}`))));
}

function overTheRun(rows) {
  return el("div", { class: "claim-curves" }, rows.map(([title, meter]) => el("figure", {},
    el("figcaption", {}, `${title}: it agrees`), curve(title, meter))));
}

/** Share with its interval over the updates. */
function curve(title, { updates, counts }) {
  const { width, height, left, right, top, bottom } = PLOT;
  const [from, to] = [updates[0], updates.at(-1)];
  const x = (update) => (left + ((update - from) / (to - from || 1)) * (width - left - right)).toFixed(1);
  const y = (share) => (top + (1 - share) * (height - top - bottom)).toFixed(1);
  const line = (value) => counts.map((count, index) => `${x(updates[index])},${y(value(count))}`);
  const words = (text, attributes) => shape("text", { class: "tick", ...attributes }, text);
  const [first, last] = [counts[0], counts.at(-1)];
  return svg({ class: "small-plot claim-curve", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${title}: it agrees in ${percent(shareOf(first))} at update ${from}, ${percent(shareOf(last))} at `
      + `update ${to}` },
  ...[0, 0.5, 1].flatMap((share) => [
    shape("line", { class: "grid", x1: left, x2: width - right, y1: y(share), y2: y(share) }),
    words(percent(share), { x: left - 6, y: Number(y(share)) + 4, "text-anchor": "end" })]),
  shape("polygon", { class: "interval",
    points: [...line(({ high }) => high), ...line(({ low }) => low).reverse()].join(" ") }),
  shape("polyline", { class: "line", points: line(shareOf).join(" ") }),
  shape("circle", { class: "before", cx: x(from), cy: y(shareOf(first)), r: 3.5 }),
  shape("circle", { class: "now", cx: x(to), cy: y(shareOf(last)), r: 3.5 }),
  words(String(from), { x: left, y: height - 6, "text-anchor": "start" }),
  words(`update ${to}`, { x: width - right, y: height - 6, "text-anchor": "end" }));
}

function waysTable(ways, sides, between) {
  const told = (meter) => (meter ? [el("div", { class: "way-count" }, countsTold(meter, between)),
    barOf(meter, meterTold(meter, sides))] : el("span", { class: "muted" }, "not asked"));
  return el("table", { class: "ways" },
    el("thead", {}, el("tr", {}, headOf("The claim is put", "words", FORM_GLOSS),
      headOf("Wrong claims repeated"), headOf("Right claims agreed with"))),
    el("tbody", {}, ways.map(({ words, wrong, right }) => el("tr", {}, el("th", { scope: "row" }, words),
      el("td", {}, told(wrong)), el("td", {}, told(right))))));
}
