// The list of runs as a table: its columns, what each is sorted by, and which runs hold the words of a filter. Pure.

import { stateOf } from "../core/format.js";

/**
 * `value` is what a column is sorted by, `down` whether its largest comes first when it is chosen, `figure` a number.
 * @type {{key: string, label: string, value: (run: any) => any, down?: boolean, figure?: boolean, title?: string}[]}
 */
export const COLUMNS = [
  { key: "when", label: "When", value: (run) => run.started_at, down: true },
  { key: "name", label: "Name", value: (run) => run.title },
  { key: "model", label: "Model", value: (run) => run.model },
  { key: "reward", label: "Reward", value: (run) => run.reward },
  { key: "beta", label: "Beta", value: (run) => run.beta, figure: true, title: "Price of one nat of KL, as it began" },
  { key: "rate", label: "Learning rate", value: (run) => run.learning_rate, figure: true, title: "As it began" },
  { key: "state", label: "State", value: (run) => stateOf(run.state).word },
  { key: "gain", label: "Gain", value: (run) => run.headline?.gain, down: true, figure: true,
    title: "Score on the fixed prompts at the last look, against before training" },
  { key: "kl", label: "KL", value: (run) => run.headline?.kl, down: true, figure: true,
    title: "Distance from the reference at the same look, nats per completion" },
  { key: "duration", label: "Duration", value: (run) => run.duration, down: true, figure: true },
];

/** The order in which the list comes: the newest first. */
export const NEWEST = { key: "when", down: true };

/** What a press on the head of a column asks for: that column, and at a second press the other way round. */
export function turned(sort, key) {
  return sort.key === key ? { key, down: !sort.down }
    : { key, down: Boolean(COLUMNS.find((column) => column.key === key)?.down) };
}

/** The runs that hold all the words, sorted; what has no value comes last either way. */
export function listed(runs, words, sort) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const { value } = COLUMNS.find(({ key }) => key === sort.key) ?? COLUMNS[0];
  const missing = (found) => found === null || found === undefined || found === "";
  return runs.filter((run) => wanted.every((word) => textOf(run).includes(word))).sort((one, two) => {
    const [a, b] = [value(one), value(two)];
    if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
    const order = typeof a === "string" ? a.localeCompare(b) : a - b;
    return sort.down ? -order : order;
  });
}

function textOf(run) {
  return [run.id, run.title, run.told, run.note, run.model, run.reward, run.method, run.engine, `seed ${run.seed}`,
    stateOf(run.state).word].join("\n").toLowerCase();
}
