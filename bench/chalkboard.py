"""A problem so small that every text can be counted: how near PPO comes to the best policy there is, exactly. `make
chalkboard` writes docs/chalkboard.md, and the table from which the page works out the best policy for any beta.

The preset `chalkboard` has two prompts and completions of two tokens. So all of them can be listed, and with them
pi*(y | x) = pi_ref(y | x) exp(score(y) / beta) / Z(x) (Ziegler et al. 2019, section 2), the mean score and the KL of
any policy. What pi* scores, and how far it is away, depends only on how likely the reference is to reach each score.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

import numpy as np  # noqa: E402
import torch  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from bench import leash_page, results  # noqa: E402
from playground.ppo.logprobs import log_softmax_at  # noqa: E402
from playground.runs.folder.directory import RunDirectory  # noqa: E402
from playground.setup import catalog  # noqa: E402
from playground.training.loop.scoring import Scorer  # noqa: E402
from playground.training.models import loading  # noqa: E402
from playground.training.models.language_model import LanguageModel, Tokens  # noqa: E402

Array = NDArray[np.float64]
PRESET = "chalkboard"
BETAS = (0.1, 0.2, 0.35, 0.5, 1.0, 2.0)  # at which PPO is trained
SEEDS = (0, 1, 2)
AT_ONCE = 1280  # texts that one pass of the model reads
SHOWN = 6  # likeliest texts of the reference, and as many of the best policy
SHOWN_BETA = 0.2  # of that policy


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


class Optimum(NamedTuple):
    """The best policy for a beta: the log-prob of each text, its mean score, its KL to the reference, log Z."""

    log_probs: Array
    score: float
    kl: float
    log_partition: float


def log_probs_of(model: LanguageModel, tokens: Tokens, prompt: Sequence[int]) -> Array:
    """Log-probs [V, V] of all completions of two tokens of one prompt."""
    size = model.vocabulary
    found = np.full((size, size), -np.inf)
    with torch.no_grad():
        first = log_softmax_at(model.logits(model.hidden(torch.tensor([prompt]))[:, -1]), 1.0)[0].double()
        asked = torch.cat([torch.tensor([list(prompt)] * size), torch.arange(size)[:, None]], 1)
        for start in range(0, size, AT_ONCE):
            rows = slice(start, start + AT_ONCE)
            then = log_softmax_at(model.logits(model.hidden(asked[rows])[:, -1]), 1.0).double()
            found[rows] = (first[rows, None] + then).numpy()
    for end in tokens.ends:
        found[end] = -np.inf
        found[end, 0] = float(first[end])
    return found - np.logaddexp.reduce(found, axis=None)  # what rounding has left over


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
    there = policy > -np.inf
    return float((np.exp(policy[there]) * (policy[there] - other[there])).sum())


def levels(reference: Array, scores: Array) -> list[list[float]]:
    """How likely the reference is to reach each score: [score, probability], from the lowest."""
    found, where = np.unique(scores, return_inverse=True)
    mass = np.bincount(where.ravel(), weights=np.exp(reference).ravel())
    return [[float(score), float(share)] for score, share in zip(found, mass, strict=True) if share > 0]


# -- the preset's own texts -------------------------------------------------------------------------------------------


def enumerate_all() -> tuple[Enumerated, Tokens]:
    """Everything that the untrained model can write, and what the preset's reward says of it."""
    config = catalog.preset(PRESET)
    model, tokens = loading.load(catalog.model_folder(config.model.source), torch.device("cpu"))
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


