// A slider of a few stops with their names under it, and the zones that they are in. It is a native one: the keyboard,
// a finger and a screen reader know it.

import { el, setAttribute, setText } from "../core/dom.js";

const HALF = 0.45; // of the way to the next stop: so far a zone reaches beyond its last one
const EDGE = 0.15;

/**
 * `stops`: what each is called; `zones` of each, and their `names`; `shown`: whose names stand
 * below it, all by default; `ends`: words for the first and the last; `nameOf(index)`: what is said of one. `moved`
 * hears each move, `rested` the end of one.
 * @param {{ id: string, label: string, stops: string[], zones?: number[], names?: string[], shown?: string[],
 *   ends?: string[], marked: number,
 *   nameOf: (index: number) => string, moved: (index: number) => void, rested: () => void }} given
 */
export function stopsOf({ id, label, stops, zones = [], names = [], shown = stops, ends = [], marked, nameOf,
  moved, rested }) {
  const value = el("span.board-value", { "aria-hidden": "true" });
  const input = el("input", { id, type: "range", min: "0", max: String(stops.length - 1), step: "1",
    value: String(marked), oninput: () => {
      made.tell();
      moved(made.index);
    }, onchange: rested });
  const share = (/** @type {number} */ at) => `--share: ${(at / (stops.length - 1)).toFixed(4)}`;
  const endOf = (/** @type {number} */ index) => {
    const word = index === 0 ? ends[0] : index === stops.length - 1 ? ends[1] : null;
    return word ? `, ${word}` : "";
  };
  const made = {
    get index() {
      return Number(input.value);
    },
    set index(index) {
      input.value = String(index);
      made.tell();
    },
    tell() {
      setAttribute(input, "aria-valuetext", nameOf(made.index));
      setText(value, stops[made.index] + (names.length ? `, ${names[zones[made.index]]}` : ""));
    },
    root: el("div.board-slider", el("div.board-slider-head", el("label", { for: id }, label), value), input,
      el("div.board-stops", { "aria-hidden": "true" }, stops.map((stop, index) =>
        (shown.includes(stop)
          ? el("span", { class: index === marked ? "marked" : null, style: share(index) }, stop, endOf(index))
          : null))),
      names.length ? el("div.board-zones", { "aria-hidden": "true" }, names.map((name, zone) => {
        const [from, to] = [zones.indexOf(zone), zones.lastIndexOf(zone)];
        const ends = [from - HALF, to + HALF].map((at) => Math.min(Math.max(at, -EDGE), stops.length - 1 + EDGE));
        const [start, end] = ends.map((at) => (at / (stops.length - 1)).toFixed(4));
        return from < 0 ? null
          : el("span", { "data-zone": String(zone), style: `--from: ${start}; --to: ${end}` }, name);
      })) : null),
  };
  made.tell();
  return made;
}
