"""A real chat model on this machine's processor: `make bench-real`, in at most 8 minutes on two quiet cores.

The time from Start to the first update; an update beside its floor; ours against TRL; bf16 against fp32. Every
measurement is a process of its own, and the engines take turns. Writes bench/results/real_speed.json and the section of
docs/performance.md (real_speed_section.py).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from bench import floors, real_speed_section, speed  # noqa: E402

PRESET = "real-kinder"
KINDS = ("bf16", "fp32", "all", "trl")  # ours with LoRA, in two types; ours and TRL's in fp32 with all weights trained
BATCH, NEW_TOKENS, RANK = 16, 32, 16
WARM_UPDATES, MEASURED_UPDATES = 1, 1
QUESTIONS = [
    "What is a good way to start the day?",
    "How do I make a cup of tea?",
    "Why is the sky blue?",
    "Can you explain what a computer does to someone who has never seen one?",
    "Name an animal of Africa.",
    "What is the difference between a cat and a dog?",
    "How can I remember names better?",
    "What do bees do in winter, when there are no flowers?",
]
POLL_SECONDS, PATIENCE_SECONDS = 0.05, 300.0


def main() -> None:
    """Measure and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="of each engine")
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--parts", nargs="*", default=["start", "updates", "error"])
    parser.add_argument("--json", type=Path, default=real_speed_section.RESULTS)
    parser.add_argument("--page", type=Path, default=PROJECT / "docs" / "performance.md")
    parser.add_argument("--one", choices=[*KINDS, "error"], help="measure once in this process, print JSON")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(log_prob_error() if arguments.one == "error" else measure(arguments.one)))
        return
    begin, load = time.perf_counter(), os.getloadavg()[0]
    report = json.loads(arguments.json.read_text()) if arguments.json.exists() else {}
    report |= {"machine": {**speed.machine(), "load": load}, "rounds": arguments.rounds}
    if "start" in arguments.parts:
        report["start"] = first_update(arguments.starts)
    if "updates" in arguments.parts:
        report["updates"] = updates(arguments.rounds)
    if "error" in arguments.parts:
        report["error"] = in_process("error")
    report["seconds"] = time.perf_counter() - begin
    arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    real_speed_section.put_into(arguments.page, report)
    print(f"written: {arguments.json}, {arguments.page}", file=sys.stderr)


# -- from Start to the first update ---------------------------------------------------------------------------------


