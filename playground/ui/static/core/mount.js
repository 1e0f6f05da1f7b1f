// Every part that Python places on the page begins here (ui/components.py): its script is loaded and mounted, at once
// or when the page that it stands on is in view for the first time.

import { whenAt } from "./nav.js";
import { answering } from "./server.js";

/** @type {Record<string, unknown> | null} */
let lists = null; // what several parts offer to choose from; the page has it once

/**
 * `props` name the `module` of static/, the `page` that it waits for (null: none), and `lists` that it needs.
 * @param {HTMLElement} element
 * @param {{ module: string, page?: string | null, lists?: string[], [name: string]: unknown }} props
 * @param {Page.Tools} tools
 */
export async function mount(element, props, { trigger, watch, server }) {
  const { module, page = null, lists: names = [] } = props;
  if (page) await opened(page);
  lists ??= /** @type {Record<string, unknown>} */ (JSON.parse(document.getElementById("lists").textContent));
  for (const name of names) props[name] = lists[name];
  const part = await import(`../${module}.js`);
  part.mount(element, props, { trigger, watch, server: answering(server) });
}

/**
 * When a page is in view for the first time; the browser then hears of all scripts that it needs.
 * @param {string} page
 */
function opened(page) {
  return /** @type {Promise<void>} */ (new Promise((resolve) => whenAt((place) => place.page === page, () => {
    for (const link of document.querySelectorAll(`link[data-page="${page}"]:not([rel])`))
      link.setAttribute("rel", "modulepreload");
    resolve();
  })));
}
