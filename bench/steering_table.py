"""What a steering vector does at each layer and strength: `python -m bench.steering_table presets/steering.yaml`.

Nothing is trained, so a whole table costs less than a run for each of its cells. The vector is the run's own (see
`training/loop/untrained.py`), the prompts are unseen ones, judged by the pocket world's own judges as in results.py.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

import torch  # noqa: E402

from bench.results import judged  # noqa: E402
from playground.config import RunConfig, yaml_io  # noqa: E402
from playground.config.reward_settings import SCALE_SAMPLES  # noqa: E402
from playground.setup import catalog  # noqa: E402
from playground.training.data import prompts as prompt_sources  # noqa: E402
from playground.training.data.prompts import Prompt  # noqa: E402
from playground.training.data.random_streams import derived_seed  # noqa: E402
from playground.training.loop import evaluation, held_out_text  # noqa: E402
from playground.training.loop.scoring import Scorer  # noqa: E402
from playground.training.loop.untrained import Steered  # noqa: E402
from playground.training.models import loading  # noqa: E402
from playground.training.models.steering_vector import decoder_layers, layer_of  # noqa: E402


def rows(
    config: RunConfig, strengths: Sequence[float], layers: Sequence[int] | None = None, count: int = 200
) -> Iterator[dict[str, Any]]:
    """A row for each layer (default: all) and strength, with the configuration's own seed.

    Args:
        count: how many prompts that no run sees (up to `NUM_UNSEEN`) are answered for a row, with the same random
            numbers in all of them.
    """
    device = torch.device("cpu")
    policy, tokens = loading.load(catalog.model_folder(config.model.source), device, trained=True)
    reference, room = policy.frozen_copy(), policy.context_length - config.sampling.max_new_tokens
    split = prompt_sources.load(config.prompts, config.evaluation.num_prompts, room, tokens, config.seed)
    scorer = fitted(config, reference, tokens, split.training)
    texts = prompt_sources.unseen(config.prompts, config.evaluation.num_prompts, config.seed)[:count]
    asked = [Prompt(text, tokens.encode(text)) for text in texts]
    seeds = [derived_seed(config.seed, "fresh", number) for number in range(len(asked))]
    documents = held_out_text.encode(held_out_text.read(config.evaluation), tokens, policy.context_length)
    trainer = Steered(config, policy, reference, tokens, split.training, scorer)
    for layer in layers or range(1, len(decoder_layers(policy.trunk)) + 1):
        policy.steer(None)
        trainer.layer = layer_of(policy.trunk, layer)
        vector = trainer.find()
        for strength in strengths:
            policy.steer(vector._replace(strength=strength))
            episodes, kl = evaluation.answer(
                policy, reference, asked, seeds, evaluation.Generation(tokens, config.sampling, 100)
            )
            written = episodes.texts(tokens), episodes.ended.tolist()
            scores = scorer(texts, *written).scores
            figures = {"score": statistics.fmean(scores), "kl": statistics.fmean(kl), **judged(texts, *written)}
            if documents:
                figures["perplexity"] = held_out_text.perplexity(policy, documents, tokens.pad_id, 32).perplexity
            rounded = {name: None if value is None else round(value, 3) for name, value in figures.items()}
            yield {"seed": config.seed, "layer": layer, "strength": strength, **rounded}


def fitted(config: RunConfig, reference: Any, tokens: Any, training: list[Prompt]) -> Scorer:
    """The scorer with the scale that a run would have."""
    scorer = Scorer(config)
    asked, seeds = evaluation.reference_questions(training, config.seed, SCALE_SAMPLES)
    sampling = config.sampling.in_training
    episodes, _ = evaluation.answer(
        reference, None, asked, seeds, evaluation.Generation(tokens, sampling, config.ppo.micro_batch_size)
    )
    scorer.fit_scale([prompt.text for prompt in asked], episodes.texts(tokens))
    return scorer


def main() -> None:
    """Print a line of JSON for each row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("preset", type=Path)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--layers", nargs="*", type=int, default=None)
    parser.add_argument("--strengths", nargs="*", type=float, default=[-2, -1, 0, 1, 2, 3, 4])
    parser.add_argument("--prompts", type=int, default=200)
    arguments = parser.parse_args()
    config = yaml_io.load(arguments.preset)
    for seed in arguments.seeds:
        seeded = config.model_copy(update={"seed": seed})
        for row in rows(seeded, arguments.strengths, arguments.layers, arguments.prompts):
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
