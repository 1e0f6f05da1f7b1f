// The header: brand, navigation, machine facts, presentation, projector and light/dark switches.

import { showAccess } from "./access.js";
import { buttonOf, el, setText, showParts } from "./dom.js";
import { tameDropdowns } from "./dropdowns.js";
import { onHome } from "./home.js";
import { go, link, onPlace, place } from "./nav.js";
import { whenNew } from "./signals.js";

const NAMES = { train: "Train", compare: "Compare", rewards: "Rewards", runs: "Runs" };

export function mount(element) {
  const machine = el("span", { class: "machine",
    title: "What this machine has: device, processor cores, memory in use" });
  const links = Object.entries(NAMES).map(([page, name]) => link({ page }, [name], { "data-page": page }));
  const training = el("span", { class: "training" });
  const projector = buttonOf("switch", { "aria-pressed": "false", onclick: toggleProjector,
    title: "Projector: larger text" }, "A\u207A", el("span", { class: "wide-only" }, " Projector"));
  const presentation = buttonOf("switch presentation-switch", {
    onclick: () => go({ page: "train", present: !place().present }),
    title: "Presentation: one chart, three texts and what came of it, in large letters" });
  const theme = buttonOf("switch", { onclick: toggleTheme, title: "Light or dark" });
  element.append(el("header", { class: "top" },
    el("a", { href: "?", class: "brand" }, "RLHF Playground"),
    el("nav", { "aria-label": "Pages" }, links),
    el("span", { class: "grow" }), training, machine, presentation, projector, theme));

  showAccess(element);
  tameDropdowns();
  onPlace(({ page, present }) => {
    presentation.setAttribute("aria-label", present ? "End the presentation" : "Present");
    presentation.replaceChildren(...(present ? ["\u00d7 End the presentation"]
      : ["\u25a3", el("span", { class: "wide-only" }, " Present")]));
    for (const link of links) {
      if (link.dataset.page === page) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  });
  const showTraining = whenNew((running, numWaiting) =>
    showParts(training, trainingLinks(running, numWaiting), currentLink()));
  onHome((home) => {
    setText(machine, home.machine);
    machine.classList.toggle("problem", !home.connected);
    showTraining(home.training ?? [], home.waiting?.length ?? 0);
  });

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && place().present) go({ present: false });
  });

  function currentLink() {
    return links.find((item) => item.hasAttribute("aria-current"));
  }
  function toggleProjector() {
    const on = document.body.classList.toggle("projector");
    store("playground-projector", on ? "on" : "");
    projector.setAttribute("aria-pressed", String(on));
    announceLook();
  }
  function toggleTheme() {
    const dark = document.body.classList.toggle("dark");
    store("playground-theme", dark ? "dark" : "light");
    showTheme();
    announceLook();
  }
  function showTheme() {
    const dark = document.body.classList.contains("dark");
    theme.replaceChildren(dark ? "\u2600" : "\u263E", el("span", { class: "wide-only" }, dark ? " Light" : " Dark"));
  }

  const wanted = recall("playground-theme");
  const asked = new URLSearchParams(location.search).get("__theme");
  if (wanted && !asked) document.body.classList.toggle("dark", wanted === "dark");
  if (recall("playground-projector") === "on") toggleProjector();
  showTheme();
  new MutationObserver(() => {
    showTheme();
    announceLook();
  }).observe(document.body, { attributeFilter: ["class"] });
}

/** What trains and how many wait, on every page: links to the runs, and to the list of those that wait. */
function trainingLinks(running, numWaiting) {
  const icon = (kind, sign) => el("span", { class: `icon ${kind}`.trim(), "aria-hidden": "true" }, sign);
  const runs = running.map(({ id, title, device }) => link({ run: id }, [
    icon("", "\u25CF"), el("span", { class: "visually-hidden" }, "Training now: "),
    el("span", { class: "training-title", title }, device ? `${title} on ${device}` : title),
  ]));
  if (!numWaiting) return runs;
  return [...runs, link({ page: "runs" }, [icon("waiting-icon", "\u25CB"),
    el("span", { class: "waiting-count" }, String(numWaiting)), el("span", { class: "waiting-word" }, " waiting")])];
}

let announced = "";
function announceLook() {
  const look = ["dark", "projector", "presentation"].filter((name) => document.body.classList.contains(name)).join();
  if (look === announced) return;
  announced = look;
  document.dispatchEvent(new CustomEvent("playground-look"));
}

function store(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // a private window: the choice lasts for this page
  }
}

function recall(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
