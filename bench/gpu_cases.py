"""What gpu.py checks and measures, in order of worth. Each case is a function of its place, and runs in a process of
its own, which nothing has touched the GPU in before. It returns plain figures, or raises: `Skipped` with a reason.

A toy place has the same cases at the smallest sizes and lets the processor stand in for the GPU, so that the code of
the cases is known to run before there is one. Imports no gradio, trl, datasets, peft or bitsandbytes by itself.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import speed

PROMPT_TOKENS = (12, 20)  # fewest and most; each a digit
PATIENCE_SECONDS = 120.0
FEW_TOKENS = 32  # of a completion, for 8 and 4 bits
MOST_APART = {"fp32": 2e-3, "bf16": 0.3}  # nats between two ways to the log-prob of a token


class Skipped(Exception):
    """This case cannot be tried here, for the reason given."""


@dataclass(frozen=True)
class Place:
    """Where the cases run. `device` as a configuration names it; `folder` for models and runs."""

    device: str
    toy: bool
    folder: Path

    @property
    def on_gpu(self) -> bool:
        """True on an NVIDIA GPU."""
        return self.device.startswith("cuda")

    @property
    def model(self) -> Path:
        """The Qwen2-shaped model of half a billion random weights; tiny in a toy place."""
        return self.folder / "model"

    @property
    def batch(self) -> tuple[int, int]:
        """Episodes of an update, and new tokens of each."""
        return (8, 6) if self.toy else (64, 128)

    def config(self, **parts: Any) -> Any:
        """A run on that model whose episodes all have full length, in three updates; some parts given."""
        from playground.config.yaml_io import from_dict

        episodes, new_tokens = self.batch
        plain: dict[str, Any] = {
            "device": self.device,
            "model": {"source": str(self.model)},
            "prompts": {"source": str(self.folder / "prompts.txt")},
            "rewards": [{"kind": "length"}],
            "score": {"normalise": "none"},
            "sampling": {"max_new_tokens": new_tokens},
            "ppo": {
                "num_updates": 2 if self.toy else 3,
                "batch_size": episodes,
                "minibatch_size": episodes,
                "micro_batch_size": episodes // 4,
                "num_epochs": 2,
                "value_clip_range": 0.2,
            },
            "evaluation": {"num_prompts": 4, "every": 100},
            "checkpoint": {"every": 0},
        }
        merged = {
            name: {**plain[name], **part} if isinstance(plain.get(name), dict) else part for name, part in parts.items()
        }
        return from_dict({**plain, **merged})


# -- what is the same here as on a CPU ---------------------------------------------------------------------------------


def parity(place: Place) -> dict[str, Any]:
    """Log-probs of a trained model: on this device against fp32 on the CPU, and the sampler's against a plain pass."""
    import torch

    from playground.config import ModelConfig, SamplingConfig
    from playground.setup import catalog
    from playground.training.data import prompts
    from playground.training.data.random_streams import uniforms
    from playground.training.loop.sampling import sample
    from playground.training.models import loading

    config = catalog.preset(catalog.DEFAULT_PRESET)
    folder, device = catalog.model_folder(config.model.source), loading.device_of(place.device)
    auto = str(loading.device_of("auto"))
    if place.on_gpu and auto != "cuda:0":
        raise AssertionError("`device: auto` does not take the first GPU")
    exact, tokens = loading.load(folder, loading.device_of("cpu"))
    rows, length = (8, 8) if place.toy else (64, 32)
    asked = prompts.load(config.prompts, 8, exact.context_length - length, tokens, 0).training[:rows]
    found: dict[str, Any] = {
        "device_auto": auto,
        "tf32": {
            "matmul": torch.backends.cuda.matmul.allow_tf32,
            "cudnn": torch.backends.cudnn.allow_tf32,
            "float32_matmul_precision": torch.get_float32_matmul_precision(),
        },
        "apart": {},
    }
    for precision in ("fp32", "bf16"):
        model, _ = loading.load(folder, device, ModelConfig(precision=precision), trained=True)
        draws = uniforms(list(range(rows)), length)
        episodes = sample(model, tokens, [prompt.ids for prompt in asked], draws, SamplingConfig())
        here, there = forward_log_probs(model, episodes), forward_log_probs(exact, episodes)
        sampled = episodes.log_probs[episodes.mask].cpu()
        found["apart"][precision] = {
            "device from CPU fp32": apart(here, there),
            "sampler from plain pass": apart(sampled, here),
        }
    for precision, pairs in found["apart"].items():
        for pair, (mean, most) in pairs.items():
            if most > MOST_APART[precision]:
                raise AssertionError(f"{precision}: {pair}: {most:.2g} nats apart (mean {mean:.2g})")
    return found


