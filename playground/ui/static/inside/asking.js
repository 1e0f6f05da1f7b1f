// The way to the model service for what a run has not recorded. Has no looks of its own; `ask` is what others call.

import { answerOf } from "../core/server.js";

let server = null;

export function mount(element, props, page) {
  element.hidden = true;
  server = page.server;
}

/** One answer written again and seen token by token: {error, look, absent, unit}. */
export function askTokens(question) {
  return answerOf(() => server.ask_tokens(question), "; nobody was asked.");
}
