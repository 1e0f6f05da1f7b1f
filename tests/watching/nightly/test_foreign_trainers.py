"""TRL's own trainers, each in a process of its own, watched as a script has it."""

import subprocess
import sys

import pytest

from playground.runs.folder.directory import RunDirectory
from tests.support import PROJECT
from tests.watching.foreign import PROMPTS

TRAINERS = [  # beta, and figures that its log has
    ("grpo", 0.04, {"score_mean", "score_std", "kl_to_reference", "completion_length", "groups_same_score"}),
    ("dpo", 0.2, {"pairs_ordered", "policy_loss", "entropy"}),
    ("ppo", 0.07, {"score_mean", "kl_to_reference", "clip_fraction", "value_loss", "episodes"}),
]


@pytest.mark.parametrize(("name", "beta", "figures"), TRAINERS)
def test_a_trainer_of_trl_is_watched(tmp_path, name, beta, figures):
    run = RunDirectory(tmp_path / "outputs" / name)
    command = [sys.executable, "-m", "tests.watching.foreign", name, str(run.path), str(tmp_path / "trl")]
    subprocess.run(command, cwd=PROJECT, check=True, capture_output=True)
    config, metrics = run.config(), run.metrics()
    assert (run.status().state, [item.update for item in metrics]) == ("finished", [1, 2, 3, 4])
    assert (config.method, config.kl.coef, config.seed, config.ppo.learning_rate) == (name, beta, 5, 1e-3)
    known = {figure for figure, value in metrics[-1] if value not in (None, {})}
    assert known >= {*figures, "learning_rate", "seconds"}
    assert not known & {"kl_coef", "perplexity_reference", "tokens", "seconds_rollout", "distinct_2"}
    moments = [(0, "before"), (2, "during"), (4, "after")]
    asked = [(item.update, item.stage, item.prompt) for item in run.samples()]
    assert asked == [(*moment, prompt) for moment in moments for prompt in PROMPTS[:2]]
    assert all(item.score is None and 0 < item.tokens <= 6 for item in run.samples())
