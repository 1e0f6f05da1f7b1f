// A page of recordings as files: each pack of answers is one, asked for when it is needed. It has the lessons too,
// whose runs are recordings, and the models of the leash, which answer in the browser.

import { answerWith } from "./answers.js";
import { unpack } from "./unpack.js";

const MISSING = "This part of the page could not be loaded. Reload the page.";
/** @type {Map<string, Promise<Record<string, unknown>>>} */
const packs = new Map();

/** @param {string} pack */
function read(pack) {
  if (!packs.has(pack)) packs.set(pack, load(pack));
  return packs.get(pack);
}

/** @param {string} pack */
async function load(pack) {
  const name = pack.split("/").slice(1).map((part) => part.replace(/^_/, "")).join("/");
  try {
    const response = await fetch(new URL(`answers/${name}.txt`, document.baseURI));
    if (!response.ok) throw new Error(MISSING);
    return JSON.parse(await unpack(await response.text()));
  } catch {
    packs.delete(pack); // the next question asks again
    throw new Error(MISSING);
  }
}

const about = await answerWith(read);
const [{ show }, panel, { whenAt }] = await Promise.all([import("./page.js"), // not before there are answers
  import("../lessons/panel.js"), import("../core/nav.js")]);
show(about);
panel.mount(document.getElementById("lesson-panel"), {}, { server: /** @type {Page.Server} */ ({}) });
whenAt(({ page }) => page === "lessons", async () => {
  const { mount } = await import("../lessons/lessons.js");
  const { askPolicy } = await import("./asking.js");
  mount(document.getElementById("lessons"), {}, { server: /** @type {Page.Server} */ ({ ask_policy: askPolicy }) });
});
