// The header: brand, navigation, machine facts, and a menu: help, presentation, light or dark, larger text.

import { showAccess } from "./access.js";
import { buttonOf, el, menuOf, setAttribute, setText, showParts } from "./dom.js";
import { home, onHome } from "./home.js";
import { recall, remember } from "./kept.js";
import { language, LANGUAGES, speak } from "./language.js";
import { enter, go, link, onPlace, place } from "./nav.js";
import { effect, signal } from "./signals.js";
import { live } from "./store.js";

/** @type {Record<string, string>} */
const NAMES = { lessons: "Lessons", train: "Train", compare: "Compare", rewards: "Rewards", runs: "Runs" };

/**
 * `pages`: those there are, by default all.
 * @param {HTMLElement} element
 * @param {{ pages?: string[] }} props
 */
export function mount(element, { pages = Object.keys(NAMES) } = {}) {
  const machine = el("span.machine");
  const links = pages.map((page) => link({ page }, [NAMES[page]], { "data-page": page }));
  const training = el("span.training");
  element.append(buttonOf("button skip-link", { onclick: () => enter(place().page) }, "Skip to the page"),
    el("header.top",
      el("span.brand", "RLHF Playground"),
      el("nav", { "aria-label": "Pages" }, links),
      el("span.grow"), training, machine, ...displayMenu()));
  for (const page of ["compare", "rewards", "runs"]) // the others have a title of their own
    document.getElementById(`page-${page}`)?.prepend(el("h1.visually-hidden", NAMES[page]));
  new ResizeObserver(() => { // what sticks below the header has less room where it has a banner
    const { offsetHeight } = /** @type {HTMLElement} */ (element.querySelector("header.top"));
    document.documentElement.style.setProperty("--pg-banner", `${element.offsetHeight - offsetHeight}px`);
  }).observe(element);
  showAccess(element);
  onPlace(({ page, lesson, mystery }) => {
    for (const link of links) {
      if (link.dataset.page === (lesson || mystery ? "lessons" : page)) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  });
  onHome((found) => {
    setText(machine, found.machine.split(", ").slice(0, 2).join(", "));
    setAttribute(machine, "title", `${found.machine}: device, processor cores, memory in use`);
    machine.classList.toggle("problem", !found.connected);
  });
  const page = signal("");
  onPlace((here) => {
    page.value = here.page;
  });
  effect(() => {
    const { training: running = [], waiting = [] } = home.value ?? {};
    const others = running.filter(({ id }) => page.value !== "train" || id !== live.runId); // that one is in view
    showParts(training, trainingLinks(others, waiting.length),
      links.find((item) => item.hasAttribute("aria-current")));
  });
}

/** What begins a presentation, and what ends it, which is there instead of all else. */
function presentation() {
  const leave = () => {
    go({ present: false });
    /** @type {HTMLElement} */ (document.querySelector(".display-switch")).focus({ preventScroll: true });
  };
  const end = buttonOf("switch presentation-switch", { "aria-label": "End the presentation", onclick: leave },
    "\u00d7");
  const begin = buttonOf("switch present-begin", { onclick: () => {
    go({ page: place().page === "lessons" ? "lessons" : "train", present: true });
    begin.parentElement.hidePopover();
    end.focus({ preventScroll: true });
  }, title: "What is to be seen of the run, or of the leash, on one screen, in large letters" }, "Present");
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && place().present) leave();
  });
  return [begin, end];
}

/** What opens the window of help, and gets the focus back through the menu's own button. */
function help() {
  const button = buttonOf("switch help-begin", { onclick: async () => {
    const { showHelp } = await import("./help.js");
    button.parentElement.hidePopover();
    showHelp();
  } }, "Help");
  return button;
}

/**
 * A menu: help, the presentation, and two switches, of which each sets a class of the page and remembers it: light or
 * dark, and larger text.
 */
function displayMenu() {
  const [begin, end] = presentation();
  const { classList } = document.body;
  /** @param {string} name @param {string} key @param {string} on @param {string} off */
  const change = (name, key, on, off) => {
    remember(key, classList.toggle(name) ? on : off);
    show();
  };
  const projector = buttonOf("switch", { onclick: () => change("projector", "playground-projector", "on", "") },
    "Larger text (projector)");
  const theme = buttonOf("switch", { onclick: () => change("dark", "playground-theme", "dark", "light") },
    "Dark colours");
  let announced = "";
  function show() {
    for (const [button, name] of /** @type {const} */ ([[projector, "projector"], [theme, "dark"]]))
      setAttribute(button, "aria-pressed", String(classList.contains(name)));
    const look = ["dark", "projector", "presentation"].filter((name) => classList.contains(name)).join();
    if (look === announced) return;
    announced = look;
    document.dispatchEvent(new CustomEvent("playground-look"));
  }
  const wanted = recall("playground-theme");
  if (wanted && !new URLSearchParams(location.search).get("__theme")) classList.toggle("dark", wanted === "dark");
  classList.toggle("projector", recall("playground-projector") === "on");
  show();
  new MutationObserver(show).observe(document.body, { attributeFilter: ["class"] });
  return [end, buttonOf("switch display-switch", { popovertarget: "display-menu",
    "aria-label": "Menu", title: "Help, presentation, colours, size of the text, language" },
  "\u2630", el("span.wide-only", " Menu")),
  el("div.display-menu", { id: "display-menu", popover: "auto" }, help(), begin, theme, projector,
    el("label", "Language ", menuOf(Object.entries(LANGUAGES), { value: language,
      onchange: ({ target }) => speak(target.value) })))];
}

/**
 * What trains and how many wait, on every page: links to the runs, and to the list of those that wait.
 * @param {Wire.TrainingRun[]} running @param {number} numWaiting
 */
function trainingLinks(running, numWaiting) {
  /** @param {string} kind @param {string} sign */
  const icon = (kind, sign) => el("span", { class: `icon ${kind}`.trim(), "aria-hidden": "true" }, sign);
  const runs = running.map(({ id, title, device }) => link({ run: id }, [
    icon("", "\u25CF"), el("span.visually-hidden", "Training now: "),
    el("span.training-title", { title }, device ? `${title} on ${device}` : title),
  ]));
  if (!numWaiting) return runs;
  return [...runs, link({ page: "runs" }, [icon("waiting-icon", "\u25CB"),
    el("span.waiting-count", String(numWaiting)), el("span.waiting-word", " waiting")])];
}
