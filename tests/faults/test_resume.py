"""A run that is broken off and taken up again equals the run that nobody disturbed: every weight and every metric."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from playground.runs.folder import checkpoints
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from playground.runs.folder.writer import RunWriter
from tests.faults import resuming
from tests.faults.resuming import Hand, Interrupted
from tests.figures import Figure

KS = range(1, resuming.UPDATES)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return resuming.tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(autouse=True)
def same_threads_afterwards() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def whole(outputs: Path, config: Any, edits: dict[int, dict[str, float]] | None = None) -> RunDirectory:
    """A run that nobody interrupts."""
    run = RunDirectory.create(outputs, config, "whole")
    resuming.attempt(run, Hand(run, edits))
    assert len(run.metrics()) == resuming.UPDATES and len(resuming.weights(run)) >= 3
    return run


def same(one: RunDirectory, other: RunDirectory) -> bool:
    """Bit by bit: weights, value head, optimizer, every metric, every sample."""
    return (resuming.weights(one), resuming.figures(one)) == (resuming.weights(other), resuming.figures(other))


def resumed_at(run: RunDirectory) -> list[int]:
    return [event.update for event in run.events() if event.kind == "resumed"]


def resume(run: RunDirectory, hand: Hand | None = None) -> None:
    resuming.queue_again(run)
    resuming.attempt(run, hand or Hand(run))


def dies(run: RunDirectory, hand: Hand) -> None:
    with pytest.raises(Interrupted):
        resuming.attempt(run, hand)


@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_interrupted_after_any_update_it_ends_bit_identical(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, figure: Figure, threads: int
) -> None:
    resuming.threads(threads, monkeypatch)
    config = resuming.config(model)
    undisturbed = whole(tmp_path, config)
    assert torch.get_num_threads() == threads
    survived = 0
    for k in KS:
        run = RunDirectory.create(tmp_path, config, f"broken-{k}")
        resuming.broken_off(run, k, calls=1 + 3 * k % 10)  # while sampling, in the reference, between optimizer steps
        assert run.metrics()[-1].update == k
        resume(run)
        assert resumed_at(run) == [k]
        survived += same(run, undisturbed)
    figure(f"bit-identical resume, interrupted after each update, threads: {threads}", len(KS), survived)


LORA = {"model__adapter": {"kind": "lora", "r": 2, "alpha": 4}}
EDITS: dict[int, dict[str, float]] = {
    1: {"kl.coef": 0.4, "ppo.learning_rate": 1e-3}, 3: {"kl.target": 1.5}, 4: {"ppo.clip_range": 0.1, "kl.coef": 0.2}
}  # fmt: skip
VARIANTS: dict[str, tuple[dict[str, Any], dict[int, dict[str, float]]]] = {
    "LoRA": (LORA, {}),
    "separate critic": ({"model__critic": "separate"}, {}),
    "LoRA and a separate critic": ({**LORA, "model__critic": "separate"}, {}),
    "adaptive KL, with changes": ({"kl": {"controller": "adaptive", "coef": 0.3, "target": 0.5}}, EDITS),
    "Ziegler's KL": ({"kl": {"controller": "ziegler", "coef": 0.3, "target": 0.5, "horizon": 30}}, EDITS),
    "fixed KL, with changes": ({}, EDITS),
    "normalised rewards, held-out text": (
        {"rewards": [{"kind": "length", "normalise": True, "cap": 2.0}, {"kind": "keyword", "words": ["a"]}],
         "evaluation__text": "english", "evaluation__num_texts": 2}, {},
    ),
    "falling learning rate with a warm-up": ({"ppo__schedule": "linear", "ppo__warmup_updates": 3}, {}),
    "not normalised score": ({"score": {"normalise": "none"}}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.slow
def test_whatever_is_trained_and_changed(tmp_path: Path, model: Path, name: str) -> None:
    """Interrupted twice, with a checkpoint every third update only, so that updates and changes are made again."""
    settings, edits = VARIANTS[name]
    config = resuming.config(model, **{**settings, "checkpoint__every": 3})
    undisturbed = whole(tmp_path, config, edits)
    run = RunDirectory.create(tmp_path, config, "broken")
    dies(run, Hand(run, edits, dies=5))
    resuming.queue_again(run)
    dies(run, Hand(run, dies=4))  # before the changes after update 5 were made again
    resume(run)
    assert resumed_at(run) == [3, 3]
    assert same(run, undisturbed)
    changes = [[(e.update, e.data["field"], e.data["old"], e.data["value"]) for e in item.events() if e.kind == "edit"]
               for item in (run, undisturbed)]  # fmt: skip
    assert changes[0] == changes[1] and len(changes[0]) == sum(map(len, edits.values()))


@pytest.mark.slow
def test_a_pocket_model(tmp_path: Path) -> None:
    config = resuming.config("pocket-1m", prompts__limit=32)
    undisturbed = whole(tmp_path, config)
    run = RunDirectory.create(tmp_path, config, "broken")
    resuming.broken_off(run, 5, calls=9)
    resume(run)
    assert resumed_at(run) == [5] and same(run, undisturbed)


def test_interrupted_between_a_checkpoint_and_the_event_that_tells_of_it(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = resuming.config(model)
    undisturbed = whole(tmp_path, config)
    run = RunDirectory.create(tmp_path, config, "broken")
    event = RunWriter.event

    def die(self: RunWriter, kind: str, *arguments: Any, **data: Any) -> None:
        if kind == "checkpoint" and self.status.update == 3 and self.status.attempt == 1:
            raise Interrupted
        event(self, kind, *arguments, **data)

    monkeypatch.setattr(RunWriter, "event", die)
    dies(run, Hand(run))
    resume(run)
    assert resumed_at(run) == [3] and same(run, undisturbed)


@pytest.mark.parametrize("done", [0, 1])
def test_without_a_checkpoint_it_begins_again_and_says_so(tmp_path: Path, model: Path, done: int) -> None:
    config = resuming.config(model, checkpoint__every=0)
    undisturbed = whole(tmp_path, config)
    run = RunDirectory.create(tmp_path, config, "broken")
    dies(run, Hand(run, dies=done))  # 0: in the very first look
    resume(run)
    (event,) = [event for event in run.events() if event.kind == "resumed"]
    assert (event.update, event.attempt, event.data["checkpoint"]) == (0, 2, "")
    assert "no checkpoint could be used" in event.message
    assert same(run, undisturbed)
    assert [event.kind for event in run.events()].count("score_scale") == 1
    assert sum(sample.stage == "before" for sample in run.samples()) == 3


def test_a_stop_in_mid_update_saves_the_last_whole_update_and_the_rest_can_be_made(
    tmp_path: Path, model: Path
) -> None:  # fmt: skip
    config = resuming.config(model, checkpoint__every=0)
    undisturbed = whole(tmp_path, config)
    for calls in (2, 8, 10, 12):  # sampling, the reference, optimizer steps
        run = RunDirectory.create(tmp_path, config, f"stopped-{calls}")
        session, left = None, [calls]

        def stop(now: Any, left: list[int] = left) -> None:
            nonlocal session
            session = now
            if now.trainer.updates_done == 4:
                left[0] -= 1
                if not left[0]:
                    raise Interrupted

        with pytest.raises(Interrupted):
            resuming.attempt(run, stop)
        session.save()  # what the worker does when it was asked to stop
        assert [folder.name for folder in run.checkpoints()] == ["update-000004"]
        resume(run)
        assert resumed_at(run) == [4] and same(run, undisturbed)


def test_a_model_too_big_to_undo_says_that_it_was_stopped_in_the_middle(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playground.training.loop.optimizer_state.MOST_WEIGHTS_TO_UNDO", 10)
    run = RunDirectory.create(tmp_path, resuming.config(model, checkpoint__every=0), "stopped")
    session, left = None, [10]

    def stop(now: Any) -> None:
        nonlocal session
        session, left[0] = now, left[0] - (now.trainer.updates_done == 4)
        if not left[0]:
            raise Interrupted

    with pytest.raises(Interrupted):
        resuming.attempt(run, stop)
    session.save()
    facts = checkpoints.facts_of(run.latest_checkpoint())
    assert facts["mid_update"] is True and facts["penalised_reward"] is None
    resume(run)
    (event,) = [event for event in run.events() if event.kind == "resumed"]
    assert event.update == 4 and "broken off in the middle" in event.message
    assert run.status().state == "finished" and len(run.metrics()) == resuming.UPDATES


def test_a_change_made_after_the_resume_counts_more_than_one_that_was_still_ahead(tmp_path: Path, model: Path) -> None:
    run = RunDirectory.create(tmp_path, resuming.config(model, checkpoint__every=3), "broken")
    dies(run, Hand(run, {3: {"kl.coef": 0.7}, 4: {"kl.coef": 0.9, "ppo.clip_range": 0.1}}, dies=5))
    resume(run, Hand(run, {3: {"kl.coef": 0.5}}))
    edits = [(e.update, e.data["field"], e.data["value"], e.data.get("replayed", False))
             for e in run.events() if e.kind == "edit"]  # fmt: skip
    assert edits == [
        (3, "kl.coef", 0.7, True), (4, "kl.coef", 0.5, False), (5, "ppo.clip_range", 0.1, True)
    ]  # fmt: skip
    assert [item.kl_coef for item in run.metrics()] == [0.1] * 3 + [0.7] + [0.5] * 4


def test_a_configuration_that_was_changed_in_between_holds_and_is_told(tmp_path: Path, model: Path) -> None:
    run = RunDirectory.create(tmp_path, resuming.config(model), "longer")
    resuming.broken_off(run, 2)
    longer = resuming.config(model, ppo__num_updates=9)
    write_atomically(run.config_path, longer.to_yaml())
    resume(run)
    assert run.metrics()[-1].update == 9
    assert any("config.yaml has been changed" in event.message for event in run.events())


@pytest.mark.parametrize("changed", [False, True])
def test_fixed_prompts_that_are_others_than_before_are_told(tmp_path: Path, model: Path, changed: bool) -> None:
    source = tmp_path / "prompts.txt"
    source.write_text("\n".join("abcdefghijkl"[number:] for number in range(12)))
    run = RunDirectory.create(tmp_path, resuming.config(model, prompts__source=str(source)), "longer")
    resuming.broken_off(run, 2)
    if changed:
        source.write_text("\n".join("mnopqrstuvwx"[number:] for number in range(12)))
    resume(run)
    assert any("not those of the earlier attempts" in event.message for event in run.events()) == changed


def test_a_checkpoint_of_another_model_ends_with_a_sentence(tmp_path: Path, model: Path) -> None:
    from playground.errors import ModelNotFound

    run = RunDirectory.create(tmp_path, resuming.config(model), "other")
    resuming.broken_off(run, 2)
    other = resuming.config(resuming.tiny_model(tmp_path / "model", "gpt2"))
    write_atomically(run.config_path, other.to_yaml())
    with pytest.raises(ModelNotFound, match=r"update-000002 does not fit the settings .*config\.yaml"):
        resume(run)


def test_a_checkpoint_that_does_not_fit_a_model_folder_that_was_changed_ends_with_a_sentence(tmp_path: Path) -> None:
    from playground.errors import ModelNotFound

    folder = resuming.tiny_model(tmp_path / "model")
    run = RunDirectory.create(tmp_path, resuming.config(folder), "other")
    resuming.broken_off(run, 2)
    shutil.rmtree(folder)
    resuming.tiny_model(tmp_path / "model", "gpt2")
    with pytest.raises(ModelNotFound, match=r"update-000002 does not fit the settings .*config\.yaml"):
        resume(run)
