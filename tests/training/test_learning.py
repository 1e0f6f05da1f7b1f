"""A shipped preset, shortened, learns what it promises, judged by the world and not by the reward; the others at night.

The full runs and their figures are in docs/results.md (`make results`).
"""

import statistics

import pytest

from playground.analysis.before_after import outcome, pairs
from playground.config.yaml_io import from_dict
from playground.pocket import judges
from playground.setup import catalog
from tests.nights import SEEDS
from tests.training import small_run


def shortened(preset, seed, updates, num_prompts, rate=1.0, limit=512):
    """Of fewer updates, at a learning rate so many times as high, on so many prompts; None: on as many as it has."""
    data = catalog.preset(preset).model_dump(mode="json")
    data["seed"] = seed
    data["prompts"]["limit"] = limit or data["prompts"]["limit"]
    data["ppo"] |= {"num_updates": updates, "learning_rate": data["ppo"]["learning_rate"] * rate}
    data["evaluation"] |= {"num_prompts": num_prompts, "every": updates}
    return from_dict(data)


def before_and_after(config, folder, run_id="r"):
    """What a run answers to the fixed prompts."""
    samples = small_run.trained(folder, config, run_id).run.samples()
    return [s for s in samples if s.stage == "before"], [s for s in samples if s.stage == "after"]


def share(judge, samples, claim=None, only_claims=False):
    """Share of samples that the judge affirms, among those whose prompt makes a right, wrong or no claim."""
    chosen = [s for s in samples if not only_claims or judges.claim_is_true(s.prompt) is claim]
    return statistics.fmean(bool(judge(s.prompt, s.completion)) for s in chosen)


def positive(prompt, completion):
    return (judges.sentiment(prompt, completion) or 0) > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_kinder_reviews_become_kinder_and_stay_english(seed, tmp_path):
    config = shortened("kinder-reviews", seed, updates=5, num_prompts=96, rate=2)
    before, after = before_and_after(config.model_copy(update={"behaviours": ()}), tmp_path)
    assert 0.35 < share(positive, before) < 0.65
    assert share(positive, after) > share(positive, before) + 0.15
    assert share(judges.parses, after) > 0.9
    gain = outcome(pairs([*before, *after]))
    assert gain.low > 0.3, "the gain must not be luck"
    assert 0 < gain.kl < 6
