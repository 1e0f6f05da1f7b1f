"""A problem so small that every text can be counted: how near PPO comes to the best policy there is, exactly. `make
chalkboard` writes docs/chalkboard.md, and the table from which the page works out the best policy for any beta.

The preset `chalkboard` has two prompts and completions of two tokens. So all of them can be listed, and with them
pi*(y | x) = pi_ref(y | x) exp(score(y) / beta) / Z(x) (Ziegler et al. 2019, section 2), the mean score and the KL of
any policy. What pi* scores, and how far it is away, depends only on how likely the reference is to reach each score.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from bench import leash, results, tables
from bench.experiments import Row, machine, options
from playground.ppo.logprobs import log_softmax_at
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.training.loop.scoring import Scorer
from playground.training.models import loading
from playground.training.models.language_model import LanguageModel, Tokens

Array = NDArray[np.float64]
PRESET = "chalkboard"
BETAS = (0.1, 0.2, 0.35, 0.5, 1.0, 2.0)  # at which PPO is trained
AT_ONCE = 1280  # texts that one pass of the model reads
SHOWN = 6  # likeliest texts of the reference, and as many of the best policy
SHOWN_BETA = 0.2  # of that policy
STEPS = 60  # of the search for the beta of a KL


def main() -> None:
    """Train what is missing, list all texts, compare, write."""
    arguments = options(__doc__).parse_args()
    texts, tokens = enumerate_all()
    lines: list[Row] = []
    chances: dict[float, list[Array]] = {}
    for beta, seed in itertools.product(BETAS, arguments.seeds):
        run = leash.leashed(PRESET, beta, seed, arguments.outputs)
        line, chance = compared(run, texts, tokens, beta)
        lines.append(line)
        chances.setdefault(beta, []).append(chance)
        print(line, file=sys.stderr, flush=True)
    leash.write_board("chalkboard", board(texts, tokens, lines, chances))
    tables.write("chalkboard", page(lines, machine()))


# -- policies over listed texts ---------------------------------------------------------------------------------------


class Optimum(NamedTuple):
    """The best policy for a beta: the log-prob of each text, its mean score, its KL to the reference, log Z."""

    log_probs: Array
    score: float
    kl: float
    log_partition: float


def best(reference: Array, scores: Array, beta: float) -> Optimum:
    """The policy that no other one beats at score less beta times KL (Ziegler et al. 2019, section 2).

    Args:
        reference: log-probs of texts, of any shape. scores: of each.
    """
    weights = reference + scores / beta
    log_partition = float(np.logaddexp.reduce(weights, axis=None))
    log_probs = weights - log_partition
    score = float((np.exp(log_probs) * scores).sum())
    return Optimum(log_probs, score, score / beta - log_partition, log_partition)


def kl_between(policy: Array, other: Array) -> float:
    """KL(policy || other) in nats, of log-probs over the same texts."""
    possible = policy > -np.inf
    return float((np.exp(policy[possible]) * (policy[possible] - other[possible])).sum())


def levels(reference: Array, scores: Array) -> list[list[float]]:
    """How likely the reference is to reach each score: [score, probability], from the lowest."""
    values, places = np.unique(scores, return_inverse=True)
    mass = np.bincount(places.ravel(), weights=np.exp(reference).ravel())
    return [[float(score), float(share)] for score, share in zip(values, mass, strict=True) if share > 0]


def best_at(reference: Array, scores: Array, kl: float) -> float:
    """The highest score that a policy at this KL can have: that of the best policy of the beta that leads there."""
    table = np.array(levels(reference, scores))
    log_probs, values = np.log(table[:, 1]), table[:, 0]
    low, high = 1e-3, 1e3
    for _ in range(STEPS):
        middle = (low * high) ** 0.5
        if best(log_probs, values, middle).kl > kl:
            low = middle
        else:
            high = middle
    return best(log_probs, values, low).score


# -- the preset's own texts -------------------------------------------------------------------------------------------


class Enumerated(NamedTuple):
    """All completions of two tokens, V x V of them by (first, second); an end in the first place is the text [end, 0].

    `raw` [V, V]: what the reward says of each. `reference` [P, V, V]: how likely the untrained model is to write each
    after each of P prompts, as log-probs; minus infinity where there is no such text.
    """

    prompts: list[list[int]]
    raw: Array
    reference: Array
    mean: float
    sd: float

    @property
    def scores(self) -> Array:
        """In standard deviations of the untrained model's."""
        return (self.raw - self.mean) / self.sd


def enumerate_all() -> tuple[Enumerated, Tokens]:
    """Everything that the untrained model can write, and what the preset's reward says of it."""
    config = catalog.preset(PRESET)
    model, tokens = loading.load(catalog.model_folder(config.model.source), results.CPU)
    prompts = [tokens.encode(text) for text in config.prompts.typed]
    size = model.vocabulary
    texts = [tokens.decode([first, second]) for first, second in itertools.product(range(size), repeat=2)]
    raw = Scorer(config)([config.prompts.typed[0]] * len(texts), texts, [True] * len(texts)).raw
    of_texts = np.array(raw, dtype=float).reshape(size, size)
    reference = np.stack([log_probs_of(model, tokens, prompt) for prompt in prompts])
    chances = np.exp(reference)
    mean = float((chances * of_texts).sum() / len(prompts))
    sd = float(np.sqrt((chances * (of_texts - mean) ** 2).sum() / len(prompts)))
    return Enumerated(prompts, of_texts, reference, mean, sd), tokens


