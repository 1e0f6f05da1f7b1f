// What the run in view is: the settings that matter most, and all of them as they are exported.

import { el, showParts } from "../core/dom.js";
import { FoldedText } from "../core/folded_text.js";
import { effect } from "../core/signals.js";
import { live } from "../core/store.js";

/** @param {Element} element */
export function showFacts(element) {
  const list = el("dl.settings");
  const all = new FoldedText("All settings of this run", "export/yaml");
  element.append(list, all.root);
  effect(() => {
    const { run, status } = live;
    all.show(run ? live.runId : null);
    showParts(list, run && status ? settingsOf(run) : []);
  });
}

/** The settings that matter most; changed in mid-run, one shows both values. @param {Wire.Run} run */
function settingsOf(run) {
  const now = Object.fromEntries(live.events.filter(({ kind }) => kind === "edit")
    .map(({ field, value }) => [field, value]));
  const what = run.experiment !== run.title ? run.experiment : "";
  const words = [["Experiment", what], ["Note", run.note]].filter(([, value]) => value)
    .map(([label, value]) => ({ field: label, label, value, unit: "" }));
  const scale = live.events.find(({ kind }) => kind === "score_scale")?.message;
  if (scale) words.push({ field: "scale", label: "Score", value: scale, unit: "" });
  return [...words, ...run.settings].map(({ field, label, value, unit }) => el("div", { "data-key": field },
    el("dt", label), el("dd", field in now ? `${value} \u2192 ${Number(now[field].toPrecision(3))}` : value,
      unit ? el("span.unit", ` ${unit}`) : "")));
}