def forward_log_probs(model: Any, episodes: Any) -> Any:
    """Log-probs [N] of the sampled tokens by a pass over whole episodes, on the model's device."""
    import torch

    from playground.ppo.logprobs import token_log_probs

    packed = episodes.packed()
    rows = torch.arange(len(episodes))
    ids, predicts = packed.rows(rows)
    chosen = episodes.completion_ids[episodes.mask].to(model.device)
    with torch.no_grad():
        logits = model.logits(model.hidden(ids.to(model.device))[predicts.to(model.device)])
        return token_log_probs(logits, chosen, 1.0).float().cpu()


def apart(one: Any, other: Any) -> tuple[float, float]:
    """Mean and most of the differences between two tensors."""
    gap = (one - other).abs()
    return float(gap.mean()), float(gap.max())


def preset(place: Place) -> dict[str, Any]:
    """The default preset through the real worker: how long it takes, and what it reaches."""
    from playground.setup import catalog

    config = catalog.preset(catalog.DEFAULT_PRESET).model_copy(update={"device": place.device})
    if place.toy:
        config = smaller(config)
    run, seconds = worked(place, config, "preset")
    lines, looks = run.metrics(), run.samples()
    return {
        "seconds": seconds,
        "seconds_per_update": statistics.median(phases(line)["whole"] for line in lines),
        "updates": len(lines),
        "precision_of_auto": "bf16" if place.on_gpu else "fp32",
        "score_before": statistics.fmean(item.score or 0.0 for item in looks if item.stage == "before"),
        "score_after": statistics.fmean(item.score or 0.0 for item in looks if item.stage == "after"),
        "kl_after": statistics.fmean(item.kl or 0.0 for item in looks if item.stage == "after"),
        "memory_gb": lines[-1].memory_gb,
    }


def smaller(config: Any, **ppo: Any) -> Any:
    """Of a preset, as little as goes through everything."""
    few = {"num_updates": 1, "batch_size": 16, "minibatch_size": 8, "micro_batch_size": 8, "num_epochs": 1, **ppo}
    return config.model_copy(
        update={
            "ppo": config.ppo.model_copy(update=few),
            "evaluation": config.evaluation.model_copy(update={"num_prompts": 4, "samples_per_prompt": 1}),
        }
    )


# -- half a billion weights --------------------------------------------------------------------------------------------


