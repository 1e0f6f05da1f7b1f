// The notice under the status line: how a run ended and what to do, that it waits, that it does not answer, that the
// playground does not. What to say is `noticeOf`, a pure function of what is known; the class below shows it.

import { el, showButtons, showParts, signOf, withCode } from "../core/dom.js";
import { FoldedText } from "../core/folded_text.js";
import { duration } from "../core/format.js";

/** @typedef {{ key: string, tone: string, icon: string, title: string, lines: string[], remedy?: string,
 *   actions: string[], log: boolean }} Told */

const LOG_LINES = 40;
export const PATIENCE_SECONDS = 10; // how long a run may take to stop before the page offers to end it

/**
 * What there is to say, or null: {key, tone, icon, title, lines, remedy, actions, log}. `actions` are names that
 * StatusPanel knows; `remedy` is a line too, for those who may do what it says. `facts`: run, status, lost (seconds to
 * the next try, or null), silent and stopping (seconds or null), offer (of resuming).
 * @param {{ run: Wire.Run | null, status: Page.Status | null, lost: number | null, silent: number | null,
 *   stopping: number | null, offer: Wire.ResumeOffer | null }} facts
 * @returns {Told | null}
 */
export function noticeOf({ run, status, lost, silent, stopping, offer }) {
  if (lost !== null) {
    return { key: "lost", tone: "bad", icon: "!", title: "The playground does not answer",
      lines: [`${status && !status.ended && !run?.recorded ? "A run that is training goes on without it. " : ""}The `
        + `page tries again ${lost > 0 ? `in ${duration(Math.ceil(lost))}` : "now"} and comes back to this run by `
        + "itself."],
      actions: ["retry"], log: false };
  }
  if (!run || !status || run.recorded) return null;
  if (status.ended) return status.state === "finished" && !status.reason ? null : endNotice(status, offer, run.watched);
  if (status.before !== null && status.before !== undefined) {
    const ahead = status.before;
    return { key: `queued ${ahead}`, tone: "quiet", icon: "\u25CB",
      title: ahead ? `Waiting: ${ahead} ${ahead === 1 ? "run" : "runs"} before it` : "Waiting: it is next",
      lines: ["It starts by itself when its device is free. You can close this page, and the playground may be "
        + "restarted: it keeps its place."],
      actions: ["takeOut"], log: false };
  }
  if (silent !== null) {
    return { key: "silent", tone: "bad", icon: "!", title: `Not answering for ${duration(silent)}`,
      lines: ["The worker has given no sign of life for too long. The machine may be short of memory, asleep, or "
        + "waiting for a disk; then the run goes on by itself as soon as it can."],
      remedy: "If it stays like this, end it: what it did up to its last checkpoint is kept.",
      actions: ["end"], log: true };
  }
  if (stopping !== null && stopping >= PATIENCE_SECONDS) {
    return { key: "stopping", tone: "quiet", icon: "\u25D1", title: `Still stopping after ${duration(stopping)}`,
      lines: ["It was asked to stop and is saving its weights first; a large model on a slow disk takes a while."],
      remedy: "You can end it now: then what it did up to its last checkpoint is kept, and the rest is lost.",
      actions: ["end"], log: true };
  }
  return null;
}

/** @param {Page.Status} status @param {Wire.ResumeOffer | null} offer @param {boolean} watched @returns {Told} */
function endNotice(status, offer, watched) {
  const again = offer?.instead || status.end?.remedy || "";
  const early = status.state === "finished";
  const quiet = early || status.state === "stopped";
  const title = status.end?.title ?? "It ended";
  const told = status.message || (quiet ? "It was asked to stop." : "It ended without saying why.");
  const what = told.startsWith(`${title}. `) ? told.slice(title.length + 2) : told; // said already, in larger letters
  return { key: `end ${status.attempt} ${status.reason}`, tone: quiet ? "quiet" : "bad",
    icon: early ? "\u2713" : quiet ? "\u25A0" : "\u2715",
    title, lines: [what, ...(offer?.skipped ?? [])], remedy: again ? `What to do: ${lowered(again)}` : "",
    actions: watched ? [] : [...(offer && offer.from !== null ? ["resume"] : []), "again"], log: !watched };
}

/** A sentence as the part after a colon. @param {string} sentence */
function lowered(sentence) {
  return /^[A-Z][a-z]/.test(sentence) ? sentence[0].toLowerCase() + sentence.slice(1) : sentence;
}

export class Notice {
  /**
   * `actions`: name -> what to give `showButtons`, for the names that `noticeOf` uses.
   * @param {Record<string, () => Page.Button>} actions
   */
  constructor(actions) {
    this.actions = actions;
    this.notice = /** @type {Told | null} */ (null);
    this.title = el("h2");
    this.lines = el("div.notice-lines");
    this.buttons = el("div.notice-actions");
    this.log = new FoldedText("The end of its log", "log", LOG_LINES);
    this.root = el("div.notice", { hidden: true }, this.title, this.lines, this.buttons, this.log.root);
  }

  /** Show a notice of `noticeOf` about a run, or nothing. @param {Told | null} notice @param {string | null} runId */
  show(notice, runId) {
    this.log.show(notice?.log ? runId : null);
    this.notice = notice;
    if (!notice) showButtons(this.buttons, []);
    this.root.hidden = !notice;
    if (!notice) return;
    const { tone, key, icon, title, lines, remedy, actions } = notice;
    Object.assign(this.root.dataset, { tone, key });
    showParts(this.title, [signOf(icon), el("span", ` ${title}`)]);
    showParts(this.lines, [...lines.map((line) => el("p", withCode(line))),
      ...(remedy ? [el("p.remedy", withCode(remedy))] : [])]);
    showButtons(this.buttons, actions.map((name) => ({ key: name, ...this.actions[name]() })));
  }
}
