// A formula as elements of MathML, which the browser draws and reads out. The server has made the tree; an element that
// is not on the list is left out here all the same, with what is in it, and so is an attribute.

import { translated } from "../core/language.js";

const SPACE = "http://www.w3.org/1998/Math/MathML";
const ELEMENTS = new Set(("math mrow mi mn mo mtext mspace mfrac mroot msqrt msup msub msubsup munder mover munderover "
  + "mtable mtr mtd mstyle mpadded mphantom").split(" "));
const ATTRIBUTES = new Set(("display displaystyle scriptlevel mathvariant width height depth stretchy fence form "
  + "separator minsize maxsize lspace rspace movablelimits accent accentunder columnalign columnspacing rowspacing "
  + "linethickness symmetric").split(" "));

/** @param {Wire.Formula} formula @returns {Element | string} */
export function formulaOf({ name, attributes = {}, parts }) {
  if (!ELEMENTS.has(name)) return "";
  const node = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes))
    if (ATTRIBUTES.has(key)) node.setAttribute(key, String(value));
  node.append(...parts.map((part) => (typeof part === "string" ? translated(part) : formulaOf(part))));
  return node;
}
