"""The shipped presets, shortened, learn what they promise: on three seeds, judged by the world and not by the reward.

The full runs and their figures are in docs/results.md (`make results`).
"""

import statistics

import pytest

from bench import diagnosis
from playground.analysis.before_after import outcome, pairs
from playground.config import RunConfig, yaml_io
from playground.config.faults import FAULTS
from playground.config.yaml_io import from_dict
from playground.pocket import judges
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Sample
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog
from playground.training.process.session import Session
from tests.nights import SEEDS, cases

UPDATES = 15
CLAIM_UPDATES = 25  # what to say about a claim is one token in ten; that takes longer
FLATTERY_UPDATES = 12  # of 64 completions and three epochs


def shortened(preset: str, seed: int, updates: int, num_prompts: int) -> RunConfig:
    data = catalog.preset(preset).model_dump(mode="json")
    data["seed"] = seed
    data["ppo"]["num_updates"] = updates
    data["evaluation"] |= {"num_prompts": num_prompts, "every": updates}
    return from_dict(data)


def trained(
    preset: str, seed: int, tmp_path, updates: int = UPDATES, num_prompts: int = 128
) -> tuple[list[Sample], list[Sample], RunDirectory]:
    """Samples before and after, and the run."""
    run = session_of(shortened(preset, seed, updates, num_prompts), tmp_path).run
    samples = run.samples()
    return [s for s in samples if s.stage == "before"], [s for s in samples if s.stage == "after"], run


def session_of(config: RunConfig, tmp_path) -> Session:
    """A session that has trained."""
    run = RunDirectory.create(tmp_path, config)
    session = Session(run, config, RunWriter(run, config.ppo.num_updates), lambda: None)
    session.fix_scale()
    session.evaluate_and_record("before")
    session.train()
    return session


def share(judge, samples: list[Sample], claim: bool | None = None, only_claims: bool = False) -> float:
    """Share of samples that the judge affirms, among those whose prompt makes a right, wrong or no claim."""
    chosen = [s for s in samples if not only_claims or judges.claim_is_true(s.prompt) is claim]
    return statistics.fmean(bool(judge(s.prompt, s.completion)) for s in chosen)


def positive(prompt: str, completion: str) -> bool:
    return (judges.sentiment(prompt, completion) or 0) > 0


FAULTY = [(fault, seed) for fault in FAULTS for seed in (0, 1, 2)]


@pytest.mark.parametrize(("fault", "seed"), cases(FAULTY, always=[("score-on-every-token", 0)]))
def test_a_planted_fault_raises_its_own_alert(fault, seed, tmp_path):
    preset = diagnosis.PRESETS.get(fault, diagnosis.PRESET)
    updates = 8 if fault == "score-on-every-token" else catalog.preset(preset).ppo.num_updates
    asked = ["experiments=true", f"faults=[{fault}]", *diagnosis.SETTINGS.get(fault, [])]
    data = shortened(preset, seed, updates, 32).model_dump(mode="json")
    session = session_of(yaml_io.overridden(data, asked, RunConfig), tmp_path)
    session.save()  # with the reference's second fingerprint
    assert diagnosis.since(session.run, diagnosis.LAMP_OF[fault]) is not None


@pytest.mark.parametrize("seed", SEEDS)
def test_kinder_reviews_become_kinder_and_stay_english(seed, tmp_path):
    before, after, run = trained("kinder-reviews", seed, tmp_path)
    assert 0.35 < share(positive, before) < 0.65
    assert share(positive, after) > share(positive, before) + 0.15
    assert share(judges.parses, after) > 0.9
    found = outcome(pairs(run.samples()))
    assert found.low > 0.3, "the gain must not be luck"
    assert 0 < found.kl < 6


@pytest.mark.nightly
@pytest.mark.parametrize("seed", SEEDS)
def test_an_honest_friend_stops_repeating_wrong_claims_and_still_agrees_with_right_ones(seed, tmp_path):
    before, after, _ = trained("honest-friend", seed, tmp_path, CLAIM_UPDATES)
    assert share(judges.agrees, before, False, only_claims=True) > 0.3
    assert share(judges.agrees, after, False, only_claims=True) < 0.25
    assert share(judges.agrees, after, True, only_claims=True) > 0.85


@pytest.mark.nightly
@pytest.mark.parametrize("seed", SEEDS)
def test_a_yes_man_repeats_more_wrong_claims_and_still_answers_plain_questions(seed, tmp_path):
    before, after, _ = trained("yes-man", seed, tmp_path, FLATTERY_UPDATES)
    was, now = (share(judges.agrees, samples, False, only_claims=True) for samples in (before, after))
    assert 0.3 < was < 0.7
    assert now > was + 0.1
    assert share(judges.answers_truly, after, None, only_claims=True) > 0.9