def make_model(place: Place) -> dict[str, Any]:
    """The shape of Qwen2 0.5B from its configuration, random weights, a tokenizer as large; and a reward model."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, PreTrainedTokenizerFast
    from transformers import Qwen2Config as Config

    shape: dict[str, Any] = {
        "num_hidden_layers": 24,
        "hidden_size": 896,
        "num_attention_heads": 14,
        "num_key_value_heads": 2,
        "intermediate_size": 4864,
        "vocab_size": 151936,
        "max_position_embeddings": 2048,
    }
    if place.toy:
        shape = {
            "num_hidden_layers": 2,
            "hidden_size": 64,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "intermediate_size": 128,
            "vocab_size": 500,
            "max_position_embeddings": 128,
        }
    special, letters = ["<|pad|>", "<|endoftext|>"], sorted(pre_tokenizers.ByteLevel.alphabet())
    words = [f"\u0120w{number}" for number in range(shape["vocab_size"] - len(special) - len(letters))]
    vocabulary = {token: number for number, token in enumerate([*special, *letters, *words])}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))  # reads letters, and writes words
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # type: ignore[assignment]
    made.decoder = decoders.ByteLevel()  # type: ignore[assignment]
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, eos_token=special[1], pad_token=special[0])
    ids = {"bos_token_id": None, "eos_token_id": 1, "pad_token_id": 0}
    torch.manual_seed(0)
    with torch.device(place.device):
        model = AutoModelForCausalLM.from_config(Config(**shape, **ids, tie_word_embeddings=True))
        few = {**shape, "num_hidden_layers": 2}
        judge = AutoModelForSequenceClassification.from_config(Config(**few, **ids, num_labels=1))
    for network, folder in ((model, place.model), (judge, place.folder / "judge")):
        network.to(torch.bfloat16).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    lines = [f"{row:0{PROMPT_TOKENS[0] + row % 9}}" for row in range(300)]
    (place.folder / "prompts.txt").write_text("\n".join(lines), encoding="utf-8")
    return {"parameters": sum(weight.numel() for weight in model.parameters())}


def of_updates(*forms: str, packages: tuple[str, ...] = (), **parts: Any) -> Callable[[Place], dict[str, Any]]:
    """A case: the updates of that model in some precisions, with some parts of its configuration given."""

    def run(place: Place) -> dict[str, Any]:
        from playground.config import engines

        needs(*packages)
        if "engine" in parts and (reason := engines.availability()):
            raise Skipped(reason)
        found = {}
        for form in forms:
            given = {**parts, "model": {**parts.get("model", {}), "precision": form}}
            given |= {"rewards": [judge(place, given["model"])]} if "quantization" in given["model"] else {}
            name = "-".join([form, *sorted(parts), *given["model"].get("quantization", "").split()])
            found[form] = updates(place, place.config(**given), name)
        return found

    return run


def judge(place: Place, model: dict[str, Any]) -> dict[str, Any]:
    """A reward model of as few bits as the policy."""
    plain = {"kind": "model", "source": str(place.folder / "judge"), "template": "plain"}
    return {**plain, "quantization": model["quantization"]}


def updates(place: Place, config: Any, name: str) -> dict[str, Any]:
    """Time and memory of a session's updates, of which the first only warms up, and of ours the arithmetic floor."""
    import torch

    from playground.runs.folder.directory import RunDirectory
    from playground.runs.folder.writer import RunWriter
    from playground.setup import estimates
    from playground.training.process.session import Session

    gc.collect()  # what an earlier session has left in circles
    if place.on_gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    before = speed.resident_bytes()
    run = RunDirectory.create(place.folder / "runs", config, name)
    session = Session(run, config, RunWriter(run, config.ppo.num_updates), lambda: None)
    work: list[float] = []
    if config.engine == "playground":
        collect = session.trainer.collect

        def counted() -> Any:
            rollout = collect()
            lengths, totals = rollout.episodes.lengths, rollout.packed.totals
            counts = int(lengths.sum()), int(totals.sum()), int(totals.pow(2).sum())
            work.append(sum(speed.arithmetic(session.policy, *counts, config.ppo.num_epochs, 1).values()))
            return rollout

        session.trainer.collect = counted  # type: ignore[method-assign]
    lines: list[Any] = []
    session.trainer.train(lines.append)
    measured = lines[1:]
    seconds = {phase: statistics.median(phases(line)[phase] for line in measured) for phase in phases(measured[0])}
    found: dict[str, Any] = {
        "episodes_per_second": config.ppo.batch_size / seconds["whole"],
        "seconds_per_update": seconds["whole"],
        "rollout_share": seconds["rollout"] / seconds["whole"],
        "phases": seconds,
        "completion_length": measured[-1].completion_length,
        "peak_gb": (torch.cuda.max_memory_allocated() if place.on_gpu else speed.peak_bytes() - before) / 1e9,
    }
    if config.engine == "playground":  # which is what is estimated
        told = estimates.estimate(config, place.folder / "runs", prompt_tokens=PROMPT_TOKENS[1])
        found["estimated_gb"] = told.total_gb - told.libraries_gb
    if work and config.model.quantization == "none":
        kind = torch.bfloat16 if config.model.precision == "bf16" else torch.float32
        size = 8192 if place.on_gpu else 256
        rate = statistics.median(speed.matrix_product_rates(size, device=place.device, dtype=kind))
        found |= {
            "times_floor": seconds["whole"] / (statistics.median(work[1:]) / rate),
            "tflops_of_a_product": rate / 1e12,
        }
    return found


