// One run as one file: all packs of answers stand in the page.

import { answerWith } from "./answers.js";
import { unpack } from "./unpack.js";

/** @type {Record<string, import("./answers.js").Pack>} */
const packs = JSON.parse(await unpack(document.getElementById("answers").textContent));
const about = await answerWith(async (pack) => packs[pack] ?? {});
const { show } = await import("./page.js"); // not before there are answers
show(about);
