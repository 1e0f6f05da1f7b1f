"""Several processes learn what one would have learned, and all of them the same, bit by bit. How a worker starts and
ends its helpers is tested with real workers."""

import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file, save_file

from playground.runs import children
from playground.runs.folder import traces
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.training.loop import optimizer_state
from playground.training.loop.ranks import ALONE, Ranks
from playground.training.process import rank_processes
from playground.training.process.rank_processes import Member
from playground.training.process.session import Session
from tests.faults import resuming
from tests.nights import cases
from tests.support import data_beside
from tests.training import small_run

CLOSE = 1e-5
HANG_SECONDS = 300
SETTINGS = data_beside(__file__, "ranks.yaml")
BY_DAY = SETTINGS["by day"]
CASES = BY_DAY | SETTINGS["at night"]


def train_in_two(folder, configs, forker):
    """Let two processes train the run of each configuration, one after the other."""
    for name, config in configs.items():
        for part in ("alone", "two"):
            RunDirectory.create(folder / part, config, name)
    environment = {**children.torch_environment(), "GLOO_SOCKET_IFNAME": rank_processes.LOOPBACK}
    arguments = [[str(rank), str(folder), *configs] for rank in range(2)]
    both = [forker.fork(__name__, given, environment, sys.__stderr__.fileno()) for given in arguments]
    try:
        assert [process.wait(HANG_SECONDS) for process in both] == [0, 0]
    finally:
        for process in both:
            process.kill()


def main(arguments):
    """One of the two: rank 0 writes run directories, and both write the weights that they end with."""
    rank, folder = int(arguments[0]), Path(arguments[1])
    ranks = rank_processes.connected(Member(rank, 2, "cpu", str(folder / "store")))
    for name in arguments[2:]:
        run = RunDirectory.open(folder / "two" / name)
        member = rank_processes.help_with(run.config(), run.path.parent, ranks) if rank else trained(run, ranks)
        assert (held(member) < 0.7) == (run.config().shard != "none")
        save_file(weights_of(member), folder / f"{name}-{rank}.safetensors")
    dist.destroy_process_group()
    return 0


def trained(run, ranks):
    config = run.config()
    session = small_run.train(Session(run, config, RunWriter(run, config.ppo.num_updates), lambda: None, ranks))
    ranks.first()
    return session


def weights_of(member):
    whole = optimizer_state.trained({"policy": member.policy, "critic": member.trainer.critic})
    return {name: weight.detach().clone() for name, weight in whole.items()}


def held(member):
    """Which part of what the optimizer remembers lies on this rank."""
    trainer = member.trainer
    kept = [value for value in optimizer_state.state_dict(trainer.optimizer, trainer.trained).values() if value.ndim]
    here = [value.to_local() if hasattr(value, "to_local") else value for value in kept]
    return sum(map(torch.numel, here)) / sum(map(torch.numel, kept))


def figures(metrics):
    left_out = {*resuming.TIMINGS, "ranks"}
    numbers = {name: value for name, value in metrics if isinstance(value, (int, float)) and name not in left_out}
    return {name: value for name, value in numbers.items() if "seconds" not in name}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, forker, request):
    """What two processes have trained: the cases that are asked for."""
    folder = tmp_path_factory.mktemp("ranks")
    tiny_model = resuming.tiny_model(folder / "llama")
    collected = {item.name for item in request.session.items if item.path == request.path}
    asked = [name for name in CASES if f"test_two_processes_learn_what_one_learns[{name}]" in collected]
    models = {name: "pocket-1m" if name == "lengths" else tiny_model for name in asked}
    train_in_two(folder, {name: resuming.config(models[name], **CASES[name]) for name in asked}, forker)
    return folder


@pytest.mark.parametrize("name", cases(CASES, always=BY_DAY))
def test_two_processes_learn_what_one_learns(folder, name):
    one, two = (RunDirectory.open(folder / part / name) for part in ("alone", "two"))
    threads = torch.get_num_threads()
    alone = weights_of(trained(one, ALONE))
    torch.set_num_threads(threads)
    first, second = (load_file(folder / f"{name}-{rank}.safetensors") for rank in range(2))
    assert first.keys() == alone.keys()
    assert all(torch.equal(first[key], second[key]) for key in first), "the ranks are bit-identical"
    assert max(float((first[key] - alone[key]).abs().max()) for key in alone) < CLOSE
    assert any(float(weight.abs().max()) > 0 for weight in alone.values())
    assert [item.completion for item in two.samples()] == [item.completion for item in one.samples()]
    assert len(two.metrics()) == len(two.rollouts()) == one.config().ppo.num_updates
    for mine, theirs in zip(two.rollouts(), one.rollouts(), strict=True):
        assert mine.histogram.counts == theirs.histogram.counts, "the scores of the whole batch"
        texts = [[(text.prompt, text.completion) for text in rollout.texts] for rollout in (mine, theirs)]
        assert texts[0] == texts[1]
    for mine, theirs in zip(two.metrics(), one.metrics(), strict=True):
        assert figures(mine) == pytest.approx(figures(theirs), abs=2e-3, nan_ok=True), mine.update
    if name == "lengths":
        steps = [traces.read(run, 1).steps for run in (two, one)]
        rows = [[step.rows for step in part] for part in steps]
        assert rows[0] == rows[1], "whichever rank learned from them"
        for mine, theirs in zip(*steps, strict=True):
            assert mine.log_ratios == pytest.approx(theirs.log_ratios, abs=1e-4)
            assert mine.tokens == theirs.tokens


def test_the_watched_answers_are_all_rank_0s_and_the_rest_is_dealt_evenly():
    ranks = [Ranks(rank, 3) for rank in range(3)]
    dealt = [each.deal(10, first=range(0, 10, 4)) for each in ranks]
    assert dealt[0][:3] == [0, 4, 8]
    assert sorted(row for part in dealt for row in part) == list(range(10))
    assert sorted(map(len, dealt)) == [3, 3, 4]
    assert [len(each.deal(2)) for each in ranks] == [1, 1, 0]
    assert [len(each.deal(4, first=[0, 1, 2, 3])) for each in ranks] == [4, 0, 0]
