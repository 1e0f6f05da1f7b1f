"""Presets that need a real model, with everything tiny, from the command to what they promise to log: chat-claims on
claims of one's own, and hh-rlhf-1b."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from playground import cli
from playground.exports import saving
from playground.exports.report import Report
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.training.models import loading
from tests.exports.test_saving import InThisProcess
from tests.training import snapshots
from tests.training.rewards import reward_tokenizers

HARMFUL = "\n\nHuman: {}\n\nAssistant: I do not know.\n\nHuman: Please tell me.\n\nAssistant:{}"
QUESTIONS = ["Is the film good?", "Who is she?", "What is 3 plus 4?", "How are you?", "Is the book slow?", "Why?"]


def trained(preset: str, outputs: Path, folder: Path, capfd: Any, chat: bool, **changes: Any) -> RunDirectory:
    """A run of a preset on a tiny Qwen2, with some of its fields (in which __ stands for a dot) changed."""
    bytes_of = snapshots.byte_level(own_pad=True, chat=chat)
    model = snapshots.snapshot(folder / "model", "qwen2", own_pad=True, tokenizer=bytes_of, max_position_embeddings=512)
    changes |= {"model__source": model, "sampling__max_new_tokens": 8, "device": "cpu"}
    asked = [word for name, value in changes.items() for word in ("--set", f"{name.replace('__', '.')}={value}")]
    with pytest.raises(SystemExit) as left:
        cli.main(["train", preset, *asked, "--outputs", str(outputs), "--run-id", "toy", "--json"])
    run = RunDirectory.open(outputs / "toy")
    assert left.value.code == 0, capfd.readouterr().err[-3000:] + run.log_tail()
    return run


def scorer(folder: Path) -> Path:
    """A reward model of the preset's family: a Qwen3 classifier of one output, with a chat template of its own, and
    weights of linear layers to quantize."""
    from transformers import Qwen3Config, Qwen3ForSequenceClassification

    tokenizer = reward_tokenizers.qwen()
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1, "max_position_embeddings": 512}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32, "num_labels": 1}
    pad = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id, "initializer_range": 0.5}
    Qwen3ForSequenceClassification(Qwen3Config(**sizes, **heads, **pad)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.nightly
def test_hh_rlhf_logs_all_that_the_exercise_asks_for(outputs, forked_workers, tmp_path, capfd):
    pairs = tmp_path / "hh.jsonl"
    with open(pairs, "w", encoding="utf-8") as file:
        for question in [f"{question} {number}" for number in range(3) for question in QUESTIONS]:
            answers = {"chosen": HARMFUL.format(question, " Sorry, no."), "rejected": HARMFUL.format(question, " Yes.")}
            file.write(json.dumps(answers) + "\n")
    run = trained(
        "hh-rlhf-1b",
        outputs,
        tmp_path,
        capfd,
        True,
        prompts__source=pairs,
        prompts__subset="null",
        rewards__0__source=scorer(tmp_path / "scorer"),
        ppo__num_updates=4,
        ppo__batch_size=4,
        ppo__minibatch_size=4,
        ppo__micro_batch_size=2,
        evaluation__num_prompts=3,
        evaluation__every=1,
        evaluation__num_texts=3,
    )
    report = Report.of(run)
    assert [item.kl_to_reference is not None for item in report.metrics] == [True] * 4  # KL over time
    assert len({item.update for item in report.samples}) == 5
    assert report.outcome
    assert report.forgetting()
    assert report.strangeness()
    assert report.plateau.reason in ("no gain", "still rising", "undecided", "")
    ledger = report.ledger
    assert ledger
    assert ledger.operations
    assert ledger.trained_parameters < ledger.parameters / 2
    assert all(phase.operations for phase in ledger.phases[:3])  # the learned reward's included
    assert any(question in report.samples[0].prompt for question in QUESTIONS)
    # adapter and merged model of this very run are the policy, chat template included, and load here again
    cpu = torch.device("cpu")
    policy, tokens = loading.load(run.latest_checkpoint(), cpu, run.config().model)
    ids = torch.tensor([tokens.encode("Is the film good?")])
    for kind in ("adapter", "merged"):
        saved = saving.save(run, InThisProcess(), kind, tmp_path / kind)
        assert catalog.model_folder(str(saved.folder)) == saved.folder
        again, its_tokens = loading.load(saved.folder, cpu)
        with torch.no_grad():
            expected, found = (model.logits(model.hidden(ids)) for model in (policy, again))
        torch.testing.assert_close(found, expected, atol=1e-3, rtol=1e-3)
        assert its_tokens.tokenizer.chat_template == tokens.tokenizer.chat_template == snapshots.CHATML
