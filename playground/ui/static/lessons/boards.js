// The parts with a leash of their own that a lesson asks for, below its run: shown once that run has said what it has
// to say, for they show more than a prediction should know.

/** @type {Record<string, () => Promise<(place: string) => HTMLElement>>} */
const PARTS = {
  leash: async () => (await import("./leash.js")).leashPart,
  chalkboard: async () => (await import("./chalkboard.js")).chalkboardPart,
};

/** @type {HTMLElement | null} */
let box = null;
let shown = "";

/** Show those of a lesson's `look`, or none of them. @param {string[]} look */
export async function showBoards(look) {
  const names = look.filter((name) => name in PARTS);
  if (names.join() === shown) return;
  shown = names.join();
  if (!names.length) return box.replaceChildren();
  if (!box) {
    box = document.createElement("div");
    box.className = "lesson-boards";
    document.getElementById("run-view").after(box);
  }
  const wanted = shown;
  const makers = await Promise.all(names.map((name) => PARTS[name]()));
  if (wanted === shown) box.replaceChildren(...makers.map((make) => make("lesson")));
}