def compared(run: RunDirectory, texts: Enumerated, tokens: Tokens, beta: float) -> tuple[dict[str, Any], Array]:
    """A trained policy against the best one, over all texts, in the run's own unit of score: a line, and how likely the
    policy is to write each text after the first prompt."""
    checkpoint = run.latest_checkpoint()
    assert checkpoint is not None
    model, _ = loading.load(checkpoint, torch.device("cpu"))
    facts = json.loads((checkpoint / "trainer.json").read_text())
    scores = (texts.raw - facts["score_mean"]) / facts["score_sd"]
    found, own = [], [log_probs_of(model, tokens, prompt) for prompt in texts.prompts]
    for reference, policy in zip(texts.reference, own, strict=True):
        optimum, start = best(reference, scores, beta), float((np.exp(reference) * scores).sum())
        score, kl = float((np.exp(policy) * scores).sum()), kl_between(policy, reference)
        apart = float(np.abs(np.exp(policy) - np.exp(optimum.log_probs)).sum() / 2)
        most = beta * optimum.log_partition - start  # the gain less the price that the best policy has
        found.append(
            {
                "gain": score - start,
                "kl": kl,
                "best_gain": optimum.score - start,
                "best_kl": optimum.kl,
                "share": (score - start - beta * kl) / most,
                "at_kl": (score - start) / (_at_kl(reference, scores, kl) - start),
                "apart": apart,
                "kl_to_best": kl_between(policy, optimum.log_probs),
            }
        )
    means = {name: round(float(np.mean([line[name] for line in found])), 4) for name in found[0]}
    unit = facts["score_sd"] / texts.sd
    return {"beta": beta, "seed": run.config().seed, "unit": round(unit, 4), **means}, np.exp(own[0])


def _at_kl(reference: Array, scores: Array, kl: float) -> float:
    """The highest score that a policy at this KL can have: that of the best policy of the beta that leads there."""
    table = np.array(levels(reference, scores))
    low, high = 1e-3, 1e3
    for _ in range(60):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if best(np.log(table[:, 1]), table[:, 0], middle).kl > kl else (low, middle)
    return best(np.log(table[:, 1]), table[:, 0], low).score


def shown_texts(texts: Enumerated) -> list[int]:
    """The texts of the first prompt that are drawn, the likeliest first: places in the flattened table."""
    scores = (texts.raw - texts.mean) / texts.sd
    optimum = best(texts.reference[0], scores, SHOWN_BETA).log_probs
    chosen = {
        int(place)
        for table in (texts.reference[0], optimum)
        for place in np.argsort(-table, axis=None, kind="stable")[:SHOWN]
    }
    return sorted(chosen, key=lambda place: -texts.reference[0].ravel()[place])


def packed(texts: Enumerated, tokens: Tokens, lines: list[dict[str, Any]], chances: dict[float, list[Array]]) -> Any:
    """What the page gets."""
    config, size = catalog.preset(PRESET), len(texts.raw)
    scores = (texts.raw - texts.mean) / texts.sd
    chosen = shown_texts(texts)
    return {
        "prompts": list(config.prompts.typed),
        "texts_in_all": int(np.isfinite(texts.reference[0]).sum()),
        "point": 1 / texts.sd,  # of the reward, in sd
        "levels": [levels(reference, scores) for reference in texts.reference],
        "texts": [
            {
                "text": tokens.decode(list(divmod(place, size))),
                "score": float(scores.ravel()[place]),
                "reference": float(np.exp(texts.reference[0].ravel()[place])),
            }
            for place in chosen
        ],
        "trained": [
            {
                "beta": beta,
                "runs": [line for line in lines if line["beta"] == beta],
                "chances": [[round(float(one.ravel()[place]), 5) for place in chosen] for one in of_beta],
            }
            for beta, of_beta in chances.items()
        ],
    }


def main() -> None:
    """Train what is missing, list all texts, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outputs", type=Path, default=PROJECT / "outputs" / "chalkboard")
    parser.add_argument("--only-there", action="store_true", help="train nothing: take the runs that are there")
    arguments = parser.parse_args()
    texts, tokens = enumerate_all()
    lines: list[dict[str, Any]] = []
    chances: dict[float, list[Array]] = {}
    for beta, seed in itertools.product(BETAS, SEEDS):
        run = leash_page.run_of(PRESET, beta, seed, arguments.outputs, train=not arguments.only_there)
        if run is None:
            continue
        line, chance = compared(run, texts, tokens, beta)
        lines.append(line)
        chances.setdefault(beta, []).append(chance)
        print(json.dumps(line), flush=True)
    leash_page.write("chalkboard", packed(texts, tokens, lines, chances))
    leash_page.CHALKBOARD_PAGE.write_text(leash_page.chalkboard_page(lines, results.machine()))
    print(f"wrote {leash_page.CHALKBOARD_PAGE}")


if __name__ == "__main__":
    main()
