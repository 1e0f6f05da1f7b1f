// Who one is on this page, and what that means: the host's sentence with the addresses for the class, the caps of a
// public page, and parts that one may not use, switched off with the reason in words. The server asks again at every
// call (playground/ui/auth/access.py); nothing here protects anything.
//
// What a stylesheet needs to know stands on <html> as data-can-<action>="yes" or "no", for the run in view.

import { buttonOf, copied, el, setText } from "./dom.js";
import { IN_CLASS, recall } from "./kept.js";
import { getJson, url } from "./server.js";
import { poll } from "./poll.js";
import { effect, signal } from "./signals.js";
import { live } from "./store.js";

const RETRY_MS = 3000;
const FOR_THE_HOST = "The host trains and tests reward models.";
const FOR_THE_CLASS = "This is for those who are in the class. ";
const NOT_PUBLIC = "This part is not offered on a public page. It works when you run the playground on your own "
  + "computer.";
const PARTS = { ask: "ask", workbench: "try_rewards", "reward-check": "check_reward",
  "reward-training": "train_reward" }; // the form has no place at all on a page that only watches: css/access.css

const OF_THE_CLASS = ["ask", "try_rewards"];

/** @type {Wire.Access | null} */
let rules = null;

/** What one may do with the run in view: action -> true or false; empty until it is known. */
export const rights = signal(/** @type {Record<string, boolean>} */ ({}));

/** What a class reads that has no run in view. @param {Pick<Wire.Home, "training"> | null} home */
export function waiting(home) {
  return home?.training.length ? "A run is training now. Your teacher shows it."
    : "Waiting for your teacher to start a run.";
}

/** Whether one may only watch: a class, and not its host. */
export function isWatching() {
  const { mode, role } = document.documentElement.dataset;
  return mode === "classroom" && role !== "host";
}

/**
 * Put the banner below the header and switch off what one may not use, as soon as that is known.
 * @param {Element} header
 */
export function showAccess(header) {
  poll({
    ask: (signal) => /** @type {Promise<Wire.Access>} */ (getJson("live/_access", signal)),
    tell: (found) => {
      rules = found;
      show(header);
    },
    fail: () => {},
    every: () => (rules ? 0 : RETRY_MS),
    wanted: () => !rules,
  })();
}

/** @param {Element} header */
function show(header) {
  document.documentElement.dataset.role = rules.role;
  document.documentElement.dataset.mode = rules.mode;
  const banner = bannerOf(rules);
  if (banner) header.append(banner);
  const takesPart = new URLSearchParams(location.search).get("follow") === "1" || Boolean(recall(IN_CLASS));
  if (rules.may.join === "yes" && (rules.mode === "classroom" || takesPart))
    import("./following.js").then(({ begin }) => begin(header, rules.mode, rules.role));
  if (rules.caps.length) document.getElementById("start-bar")?.append(caps(rules.caps));
  for (const [id, action] of Object.entries(PARTS)) {
    if (rules.may[action] === "no")
      switchOff(document.getElementById(id), rules.mode !== "classroom" ? NOT_PUBLIC
        : OF_THE_CLASS.includes(action) ? [FOR_THE_CLASS, el("a", { href: url("class") }, "Join it")] : FOR_THE_HOST);
  }
  effect(() => {
    forRun(live.runId);
  });
}

/**
 * What one may do with the run in view; where that depends on who started it, the server is asked.
 * @param {string} run
 */
async function forRun(run) {
  let own = false;
  if (run && Object.values(rules.may).includes("own")) {
    try {
      ({ own } = /** @type {Wire.Access} */ (await getJson(`live/_access?run=${encodeURIComponent(run)}`)));
    } catch {
      // then it is somebody else's, until another run is opened
    }
    if (run !== live.runId) return;
  }
  rights.value = Object.fromEntries(Object.entries(rules.may)
    .map(([action, right]) => [action, right === "yes" || (right === "own" && own)]));
  for (const [action, may] of Object.entries(rights.value)) {
    document.documentElement.setAttribute(`data-can-${action.replaceAll("_", "-")}`, may ? "yes" : "no");
  }
}

/** @param {Wire.Access} rules */
function bannerOf({ notice, role, mode, share }) {
  if (notice) return el("p.access-banner", { role: "note" }, notice);
  if (role !== "host" || mode !== "classroom") return null;
  const classes = share.map((address) => new URL("class", address).toString());
  const addresses = classes.flatMap((address, index) => [index ? " or " : "", el("code", address)]);
  const told = el("span", { role: "status" });
  const copy = share.length && navigator.clipboard ? buttonOf("quiet-button", { onclick: async () => {
    if (await copied(classes[0])) setText(told, " Copied.");
  } }, "Copy the address") : null;
  return el("p.access-banner", { role: "note" }, "You are the host. ",
    el("a", { href: url("class/desk"), target: "_blank", rel: "noopener" }, "Your desk"),
    " opens a class and leads it. ",
    ...(share.length ? ["Phones join at ", ...addresses, ". "] : []), copy, told);
}

/** @param {string[]} told */
function caps([models, ...most]) {
  const runs = most.length > 1 ? "small runs" : "your runs, as its host"; // whose caps are raised have next to none
  return el("details.caps", el("summary", el("strong", "Public page"),
    `: ${runs}, and everybody can watch`),
    el("p", `With the ${models}${most.length ? `: at most ${most.join(", ")}` : ""}. What you type or upload for a `
      + "run can be read by everybody who watches it."));
}

/**
 * No keyboard, no pointer, and the reason where the part begins.
 * @param {HTMLElement | null} part @param {Page.Child} reason
 */
function switchOff(part, reason) {
  if (!part || part.dataset.off) return;
  part.dataset.off = "yes";
  for (const node of /** @type {Iterable<HTMLElement>} */ (part.children)) node.inert = true;
  const note = el("p.off-note", { role: "note" }, reason);
  part.prepend(note);
  // Gradio may draw a part later than we look; what comes is switched off too
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) for (const node of addedNodes) {
      if (node instanceof HTMLElement && node !== note) node.inert = true;
    }
  }).observe(part, { childList: true });
}
