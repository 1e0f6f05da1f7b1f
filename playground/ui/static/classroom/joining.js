// How one joins a class: its code, its QR code, its addresses. On the screen in front and at the desk.

import { el, shape, svg } from "../core/dom.js";

/** @param {string[]} rows "1" is dark @param {string} address that it leads to */
export function qrOf(rows, address) {
  const path = rows.flatMap((row, y) => [...row.matchAll(/1+/g)]
    .map(({ index, 0: { length } }) => `M${index} ${y}h${length}v1h-${length}z`)).join("");
  return svg("qr", { viewBox: `0 0 ${rows.length} ${rows.length}`, role: "img", "aria-label": `QR code of ${address}`,
    "shape-rendering": "crispEdges" },
  shape("rect", { width: rows.length, height: rows.length, fill: "#fff" }), shape("path", { d: path, fill: "#000" }));
}

/** What the class is about, by the names of the trade. */
export const ABOUT = "This is RLHF, reinforcement learning from human feedback: a language model writes, its texts are "
  + "scored as people would like them, and PPO, an algorithm, moves it towards what scored well.";

/** An address to be typed: without what a browser adds by itself. @param {string} address */
export function typedAddress(address) {
  return address.replace(/^http:\/\//, "").replace(/\?.*$/, "");
}

/** The code, to be read from afar and letter by letter. @param {string} code */
export function codeOf(code) {
  return el("strong.class-code", { "aria-label": [...code].join(" ") }, code);
}
