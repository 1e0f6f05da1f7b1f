// The Runs page: the history like a lab book; sort, filter, open, compare, name, reuse the settings, delete with
// confirmation; tick two to six runs to overlay their curves. A sweep is one row, which opens.

import { rights } from "../core/access.js";
import { answerOf, buttonOf, confirmed, el, getJson, helpOf, runPath, setAttribute, setText, setWords, shape, showParts,
  signOf, svg, url } from "../core/dom.js";
import { duration, gainOf, rounded, signed, stateOf, when } from "../core/format.js";
import { refreshHome } from "../core/home.js";
import { go, link, onPlace, openRun, place } from "../core/nav.js";
import { poll } from "../core/poll.js";
import { effect, whenNew } from "../core/signals.js";
import { NEWEST, behavioursOf, changeOf, changedIn, columnsWith, counted, countOf, grouped, listed, shownOf, turned,
  unfolded } from "./listing.js";
import { MAX_RUNS, Overlay } from "./overlay.js";
import { SweepPanel } from "./sweep.js";
import { SweepForm } from "./sweep_form.js";
import { sweepRow } from "./sweep_row.js";
import { live, open } from "../core/store.js";

const EVERY_MS = 3000;

export function mount(element, props, { trigger, server }) {
  const body = el("tbody", {});
  const empty = el("p", { class: "empty", hidden: true });
  const note = el("p", { class: "problem", role: "status" });
  let known = null; // the runs there are, as they came
  let items = []; // the same, with those of a sweep as one
  let sweepsById = new Map();
  let mayStart = false;
  let sort = NEWEST;
  let behaviours = []; // those with a column
  let columns = columnsWith(behaviours);
  let wanted = null; // the names of those that somebody has chosen
  const made = new Map(); // heads by the key of their column, so that a head keeps the focus
  const headOfColumn = ({ key, label, figure, title }) => {
    const button = buttonOf("sort", { onclick: () => {
      sort = turned(sort, key, columns);
      showList();
    } }, label);
    return el("th", { scope: "col", class: figure ? "figure" : null, abbr: label }, button,
      title ? helpOf(label, title) : null);
  };
  const ends = ["Overlay", "Actions"].map((name) =>
    el("th", { scope: "col" }, el("span", { class: "visually-hidden" }, name)));
  const headRow = el("tr", {});
  const table = el("table", { class: "runs" }, el("thead", {}, headRow), body);
  const choices = el("fieldset", { class: "count-choices", id: "runs-counted", popover: "auto",
    onbeforetoggle: () => {
      const { left, bottom } = choose.getBoundingClientRect();
      choices.style.left = `${Math.max(8, Math.min(left, innerWidth - 300))}px`;
      choices.style.top = `${bottom + 4}px`;
    } });
  const choose = buttonOf("quiet-button", { popovertarget: "runs-counted", hidden: true }, "Behaviours");
  const filter = el("input", { type: "search", placeholder: "Filter by words", "aria-label": "Filter runs by words",
    oninput: () => showList() });
  const count = el("span", { class: "muted" });
  const chosen = new Set(); // ids of the ticked runs, in the order of ticking
  const overlayButton = buttonOf("button", { onclick: () => {
    go({ page: "runs", overlay: [...chosen] });
    overlay.root.scrollIntoView({ block: "start", behavior: "smooth" });
  } }, "Overlay curves");
  const hint = el("span", { class: "muted" });
  const sweepButton = buttonOf("button sweep-button", { hidden: true, "aria-expanded": "false", onclick: () => {
    sweepButton.setAttribute("aria-expanded", "true");
    form.open(true);
  } }, "Sweep");
  const bar = el("div", { class: "bar" }, el("h2", {}, "Runs"),
    count, el("span", { class: "grow" }), choose, choices, filter, hint, overlayButton, sweepButton);
  const overlay = new Overlay(element);
  const form = new SweepForm(element, props.sweep, server, {
    started: async (name) => {
      await refresh();
      go({ page: "runs", sweep: name });
      refreshHome();
    },
    closed: () => {
      sweepButton.setAttribute("aria-expanded", "false");
      sweepButton.focus();
    },
  });
  const sweepPanel = new SweepPanel(element, (name) => sweepActions(sweepsById.get(name), "panel "));
  element.append(el("section", { class: "panel runs-panel" }, bar, note, table, empty));
  const busy = new Map(); // what a button says while its question is under way, by the button's key
  let lost = false; // the note says that the list could not be fetched

  const refresh = poll({
    ask: (signal) => getJson("live/_runs", signal),
    tell: (answer) => {
      if (lost) setWords(note, ""); // what came of a press on a button stays
      lost = false;
      show(answer);
    },
    fail: (error) => {
      setWords(note, error.message);
      lost = true;
    },
    every: () => EVERY_MS,
    wanted: () => place().page === "runs",
  });

  const show = whenNew((answer) => {
    known = answer.runs;
    items = grouped(answer);
    sweepsById = new Map(answer.sweeps.map((sweep) => [sweep.id, sweep]));
    for (const id of chosen) if (!known.some((run) => run.id === id)) chosen.delete(id);
    showList();
    sweepPanel.listed(sweepsById.get(place().sweep));
  });
  effect(() => {
    mayStart = Boolean(rights.value.start);
    sweepButton.hidden = !mayStart;
    showList();
  });

  /** Those that fit the filter, in the order asked for. */
  function showList() {
    if (!known) return;
    const fitting = listed(items, filter.value, sort, columns);
    const { sweep: open } = place();
    const shown = unfolded(fitting, open);
    behaviours = shownOf(shown, wanted);
    columns = columnsWith(behaviours);
    showHeads();
    showChoices();
    showParts(body, shown.map((item) => (item.runs ? sweepRow(item, { behaviours, open: item.id === open,
      actions: sweepActions(item), toggle: () => unfold(item.id),
    }) : row(item))), filter);
    showChoice();
    table.hidden = !fitting.length;
    bar.classList.toggle("nothing", known.length < 2);
    empty.hidden = fitting.length > 0;
    setText(count, fitting.length < items.length ? `${fitting.length} of ${items.length}`
      : known.length > 1 ? `all ${known.length} that were started here` : "all that were started here");
    setText(empty, known.length ? "No run fits. Clear the filter to see all of them." : mayStart
      ? "No runs yet. Choose an experiment on the Train page and press Start; it will be listed here."
      : "No runs yet. Each will be listed here once it has been started.");
  }

  /** Open a sweep, or close it; its panel stands above the list, perhaps far above. */
  function unfold(name) {
    const opened = place().sweep !== name;
    go({ page: "runs", sweep: opened ? name : "" });
    if (opened) sweepPanel.root.scrollIntoView({ block: "start", behavior: "smooth" });
  }

  function showHeads() {
    for (const column of columns) if (!made.has(column.key)) made.set(column.key, headOfColumn(column));
    const heads = [ends[0], ...columns.map(({ key }) => made.get(key)), ends[1]];
    for (const head of [...headRow.children]) if (!heads.includes(head)) head.remove();
    heads.forEach((head, index) => { // none that stays is moved: it may have the focus
      if (headRow.children[index] !== head) headRow.insertBefore(head, headRow.children[index] ?? null);
    });
    for (const { key } of columns) {
      if (key === sort.key) setAttribute(made.get(key), "aria-sort", sort.down ? "descending" : "ascending");
      else made.get(key).removeAttribute("aria-sort");
    }
  }

  /** A tick for each behaviour that any run has counted. */
  function showChoices() {
    const all = behavioursOf(known);
    choose.hidden = !all.length;
    showParts(choices, [el("legend", {}, "Columns of behaviours"), ...all.map(({ name, words }) => {
      const tick = el("input", { type: "checkbox", value: name, "data-key": `counted ${name}`,
        onchange: ({ target }) => {
          wanted ??= new Set(behaviours.map((one) => one.name));
          if (target.checked) wanted.add(name);
          else wanted.delete(name);
          showList();
        } });
      return el("label", { "data-key": `choice ${name}` }, tick, words);
    })]);
    for (const tick of choices.querySelectorAll("input")) {
      tick.checked = behaviours.some(({ name }) => name === tick.value);
    }
  }

  function row(run) {
    const { icon, word, tone } = stateOf(run.state);
    const ended = Boolean(run.end);
    const told = run.place ? `waiting, number ${run.place}` : ended ? run.end.title : word;
    const { headline } = run;
    const action = (name, key, run_, kind = "", title = null) => {
      const word = busy.get(`${key} ${run.id}`);
      return el("button", { type: "button", class: `quiet-button ${kind}`, "data-key": `${key} ${run.id}`, title,
        "aria-disabled": word ? "true" : null, onclick: run_ }, word ?? name);
    };
    const tick = el("input", { type: "checkbox", value: run.id, checked: chosen.has(run.id),
      "data-key": `tick ${run.id}`,
      "aria-label": `Overlay ${run.title}, ${when(run.started_at)}`, onchange: () => {
        if (tick.checked) chosen.add(run.id);
        else chosen.delete(run.id);
        showChoice();
      } });
    const actions = [
      action("Open", "show", () => openRun(run.id)),
      !headline ? null : action("Compare", "compare", () => go({ page: "compare", run: run.id })),
      run.resumable ? action("Resume", "resume", (event) =>
        act(event.currentTarget, "Resume", "Resuming\u2026", () => server.resume_run(run.id), () => openRun(run.id)))
        : null,
      run.place ? action("Take out", "out", (event) =>
        act(event.currentTarget, "Take out", "Taking it out\u2026", () => server.stop_run(run.id), refresh)) : null,
      action("Use settings", "settings", () => useSettings({ run: run.id }), "",
        "Puts them into the form of the Train page"),
      action("Rename", "name", () => nameIt(run)),
      download("Report", "html", "The run as one page for any browser, with charts and texts", run),
      download("YAML", "yaml", "Settings, for the command python -m playground train", run),
      download("TRL script", "trl", "This run as a Python script for TRL 1.12", run),
      ended ? action("Delete", "delete", () => confirmDelete(run), "delete") : null,
    ];
    return el("tr", { "data-key": `run ${run.id}`, class: run.sweep ? "in-sweep" : null },
      el("td", { class: "tick" }, el("label", {}, tick)),
      el("td", { "data-label": "When", class: "when nowrap" }, when(run.started_at)),
      el("td", { "data-label": "Name", class: "name" }, link({ run: run.id }, [run.title],
        { class: "run-name", title: run.id, "data-key": `open ${run.id}` }),
        run.note ? el("div", { class: "run-note" }, run.note) : null,
        run.told && run.told !== run.title ? el("div", { class: "muted small" }, run.told) : null,
        run.wrong_on_purpose ? el("div", { class: "wrong-note" }, signOf("! "), run.wrong_on_purpose) : null,
        changedIn(run, behaviours).map((one) => el("div", { class: "small" }, `${one.words}: ${countOf(one)}`)),
        el("div", { class: "muted small" },
          `${run.method}, seed ${run.seed}${run.engine === "playground" ? "" : `, engine ${run.engine}`}`)),
      el("td", { "data-label": "Model", class: "words model", title: run.model }, run.model),
      el("td", { "data-label": "Reward", class: "words" }, run.reward),
      el("td", { "data-label": "Beta", class: "figure" }, setting(run.beta),
        run.adaptive ? el("div", { class: "muted small" }, "adaptive") : null),
      el("td", { "data-label": "Learning rate", class: "figure nowrap" }, setting(run.learning_rate)),
      el("td", { "data-label": "State" }, el("span", { class: "state", "data-tone": tone, title: run.message || null },
        signOf(icon), el("strong", {}, told)),
        el("div", { class: "muted small" },
          `${run.update} of ${run.num_updates} updates${run.attempt > 1 ? `, attempt ${run.attempt}` : ""}`)),
      behaviours.map(({ name, words }) => countCell(counted(run, name), words)),
      el("td", { "data-label": "Gain", class: "figure" },
        headline ? gainOf(headline) : "\u2013", el("div", { class: "muted small" }, headline ? run.unit : ""),
        spark(run.spark)),
      el("td", { "data-label": "KL", class: "figure" }, rounded(headline?.kl),
        el("div", { class: "muted small" }, Number.isFinite(headline?.kl) ? "nats" : "")),
      el("td", { "data-label": "Duration", class: "figure nowrap" },
        run.state === "queued" ? "\u2013" : duration(run.duration)),
      el("td", { class: "actions", "data-key": `actions ${run.id}` },
        el("div", {}, actions)));
  }

  /** What can be asked of all runs of a sweep; `where` tells the same buttons in two places apart. */
  function sweepActions(sweep, where = "") {
    if (!sweep) return [];
    const action = (name, key, busyWord, ask) => {
      const word = busy.get(`${where}${key} ${sweep.id}`);
      return el("button", { type: "button", class: "quiet-button", "data-key": `${where}${key} ${sweep.id}`,
        "aria-disabled": word ? "true" : null, onclick: (event) =>
          act(event.currentTarget, name, busyWord, ask, () => Promise.all([refresh(), sweepPanel.refresh()])),
      }, word ?? name);
    };
    return [
      sweep.ended ? null : action("Stop all", "stop-all", "Stopping\u2026", () => server.stop_sweep(sweep.id)),
      sweep.ended && sweep.resumable ? action("Resume all", "resume-all", "Resuming\u2026", async () => {
        const answer = await server.resume_sweep(sweep.id);
        const [first] = answer.refused ?? [];
        return answer.error || !first ? answer
          : { ...answer, error: `${answer.going} go on; ${first[0]} does not: ${first[1]}` };
      }) : null,
      sweep.ended ? buttonOf("quiet-button delete", { "data-key": `${where}delete-all ${sweep.id}`,
        onclick: () => confirmDeleteAll(sweep) }, "Delete all") : null,
    ].filter(Boolean);
  }

  /** The button counts what is ticked; beyond the limit no other run can be ticked. */
  function showChoice() {
    const count = chosen.size;
    for (const tick of body.querySelectorAll(".tick input")) {
      tick.checked = chosen.has(tick.value);
      tick.disabled = count >= MAX_RUNS && !tick.checked;
    }
    overlayButton.disabled = count < 2;
    setText(overlayButton, count > 1 ? `Overlay curves of ${count} runs` : "Overlay curves");
    setText(hint, count === 0 ? "tick two to six runs" : count === 1 ? "tick one more" : "");
  }

  /** The form of the Train page with the settings of a run, or of a preset; `changes` are other values by field. */
  function useSettings(wanted) {
    fillForm(wanted);
    go({ page: "train" });
    document.body.classList.add("drawer-open");
  }
  function fillForm(wanted) {
    props.value = { ...wanted, at: Date.now() };
    trigger("input");
  }
  document.addEventListener("playground-use-settings", (event) =>
    useSettings(/** @type {CustomEvent} */ (event).detail));
  document.addEventListener("playground-use-preset", (event) =>
    fillForm({ preset: /** @type {CustomEvent} */ (event).detail }));

  /** Ask the server for something that takes a moment; a second press on the same button meanwhile does nothing, also
      when its row has been drawn anew. */
  async function act({ dataset: { key } }, name, busyWord, ask, then) {
    if (busy.has(key)) return;
    const tell = (word) => {
      const button = element.querySelector(`[data-key="${CSS.escape(key)}"]`);
      if (!button) return;
      setText(button, word);
      setAttribute(button, "aria-disabled", String(busy.has(key)));
    };
    busy.set(key, busyWord);
    tell(busyWord);
    const answer = await answerOf(ask, "; nothing was done. Try again in a moment.");
    busy.delete(key);
    tell(name);
    if (!answer.error || answer.going) await then();
    setWords(note, answer.error ?? "");
    refreshHome();
  }

  /** Another name, and a line about it; the folder of the run stays. */
  async function nameIt(run) {
    const input = (label, value, most, placeholder) => el("label", {}, label,
      el("input", { type: "text", value, maxlength: most, placeholder }));
    const parts = [input("Name", run.title, 80, "as it was called when it began"),
      input("Note", run.note, 300, "a line of your own about it")];
    const kept = el("p", { class: "muted" }, "Both stand wherever the run does. Its folder stays ",
      el("code", {}, run.id), ".");
    if (!(await confirmed("Name and note", [...parts, kept], "Save", { no: "Cancel", kind: "strong" }))) return;
    const [name, words] = parts.map((part) => part.querySelector("input").value);
    const answer = await answerOf(() => server.name_run({ run: run.id, name, note: words }), "; nothing was changed.");
    const { error, ...names } = answer;
    setText(note, error ?? "");
    if (error) return;
    if (live.runId === run.id && live.run) live.run = { ...live.run, ...names };
    await refresh();
    refreshHome();
  }

  async function confirmDelete(run) {
    const what = `${run.title}, ${when(run.started_at)} (${run.id}).`;
    const answer = await binned("Delete this run?", what, "It moves", `run ${run.id}`, () => server.delete_run(run.id));
    if (answer && !answer.error && live.runId === run.id) open(null);
  }

  async function confirmDeleteAll(sweep) {
    const runs = known.filter((run) => run.sweep === sweep.id).map(({ id }) => id);
    const what = `${sweep.title}, ${when(sweep.started_at)}: ${runs.length === 1 ? "1 run" : `${runs.length} runs`}.`;
    const answer = await binned("Delete all runs of this sweep?", what, runs.length === 1 ? "It moves" : "They move",
      `sweep ${sweep.id}`, () => server.delete_sweep(sweep.id));
    if (!answer || answer.error) return;
    if (place().sweep === sweep.id) go({ page: "runs", sweep: "" });
    if (runs.includes(live.runId)) open(null);
  }

  /** Delete what `ask` deletes, once that is confirmed; null where it is not. The name in the row that follows `key`
      gets the keyboard. */
  async function binned(title, what, moves, key, ask) {
    const stays = moves.startsWith("It") ? "stays" : "stay";
    const kept = el("p", { class: "muted" },
      `${moves} to the bin, the folder .bin inside the outputs folder, and ${stays} there until the bin is emptied.`);
    if (!(await confirmed(title, [el("p", {}, what), kept], "Delete"))) return null;
    const keys = [...body.children].map((part) => part.dataset.key);
    const near = [...keys.slice(keys.indexOf(key)), ...keys.slice(0, keys.indexOf(key)).reverse()];
    const answer = await answerOf(ask, "; look again before you repeat it.");
    await refresh();
    setWords(note, answer.error ?? "");
    const names = near.map((one) => body.querySelector(`[data-key="${CSS.escape(one)}"] .name :is(a, button)`));
    (names.find(Boolean) ?? sweepButton).focus({ preventScroll: true });
    return answer;
  }

  onPlace(({ page, overlay: wanted }) => {
    if (page !== "runs") return;
    if (wanted.length) chosen.clear();
    for (const id of wanted.slice(0, MAX_RUNS)) chosen.add(id);
    showList();
    showChoice();
    refresh();
  });
}

