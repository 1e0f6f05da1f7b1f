// What can be done with a run or with all runs of a sweep from the list: two buttons and a menu, and what each asks the
// server.

import { buttonOf, confirmed, el, setWords } from "../core/dom.js";
import { menuButton } from "../core/menu.js";
import { answerOf } from "../core/server.js";
import { fileLinks } from "../core/texts.js";
import { when } from "../core/format.js";
import { refreshHome } from "../core/home.js";
import { go, openRun, place } from "../core/nav.js";
import { live, open } from "../core/store.js";

export class RunActions {
  /** @param {import("./history.js").History} page @param {Page.Server} server */
  constructor(page, server) {
    this.page = page;
    this.server = server;
    /** @type {Map<string, string>} */
    this.busy = new Map(); // what a button says while its question is under way, by the button's key
  }

  /** @param {string} key @param {string} name @param {() => unknown} onclick */
  button(key, name, onclick, kind = "") {
    const word = this.busy.get(key);
    return buttonOf(`quiet-button ${kind}`, { "data-key": key, off: Boolean(word), onclick }, word ?? name);
  }

  /**
   * The same for what takes a moment: `ask` asks the server, `then` follows.
   * @param {string} key @param {string} name @param {string} busyWord
   * @param {() => Promise<{ error?: string, going?: number }>} ask @param {() => unknown} then
   */
  asking(key, name, busyWord, ask, then) {
    return this.button(key, name, async () => {
      this.busy.set(key, busyWord);
      this.redraw();
      const answer = await answerOf(ask, "; nothing was done. Try again in a moment.");
      this.busy.delete(key);
      this.redraw();
      if (!answer.error || answer.going) await then();
      setWords(this.page.note, answer.error ?? "");
      refreshHome();
    });
  }

  redraw() {
    this.page.show();
    this.page.panel.showAll();
  }

  ofRun(/** @type {Wire.ListedRun} */ run) {
    const { id } = run;
    const { server, page } = this;
    const items = [
      run.resumable ? this.asking(`resume ${id}`, "Resume", "Resuming\u2026", () => server.resume_run(id),
        () => openRun(id)) : null,
      run.place ? this.asking(`out ${id}`, "Take out of the queue", "Taking it out\u2026", () => server.stop_run(id),
        () => page.refresh()) : null,
      this.button(`settings ${id}`, "Put its settings into the form", () => document.dispatchEvent(
        new CustomEvent("playground-use-settings", { detail: { run: id } }))), // train/filler.js does it
      this.button(`name ${id}`, "Rename", () => this.rename(run)),
      el("div.menu-head", { role: "presentation" }, "Download"), ...fileLinks(id),
      run.end ? [el("hr", { role: "presentation" }),
        this.button(`delete ${id}`, "Delete", () => this.delete(run), "delete")] : null,
    ].flat().filter(Boolean);
    const busy = ["resume", "out"].map((what) => this.busy.get(`${what} ${id}`)).find(Boolean);
    return [
      this.button(`show ${id}`, "Open", () => openRun(id)),
      run.figures.gain.value === null ? null
        : this.button(`compare ${id}`, "Compare", () => go({ page: "compare", run: id })),
      ...menuButton(id, busy ?? "More", run.title, items, { off: Boolean(busy) }),
    ];
  }

  /**
   * What can be asked of all runs of a sweep; `where` tells the same buttons in two places apart.
   * @param {Wire.SweepRow | undefined} sweep @param {string} where @returns {HTMLElement[]}
   */
  ofSweep(sweep, where = "") {
    if (!sweep) return [];
    const { id, ended } = sweep;
    const { server, page } = this;
    const then = () => Promise.all([page.refresh(), page.panel.refresh()]);
    return [
      ended ? null
        : this.asking(`${where}stop-all ${id}`, "Stop all", "Stopping\u2026", () => server.stop_sweep(id), then),
      ended && sweep.resumable ? this.asking(`${where}resume-all ${id}`, "Resume all", "Resuming\u2026", async () => {
        const answer = await server.resume_sweep(id);
        const [first] = answer.refused ?? [];
        return answer.error || !first ? answer
          : { ...answer, error: `${answer.going} go on; ${first[0]} does not: ${first[1]}` };
      }, then) : null,
      this.button(`${where}add-seeds ${id}`, "Add seeds", () => this.addSeeds(sweep, then)),
      ended ? this.button(`${where}delete-all ${id}`, "Delete all", () => this.deleteAll(sweep), "delete")
        : null,
    ].filter(Boolean);
  }

