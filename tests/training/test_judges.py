"""Held-out judges and behaviours in a session: they watch the fixed prompts, train nothing, and a late failure stops
nothing."""

import pytest

from playground.analysis.diagnosis import diagnose
from playground.analysis.diagnosis.run_records import Records
from playground.errors import RewardFailed
from playground.pocket import judges
from playground.rewards.behaviours import Behaviours
from playground.rewards.mixture import Mixture
from tests.training import small_run
from tests.training.conftest import FINISHED


@pytest.mark.parametrize(("faults", "state"), [((), "quiet"), (("reward-format",), "red")])
def test_a_run_says_whether_its_reward_model_is_read_as_it_was_trained(tmp_path, faults, state):
    judge = {"kind": "model", "source": "pocket-honest"}
    session = small_run.session(tmp_path, small_run.config(rewards=[judge], experiments=bool(faults), faults=faults))
    checks = diagnose(Records(session.config, [], events=session.run.events()))
    assert next(check for check in checks if check.name == "reward-misread").state == state


def test_judges_do_not_change_the_training(finished, tmp_path):
    without = small_run.trained(tmp_path, FINISHED.model_copy(update={"judges": ()})).run
    assert all(set(sample.judges) == {"grammar", "repetition"} for sample in finished.samples())
    assert all(sample.judges == {} for sample in without.samples())
    for name in ("model.safetensors", "critic.safetensors"):
        judged, unjudged = ((run.latest_checkpoint() / name).read_bytes() for run in (finished, without))
        assert judged == unjudged, name


def failing(prompts, completions, **columns):
    return [float("nan")] * len(completions)


@pytest.mark.parametrize(
    ("name", "ask", "warning"),
    [
        ("judge", lambda session: session.judge(["p"], ["c"]), "The monitors could not score"),
        ("behaviour", lambda session: session.watch(["p"], ["c"], [True]), "The behaviours could not be counted"),
    ],
)
def test_a_judge_that_fails_stops_a_run_before_it_begins_and_later_is_a_warning(tmp_path, name, ask, warning):
    gold = {"name": "gold", "words": "is gold", "measure": {"kind": "truth"}}
    session = small_run.session(tmp_path, small_run.config(behaviours=[gold]))
    session.judges = Mixture({"gold": (1.0, failing)}, "judge")
    session.behaviours = Behaviours(session.config.behaviours, build=lambda spec: failing)
    with pytest.raises(RewardFailed, match=f"The {name} `gold` returned nan"):
        ask(session)
    session.trainer.updates_done = 3
    assert ask(session) == {}
    (said,) = [event for event in session.run.events() if event.message.startswith(warning)]
    assert said.kind == "warning"
    assert f"after update 3. The {name} `gold` returned nan" in said.message


def test_every_evaluation_counts_the_behaviours_that_suit_the_prompts(finished):
    samples = finished.samples()
    assert all(list(sample.behaviours) == ["positive", "parses", "ends"] for sample in samples)
    for sample in samples:
        assert sample.behaviours["ends"] is sample.ended
        assert sample.behaviours["parses"] is judges.parses(sample.prompt, sample.completion)
