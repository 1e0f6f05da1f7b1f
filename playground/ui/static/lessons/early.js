// What of the first page does not wait for Gradio, whose start takes longer: the page of the lessons is drawn at once,
// and Gradio's script, which ui/delivery.py holds back, begins when it has been painted.

import { place } from "../core/nav.js";

const UNSEEN_MS = 500; // in a tab that nobody looks at nothing is painted

async function beginLessons() {
  const { drawEarly } = await import("./first.js");
  drawEarly();
  await painted();
  for (const link of document.querySelectorAll("link[data-page='lessons']")) link.setAttribute("rel", "modulepreload");
}

function painted() {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, UNSEEN_MS);
  });
}

function beginGradio() {
  for (const held of document.querySelectorAll("script[type='held']")) {
    const script = document.createElement("script");
    for (const { name, value } of held.attributes) script.setAttribute(name, value);
    script.type = "module";
    held.replaceWith(script);
  }
}

if (place().page === "lessons") beginLessons().finally(beginGradio);
else beginGradio();
