// The charts as one PNG: each Bokeh canvas drawn under its title on a sheet in the page's own background.

import { whenChanged } from "./arithmetic.js";
import { cssValue } from "../core/dom.js";
import { live } from "../core/store.js";

const GAP = 24;
const HEAD = 44;

/** Save what the charts show now, laid out as on the page, with the marks of what was changed in words below. */
export function savePng(charts, marks) {
  const ratio = Math.max(window.devicePixelRatio || 1, 2);
  const cards = charts.map((chart) => ({
    chart, layer: chart.view.export("png"), card: chart.card.getBoundingClientRect(),
    stage: chart.stage.getBoundingClientRect(),
  }));
  const left = Math.min(...cards.map(({ card }) => card.left)) - GAP;
  const top = Math.min(...cards.map(({ card }) => card.top)) - HEAD;
  const sheet = document.createElement("canvas");
  sheet.width = (Math.max(...cards.map(({ card }) => card.right)) - left + GAP) * ratio;
  sheet.height = (Math.max(...cards.map(({ card }) => card.bottom)) - top + GAP
    + (marks.length ? 16 * marks.length + 8 : 0)) * ratio;
  const pen = sheet.getContext("2d");
  pen.scale(ratio, ratio);
  pen.fillStyle = cssValue("--pg-card");
  pen.fillRect(0, 0, sheet.width, sheet.height);
  const write = (text, x, y, colour, font) => {
    pen.fillStyle = cssValue(colour);
    pen.font = `${font} "IBM Plex Sans", sans-serif`;
    pen.fillText(text, x, y);
  };
  write(`${live.run?.title ?? ""}, update ${live.status?.update ?? 0}`, GAP, 28, "--pg-text", "700 16px");
  const wrong = live.run?.wrong_on_purpose;
  if (wrong) write(`! ${wrong}`, GAP + 320, 28, "--pg-danger", "700 12px");
  for (const { chart, layer, card, stage } of cards) {
    const x = card.left - left;
    write(chart.spec.title, x, card.top - top + 15, "--pg-text", chart.spec.large ? "700 14px" : "700 12px");
    const value = chart.value.textContent;
    pen.textAlign = "right";
    write(value, card.right - left - 6, card.top - top + 15, "--pg-text", chart.spec.large ? "700 14px" : "700 12px");
    pen.textAlign = "left";
    write(chart.note.textContent, x, stage.top - top - 4, "--pg-muted", "11px");
    pen.drawImage(layer.canvas, stage.left - left, stage.top - top, stage.width, stage.height);
    for (const { at, number } of chart.marked) {
      pen.strokeStyle = cssValue("--pg-reference");
      pen.setLineDash([3, 3]);
      pen.beginPath();
      pen.moveTo(stage.left - left + at, stage.top - top + 8);
      pen.lineTo(stage.left - left + at, stage.bottom - top - 18);
      pen.stroke();
      write(String(number), stage.left - left + at + 3, stage.top - top + 10, "--pg-text", "700 11px");
    }
  }
  const words = marks.map(({ number, update, messages }) => `${number} ${whenChanged(update)}: ${messages.join(", ")}`);
  words.forEach((text, index) => write(text, GAP, sheet.height / ratio - GAP - 16 * (words.length - 1 - index),
    "--pg-text", "12px"));
  sheet.toBlob((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${(live.runId ?? "run").replace(/^_/, "")}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 5000);
  });
}
