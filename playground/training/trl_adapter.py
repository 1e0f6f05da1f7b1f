"""The adapter to TRL: what every one of its trainers needs to run from our configuration.

TRL's loop is one call and is left as it is. Here it is watched (a callback, and PyTorch's own hooks) to turn its log
into `UpdateMetrics`, to break off when asked, and to pass on live settings. trl_ppo.py (PPO) and trl_texts.py (DPO,
SFT) make and feed TRL's trainers.
"""

from __future__ import annotations

import copy
import os
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerFast, PrinterCallback, TrainerCallback

from playground.config import RunConfig, engines, methods
from playground.config.engines import ADAM_EPSILON
from playground.errors import RunNotResumable, TrainingDiverged
from playground.runs.folder.records import UpdateMetrics
from playground.training.data.random_streams import derived_seed
from playground.training.loop.measures import of_steps
from playground.training.loop.trainer import Trainer
from playground.training.models.language_model import LanguageModel, Tokens
from playground.training.models.loading import checkpointing

PROBE = 24  # texts of the policy after each update, from which its curves are drawn where TRL keeps its own to itself
WRITTEN_BY_TRL = ("use_cache", "bos_token_id", "eos_token_id", "pad_token_id")  # in a config that is saved


class TRLAdapter(Trainer):
    """A trainer of TRL's for one run."""

    rows: int  # of TRL's dataset that an epoch of an update takes
    step: int  # of them behind an optimizer step
    micro: int  # of them in one pass of the model

    def __init__(self, config: RunConfig, *parts: Any) -> None:
        super().__init__(config, *parts)
        self.tokens_trained = 0
        self.rate = config.ppo.learning_rate  # of the latest optimizer step
        self.update_started = time.perf_counter()
        self.running: Any = None  # TRL's trainer, while it trains

    def build(self, folder: str, listener: TrainerCallback) -> Any:
        """TRL's trainer, which may write into a folder."""
        raise NotImplementedError

    def train(
        self, after_update: Callable[[UpdateMetrics], None], before_update: Callable[[], None] = lambda: None
    ) -> None:
        """All updates. `between` is called before every pass of the policy (each sampled token, each micro-batch).

        Raises: TrainingDiverged before an optimizer step whose gradient is not finite, RewardFailed, whatever `between`
        and the callbacks raise: TRL's loop then ends there, with the weights of the last optimizer step.
        """
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # the version is pinned
        model = self.policy.model
        kept = {name: getattr(model.config, name, None) for name in WRITTEN_BY_TRL}
        generation = copy.deepcopy(model.generation_config)
        watch = model.register_forward_pre_hook(lambda *_: self.between())
        with tempfile.TemporaryDirectory(prefix="playground-trl-") as folder:
            self.running = trainer = self.build(folder, Listener(self, before_update, after_update))
            trainer.remove_callback(PrinterCallback)  # prints every log line; they are in metrics.jsonl
            try:
                before_update()
                self.update_started = time.perf_counter()
                trainer.train()
            finally:
                watch.remove()
                self.close()
                for trained in filter(None, (self.policy, self.critic)):
                    trained.zero_grad(set_to_none=True)
                    trained.eval()
                model.generation_config = generation
                for name, value in kept.items():
                    setattr(model.config, name, value)

    def close(self) -> None:
        """Let go of TRL's trainer."""
        self.running.accelerator.free_memory()
        self.running = None

    def state(self) -> tuple[None, dict[str, Any]]:
        """Beside the weights there is nothing to go on from: TRL's optimizer ends with its loop."""
        return None, {"kl_coef": self.kl_controller.coef, "tokens": self.tokens_done}

    def restore(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Raises: RunNotResumable."""
        raise RunNotResumable("A trainer of TRL's cannot go on from a checkpoint.")

    def reads(self, field: str) -> bool:
        """Whether a live setting has an effect here."""
        return not methods.unused(self.config.method, field)

    def set_live(self, config: RunConfig) -> None:
        """Give TRL's trainer, which runs, other live settings."""
        self.running.beta = config.kl.coef

    def change(self, config: RunConfig, fields: Collection[str]) -> None:
        """Go on with other live settings from the next update; one that does nothing here is a warning."""
        before, self.config = self.config, config
        self.kl_controller.coef = config.kl.coef
        label = "TRL" if config.method == "ppo" else methods.METHODS[config.method].label
        self.warnings += [
            f"{label} does not know {field}: the change has no effect."
            for field in fields
            if not self.reads(field) and not field.startswith("stop.")
        ]
        if self.running is not None:
            self.set_live(config)
            rescale(self.running, config.ppo.learning_rate / before.ppo.learning_rate)

    def settings(self, folder: str) -> dict[str, Any]:
        """What TRL's trainers but PPO's are configured with, in transformers' names."""
        ppo, steps = self.config.ppo, self.config.ppo.num_epochs * self.rows // self.step  # optimizer steps an update
        return {
            "output_dir": folder,
            "use_cpu": self.policy.device.type == "cpu",
            "bf16": self.policy.autocast is torch.bfloat16,
            "max_steps": ppo.num_updates * steps,
            "per_device_train_batch_size": self.micro,
            "gradient_accumulation_steps": self.step // self.micro,
            "logging_steps": steps,
            "learning_rate": ppo.learning_rate,
            "lr_scheduler_type": {"constant": "constant_with_warmup"}.get(ppo.schedule, ppo.schedule),
            "warmup_steps": ppo.warmup_updates * steps,
            "adam_epsilon": ADAM_EPSILON,
            **engines.optimizer(ppo),
            "max_grad_norm": ppo.max_grad_norm,
            "seed": derived_seed(self.config.seed, "trl") % 2**32,
            **checkpointing(False),
            "remove_unused_columns": False,
            "dataloader_pin_memory": False,
            "save_strategy": "no",
            "report_to": "none",
            "disable_tqdm": True,
        }

    def finish(self, logs: dict[str, float]) -> UpdateMetrics:
        """The figures of an update that TRL has made: its own, and those of a few texts of the policy as it is now."""
        spent = dict(self.spent)
        spent["update"] = time.perf_counter() - self.update_started - spent["rollout"] - spent["score"]
        self.policy.eval()
        rollout = self.compared(*self.write(self.policy, min(PROBE, self.config.ppo.batch_size), 1))
        scores = self.score(rollout)
        self.updates_done, self.spent = self.updates_done + 1, spent
        learned = {
            **of_steps({"policy_loss": [logs["loss"]], "grad_norm": [logs["grad_norm"]]}),
            "learning_rate": self.rate,
            "explained_variance": None,
            "tokens_trained": self.tokens_trained,
            "pairs_ordered": logs.get("rewards/accuracies"),
        }
        return self.measure(rollout, scores, self.config.kl.coef, learned)


class Reference(nn.Module):
    """The reference in the shape of a model that TRL asks for logits; with an adapter it is the policy without it."""

    def __init__(self, reference: LanguageModel) -> None:
        super().__init__()
        self._of = (reference,)  # its weights are the policy's where there is an adapter, and TRL must not freeze those

    def forward(self, **inputs: Any) -> Any:
        """As the model itself."""
        reference = self._of[0]
        with reference.mode():
            return reference.model(**inputs)


@dataclass(eq=False)
class Listener(TrainerCallback):
    """Hears TRL's log at the end of an update, and where TRL says when, looks at each gradient before it is taken."""

    trainer: TRLAdapter
    before_update: Callable[[], None]
    after_update: Callable[[UpdateMetrics], None]

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, optimizer: Any = None, **_: Any) -> None:
        self.trainer.rate = float(optimizer.param_groups[0]["lr"])
        require_finite(optimizer)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        if not logs or not logs.keys() & {"loss", "objective/kl"}:
            return  # TRL's summary at the end
        trainer = self.trainer
        self.after_update(trainer.finish(logs))
        trainer.between()  # not before: an update that is counted is recorded
        if trainer.updates_done < trainer.config.ppo.num_updates:
            self.before_update()
        trainer.update_started = time.perf_counter()  # what ran in between (evaluation, saving) is not TRL's