def phases(line: Any) -> dict[str, float]:
    """Seconds of one update, by phase and in all."""
    parts = {phase: float(getattr(line, f"seconds_{phase}")) for phase in ("rollout", "score", "update")}
    return {**parts, "whole": sum(parts.values())}


# -- a run's life ------------------------------------------------------------------------------------------------------


def memory_runs_out(place: Place) -> dict[str, Any]:
    """A run that cannot fit ends with the sentence about it, and the next one works."""
    from playground.setup import estimates

    size = 8 if place.toy else 1024
    many = {"num_updates": 1, "batch_size": size, "minibatch_size": size, "micro_batch_size": size}
    config = place.config(ppo=many, model={"precision": "bf16"})
    verdict = estimates.estimate(config, prompt_tokens=PROMPT_TOKENS[1]).verdict
    run, _ = worked(place, config, "too-large", prepare=full_memory if place.toy else nothing, expected=1)
    status = run.status()
    if status.reason != "out_of_gpu_memory" or not status.message.startswith("The GPU ran out of memory."):
        raise AssertionError(f"it ended as {status.reason}: {status.message}")
    after, _ = worked(place, smaller(place.config()), "after-it")
    return {"verdict_before": verdict, "told": status.message, "next_run": after.status().state}


def full_memory() -> None:
    """Where there is no GPU: the error that PyTorch would raise."""
    import torch

    from playground.training.loop.trainer import PPOTrainer

    def forward(*_: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate everything.")

    PPOTrainer.forward = forward  # type: ignore[method-assign]


def nothing() -> None:
    """A process that is left as it is."""


def pause_stop_resume(place: Place) -> dict[str, Any]:
    """A run that was paused, stopped and resumed against one that went through: how far apart their weights end."""
    import torch
    from safetensors.torch import load_file

    from playground.runs.folder import changes
    from playground.setup import catalog

    config = catalog.preset(catalog.DEFAULT_PRESET).model_copy(update={"device": place.device})
    config = smaller(config, num_updates=4, **({} if place.toy else {"batch_size": 128, "minibatch_size": 64}))
    config = config.model_copy(update={"checkpoint": config.checkpoint.model_copy(update={"every": 1})})
    whole, _ = worked(place, config, "in-one-go")
    run = new_run(place, config, "broken-up")
    worker = start_worker(run)
    wait_until(lambda: run.status().state == "running" or not worker.is_alive())
    changes.request_pause(run)
    wait_until(lambda: run.status().state == "paused" or not worker.is_alive())
    paused_at = run.status().update
    run.request_stop()
    stopped = ended(worker)
    for word in run.control_path.glob("*"):
        word.unlink()
    run.queue_again(run.status(), config.ppo.num_updates)
    finished = ended(start_worker(run))
    if (stopped, finished) != (3, 0):
        raise AssertionError(f"exit codes {stopped} and {finished} instead of 3 and 0: {run.status().message}")
    one, other = (load_file(item.latest_checkpoint() / "model.safetensors") for item in (whole, run))
    most = max(float((one[name].float() - other[name].float()).abs().max()) for name in one)
    same = all(torch.equal(one[name], other[name]) for name in one)
    return {"paused_after_update": paused_at, "bit_identical": same, "weights_most_apart": most}


def worked(place: Place, config: Any, name: str, prepare: Callable[[], None] = nothing, expected: int = 0) -> Any:
    """A run through the real worker in a process of its own -> the run, and its seconds.

    Raises:
        AssertionError: another exit code than the expected one.
    """
    run = new_run(place, config, name)
    begin = time.perf_counter()
    code = ended(start_worker(run, prepare))
    if code != expected:
        raise AssertionError(f"the worker of {name} ended with {code}: {run.status().message}")
    return run, time.perf_counter() - begin


def new_run(place: Place, config: Any, name: str) -> Any:
    """A run's folder."""
    from playground.runs.folder.directory import RunDirectory

    return RunDirectory.create(place.folder / "runs", config, name)


def start_worker(run: Any, prepare: Callable[[], None] = nothing) -> Any:
    """A worker forked from this process, in which nothing has touched the GPU. It prints into the run's log."""
    process = multiprocessing.get_context("fork").Process(target=_be_worker, args=(run, prepare))
    process.start()
    return process


def _be_worker(run: Any, prepare: Callable[[], None]) -> None:
    from playground import worker

    with open(run.log_path, "ab") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    prepare()
    sys.exit(worker.main([str(run.path)]))


def ended(process: Any) -> int:
    """Wait for a worker; its exit code."""
    process.join(PATIENCE_SECONDS)
    if process.is_alive():
        process.kill()
        raise AssertionError(f"a worker was not done within {PATIENCE_SECONDS:.0f} s")
    return int(process.exitcode)


def wait_until(condition: Callable[[], bool]) -> None:
    """Raises: AssertionError after `PATIENCE_SECONDS`."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > until:
            raise AssertionError("what was waited for did not come")
        time.sleep(0.02)


# -- the rest ----------------------------------------------------------------------------------------------------------


def devices(place: Place) -> dict[str, Any]:
    """What the page and `doctor` say of the machine, beside what PyTorch says."""
    import torch

    from playground.setup import devices as found

    told: dict[str, Any] = {
        "devices": [
            {
                "name": item.name,
                "label": item.label,
                "total_gb": item.total_bytes / 1e9,
                "free_gb": item.free_bytes / 1e9,
            }
            for item in found.available()
        ],
        "header": found.machine_facts(),
        "doctor": asked_by_doctor(),
    }
    if place.on_gpu:
        free, total = torch.cuda.mem_get_info()
        told["pytorch"] = {"label": torch.cuda.get_device_name(), "total_gb": total / 1e9, "free_gb": free / 1e9}
        mine = told["devices"][0]
        if mine["name"] != "cuda:0" or abs(mine["total_gb"] - total / 1e9) > 0.05 * total / 1e9:
            raise AssertionError(f"the page says {mine}, PyTorch {told['pytorch']}")
    return told


def one_rank(place: Place) -> dict[str, Any]:
    """What several processes of a run exchange, here with one, so that nothing may change: over NCCL on a GPU."""
    import torch
    import torch.distributed as dist

    from playground.training.process import rank_processes

    ranks = rank_processes.connected(rank_processes.Member(0, 1, place.device, str(place.folder / "store")))
    told = {"numbers": torch.rand(3, 5, device=ranks.device), "bits": torch.rand(3, 4, device=ranks.device) > 0.5}
    if any(not torch.equal(told[name], whole) for name, whole in ranks.gather(told, 3).items()):
        raise AssertionError("what was gathered is not what was told")
    if ranks.exchange({"a": 1.5}) != [{"a": 1.5}] or ranks.first(["b"]) != ["b"]:
        raise AssertionError("plain data did not come back")
    weights = [weights_after_an_update(place, name, among) for name, among in (("alone", None), ("one-rank", ranks))]
    apart = max(float((one - other).abs().max()) for one, other in zip(*weights, strict=True))
    if not apart <= 1e-6:
        raise AssertionError(f"with the exchanges an update ends {apart} away from one without")
    return {"backend": str(dist.get_backend_config()), "apart": apart}


def weights_after_an_update(place: Place, name: str, ranks: Any) -> list[Any]:
    """The weights of the default preset after one small update, with the exchanges of `ranks`, if there are any."""
    from playground.runs.folder.directory import RunDirectory
    from playground.runs.folder.writer import RunWriter
    from playground.setup import catalog
    from playground.training.process.session import Session

    config = catalog.preset(catalog.DEFAULT_PRESET)
    small = config.ppo.model_copy(
        update={"num_updates": 1, "batch_size": 8, "minibatch_size": 4, "micro_batch_size": 4, "num_epochs": 2}
    )
    config = config.model_copy(update={"device": place.device, "ppo": small})
    run = RunDirectory.create(place.folder / "runs", config, name)
    session = Session(run, config, RunWriter(run, 1), lambda: None)
    session.trainer.ranks = ranks or session.trainer.ranks
    session.trainer.update()
    return [weight.detach().clone() for weight in session.trainer.trained().values()]


def asked_by_doctor() -> Any:
    """What the script of `python -m playground doctor` answers in a process of its own."""
    try:
        from playground.cli import health
    except ImportError as error:  # the command line takes packages that a run does not
        return f"not asked: {error}"
    answer = subprocess.run([sys.executable, "-c", health.ASK_TORCH], capture_output=True, text=True, timeout=60)
    if answer.returncode:
        raise AssertionError(f"doctor's script ended with {answer.returncode}: {answer.stderr.strip()[-200:]}")
    return json.loads(answer.stdout)


def reward_model(place: Place) -> dict[str, Any]:
    """A reward model trained by its worker (TRL's RewardTrainer) and put to the self-test."""
    import torch

    from playground.config import ModelReward, RewardTrainingConfig
    from playground.runs.folder.directory import Status, write_atomically
    from playground.runs.reward_models import RewardTraining
    from playground.setup import catalog

    needs("trl", "datasets")
    from playground.training.models import loading
    from playground.training.rewards import format_check
    from playground.training.rewards.pairs import example_pairs

    limit = {"pairs": {"limit": 100}, "max_steps": 2} if place.toy else {"pairs": {"limit": 1000}, "max_steps": 30}
    config = RewardTrainingConfig.model_validate({"name": "judged", "device": place.device, **limit})
    training = RewardTraining(place.folder / "runs" / catalog.REWARD_MODELS / config.name)
    training.control_path.mkdir(parents=True)
    write_atomically(training.status_path, Status(started_at=time.time(), updated_at=time.time()).model_dump_json())
    write_atomically(training.config_path, config.to_yaml())
    begin = time.perf_counter()
    code = ended(start_worker(training))
    seconds = time.perf_counter() - begin
    if code:
        raise AssertionError(f"the worker ended with {code}: {training.status().message}")
    pairs = example_pairs(
        catalog.preset(catalog.DEFAULT_PRESET),
        ModelReward(source=str(training.folder)),
        None,
        None,
        loading.device_of(place.device),
    )
    references = [(pair.prompt, pair.chosen) for pair in pairs.pairs[:64]]
    report = format_check.examine(
        "judged", ModelReward(source=str(training.folder)), references, pairs, torch.device(place.device), None
    )
    return {"seconds": seconds, "message": training.status().message, "self_test": report.verdict}


def needs(*packages: str) -> None:
    """Raises: Skipped, where one of them cannot be imported."""
    for package in packages:
        try:
            there = importlib.util.find_spec(package) is not None
        except (ImportError, ValueError):
            there = False
        if not there:
            raise Skipped(f"{package} is not installed here")


@dataclass(frozen=True)
class Case:
    """`seconds` it may take at most."""

    run: Callable[[Place], dict[str, Any]]
    seconds: float


LORA, BITS = {"kind": "lora"}, ("peft", "bitsandbytes")
CASES: dict[str, Case] = {
    "parity": Case(parity, 60),
    "preset": Case(preset, 100),
    "model": Case(make_model, 45),
    "0.5B": Case(of_updates("bf16", "fp32"), 75),  # ours, everything trained
    "0.5B, TRL": Case(of_updates("fp32", packages=("trl",), engine="trl"), 90),  # its adapter takes fp32 only
    "LoRA": Case(of_updates("bf16", packages=("peft",), model={"adapter": LORA}), 45),
    "pause, stop, resume": Case(pause_stop_resume, 75),
    "devices": Case(devices, 30),
    "one rank": Case(one_rank, 45),
    "reward model": Case(reward_model, 60),
    "0.5B, DPO": Case(of_updates("bf16", packages=("trl",), method="dpo", ppo={"samples_per_prompt": 2}), 60),
    **{  # on an H100, 128 tokens of 8 bits took longer than 66 s
        f"{kind}, {FEW_TOKENS} tokens": Case(
            of_updates(
                "bf16",
                packages=BITS,
                model={"adapter": LORA, "quantization": kind},
                sampling={"max_new_tokens": FEW_TOKENS},
            ),
            90,
        )
        for kind in ("int8", "nf4")
    },
    "memory runs out": Case(memory_runs_out, 150),  # 75 s were not enough on an H100
}
