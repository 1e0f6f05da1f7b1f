"""What every model must do, whatever family it is of: train, be saved and come back, pad without a trace."""

import torch

from playground.config.yaml_io import from_dict
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.training.models import loading
from playground.training.models.kv_cache import left_pad
from playground.training.models.language_model import positions
from playground.training.process.session import Session

CPU = torch.device("cpu")
PROMPTS = ["The film was", "A book", "The phone is terrible because the", "She", "I would", "hello", "User: What", "it"]
LORA = {"kind": "lora", "r": 4, "alpha": 8}


def config(folder, tmp_path, **model):
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("\n".join(PROMPTS), encoding="utf-8")
    sizes = {"num_updates": 3, "batch_size": 4, "minibatch_size": 2, "micro_batch_size": 2, "num_epochs": 2}
    return from_dict(
        {
            "name": "family",
            "model": {"source": str(folder), **model},
            "prompts": {"source": str(prompts)},
            "rewards": [{"kind": "length"}, {"kind": "pattern", "pattern": "e"}],
            "sampling": {"max_new_tokens": 6},
            "ppo": {**sizes, "learning_rate": 0.01, "schedule": "constant"},
            "evaluation": {"num_prompts": 2, "every": 3},
            "checkpoint": {"every": 0},
        }
    )


def trained(made, tmp_path, run_id="run") -> Session:
    run = RunDirectory.reserve(tmp_path, made, run_id)
    run.publish(made)
    session = Session(run, made, RunWriter(run, made.ppo.num_updates), lambda: None)
    session.fix_scale()
    session.evaluate_and_record("before")
    session.train()
    return session


def logits(model, ids) -> torch.Tensor:
    with torch.no_grad():
        return model.logits(model.hidden(torch.tensor([ids]))).float()


def check_left_padding(policy, tokens) -> None:
    """The sampler's first step on left-padded prompts against each prompt by itself."""
    prompts = [tokens.encode(text) for text in PROMPTS]
    ids, mask = left_pad(prompts, tokens.pad_id, CPU)
    with torch.no_grad():
        hidden, _ = policy.next_hidden(ids, mask, positions(mask), None)
    alone = torch.cat([logits(policy, prompt)[:, -1] for prompt in prompts])
    tolerance = 1e-4 if policy.exact else 0.1
    assert torch.allclose(policy.logits(hidden).float(), alone, atol=tolerance * float(alone.abs().max()))


def check_run(session, tmp_path, start) -> None:
    """It learned something, its numbers are finite, and what it saved is what it has."""
    metrics = session.run.metrics()
    assert [line.update for line in metrics] == [1, 2, 3]
    assert metrics[0].ratio_max is not None
    assert all(line.grad_norm and line.grad_norm > 0 for line in metrics)
    assert not [event for event in session.run.events() if event.kind == "warning" and "skipped" in event.message]
    ids = session.tokens.encode("The film was a")
    now = logits(session.policy, ids)
    assert not torch.allclose(now, logits(start, ids), atol=1e-3), "nothing was learned"
    assert torch.allclose(logits(session.reference, ids), logits(start, ids), atol=1e-5), "the reference moved"
    saved = session.run.latest_checkpoint()
    again, tokens = loading.load(saved, CPU, session.config.model)
    assert torch.allclose(logits(again, ids), now, atol=1e-4)
    assert tokens.encode("The film") == session.tokens.encode("The film")
    assert (saved / "critic.safetensors").is_file()
    assert not list(saved.glob("*.bin"))
