"""What a steering vector does at each layer and strength: `python -m bench.steering_table presets/steering.yaml`.

Nothing is trained, so a whole table costs less than a run for each of its cells. The vector is the run's own (see
`training/loop/untrained.py`), the prompts are unseen ones, judged by the pocket world's own judges as in results.py.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import results
from bench.experiments import Row
from playground.config import RunConfig, yaml_io
from playground.config.reward_settings import SCALE_SAMPLES
from playground.setup import catalog
from playground.training.data import prompts as prompt_sources
from playground.training.data.prompts import Prompt
from playground.training.data.random_streams import derived_seed
from playground.training.loop import evaluation, held_out_text
from playground.training.loop.scoring import Scorer
from playground.training.loop.untrained import Steered
from playground.training.models import loading
from playground.training.models.language_model import LanguageModel, Tokens
from playground.training.models.steering_vector import decoder_layers, layer_of


def main() -> None:
    """Print a line of JSON for each row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("preset", type=Path)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--layers", nargs="*", type=int, default=None)
    parser.add_argument("--strengths", nargs="*", type=float, default=[-2, -1, 0, 1, 2, 3, 4])
    parser.add_argument("--prompts", type=int, default=200)
    arguments = parser.parse_args()
    for seed in arguments.seeds:
        config = yaml_io.load(arguments.preset).model_copy(update={"seed": seed})
        for row in rows(config, arguments.strengths, arguments.layers, arguments.prompts):
            print(json.dumps(row), flush=True)


def rows(
    config: RunConfig, strengths: Sequence[float], layers: Sequence[int] | None = None, count: int = 200
) -> Iterator[Row]:
    """A row for each layer (default: all) and strength, with the configuration's own seed.

    Args:
        count: how many prompts that no run sees (up to `NUM_UNSEEN`) are answered for a row, with the same random
            numbers in all of them.
    """
    policy, tokens = loading.load(catalog.model_folder(config.model.source), results.CPU, trained=True)
    reference, room = policy.frozen_copy(), policy.context_length - config.sampling.max_new_tokens
    split = prompt_sources.load(config.prompts, config.evaluation.num_prompts, room, tokens, config.seed)
    scorer = fitted(config, reference, tokens, split.training)
    prompts = prompt_sources.unseen(config.prompts, config.evaluation.num_prompts, config.seed)[:count]
    seeds = [derived_seed(config.seed, "fresh", number) for number in range(len(prompts))]
    documents = held_out_text.encode(held_out_text.read(config.evaluation), tokens, policy.context_length)
    trainer = Steered(config, policy, reference, tokens, split.training, scorer)
    for layer in layers or range(1, len(decoder_layers(policy.trunk)) + 1):
        policy.steer(None)
        trainer.layer = layer_of(policy.trunk, layer)
        vector = trainer.find()
        for strength in strengths:
            policy.steer(vector._replace(strength=strength))
            answers = results.write(policy, reference, tokens, prompts, seeds, config.sampling)
            answered = results.Answered(prompts, answers, results.scores_of(scorer, prompts, answers))
            figures = results.figures_of(answered)
            del figures["tokens"]
            if documents:
                perplexity = held_out_text.perplexity(policy, documents, tokens.pad_id, 32).perplexity
                figures["perplexity"] = results.rounded(perplexity)
            yield {"seed": config.seed, "layer": layer, "strength": strength, **figures}


def fitted(config: RunConfig, reference: LanguageModel, tokens: Tokens, training: list[Prompt]) -> Scorer:
    """The scorer with the scale that a run would have."""
    scorer = Scorer(config)
    prompts, seeds = evaluation.reference_questions(training, config.seed, SCALE_SAMPLES)
    how = evaluation.Generation(tokens, config.sampling.in_training, config.ppo.micro_batch_size)
    episodes, _ = evaluation.answer(reference, None, prompts, seeds, how)
    scorer.fit_scale([prompt.text for prompt in prompts], episodes.texts(tokens))
    return scorer


if __name__ == "__main__":
    main()
