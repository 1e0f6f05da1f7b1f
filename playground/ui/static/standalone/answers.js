// Answers in place of a server: what the page asks for was answered when the page was made
// (playground/ui/standalone/answers.py).

import { saveFile } from "../core/dom.js";
import { answerFrom } from "../core/server.js";
import { overlaid } from "./overlay.js";

/**
 * What is said of the page: those there are, what belongs into the list of experiments, a line about it.
 * @typedef {{ pages: string[], groups: Wire.SweepChoices["presets"], steps: Wire.Step[], notice: string,
 *   stories: Record<string, Wire.Story> }} About
 */

/** @typedef {Record<string, unknown>} Pack answers by what their addresses say beyond the pack's name */

const OTHERS = "*";
const NOT_KEPT = "This is not among what was recorded.";
/** @type {Record<string, string>} */
const ENDINGS = { "export/html": ".html", "export/yaml": ".yaml", "export/trl": ".py" };

/**
 * Let the page ask `read` for packs, such as `live/_recorded/poll`, instead of a server.
 * @param {(pack: string) => Promise<Pack>} read
 * @returns {Promise<About>} what is said of the page
 */
export async function answerWith(read) {
  /** @param {string} path */
  const json = async (path) => {
    const { pack, key, query } = placeOf(path);
    if (pack === "live/_overlay") return overlaid(query.get("runs").split(","), read);
    const found = await read(pack);
    const answer = /** @type {{ error?: string }} */ (found[key] ?? found[OTHERS]);
    if (answer === undefined || answer.error) throw new Error(answer?.error ?? NOT_KEPT);
    return structuredClone(answer); // whose parts grow while they are shown
  };
  const { files, ...about } = /** @type {About & { files: string[] }} */ ((await read("live/_page"))[""]);
  answerFrom({ json, files, save: (run, what) => save(run, what, json) });
  return about;
}

/** @param {string} path */
function placeOf(path) {
  const [address, query = ""] = path.split("?");
  const parts = address.split("/").map(decodeURIComponent);
  const key = parts.slice(3).join("/") + (query && `?${query}`);
  return { pack: parts.slice(0, 3).join("/"), key, query: new URLSearchParams(query) };
}

/**
 * Save a file of a run.
 * @param {string} run
 * @param {string} what
 * @param {(path: string) => Promise<unknown>} json
 */
async function save(run, what, json) {
  const text = await json(`live/${run}/${what}`).catch((error) => error.message);
  saveFile(new Blob([String(text)], { type: "text/plain" }), run.replace(/^_/, "") + (ENDINGS[what] ?? `-${what}`));
}
