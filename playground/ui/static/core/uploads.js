// What becomes of a file that a person chooses. Gradio's buttons send it, and say nothing where it is not taken: of a
// file that is not to be sent this says why, and of one that did not arrive what the server answered.

import { noAnswer } from "./server.js";

/** @typedef {(sentence: string, isProblem: boolean) => void} Say */

/** @type {{ file: File, input: HTMLInputElement, say: Say } | null} */
let chosen = null;

/**
 * Say what becomes of the files that are chosen in a part of the page.
 * @param {string} part its selector @param {number} limit bytes of a file, at most @param {Say} say
 */
export function sayOfUploads(part, limit, say) {
  document.addEventListener("change", (event) => {
    const input = /** @type {HTMLInputElement} */ (event.target);
    const file = input.type === "file" && input.closest(part) ? input.files[0] : null;
    if (!file) return;
    const problem = problemOf(file, limit, input.accept.split(",").map((ending) => ending.trim()));
    chosen = problem ? null : { file, input, say };
    if (problem) {
      event.stopImmediatePropagation();
      input.value = "";
    }
    say(problem ? `The file was not taken. ${problem}` : `Sending ${file.name}`, Boolean(problem));
  }, { capture: true });
}

/** Why a file is not to be sent; "" where it is. @param {File} file @param {number} limit @param {string[]} endings */
export function problemOf({ name, size }, limit, endings) {
  if (!endings.some((ending) => name.toLowerCase().endsWith(ending))) {
    return `${name} must end in one of ${endings.join(", ")}. Save it as one of these.`;
  }
  return size <= limit ? "" : `${name} has ${megabytes(size)} MB and at most ${megabytes(limit)} MB can be uploaded. `
    + "Keep only the rows that are needed, or put it beside the playground and type its path.";
}

/** @param {number} bytes */
function megabytes(bytes) {
  return Math.ceil(bytes / 1e6).toLocaleString("en");
}

const ask = globalThis.fetch;

/** As the browser's own. */
globalThis.fetch = async (address, options) => {
  if (!chosen || !String(address).includes("gradio_api/upload")) return ask(address, options);
  const { file, input, say } = chosen;
  chosen = null;
  const refused = (/** @type {string} */ why) => {
    input.value = ""; // else it could not be chosen again
    say(`The file was not taken. ${file.name}: ${why}`, true);
  };
  try {
    const response = await ask(address, options);
    if (!response.ok) refused(await noAnswer(response.clone()));
    return response;
  } catch (error) {
    refused(await noAnswer(null));
    throw error;
  }
};
