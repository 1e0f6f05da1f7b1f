// The charts as one PNG: each Bokeh canvas drawn under its title on a sheet in the page's own background.

import { whenChanged } from "./arithmetic.js";
import { cssValue, el } from "../core/dom.js";
import { live } from "../core/store.js";

const GAP = 24;
const HEAD = 44;

/** Save what the charts show now, laid out as on the page, with the marks of what was changed in words below. */
export function savePng(charts, marks) {
  const cards = charts.map((chart) => ({ chart, layer: chart.view.export("png"),
    card: chart.card.getBoundingClientRect(), stage: chart.stage.getBoundingClientRect() }));
  const edge = (name, most) => most(...cards.map(({ card }) => card[name]));
  const left = edge("left", Math.min) - GAP;
  const top = edge("top", Math.min) - HEAD;
  const height = edge("bottom", Math.max) - top + GAP + (marks.length ? 16 * marks.length + 8 : 0);
  const { sheet, pen, write } = sheetOf(edge("right", Math.max) - left + GAP, height);
  write(`${live.run?.title ?? ""}, update ${live.status?.update ?? 0}`, GAP, 28, "--pg-text", "700 16px");
  const wrong = live.run?.wrong_on_purpose;
  if (wrong) write(`! ${wrong}`, GAP + 320, 28, "--pg-danger", "700 12px");
  for (const { chart, layer, card, stage } of cards) {
    const font = chart.spec.large ? "700 14px" : "700 12px";
    const [x, y] = [stage.left - left, stage.top - top];
    write(chart.spec.title, card.left - left, card.top - top + 15, "--pg-text", font);
    write(chart.value.textContent, card.right - left - 6, card.top - top + 15, "--pg-text", font, "right");
    write(chart.note.textContent, card.left - left, y - 4, "--pg-muted", "11px");
    pen.drawImage(layer.canvas, x, y, stage.width, stage.height);
    for (const { at, number } of chart.marked) {
      pen.beginPath();
      pen.moveTo(x + at, y + 8);
      pen.lineTo(x + at, y + stage.height - 18);
      pen.stroke();
      write(String(number), x + at + 3, y + 10, "--pg-text", "700 11px");
    }
  }
  marks.forEach(({ number, update, messages }, index) => write(`${number} ${whenChanged(update)}: ${
    messages.join(", ")}`, GAP, height - GAP - 16 * (marks.length - 1 - index), "--pg-text", "12px"));
  save(sheet);
}

/** An empty sheet in the page's own background, and what writes on it. */
function sheetOf(width, height) {
  const ratio = Math.max(window.devicePixelRatio || 1, 2);
  const sheet = /** @type {HTMLCanvasElement} */ (el("canvas", { width: width * ratio, height: height * ratio }));
  const pen = sheet.getContext("2d");
  pen.scale(ratio, ratio);
  pen.fillStyle = cssValue("--pg-card");
  pen.fillRect(0, 0, width, height);
  pen.strokeStyle = cssValue("--pg-reference");
  pen.setLineDash([3, 3]);
  const write = (text, x, y, colour, font, align = "left") => {
    pen.textAlign = /** @type {CanvasTextAlign} */ (align);
    pen.fillStyle = cssValue(colour);
    pen.font = `${font} "IBM Plex Sans", sans-serif`;
    pen.fillText(text, x, y);
  };
  return { sheet, pen, write };
}

function save(sheet) {
  sheet.toBlob((blob) => {
    const link = el("a", { href: URL.createObjectURL(blob),
      download: `${(live.runId ?? "run").replace(/^_/, "")}.png` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 5000);
  });
}
