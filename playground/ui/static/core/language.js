// The words of the page in another language; what has no translation stays in English. `?lang=es` chooses one, and so
// does the menu of the page. The sentences are written in lessons/languages/.

import { recall, remember } from "./kept.js";
import { wordsOf } from "./sentences.js";

const KEPT = "playground-language";
/** @type {Record<string, () => Promise<{ default: [english: string, other: string][] }>>} */
const SENTENCES = { es: () => import("../languages/es.js"), zh: () => import("../languages/zh.js") };

export const LANGUAGES = { en: "English", es: "Espa\u00f1ol", zh: "\u4e2d\u6587" };

export const language = chosenLanguage();
if (language !== "en") document.documentElement.lang = language;

const words = wordsOf(await sentencesOf(language));

/**
 * A text of the page in the language of its visitor; where that has none, as it is.
 * @template Text @param {Text} text @returns {Text | string}
 */
export function translated(text) {
  return typeof text === "string" && language !== "en" ? words.translate(text) : text;
}

/** Choose another language, and begin anew with it. @param {string} name */
export function speak(name) {
  remember(KEPT, name);
  const address = new URL(location.href);
  address.searchParams.delete("lang");
  location.assign(address);
}

function chosenLanguage() {
  const name = new URLSearchParams(globalThis.location?.search).get("lang") ?? recall(KEPT) ?? "";
  return name in SENTENCES ? name : "en";
}

/** @param {string} name */
async function sentencesOf(name) {
  try {
    return name in SENTENCES ? (await SENTENCES[name]()).default : [];
  } catch {
    return []; // the page in English is better than none
  }
}