def require_finite(optimizer: torch.optim.Optimizer) -> float:
    """The norm of the gradient that is about to be taken. Raises: TrainingDiverged, if it is not finite."""
    gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients)
    if not bool(torch.isfinite(norm)):
        raise TrainingDiverged(
            "An optimizer step of TRL had a gradient that is not finite, and TRL would have taken it. "
            "Lower the learning rate, or raise beta."
        )
    return float(norm)


def rescale(running: Any, factor: float) -> None:
    """Make every learning rate of a Hugging Face trainer, now and to come, `factor` times as large."""
    schedule = getattr(running.lr_scheduler, "scheduler", running.lr_scheduler)  # accelerate may have wrapped it
    schedule.base_lrs = [base * factor for base in schedule.base_lrs]
    for group in schedule.optimizer.param_groups:
        group["lr"] *= factor


def special_tokens(tokens: Tokens) -> PreTrainedTokenizerFast:
    """A tokenizer that knows how texts are padded and end, and no word: TRL gets all of its data as token ids."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    end, pad = "<end>", "<end>" if tokens.pad_id == tokens.eos_id else "<pad>"
    words = Tokenizer(WordLevel({pad: tokens.pad_id, end: tokens.eos_id}, unk_token=end))
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token=pad, eos_token=end)
