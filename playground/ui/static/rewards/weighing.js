// Arithmetic of the reward workbench, without any drawing: from each reward's raw values to contributions, scores,
// ranks. The same as playground/rewards/mixture.py; a test holds them together. Pure.

const LEAST_VARIANCE = 1e-12;
const TREATMENT = new Set(["weight", "normalise", "cap"]); // what is done with a value, not what is measured

/** What a reward measures, whatever is done with its value afterwards. */
function whatOf(reward) {
  const told = ([name, value]) => !TREATMENT.has(name) && value !== "" && value !== null;
  return JSON.stringify(Object.entries(reward).filter(told).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Mean and standard deviation of what is known; sd 1 where it does not vary. */
function scaleOf(values) {
  const known = values.filter((value) => value !== null);
  if (!known.length) return { mean: 0, sd: 1 };
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  const variance = known.reduce((sum, value) => sum + (value - mean) ** 2, 0) / known.length;
  return { mean, sd: variance > LEAST_VARIANCE ? Math.sqrt(variance) : 1 };
}

/** One raw value, on the reference's scale if wanted, capped, weighted; null = no opinion. */
function contribution(value, term) {
  if (value === null) return null;
  let scaled = term.normalise ? (value - term.scale.mean) / term.scale.sd : value;
  if (term.cap) scaled = Math.min(Math.max(scaled, -term.cap), term.cap);
  return term.weight * scaled;
}

/**
 * Rows of {raw: [...], parts: [...], total} from columns of raw values, one column for each term; score, adds and rank
 * come later.
 * @returns {any[]}
 */
function rowsOf(columns, terms, count) {
  return Array.from({ length: count }, (_, row) => {
    const raw = columns.map((values) => values[row]);
    const parts = raw.map((value, index) => contribution(value, terms[index]));
    const known = parts.filter((part) => part !== null);
    return { raw, parts, total: known.length ? known.reduce((sum, part) => sum + part, 0) : null };
  });
}

/** Everything that is shown, for rewards as they are now in the picker.
 *  `found`: what the server measured: names, labels, rewards (as measured), texts and reference (raw values by name).
 *  Returns {terms, missing, texts, samples, scale}: of each text and sample raw, adds (in sd above the reference's
 * average,
 *  by term), score and rank; `missing` are rewards that were not measured yet. */
export function analyse(found, rewards) {
  const measured = found.rewards.map((reward, index) =>
    ({ what: whatOf(reward), name: found.names[index], label: found.labels[index] }));
  const missing = [];
  const terms = [];
  for (const reward of rewards) {
    const at = measured.findIndex(({ what }) => what === whatOf(reward));
    if (at < 0) {
      missing.push(reward);
      continue;
    }
    const [{ name, label }] = measured.splice(at, 1);
    terms.push({ name, label, weight: numberOr(reward.weight, 1), normalise: Boolean(reward.normalise),
      cap: numberOr(reward.cap, 0), scale: scaleOf(found.reference[name]) });
  }
  const columns = (source) => terms.map(({ name }) => source[name]);
  const samples = rowsOf(columns(found.reference), terms, terms.length ? found.samples.length : 0);
  const texts = rowsOf(columns(found.texts), terms, terms.length ? found.sides.length : 0);
  const scale = scaleOf(samples.map(({ total }) => total));
  const known = samples.filter(({ total }) => total !== null);
  const averages = terms.map((_, index) => known.reduce((sum, { parts }) => sum + (parts[index] ?? 0),
    0) / (known.length || 1));
  for (const row of [...samples, ...texts]) {
    row.score = row.total === null ? 0 : (row.total - scale.mean) / scale.sd;
    row.adds = row.parts.map((part, index) => (row.total === null ? 0 : ((part ?? 0) - averages[index]) / scale.sd));
  }
  const order = samples.map((_, index) => index).sort((a, b) => samples[b].score - samples[a].score || a - b);
  order.forEach((index, place) => { samples[index].rank = place + 1; });
  for (const text of texts) text.rank = 1 + samples.filter(({ score }) => score > text.score).length;
  return { terms, missing, texts, samples, scale, order };
}

/** Share of samples that score lower; ties count half. */
export function shareBelow(samples, score) {
  const below = samples.filter((sample) => sample.score < score - 1e-9).length;
  const same = samples.filter((sample) => Math.abs(sample.score - score) <= 1e-9).length;
  return samples.length ? (below + same / 2) / samples.length : 0;
}

/**
 * Which of two texts wins and by which term: {winner, loser, by, terms: [{label, by}]} with the largest first; null if
 * they tie.
 */
export function duel(texts, terms) {
  const by = texts[0].score - texts[1].score;
  if (Math.abs(by) < 0.005) return null;
  const sign = by > 0 ? 1 : -1;
  const apart = terms.map(({ label }, index) => ({ label, by: sign * (texts[0].adds[index] - texts[1].adds[index]) }));
  return { winner: by > 0 ? 0 : 1, by: Math.abs(by), terms: apart.sort((a, b) => b.by - a.by) };
}

function numberOr(value, otherwise) {
  return typeof value === "number" && Number.isFinite(value) ? value : otherwise;
}
