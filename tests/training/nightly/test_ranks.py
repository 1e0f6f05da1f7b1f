"""Further methods and settings in several processes."""

import pytest

from tests.faults import resuming
from tests.training.test_ranks import check_two_learned_what_one_learns, train_in_two

CASES = {
    "plain": {},
    "adaptive-kl-penalty": {"kl": {"controller": "adaptive", "coef": 0.3, "target": 0.5}},
    "groups-top-k": {
        "method": "grpo", "ppo__samples_per_prompt": 2, "ppo__minibatch_size": 4, "sampling__top_k": 5
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory, forker):
    """What two processes have trained."""
    folder = tmp_path_factory.mktemp("ranks")
    model = resuming.tiny_model(folder / "llama")
    train_in_two(folder, {name: resuming.config(model, **changes) for name, changes in CASES.items()}, forker)
    return folder


@pytest.mark.parametrize("name", CASES)
def test_two_processes_learn_what_one_learns(folder, name):
    check_two_learned_what_one_learns(folder, name)
