"""`Watch`: a callback for the trainers of transformers and TRL. What they log, and answers to fixed prompts, become a
run that the page shows.

It must not break the training that it watches: an error in it is one warning, after which it is silent. It takes no
random numbers, and imports neither torch nor transformers, which the process has.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import os
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from playground.imports import log_files
from playground.runs.folder.records import Sample, Stage
from playground.watching.watched_run import WatchedFacts, WatchedRun

METHODS = {"PPOConfig": "ppo", "GRPOConfig": "grpo", "RLOOConfig": "rloo", "DPOConfig": "dpo", "SFTConfig": "sft"}
LIBRARIES = {"trl": "TRL", "transformers": "transformers"}
BETAS = ("beta", "kl_coef")  # of their arguments
DIVIDED = ("ACCELERATE_USE_FSDP", "ACCELERATE_USE_DEEPSPEED")  # of the environment
EVALUATIONS = 10  # of a training, where it is not said how often
SHARDED = "Its weights are divided over processes, so the prompts were not answered."
NO_TEXT = "Its model does not write text, so the prompts were not answered."
Event = Callable[..., None]


def _harmless(event: Event) -> Event:
    """The event, made to end the watching where it fails."""

    @functools.wraps(event)
    def guarded(self: Watch, args: Any, state: Any, control: Any, **options: Any) -> None:
        if self._failed or not state.is_world_process_zero:
            return
        try:
            event(self, args, state, **options)
        except Exception as error:
            self._fail(error)

    return guarded


class Watch:
    """`trainer.add_callback(Watch("outputs/my-run", prompts=["..."]))`.

    Args:
        folder: of the run. One that is there already stays, and the new one gets a number.
        prompts: texts, or dialogues (lists of messages), which the model answers greedily at the beginning, every so
            many updates (`every`) and at the end, in `max_new_tokens` tokens at most.
    """

    def __init__(
        self, folder: str | Path, prompts: Sequence[Any] = (), every: int | None = None, max_new_tokens: int = 48
    ) -> None:
        self.folder, self.prompts, self.every, self.max_new_tokens = Path(folder), prompts, every, max_new_tokens
        self._run: WatchedRun | None = None
        self._failed = False
        self._began = 0.0

    def __getattr__(self, name: str) -> Event:
        """Every other event, those of later versions too, is nothing to it."""
        if name.startswith("on_"):
            return lambda *_, **__: None
        raise AttributeError(name)

    @_harmless
    def on_train_begin(self, args: Any, state: Any, **parts: Any) -> None:
        """Make the run, and answer the prompts for the first time."""
        if self._run:
            self._run.end("Another training has begun.")
        self._began = time.monotonic()
        facts = facts_of(args, state.max_steps, parts.get("model"))
        self._run = WatchedRun(self.folder.parent, self.folder.name, facts)
        if self.prompts and _is_divided(args):
            self._run.writer.event("warning", SHARDED)
            self.prompts = ()
        self._answer(state.global_step, "before", **parts)

    @_harmless
    def on_log(self, args: Any, state: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        """The figures of an update."""
        if self._run and logs:
            seconds = {"seconds": time.monotonic() - self._began, "ranks": getattr(args, "world_size", None)}
            self._run.log(state.global_step, log_files.numbers(logs), **seconds)

    @_harmless
    def on_step_end(self, args: Any, state: Any, **parts: Any) -> None:
        """Where it is; and the prompts, if it is time for them."""
        if not self._run:
            return
        self._run.move_to(state.global_step)
        every = self.every or max(1, state.max_steps // EVALUATIONS)
        if state.global_step % every == 0 and state.global_step < state.max_steps:
            self._answer(state.global_step, "during", **parts)

    @_harmless
    def on_train_end(self, args: Any, state: Any, **parts: Any) -> None:
        """The prompts for the last time, and the end."""
        if self._run:
            self._answer(state.global_step, "after", **parts)
            self._run.end()
            self._run = None

    def _answer(self, update: int, stage: Stage, model: Any = None, processing_class: Any = None, **parts: Any) -> None:
        if not self._run or not self.prompts:
            return
        model = getattr(model, "policy", model)  # TRL's PPO has policy and critic in one
        tokenizer = processing_class or parts.get("tokenizer")
        tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
        if tokenizer is None or not hasattr(model, "generate"):
            self._run.writer.event("warning", NO_TEXT)
            self.prompts = ()
            return
        training = [module for module in model.modules() if module.training]
        model.eval()
        try:
            answers = [self._completed(model, tokenizer, prompt) for prompt in self.prompts]
        finally:
            for module in training:
                module.training = True
        samples = [
            Sample(update=update, stage=stage, prompt_id=number, seed=0, score=None, kl=None, **answer)
            for number, answer in enumerate(answers)
        ]
        self._run.writer.samples(samples)

    def _completed(self, model: Any, tokenizer: Any, prompt: Any) -> dict[str, Any]:
        """What the model writes after a prompt, always choosing the likeliest token."""
        is_text = isinstance(prompt, str)
        text = prompt
        if not is_text:
            text = tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True)
        inputs = tokenizer(text, return_tensors="pt", add_special_tokens=is_text).to(model.device)
        greedy = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None, "use_cache": True}
        output = model.generate(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            max_new_tokens=self.max_new_tokens,
            pad_token_id=tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id,
            **greedy,
        )
        tokens = output[0, inputs["input_ids"].shape[1] :].tolist()
        return {
            "prompt": text,
            "completion": tokenizer.decode(tokens, skip_special_tokens=True),
            "tokens": len(tokens),
            "ended": bool(tokens) and tokens[-1] in _ends(model, tokenizer),
        }

    def _fail(self, error: Exception) -> None:
        self._failed = True
        warnings.warn(f"The playground no longer watches this training: {error!r}", stacklevel=3)
        run, self._run = self._run, None
        with contextlib.suppress(Exception):  # a full disk, perhaps; the run is then found interrupted
            if run:
                run.end(f"Watching it failed: {error!r}.")


def _is_divided(args: Any) -> bool:
    """Whether the weights may be divided over processes, by the arguments or by `accelerate launch`."""
    said = any(getattr(args, name, None) for name in ("fsdp", "deepspeed", "deepspeed_plugin", "parallelism_config"))
    return said or any(os.environ.get(name, "").lower() in ("true", "1") for name in DIVIDED)


def _ends(model: Any, tokenizer: Any) -> set[Any]:
    """The tokens that end a text: of many chat models not that of the tokenizer alone."""
    ends = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    if isinstance(ends, (list, tuple)):
        return {tokenizer.eos_token_id, *ends}
    return {tokenizer.eos_token_id, ends}


def facts_of(args: Any, updates: int, model: Any) -> WatchedFacts:
    """What the arguments of a trainer say."""
    library, name = _library_and_name(args)
    settings: dict[str, Any] = {"seed": args.seed, "ppo": {"learning_rate": args.learning_rate}}
    if name in METHODS:
        settings["method"] = METHODS[name]
        betas = [getattr(args, field) for field in BETAS if hasattr(args, field)]
        settings["kl"] = {}
        if betas:
            settings["kl"]["coef"] = betas[0]
    config = getattr(getattr(model, "policy", model), "config", None)
    if source := getattr(config, "_name_or_path", ""):
        settings["model"] = {"source": source}
    return WatchedFacts(f"{name.removesuffix('Config').removesuffix('Arguments')}, {library}", updates, settings)


def _library_and_name(args: Any) -> tuple[str, str]:
    """The library that the class of the arguments comes from, with its version, and the name of that class, whatever a
    script has derived from it."""
    classes = ((kind.__module__.partition(".")[0], kind.__name__) for kind in type(args).__mro__)
    library, name = next((pair for pair in classes if pair[0] in LIBRARIES), ("transformers", type(args).__name__))
    return f"{LIBRARIES[library]} {importlib.metadata.version(library)}", name
