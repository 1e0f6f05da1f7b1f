// The three parts of the Rewards page as tabs: one is in view, the address names it (`part=train`), and each is drawn
// when it is first opened. The panels are Gradio's columns, shown and hidden by css/workbench.css.

import { buttonOf, el } from "../core/dom.js";
import { go, onPlace, place, whenAt } from "../core/nav.js";

/** Part -> its name, and the id of its panel (ui/page.py). @type {Record<string, string[]>} */
const TABS = { try: ["Try", "workbench"], train: ["Train", "reward-training"], test: ["Test", "reward-check"] };

export function mount(/** @type {Element} */ element) {
  const tabs = Object.entries(TABS).map(([part, [name, panel]]) => buttonOf("tab", { role: "tab", id: `tab-${part}`,
    "aria-controls": panel, onclick: () => go({ page: "rewards", part }) }, name));
  const parts = Object.keys(TABS);
  element.append(el("div.tabs", { role: "tablist", "aria-label": "Rewards", onkeydown: (event) => {
    const at = tabs.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    /** @type {Record<string, number>} */
    const places = { ArrowRight: at + 1, ArrowLeft: at + 2, Home: 0, End: 2 };
    const to = places[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    tabs[to % tabs.length].focus();
    go({ page: "rewards", part: parts[to % tabs.length] });
  } }, tabs));
  const show = () => {
    const { part } = place();
    parts.forEach((name, index) => {
      tabs[index].setAttribute("aria-selected", String(name === part));
      tabs[index].tabIndex = name === part ? 0 : -1;
      const panel = document.getElementById(TABS[name][1]);
      panel?.setAttribute("role", "tabpanel");
      panel?.setAttribute("aria-labelledby", `tab-${name}`);
    });
  };
  onPlace(show);
}

/** Draw a part of the page when it is first in view. */
export function whenOpened(/** @type {string} */ part, /** @type {() => void} */ draw) {
  whenAt((here) => here.page === "rewards" && here.part === part, draw);
}