  /**
   * Every setting of a sweep with some seeds more.
   * @param {Wire.SweepRow} sweep @param {() => unknown} then
   */
  async addSeeds({ id, title }, then) {
    const seeds = el("input", { type: "number", min: 1, max: 20, value: 2 });
    const about = el("p", `${title}: every setting is trained with further seeds, in the queue like other runs. `
      + "The means and their intervals take them in.");
    if (!(await confirmed("Add seeds", [about, el("label", "Further seeds", seeds)], "Add", { no: "Cancel",
      kind: "strong" }))) return;
    const { error = "" } = await answerOf(() => this.server.add_seeds({ sweep: id, seeds: Number(seeds.value) }),
      "; look again before you repeat it.");
    await then();
    setWords(this.page.note, error);
    refreshHome();
  }

  /** Another name, and a line about it; the folder of the run stays. */
  async rename(/** @type {Wire.ListedRun} */ { id, title, note }) {
    /** @param {string} label @param {string} value @param {number} most @param {string} placeholder */
    const input = (label, value, most, placeholder) => el("label", label,
      el("input", { type: "text", value, maxlength: most, placeholder }));
    const parts = [input("Name", title, 80, "the name from the form"),
      input("Note", note, 300, "a note to yourself")];
    const kept = el("p.muted", "Shown wherever the run is. Its folder keeps its name, ", el("code", id), ".");
    if (!(await confirmed("Name and note", [...parts, kept], "Save", { no: "Cancel", kind: "strong" }))) return;
    const [name, words] = parts.map((part) => part.querySelector("input").value);
    const { error = "" } = await answerOf(() => this.server.name_run({ run: id, name, note: words }),
      "; nothing was changed.");
    setWords(this.page.note, error);
    await this.page.refresh();
    refreshHome();
  }

  async delete(/** @type {Wire.ListedRun} */ { id, title, started_at: started }) {
    const answer = await this.bin("Delete this run?", `${title}, ${when(started)} (${id}).`, "It moves", `run ${id}`,
      () => this.server.delete_run(id));
    if (answer && !answer.error && live.runId === id) open(null);
  }

  async deleteAll(/** @type {Wire.SweepRow} */ { id, title, started_at: started }) {
    const runs = this.page.known.filter((run) => run.sweep === id).map((run) => run.id);
    const one = runs.length === 1;
    const answer = await this.bin("Delete all runs of this sweep?",
      `${title}, ${when(started)}: ${one ? "1 run" : `${runs.length} runs`}.`, one ? "It moves" : "They move",
      `sweep ${id}`, () => this.server.delete_sweep(id));
    if (!answer || answer.error) return;
    if (place().sweep === id) go({ page: "runs", sweep: "" });
    if (runs.includes(live.runId)) open(null);
  }

  /**
   * Delete what `ask` deletes, once that is confirmed; null where it is not. The name in the row that follows `key`
   * gets the keyboard.
   * @param {string} title @param {string} what @param {string} moves @param {string} key
   * @param {() => Promise<Wire.Done>} ask
   */
  async bin(title, what, moves, key, ask) {
    const { body, sweepButton, note } = this.page;
    const kept = el("p.muted", `${moves} to the bin, the folder .bin inside the outputs folder, and ${
      moves.startsWith("It") ? "stays" : "stay"} there until the bin is emptied.`);
    if (!(await confirmed(title, [el("p", what), kept], "Delete"))) return null;
    const keys = /** @type {HTMLElement[]} */ ([...body.children]).map((part) => part.dataset.key);
    const near = [...keys.slice(keys.indexOf(key)), ...keys.slice(0, keys.indexOf(key)).reverse()];
    const answer = await answerOf(ask, "; look again before you repeat it.");
    await this.page.refresh();
    setWords(note, answer.error ?? "");
    const names = near.map((one) => /** @type {HTMLElement | null} */ (
      body.querySelector(`[data-key="${CSS.escape(one)}"] .name :is(a, button)`)));
    (names.find(Boolean) ?? sweepButton).focus({ preventScroll: true });
    return answer;
  }
}
