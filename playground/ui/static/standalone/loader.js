// The first script of a replay: gives every module in the file an address, and begins with the one of the page.
// unpack.js stands before it in place of the import.

import { unpack } from "./unpack.js";

/** @param {string | null} nonce */
async function begin(nonce) {
  const kind = { type: "text/javascript" };
  const address = (/** @type {string} */ source) => URL.createObjectURL(new Blob([source], kind));
  const scripts = await unpack(document.getElementById("scripts").textContent);
  const imports = Object.fromEntries(Object.entries(JSON.parse(scripts))
    .map(([name, source]) => [`playground/${name}`, address(source)]));
  const map = document.createElement("script");
  Object.assign(map, { type: "importmap", nonce, textContent: JSON.stringify({ imports }) });
  document.head.append(map);
  await import(imports["playground/standalone/replay.js"]);
}

begin(document.currentScript.nonce);
