"""A run that is broken off and taken up again equals the run that was not disturbed: every weight and every metric."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from playground.training.process.session import Session
from tests.faults import resuming
from tests.faults.resuming import Hand, Interrupted
from tests.figures import Figure

KS = range(1, resuming.UPDATES)
Edits = dict[int, dict[str, float]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return resuming.tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(autouse=True)
def same_threads_afterwards() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def make(tmp_path: Path, model: Path) -> Callable[..., RunDirectory]:
    """A new run of the tiny model, or of another one (`source`)."""

    def made(name: str = "broken", source: Path | str = model, **changes: Any) -> RunDirectory:
        return RunDirectory.create(tmp_path, resuming.config(source, **changes), name)

    return made


@pytest.fixture
def whole(make: Callable[..., RunDirectory]) -> Callable[..., RunDirectory]:
    """A run that nothing interrupts."""

    def made(edits: Edits | None = None, **settings: Any) -> RunDirectory:
        run = make("whole", **settings)
        resuming.attempt(run, Hand(run, edits))
        assert len(run.metrics()) == resuming.UPDATES
        assert len(resuming.weights(run)) >= 3
        return run

    return made


def same(one: RunDirectory, other: RunDirectory) -> bool:
    """Bit by bit: weights, value head, optimizer, every metric, every sample."""
    return (resuming.weights(one), resuming.figures(one)) == (resuming.weights(other), resuming.figures(other))


def of_kind(run: RunDirectory, kind: str) -> list[Any]:
    return [event for event in run.events() if event.kind == kind]


def resumed_at(run: RunDirectory) -> list[int]:
    return [event.update for event in of_kind(run, "resumed")]


def resume(run: RunDirectory, hand: Hand | None = None) -> None:
    resuming.queue_again(run)
    resuming.attempt(run, hand or Hand(run))


def dies(run: RunDirectory, hand: Callable[[Session], None]) -> None:
    with pytest.raises(Interrupted):
        resuming.attempt(run, hand)


@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_interrupted_after_any_update_it_ends_bit_identical(
    make: Any, whole: Any, monkeypatch: pytest.MonkeyPatch, figure: Figure, threads: int
) -> None:
    resuming.threads(threads, monkeypatch)
    undisturbed, survived = whole(), 0
    assert torch.get_num_threads() == threads
    for k in KS:
        run = make(f"broken-{k}")
        resuming.broken_off(run, k, calls=1 + 3 * k % 10)  # while sampling, in the reference, between optimizer steps
        assert run.metrics()[-1].update == k
        resume(run)
        survived += resumed_at(run) == [k] and same(run, undisturbed)
    figure(f"bit-identical resume, interrupted after each update, threads: {threads}", len(KS), survived)


LORA = {"kind": "lora", "r": 2, "alpha": 4}
ADAPTIVE = {"controller": "adaptive", "coef": 0.3, "target": 0.5}
NORMALISED = [{"kind": "length", "normalise": True, "cap": 2.0}, {"kind": "keyword", "words": ["a"]}]
EDITS: Edits = {1: {"kl.coef": 0.4, "ppo.learning_rate": 1e-3}, 3: {"kl.target": 1.5}}
EDITS[4] = {"ppo.clip_range": 0.1, "kl.coef": 0.2}
VARIANTS: dict[str, dict[str, Any]] = {
    "LoRA and a separate critic": {"model__adapter": LORA, "model__critic": "separate"},
    "adaptive KL, with changes": {"kl": ADAPTIVE, "edits": EDITS},
    "normalised rewards": {"rewards": NORMALISED, "evaluation__text": "english", "evaluation__num_texts": 2},
    "falling learning rate with a warm-up": {"ppo__schedule": "linear", "ppo__warmup_updates": 3},
}


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.nightly
def test_whatever_is_trained_and_changed(make: Any, whole: Any, name: str) -> None:
    """Interrupted twice, with a checkpoint every third update only, so that updates and changes are made again."""
    settings = {**VARIANTS[name], "checkpoint__every": 3}
    edits = settings.pop("edits", {})
    undisturbed, run = whole(edits, **settings), make(**settings)
    dies(run, Hand(run, edits, dies=5))
    resuming.queue_again(run)
    dies(run, Hand(run, dies=4))  # before the changes after update 5 were made again
    resume(run)
    assert resumed_at(run) == [3, 3]
    assert same(run, undisturbed)
    made, expected = (
        [(event.update, event.data["field"], event.data["old"], event.data["value"]) for event in of_kind(item, "edit")]
        for item in (run, undisturbed)
    )
    assert made == expected
    assert len(made) == sum(map(len, edits.values()))


def test_without_a_checkpoint_it_begins_again_and_says_so(make: Any, whole: Any) -> None:
    undisturbed, run = whole(checkpoint__every=0), make(checkpoint__every=0)
    dies(run, Hand(run, dies=0))  # in the very first evaluation
    resume(run)
    (event,) = of_kind(run, "resumed")
    assert (event.update, event.attempt, event.data["checkpoint"]) == (0, 2, "")
    assert "no checkpoint" in event.message
    assert same(run, undisturbed)
    assert len(of_kind(run, "score_scale")) == 1
    assert sum(sample.stage == "before" for sample in run.samples()) == 3


class StopsIn:
    """Stops in the update after the fourth, at that call of `between`; `session` is the one that was stopped."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def __call__(self, session: Session) -> None:
        self.session, self.left = session, self.left - (session.trainer.updates_done == 4)
        if not self.left:
            raise Interrupted


def test_a_stop_in_mid_update_saves_the_last_whole_update_and_the_rest_can_be_made(make: Any, whole: Any) -> None:
    undisturbed = whole(checkpoint__every=0)
    for calls in (2, 8, 12):  # sampling, the reference, optimizer steps
        run, stop = make(f"stopped-{calls}", checkpoint__every=0), StopsIn(calls)
        dies(run, stop)
        stop.session.save()  # what the worker does when it was asked to stop
        assert [folder.name for folder in run.checkpoints()] == ["update-000004"]
        resume(run)
        assert resumed_at(run) == [4]
        assert same(run, undisturbed)


def test_what_was_changed_between_attempts_is_said(make: Any, tmp_path: Path) -> None:
    """The configuration, and the fixed prompts."""
    source = tmp_path / "prompts.txt"
    source.write_text("\n".join("abcdefghijkl"[number:] for number in range(12)))
    run = make(prompts__source=str(source))
    resuming.broken_off(run, 2)
    source.write_text("\n".join("mnopqrstuvwx"[number:] for number in range(12)))
    longer = run.config().model_copy(update={"ppo": run.config().ppo.model_copy(update={"num_updates": 9})})
    write_atomically(run.config_path, longer.to_yaml())
    resume(run)
    assert run.metrics()[-1].update == 9
    warnings = " ".join(event.message for event in of_kind(run, "warning"))
    for words in ("not those of the earlier attempts", "config.yaml has been changed"):
        assert words in warnings
