// What of the first page does not wait for Gradio, whose start takes longer: the page of the lessons begins at once.

import { place } from "../core/nav.js";

if (place().page === "lessons") {
  for (const link of document.querySelectorAll("link[data-page='lessons']")) link.setAttribute("rel", "modulepreload");
  import("./first.js").then(({ drawEarly }) => drawEarly());
}
