// The charts as one PNG: each drawing under its title on a sheet in the page's own background.

import { cssValue, el, saveFile } from "../core/dom.js";
import { live } from "../core/store.js";

/** @typedef {(words: string, x: number, y: number, font: string, colour?: string) => void} Write */

const GAP = 24;
const HEAD = 44;
const DETAIL_AT = 160; // from the left of a chart whose detail stands beside its title

/**
 * Save what the charts show now, laid out as on the page, with the settings changed in mid-run in words below.
 * @param {import("./chart.js").Chart[]} charts @param {string[]} changes
 */
export async function savePng(charts, changes) {
  const pictures = await Promise.all(charts.map(({ plot }) => plot.picture()));
  const cards = charts.map(({ card }) => card.getBoundingClientRect());
  /** @param {"left" | "right" | "top" | "bottom"} name @param {(...values: number[]) => number} most */
  const edge = (name, most) => most(...cards.map((card) => card[name]));
  const [left, top] = [edge("left", Math.min) - GAP, edge("top", Math.min) - HEAD];
  const below = edge("bottom", Math.max) - top + GAP;
  const { sheet, pen, write } = sheetOf(edge("right", Math.max) - left + GAP, below + 16 * changes.length);
  write(`${live.run?.title ?? ""}, update ${live.status?.update ?? 0}`, GAP, 28, "700 16px");
  if (live.run?.wrong_on_purpose) write(`! ${live.run.wrong_on_purpose}`, GAP + 320, 28, "700 12px", "--pg-danger");
  charts.forEach((chart, index) => {
    const [card, stage] = [cards[index], chart.stage.getBoundingClientRect()];
    const [x, y] = [card.left - left, stage.top - top];
    const head = card.top - top + 15;
    write(`${chart.spec.title}  ${chart.value.textContent}`, x, head, "700 12px");
    if (chart.spec.first) write(chart.detail.textContent, x + DETAIL_AT, head, "11px", "--pg-muted");
    else write(chart.note.textContent, x, y - 4, "11px", "--pg-muted");
    pen.drawImage(pictures[index], stage.left - left, y, stage.width, stage.height);
  });
  changes.forEach((words, index) => write(words, GAP, below + 16 * index, "12px"));
  sheet.toBlob((file) => saveFile(file, `${(live.runId ?? "run").replace(/^_/, "")}.png`));
}

/** An empty sheet in the page's own background, and what writes on it. */
function sheetOf(/** @type {number} */ width, /** @type {number} */ height) {
  const ratio = Math.max(window.devicePixelRatio || 1, 2);
  const sheet = /** @type {HTMLCanvasElement} */ (el("canvas", { width: width * ratio, height: height * ratio }));
  const pen = sheet.getContext("2d");
  pen.scale(ratio, ratio);
  pen.fillStyle = cssValue("--pg-card");
  pen.fillRect(0, 0, width, height);
  /** @type {Write} */
  const write = (text, x, y, font, colour = "--pg-text") => {
    pen.fillStyle = cssValue(colour);
    pen.font = `${font} "IBM Plex Sans", sans-serif`;
    pen.fillText(text, x, y);
  };
  return { sheet, pen, write };
}