def first_update(starts: int) -> list[dict[str, Any]]:
    """Seconds from Start to the first line of figures, whole and by what the run says that it does: of the median. For
    a batch as that of the other measurements, and for a preset as it is. They take turns."""
    from playground.config.yaml_io import from_dict
    from playground.setup import catalog

    preset = catalog.preset(PRESET)
    plain = preset.model_dump(mode="json", exclude={"story"})
    plain["ppo"] |= {"batch_size": BATCH, "minibatch_size": BATCH, "micro_batch_size": BATCH // 2}
    plain["sampling"] |= {"max_new_tokens": NEW_TOKENS}
    configs = [from_dict(plain), preset]
    rounds = [[one_start(config) for config in configs] for _ in range(starts)]
    found = []
    for config, runs in zip(configs, zip(*rounds, strict=True), strict=True):
        by_total = sorted(runs, key=lambda phases: sum(phases.values()))
        totals = [sum(phases.values()) for phases in by_total]
        fixed = config.evaluation
        facts = {"preset": PRESET, "batch": config.ppo.batch_size, "tokens": config.sampling.max_new_tokens}
        seconds = {"all_seconds": totals, "seconds": statistics.median(totals), "phases": by_total[starts // 2]}
        found.append(
            {**facts, "texts": config.scale_samples(False) + fixed.num_prompts * fixed.samples_per_prompt, **seconds}
        )
    return found


def one_start(config: Any) -> dict[str, float]:
    """Start a run as the page does, and end it after its first update. Seconds by phase."""
    from playground.runs import launcher

    phases: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as outputs:
        last = begin = time.monotonic()
        run = launcher.start(config, Path(outputs)).run
        try:
            while not run.metrics():
                if time.monotonic() - begin > PATIENCE_SECONDS or run.status().state in ("failed", "interrupted"):
                    raise SystemExit(f"No update in {PATIENCE_SECONDS:.0f} s: {run.status().message}")
                time.sleep(POLL_SECONDS)
                now, phase = time.monotonic(), run.status_on_disk().phase.partition(",")[0] or "starting the process"
                phases[phase] = phases.get(phase, 0.0) + now - last
                last = now
        finally:
            launcher.stop(run)
            while run.is_alive():
                time.sleep(POLL_SECONDS)
    print("first update", sum(phases.values()), phases, file=sys.stderr, flush=True)
    return phases


# -- updates --------------------------------------------------------------------------------------------------------


def updates(rounds: int) -> dict[str, Any]:
    """Each kind's medians over the rounds; ratios are taken within a round."""
    from playground.setup import devices

    kinds = [kind for kind in KINDS if kind != "bf16" or devices.processor_has_bf16()]  # else nothing computes in it
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    for number in range(rounds):
        for kind in kinds if number % 2 == 0 else reversed(kinds):
            found[kind].append(in_process(kind))
            print(kind, found[kind][-1]["seconds"], file=sys.stderr, flush=True)
    report: dict[str, Any] = {kind: medians(items) for kind, items in found.items()}
    for kind in kinds[:-1]:
        pairs = list(zip(found[kind], found["trl"], strict=True))
        report[kind]["speed_ratio"] = statistics.median(trl["seconds"] / ours["seconds"] for ours, trl in pairs)
        report[kind]["memory_ratio"] = statistics.median(ours["peak_bytes"] / trl["peak_bytes"] for ours, trl in pairs)
    return report


def medians(items: list[dict[str, Any]]) -> dict[str, Any]:
    """Of figures of the same names, those in dictionaries too."""
    return {
        name: medians([item[name] for item in items])
        if isinstance(value, dict)
        else statistics.median(item[name] for item in items)
        for name, value in items[0].items()
    }


def configuration(kind: str, source: str) -> Any:
    """The same for all: one optimizer step of two micro-batches an update, rule reward. TRL trains all weights."""
    from playground.config.yaml_io import from_dict

    adapter = {"kind": "none"} if kind in ("all", "trl") else {"kind": "lora", "r": RANK, "alpha": 2 * RANK}
    return from_dict(
        {
            "engine": "trl" if kind == "trl" else "playground",
            "model": {"source": source, "precision": "bf16" if kind == "bf16" else "fp32", "adapter": adapter},
            "prompts": {"source": "typed", "typed": QUESTIONS * 2, "template": "chat"},
            "rewards": [{"kind": "length", "target": 20}],
            "score": {"normalise": "none"},
            "sampling": {"max_new_tokens": NEW_TOKENS, "temperature": 0.7},
            "ppo": {
                "num_updates": WARM_UPDATES + MEASURED_UPDATES,
                "batch_size": BATCH,
                "minibatch_size": BATCH,
                "micro_batch_size": BATCH // 2,
                "num_epochs": 1,
                "learning_rate": 1e-6,  # so that the texts stay as long as they are
                "value_clip_range": 0.2,
            },
            "evaluation": {"num_prompts": 8},
        }
    )


def measure(kind: str) -> dict[str, Any]:
    """Seconds of an update in this process, and for ours by part and beside the floor of each."""
    import torch

    from playground.models import real_model

    config = configuration(kind, real_model.NAME)
    if kind == "trl":
        import trl.experimental.ppo.ppo_trainer  # noqa: F401
    from playground.training.loop.ranks import ALONE
    from playground.training.process.equipment import Equipment

    baseline = speed.resident_bytes()
    with tempfile.TemporaryDirectory() as outputs:
        equipment = Equipment(config, Path(outputs), ALONE, lambda: None)
    trainer: Any = equipment.trainer
    seconds: list[float] = []
    parts: list[dict[str, float]] = []
    rollouts: list[Any] = []
    writing = timed(trainer, "write")
    collect = trainer.collect

    def kept() -> Any:
        rollouts[:] = [collect()]
        return rollouts[0]

    trainer.collect = kept
    dtype = torch.bfloat16 if kind == "bf16" else torch.float32
    least: list[dict[str, float]] = []
    begin = time.perf_counter()

    def after_update(metrics: Any) -> None:
        nonlocal begin
        seconds.append(time.perf_counter() - begin)
        if rollouts:
            wrote = writing[-1]
            parts.append({"write": wrote, "compare": metrics.seconds_rollout - wrote, "learn": metrics.seconds_update})
            rate = statistics.median(speed.matrix_product_rates(dtype=dtype))
            least.append(floor(trainer.policy, rollouts[0], rate, floors.reading_rate(), dtype.itemsize))
        begin = time.perf_counter()

    trainer.train(after_update)
    found = {"seconds": statistics.median(seconds[WARM_UPDATES:]), "peak_bytes": speed.peak_bytes() - baseline}
    if parts:
        found |= {"parts": medians(parts[WARM_UPDATES:]), "floors": medians(least[WARM_UPDATES:])}
    return found


def timed(owner: Any, name: str) -> list[float]:
    """The seconds of each call of a method from now on."""
    method, spent = getattr(owner, name), list[float]()

    def call(*arguments: Any, **options: Any) -> Any:
        begin = time.perf_counter()
        try:
            return method(*arguments, **options)
        finally:
            spent.append(time.perf_counter() - begin)

    setattr(owner, name, call)
    return spent


# -- the floor ------------------------------------------------------------------------------------------------------


def floor(policy: Any, rollout: Any, rate: float, bandwidth: float, number_bytes: int) -> dict[str, float]:
    """Seconds that no program can save: see `floors.floor_seconds`. And what they were computed with."""
    adapter = sum(weight.numel() for name, weight in policy.named_parameters() if ".lora_" in name)
    layers = [weight for layer in policy.trunk.layers for weight in layer.parameters() if weight.ndim == 2]
    trunk = sum(weight.numel() for weight in layers) - adapter
    attention = policy.hidden_size * len(policy.trunk.layers)
    sizes = floors.Sizes(trunk, policy.lm_head.weight.numel(), adapter, attention, number_bytes)
    lengths, totals = rollout.episodes.lengths, rollout.packed.totals
    alive = [int((lengths > step).sum()) for step in range(int(lengths.max()))]
    read = floors.tokens_to_read(prompt.ids for prompt in rollout.prompts)
    found = floors.floor_seconds(sizes, totals.tolist(), alive, read, rate, bandwidth)
    return {**found, "operations_per_second": rate, "bytes_per_second": bandwidth}


# -- bf16 -----------------------------------------------------------------------------------------------------------


def log_prob_error() -> dict[str, float]:
    """How far log-probs of sampled tokens in bf16 are from those in fp32, in nats, at temperature 1."""
    import torch

    from playground.config import ModelConfig, PromptsConfig, SamplingConfig
    from playground.models import real_model
    from playground.ppo.logprobs import token_log_probs
    from playground.training.data.random_streams import uniforms
    from playground.training.loop.sampling import sample
    from playground.training.models import loading
    from playground.training.models.chat import PromptForm

    cpu, how = torch.device("cpu"), SamplingConfig(max_new_tokens=NEW_TOKENS)
    exact, tokens = loading.load(real_model.folder(), cpu, ModelConfig(precision="fp32"))
    rounded, _ = loading.load(real_model.folder(), cpu, ModelConfig(precision="bf16"))
    form = PromptForm(tokens, PromptsConfig(template="chat"))
    prompts = [form.ids(question) for question in QUESTIONS]
    episodes = sample(exact, tokens, prompts, uniforms(range(len(prompts)), NEW_TOKENS), how)
    packed, chosen = episodes.packed(), episodes.completion_ids[episodes.mask]
    with torch.no_grad():
        one, other = (
            token_log_probs(model.logits(model.hidden(packed.ids)[packed.predicts]), chosen)
            for model in (exact, rounded)
        )
    gaps = (other - one).abs()
    return {"mean": float(gaps.mean()), "most": float(gaps.max()), "tokens": len(gaps)}


def in_process(what: str) -> dict[str, Any]:
    """Run this file with `--one`; its last line of output is JSON."""
    from playground.runs.children import torch_environment

    environment = {**torch_environment(), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, __file__, "--one", what]
    done = subprocess.run(command, env=environment, cwd=PROJECT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{what} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