def log_probs_of(model: LanguageModel, tokens: Tokens, prompt: Sequence[int]) -> Array:
    """Log-probs [V, V] of all completions of two tokens of one prompt."""
    size = model.vocabulary
    table = np.full((size, size), -np.inf)

    def next_token(ids: torch.Tensor) -> torch.Tensor:
        return log_softmax_at(model.logits(model.hidden(ids)[:, -1]), 1.0).double()

    with torch.no_grad():
        first = next_token(torch.tensor([prompt]))[0]
        longer = torch.cat([torch.tensor([list(prompt)] * size), torch.arange(size)[:, None]], 1)
        for start in range(0, size, AT_ONCE):
            rows = slice(start, start + AT_ONCE)
            table[rows] = (first[rows, None] + next_token(longer[rows])).numpy()
    for end in tokens.ends:
        table[end] = -np.inf
        table[end, 0] = float(first[end])
    return table - np.logaddexp.reduce(table, axis=None)  # what rounding has left over


def compared(run: RunDirectory, texts: Enumerated, tokens: Tokens, beta: float) -> tuple[Row, Array]:
    """A trained policy against the best one, over all texts, in the run's own unit of score: a line, and how likely the
    policy is to write each text after the first prompt."""
    facts, checkpoint = results.facts_of(run), run.latest_checkpoint()
    model, _ = loading.load(checkpoint, results.CPU)
    scores = (texts.raw - facts["score_mean"]) / facts["score_sd"]
    policies = [log_probs_of(model, tokens, prompt) for prompt in texts.prompts]
    lines = [
        against_best(reference, policy, scores, beta)
        for reference, policy in zip(texts.reference, policies, strict=True)
    ]
    means = {name: round(float(np.mean([line[name] for line in lines])), 4) for name in lines[0]}
    unit = round(facts["score_sd"] / texts.sd, 4)
    return {"beta": beta, "seed": run.config().seed, "unit": unit, **means}, np.exp(policies[0])


def against_best(reference: Array, policy: Array, scores: Array, beta: float) -> Row:
    """The policy of one prompt against the best one."""
    optimum, start = best(reference, scores, beta), float((np.exp(reference) * scores).sum())
    gain, kl = float((np.exp(policy) * scores).sum()) - start, kl_between(policy, reference)
    most = beta * optimum.log_partition - start  # the gain less the price that the best policy has
    return {
        "gain": gain,
        "kl": kl,
        "best_gain": optimum.score - start,
        "best_kl": optimum.kl,
        "share": (gain - beta * kl) / most,
        "at_kl": gain / (best_at(reference, scores, kl) - start),
        "apart": float(np.abs(np.exp(policy) - np.exp(optimum.log_probs)).sum() / 2),
        "kl_to_best": kl_between(policy, optimum.log_probs),
    }


# -- what is written --------------------------------------------------------------------------------------------------


def shown_texts(texts: Enumerated) -> list[int]:
    """The texts of the first prompt that are drawn, the likeliest first: places in the flattened table."""
    reference = texts.reference[0]
    optimum = best(reference, texts.scores, SHOWN_BETA).log_probs
    likeliest = [np.argsort(-table, axis=None, kind="stable")[:SHOWN] for table in (reference, optimum)]
    return sorted({*np.concatenate(likeliest).tolist()}, key=lambda place: -reference.ravel()[place])


def board(texts: Enumerated, tokens: Tokens, lines: Sequence[Row], chances: dict[float, list[Array]]) -> Any:
    """What the page gets."""
    config, size = catalog.preset(PRESET), len(texts.raw)
    places, scores, reference = shown_texts(texts), texts.scores.ravel(), texts.reference[0].ravel()
    shown = []
    for place in places:
        text = tokens.decode(list(divmod(place, size)))
        shown.append({"text": text, "score": float(scores[place]), "reference": float(np.exp(reference[place]))})
    trained = []
    for beta, policies in chances.items():
        runs = [line for line in lines if line["beta"] == beta]
        of_places = [[round(float(policy.ravel()[place]), 5) for place in places] for policy in policies]
        trained.append({"beta": beta, "runs": runs, "chances": of_places})
    return {
        "prompts": list(config.prompts.typed),
        "texts_in_all": int(np.isfinite(reference).sum()),
        "point": 1 / texts.sd,  # of the reward, in sd
        "levels": [levels(table, texts.scores) for table in texts.reference],
        "texts": shown,
        "trained": trained,
    }


COLUMNS = {
    **leash.OF_BETA,
    "gain of PPO, sd": leash.figure("gain"),
    "of the best": leash.figure("best_gain"),
    "KL of PPO, nats": leash.figure("kl"),
    "of the best ": leash.figure("best_kl"),
    "share of the best objective": leash.figure("share"),
    "share of the best score at its KL": leash.figure("at_kl"),
    "total variation": leash.figure("apart"),
    "KL to the best, nats": leash.figure("kl_to_best"),
}


def page(rows: Sequence[Row], where: str) -> str:
    """docs/chalkboard.md, measured on the machine `where`."""
    table = tables.by_columns(COLUMNS, leash.by_beta(rows), tables.TO_THE_RIGHT)
    return tables.page("chalkboard", machine=where, table=table)


if __name__ == "__main__":
    main()
