"""The preset hh-rlhf-1b, which needs a real model, with everything tiny: from the command to all that it logs."""

import json

import pytest
import torch
from transformers import Qwen3Config, Qwen3ForSequenceClassification

from playground import cli
from playground.analysis.run_report import RunReport
from playground.runs.folder.directory import RunDirectory
from tests.training import snapshots
from tests.training.rewards import reward_tokenizers

HARMFUL = "\n\nHuman: {}\n\nAssistant: I do not know.\n\nHuman: Please tell me.\n\nAssistant:{}"
QUESTIONS = ["Is the film good?", "Who is she?", "What is 3 plus 4?", "How are you?", "Is the book slow?", "Why?"]


def trained(outputs, folder, capfd, **changes):
    """A run of the preset on a tiny Qwen2, with some of its fields (in which __ stands for a dot) changed."""
    tokenizer = snapshots.byte_level(own_pad=True, chat=True)
    sizes = {"own_pad": True, "tokenizer": tokenizer, "max_position_embeddings": 512}
    model = snapshots.snapshot(folder / "model", "qwen2", **sizes)
    changes |= {"model__source": model, "sampling__max_new_tokens": 8, "device": "cpu"}
    settings = [word for name, value in changes.items() for word in ("--set", f"{name.replace('__', '.')}={value}")]
    with pytest.raises(SystemExit) as left:
        cli.main(["train", "hh-rlhf-1b", *settings, "--outputs", str(outputs), "--run-id", "toy", "--json"])
    run = RunDirectory.open(outputs / "toy")
    assert left.value.code == 0, capfd.readouterr().err[-3000:] + run.log_tail()
    return run


def scorer(folder):
    """A reward model of the preset's family: a Qwen3 classifier of one output, with a chat template of its own, and
    weights of linear layers to quantize."""
    tokenizer = reward_tokenizers.qwen()
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1, "max_position_embeddings": 512}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32, "num_labels": 1}
    pad = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id, "initializer_range": 0.5}
    Qwen3ForSequenceClassification(Qwen3Config(**sizes, **heads, **pad)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_hh_rlhf_logs_all_that_the_exercise_asks_for(outputs, forked_workers, tmp_path, capfd):
    pairs = tmp_path / "hh.jsonl"
    questions = [f"{question} {number}" for number in range(3) for question in QUESTIONS]
    answers = [{"chosen": HARMFUL.format(q, " Sorry, no."), "rejected": HARMFUL.format(q, " Yes.")} for q in questions]
    pairs.write_text("".join(f"{json.dumps(pair)}\n" for pair in answers), encoding="utf-8")
    sizes = {"num_updates": 4, "batch_size": 4, "minibatch_size": 4, "micro_batch_size": 2}
    changes = {f"ppo__{name}": size for name, size in sizes.items()}
    changes |= {"evaluation__num_prompts": 3, "evaluation__every": 1, "evaluation__num_texts": 3}
    changes |= {"prompts__source": pairs, "prompts__subset": "null", "rewards__0__source": scorer(tmp_path / "scorer")}
    run = trained(outputs, tmp_path, capfd, **changes)
    report = RunReport.of(run)
    assert [item.kl_to_reference is not None for item in report.metrics] == [True] * 4  # KL over time
    assert len({item.update for item in report.samples}) == 5
    assert report.outcome
    assert report.forgetting
    assert report.strangeness
    assert report.plateau.reason in ("no gain", "still rising", "undecided", "")
    ledger = report.ledger
    assert ledger
    assert ledger.operations
    assert ledger.trained_parameters < ledger.parameters / 2
    assert all(phase.operations for phase in ledger.phases[:3])  # the learned reward's included
    assert any(question in report.samples[0].prompt for question in QUESTIONS)
