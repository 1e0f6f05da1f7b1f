// Model output on the page: monospaced, changed words marked by underline and tint, always as text nodes.

import { el } from "./dom.js";
import { wordDifference } from "./worddiff.js";

/** What a column "KL" of texts holds. */
export const KL_GLOSS = "Nats from the reference: how differently the policy and the reference would have gone on at "
  + "each place of this text, summed. 0 is no difference; it is never negative.";

/** The two texts as elements, with what differs marked. `plain` leaves the marks out (blind reading). */
export function textPair(before, after, { plain = false } = {}) {
  const [left, right] = plain || before === null
    ? [[{ text: before ?? "", changed: false }], [{ text: after, changed: false }]]
    : wordDifference(before, after);
  return [marked(left, "gone", before ?? ""), marked(right, "new", after)];
}

/** What there is to know in a line: [[name, value], ...]; what is null is left out. */
export function facts(pairs) {
  return pairs.filter(Boolean).map(([name, value]) => el("span", { class: "fact" },
    el("span", { class: "muted" }, `${name} `), el("span", { class: "fact-value" }, value)));
}

function marked(parts, kind, whole) {
  const node = el("p", { class: "output" });
  if (!whole.trim()) return el("p", { class: "output nothing" }, "(nothing)");
  for (const part of parts) {
    if (!part.changed) node.append(part.text);
    else {
      const space = part.text.match(/^\s*/)[0];
      node.append(space, el("mark", { class: kind }, part.text.slice(space.length)));
    }
  }
  if (node.firstChild?.nodeType === Node.TEXT_NODE)
    node.firstChild.textContent = node.firstChild.textContent.trimStart();
  return node;
}
