// What the run in view does, counted: the meters of its behaviours above the curves, what the reward pays for and
// nobody wants, and for claims of the user how they are put.

import { claimsParts, hasClaims } from "../charts/claims.js";
import { keyOf, meterRow, metersTable } from "../charts/meters.js";
import { buttonOf, el, helpOf, runTitle, setHidden, setText, showParts, signOf } from "../core/dom.js";
import { signed } from "../core/format.js";
import { go } from "../core/nav.js";
import { computed, effect } from "../core/signals.js";
import { hasEnded, live } from "../core/store.js";
import { textPair } from "../core/texts.js";

const GLOSS = "Yes or no of each answer to the fixed prompts, counted at every look; nothing is trained on it. A "
  + "change is told where luck would make it less than once in twenty times. The interval is Wilson\u2019s, at 95 %. "
  + "Expected is where runs of this experiment ended on other seeds.";

/** Whether the run has come to its own end, and so can be held against what was measured. */
const isFinal = computed(() => hasEnded.value && (live.run?.recorded || live.status?.state === "finished"));

export class Meters {
  constructor(element) {
    this.about = el("span", { class: "muted" });
    this.key = el("div", { class: "meter-keys" });
    this.list = el("ul", { class: "meters-list" });
    this.table = el("div", { class: "numbers", hidden: true, tabindex: "0", role: "region",
      "aria-label": "Behaviours at every look" });
    this.tableButton = buttonOf("quiet-button", { "aria-pressed": "false",
      onclick: () => this.toggleTable() }, "Every look");
    this.paid = el("div", { class: "paid", hidden: true });
    this.compare = buttonOf("quiet-button", { onclick: () => go({ page: "compare", run: live.runId,
      behaviour: this.compare.dataset.name }) }, "Such answers in Compare");
    this.paidWords = el("p", { class: "paid-words" });
    this.paidPair = el("dl", { class: "paid-pair" });
    this.paid.append(this.paidWords, this.paidPair, this.compare);
    this.root = el("section", { class: "meters", hidden: true, "aria-labelledby": "meters-title" },
      el("div", { class: "chart-bar" }, el("h2", { id: "meters-title" }, "What it does"), helpOf("a count", GLOSS),
        this.about, el("span", { class: "grow" }), this.key, this.tableButton),
      this.list, this.table, this.paid);
    element.append(this.root);
    effect(() => this.refresh());
  }

  refresh() {
    const { run, behaviours } = live;
    const counted = run?.counted ?? [];
    setHidden(this.root, !counted.length || (hasEnded.value && !behaviours), runTitle());
    if (this.root.hidden) return;
    const meters = behaviours?.meters ?? [];
    setText(this.about, meters.length ? "answers to the fixed prompts that do so"
      : "will be counted in the answers to the fixed prompts, first before training");
    showParts(this.key, meters.length ? [keyOf(["before", "now"], meters.some(({ band }) => band))] : []);
    const rows = meters.length ? meters.map((meter) => meterRow(meter, { final: isFinal.value }))
      : counted.map(({ name, words }) => el("li", { class: "meter", "data-key": name },
        el("div", { class: "meter-words" }, el("strong", {}, words)),
        el("span", { class: "muted" }, "not counted yet")));
    showParts(this.list, rows);
    this.tableButton.hidden = !meters.length;
    showParts(this.table, meters.length ? [metersTable(meters)] : []);
    this.refreshPaid(hasEnded.value ? behaviours?.paid ?? [] : []);
  }

  /** Where the reward and a behaviour disagree, with the completion that shows it best. */
  refreshPaid([first, ...others]) {
    setHidden(this.paid, !first, runTitle());
    if (!first) return;
    showParts(this.paidWords, [signOf("! "),
      ...[first, ...others].map(({ sentence }) => el("span", {}, `${sentence} `))]);
    this.compare.dataset.name = first.name;
    const { pair } = first;
    setHidden(this.paidPair, !pair, runTitle());
    if (!pair) return;
    const [before, now] = textPair(pair.before.text, pair.after.text);
    const told = (name, kind, text, score) => el("div", { class: kind }, el("dt", {}, name, score === undefined ? ""
      : el("span", { class: "muted" }, ` score ${signed(score)}`)), el("dd", {}, text));
    this.paidPair.replaceChildren(told("Prompt", "prompt", el("p", { class: "output" }, pair.prompt)),
      told("Before", "before", before, pair.before.score), told("Now", "now", now, pair.after.score));
  }

  toggleTable() {
    this.table.hidden = !this.table.hidden;
    this.tableButton.setAttribute("aria-pressed", String(!this.table.hidden));
  }
}

/** How often it agrees with its user, right or wrong, and by how the claim is put. */
export class Claims {
  constructor(element) {
    this.body = el("div", { class: "claims-body" });
    this.root = el("details", { class: "claims", hidden: true, open: !matchMedia("(max-width: 760px)").matches },
      el("summary", {}, el("h2", {}, "Does it agree, and with whom?")), this.body);
    element.append(this.root);
    effect(() => {
      const { behaviours } = live;
      setHidden(this.root, !hasClaims(behaviours), runTitle());
      showParts(this.body, this.root.hidden ? [] : claimsParts(behaviours));
    });
  }
}