/** How often a behaviour was seen before training and at the last look, and whether that is more than chance. */
function countCell(found, words) {
  if (!found) return el("td", { "data-label": words, class: "figure counts" }, "\u2013");
  const { before, after, change } = found;
  const same = before.of === after.of;
  return el("td", { "data-label": words, class: "figure counts" },
    same ? `${before.count} to ${after.count}` : `${before.count} of ${before.of} to ${after.count}`,
    el("div", { class: "muted small" }, `of ${after.of}${change ? `, ${changeOf(found)}` : ""}`),
    el("div", { class: "muted small" }, `${Math.round(100 * after.low)} to ${Math.round(100 * after.high)} %`));
}

/** A number that somebody has set: as it was set. */
function setting(value) {
  return value === null ? "\u2013" : String(Number(value.toPrecision(3)));
}

/** A link that saves a run for use elsewhere. */
function download(text, kind, title, run) {
  return el("a", { class: "quiet-button", href: url(runPath(run.id, `export/${kind}`)), download: "", title,
    "data-key": `${kind} ${run.id}` }, text);
}

/** A small line of the score. */
function spark(values) {
  const label = values.length ? `score of the training batches from ${signed(values[0])} to ${signed(values.at(-1))}`
    : "no score yet";
  const shapes = [];
  if (values.length > 1) {
    const low = Math.min(...values);
    const span = Math.max(...values) - low || 1;
    shapes.push(shape("polyline", { points: values.map((value, index) =>
      `${(2 + (index / (values.length - 1)) * 92).toFixed(1)},${(25 - ((value - low) / span) * 22).toFixed(1)}`)
        .join(" ") }));
  }
  return svg({ class: "spark", viewBox: "0 0 96 28", role: "img", "aria-label": label }, ...shapes);
}
