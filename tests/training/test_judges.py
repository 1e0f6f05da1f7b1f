"""Held-out judges and behaviours in a session: they watch the fixed prompts, train nothing, and a late failure stops
nothing."""

from __future__ import annotations

import pytest
import torch

from playground.analysis.diagnosis import diagnose
from playground.analysis.diagnosis.run_records import Records
from playground.config.yaml_io import from_dict
from playground.errors import RewardFailed
from playground.pocket import judges
from playground.rewards.behaviours import Behaviours
from playground.rewards.mixture import Mixture
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.training.process.session import Session

SMALL = {
    "name": "judged",
    "model": {"source": "pocket-1m"},
    "rewards": [{"kind": "sentiment"}, {"kind": "length", "weight": 0.1, "normalise": True, "cap": 2}],
    "judges": [{"kind": "grammar"}, {"kind": "repetition"}],
    "ppo": {"num_updates": 2, "batch_size": 8, "minibatch_size": 8, "micro_batch_size": 8, "num_epochs": 1},
    "prompts": {"limit": 16},
    "sampling": {"max_new_tokens": 8},
    "evaluation": {"num_prompts": 4, "every": 1},
    "checkpoint": {"every": 0},
}


def session_in(folder, **changes):
    config = from_dict({**SMALL, **changes})
    run = RunDirectory.create(folder, config, "r")
    return Session(run, config, RunWriter(run, config.ppo.num_updates), lambda: None)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    made = session_in(tmp_path_factory.mktemp("judged"))
    made.fix_scale()
    made.evaluate_and_record("before")
    made.train()
    return made


@pytest.mark.parametrize(("faults", "state"), [((), "quiet"), (("reward-format",), "red")])
def test_a_run_says_whether_its_reward_model_is_read_as_it_was_trained(tmp_path, faults, state):
    wrong = {"experiments": bool(faults), "faults": faults}
    made = session_in(tmp_path, rewards=[{"kind": "model", "source": "pocket-honest"}], **wrong)
    found = diagnose(Records(made.config, [], events=made.run.events()))
    assert next(check for check in found if check.name == "reward-misread").state == state


def test_each_update_says_what_each_reward_adds_and_the_run_records_the_scales(trained):
    (event,) = [event for event in trained.run.events() if event.kind == "score_scale"]
    assert set(event.data["terms"]) == {"sentiment", "length"}
    assert event.data["terms"]["length"]["sd"] > 0
    for metrics in trained.run.metrics():
        assert sum(metrics.contributions.values()) == pytest.approx(metrics.score_mean, abs=1e-9)
    checkpoint = trained.run.latest_checkpoint()
    assert checkpoint is not None
    assert '"contribution"' in (checkpoint / "trainer.json").read_text()


def test_judges_do_not_change_the_training(trained, tmp_path):
    without = session_in(tmp_path, judges=[])
    without.fix_scale()
    without.evaluate_and_record("before")
    without.train()
    for mine, theirs in zip(trained.policy.parameters(), without.policy.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert all(sample.judges == {} for sample in without.run.samples())


def failing(prompts, completions, **columns):
    return [float("nan")] * len(completions)


@pytest.mark.parametrize(("what", "name"), [("judges", "judge"), ("behaviours", "behaviour")])
def test_what_fails_stops_a_run_before_it_begins_and_later_is_a_warning(tmp_path, what, name):
    made = session_in(tmp_path, behaviours=[{"name": "gold", "words": "is gold", "measure": {"kind": "truth"}}])
    made.judges = Mixture({"gold": (1.0, failing)}, "judge")
    made.behaviours = Behaviours(made.config.behaviours, build=lambda spec: failing)
    ask = {
        "judges": lambda: made.judge(["p"], ["c"]),
        "behaviours": lambda: made.watch(["p"], ["c"], [True]),
    }[what]
    with pytest.raises(RewardFailed, match=f"The {name} `gold` returned nan"):
        ask()
    made.trainer.updates_done = 3
    assert ask() == {}
    said = {"judges": "The monitors could not score", "behaviours": "The behaviours could not be counted"}[what]
    (warning,) = [one for one in made.run.events() if one.kind == "warning" and one.message.startswith(said)]
    assert f"after update 3. The {name} `gold` returned nan" in warning.message


def test_every_evaluation_counts_the_behaviours_that_suit_the_prompts(trained):
    samples = trained.run.samples()
    assert all(list(sample.behaviours) == ["positive", "parses", "ends"] for sample in samples)
    for sample in samples:
        assert sample.behaviours["ends"] is sample.ended
        assert sample.behaviours["parses"] is judges.parses(sample.prompt, sample.completion)
