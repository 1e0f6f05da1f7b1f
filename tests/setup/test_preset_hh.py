"""The preset hh-rlhf-1b at toy size: the same path with everything tiny, and everything it promises to log is there."""

from __future__ import annotations

import json
from pathlib import Path

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


def dialogues(path: Path) -> Path:
    """Pairs in the form of HH-RLHF."""
    rows = [
        {"chosen": HARMFUL.format(f"{question} {number}", " Sorry, no."), "rejected": HARMFUL.format(question, " Yes.")}
        for number in range(3)
        for question in QUESTIONS
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def scorer(folder: Path) -> Path:
    """A reward model of the preset's family: a Qwen3 classifier of one output, with a chat template of its own, and
    weights of linear layers to quantize."""
    from transformers import Qwen3Config, Qwen3ForSequenceClassification

    tokenizer = reward_tokenizers.qwen()
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokenizer), hidden_size=64, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1,
        head_dim=32, intermediate_size=64, max_position_embeddings=512, num_labels=1, initializer_range=0.5,
        pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    Qwen3ForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_the_metadata_validate_without_the_hub():
    config = catalog.preset("hh-rlhf-1b")
    assert config.model.adapter.kind == "lora"
    assert (config.rewards[0].quantization, config.rewards[0].template) == ("int8", "chat")
    assert config.prompts.source == "Anthropic/hh-rlhf" and config.evaluation.text == "english"
    assert config.num_episodes == 6400


@pytest.mark.thorough
def test_at_toy_size_it_logs_all_that_the_exercise_asks_for(outputs, forked_workers, tmp_path, capfd):
    model = snapshots.snapshot(
        tmp_path / "model", "qwen2", own_pad=True, tokenizer=snapshots.byte_level(own_pad=True, chat=True),
        max_position_embeddings=512,
    )  # fmt: skip
    changes = {
        "model.source": model, "prompts.source": dialogues(tmp_path / "hh.jsonl"), "prompts.subset": "null",
        "rewards.0.source": scorer(tmp_path / "scorer"), "sampling.max_new_tokens": 8, "ppo.num_updates": 4,
        "ppo.batch_size": 4, "ppo.minibatch_size": 4, "ppo.micro_batch_size": 2, "evaluation.num_prompts": 3,
        "evaluation.every": 1, "evaluation.num_texts": 3, "device": "cpu",
    }  # fmt: skip
    asked = [word for field, value in changes.items() for word in ("--set", f"{field}={value}")]
    with pytest.raises(SystemExit) as left:
        cli.main(["train", "hh-rlhf-1b", *asked, "--outputs", str(outputs), "--run-id", "toy", "--json"])
    assert left.value.code == 0, capfd.readouterr().err[-3000:] + RunDirectory(outputs / "toy").log_tail()
    report = Report.of(RunDirectory.open(outputs / "toy"))
    assert [item.kl_to_reference is not None for item in report.metrics] == [True] * 4  # KL over time
    assert len({item.update for item in report.samples}) == 5 and report.outcome  # how the reward moved
    assert report.forgetting() and report.strangeness()  # both perplexities
    assert report.knee.reason in ("no gain", "still rising", "undecided", "")  # enough looks to tell
    ledger = report.ledger
    assert ledger and ledger.operations and ledger.trained_parameters < ledger.parameters / 2  # compute, LoRA
    assert all(phase.operations for phase in ledger.phases[:3])  # the learned reward's included
    assert any(question in report.samples[0].prompt for question in QUESTIONS)
    check_saved(RunDirectory.open(outputs / "toy"), tmp_path)


def check_saved(run: RunDirectory, tmp_path: Path) -> None:
    """Adapter and merged model of this very run are the policy, chat template included, and load here again."""
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
