// The charts as one PNG: each Bokeh canvas drawn under its title on a sheet in the page's own background.

import { cssValue } from "./dom.js";
import { live } from "./store.js";

const GAP = 24;
const HEAD = 44;

/** Save what the charts show now, laid out as on the page. */
export function savePng(charts) {
  const ratio = Math.max(window.devicePixelRatio || 1, 2);
  const cards = charts.map((chart) => ({
    chart, layer: chart.view.export("png"), card: chart.card.getBoundingClientRect(), stage: chart.stage.getBoundingClientRect(),
  }));
  const left = Math.min(...cards.map(({ card }) => card.left)) - GAP;
  const top = Math.min(...cards.map(({ card }) => card.top)) - HEAD;
  const sheet = document.createElement("canvas");
  sheet.width = (Math.max(...cards.map(({ card }) => card.right)) - left + GAP) * ratio;
  sheet.height = (Math.max(...cards.map(({ card }) => card.bottom)) - top + GAP) * ratio;
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
  for (const { chart, layer, card, stage } of cards) {
    const x = card.left - left;
    write(chart.spec.title, x, card.top - top + 15, "--pg-text", chart.spec.large ? "700 14px" : "700 12px");
    const value = chart.value.textContent;
    pen.textAlign = "right";
    write(value, card.right - left - 6, card.top - top + 15, "--pg-text", chart.spec.large ? "700 14px" : "700 12px");
    pen.textAlign = "left";
    write(chart.note.textContent, x, stage.top - top - 4, "--pg-muted", "11px");
    pen.drawImage(layer.canvas, stage.left - left, stage.top - top, stage.width, stage.height);
  }
  sheet.toBlob((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${(live.runId ?? "run").replace(/^_/, "")}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 5000);
  });
}
