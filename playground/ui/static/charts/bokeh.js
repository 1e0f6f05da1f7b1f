// BokehJS, which draws the curves: its two files come from the installed package once, for all parts that draw. They may
// be blocked, missing or slow, so each part says in words why nothing is drawn, and shows its numbers without it.

import { el, setText } from "../core/dom.js";

const LATE_MS = 10000; // then the page says that it waits
const LIBRARY = "the library that draws (BokehJS)";

let loading = null;

/** BokehJS, which has no types of its own here; undefined until it has come. @returns {any} */
export function bokeh() {
  return /** @type {any} */ (window).Bokeh;
}

/** Whether `what` can be drawn, as soon as that is known. While it is late, or when it does not come, `note` says so, and
    where the numbers are: `instead`. */
export async function bokehReady(note, what, instead) {
  const late = setTimeout(() => setText(note,
    `${what} are not drawn yet: ${LIBRARY} is still on its way from the playground. ${instead}`), LATE_MS);
  loading ??= load();
  const ready = await loading;
  clearTimeout(late);
  setText(note, ready ? "" : `${what} cannot be drawn: ${LIBRARY} did not come from the playground. Reload the page. If it `
    + `stays like this, something between the browser and the playground keeps it back (an ad blocker, a proxy), or the package bokeh is not installed where the playground runs. ${instead}`);
  return ready;
}

/** The head of the page names the files, in their order (playground/ui/page.py). */
async function load() {
  try {
    for (const link of document.querySelectorAll("link[data-bokeh]")) await script(link.getAttribute("href"));
  } catch {
    return false;
  }
  return Boolean(bokeh()?.Plotting); // a proxy may have sent a page of its own in place of a file
}

function script(address) {
  return new Promise((resolve, reject) => {
    document.head.append(el("script", { src: address, onload: resolve, onerror: reject }));
  });
}
