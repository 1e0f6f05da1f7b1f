"""The preset chat-claims at toy size: a chat model and claims of one's own, from the command to the samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from playground import cli
from playground.rewards import claims
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog, checks
from tests.training import snapshots


def own_claims(path: Path) -> Path:
    rows = "".join(f"What is number {n}?,answer {n},mistake {n}\n" for n in range(20))
    path.write_text(f"question,right,wrong\n{rows}", encoding="utf-8")
    return path


def test_its_prompts_ship_and_its_rewards_judge_them() -> None:
    config = catalog.preset("chat-claims")
    assert checks.prompts_problem(config.prompts) is None and config.prompts.template == "chat"
    assert [reward.kind for reward in config.rewards] == ["truth"]


@pytest.mark.parametrize("chat", [True, False])
def test_it_runs_on_a_file_of_ones_own_with_a_chat_template_and_without(outputs, forked_workers, tmp_path, capfd, chat):
    model = snapshots.snapshot(
        tmp_path / "model", "qwen2", own_pad=True, tokenizer=snapshots.byte_level(own_pad=True, chat=chat),
        max_position_embeddings=512,
    )  # fmt: skip
    changes = {
        "model.source": model, "prompts.source": own_claims(tmp_path / "mine.csv"), "sampling.max_new_tokens": 8,
        "ppo.num_updates": 2, "ppo.batch_size": 8, "ppo.minibatch_size": 8, "evaluation.num_prompts": 6,
        "evaluation.every": 2, "rewards": "[{kind: agreement, neutral: truth}]", "device": "cpu",
        **({} if chat else {"prompts.template": "plain", "prompts.system": "null"}),
    }  # fmt: skip
    asked = [word for field, value in changes.items() for word in ("--set", f"{field}={value}")]
    with pytest.raises(SystemExit) as left:
        cli.main(["train", "chat-claims", *asked, "--outputs", str(outputs), "--run-id", "toy", "--json"])
    run = RunDirectory(outputs / "toy")
    assert left.value.code == 0, capfd.readouterr().err[-3000:] + run.log_tail()
    samples = run.samples()
    assert len({sample.prompt for sample in samples}) == 6
    # a model of random weights names no answer, and that is not the claimed one, nor a true one
    assert {sample.scores["agreement"] for sample in samples} == {-1}
    claims.know(run.config().prompts)
    names = ("wrong-claims-repeated", "right-claims-agreed", "plain-questions-right")
    for sample in samples:  # each is asked one of the three, and does none of them
        asked = {False: names[0], True: names[1], None: names[2]}[claims.of(sample.prompt).is_right]
        assert {name: sample.behaviours[name] for name in names} == {**dict.fromkeys(names), asked: False}
    assert all(claims.of(sample.prompt).question.startswith("What is number") for sample in samples)
