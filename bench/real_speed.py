"""A real chat model on this machine's processor: `make bench-real`, in at most 8 minutes on two quiet cores.

The time from Start to the first update; an update beside its floor; ours against TRL; bf16 against fp32. Every
measurement is a process of its own, and the engines take turns. Writes bench/results/real_speed.json and the page.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import performance
from bench.experiments import Row, in_process, in_turns, machine_facts
from playground.config import RunConfig, yaml_io
from playground.runs import launcher
from playground.setup import catalog, devices

MODULE = "bench.real_speed"
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
ONE_STEP = {"batch_size": BATCH, "minibatch_size": BATCH, "micro_batch_size": BATCH // 2}


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="of each engine")
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--parts", nargs="*", default=["start", "updates", "error"])
    parser.add_argument("--one", choices=[*KINDS, "error"], help="measure once in this process, print JSON")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(log_prob_error() if arguments.one == "error" else measure(arguments.one)))
        return
    begin, load = time.perf_counter(), os.getloadavg()[0]
    report = performance.read("real_speed")
    report |= {"machine": {**machine_facts(), "load": load}, "rounds": arguments.rounds}
    if "start" in arguments.parts:
        report["start"] = first_update(arguments.starts)
    if "updates" in arguments.parts:
        report["updates"] = updates(arguments.rounds)
    if "error" in arguments.parts:
        report["error"] = in_process(MODULE, "--one", "error")
    report["seconds"] = time.perf_counter() - begin
    performance.keep("real_speed", report)


# -- from Start to the first update -----------------------------------------------------------------------------------


def first_update(starts: int) -> list[Row]:
    """Seconds from Start to the first line of figures, whole and by what the run says that it does: of the median. For
    a batch as that of the other measurements, and for a preset as it is. They take turns."""
    preset = catalog.preset(PRESET)
    plain = preset.model_dump(mode="json", exclude={"story"})
    plain["ppo"] |= ONE_STEP
    plain["sampling"] |= {"max_new_tokens": NEW_TOKENS}
    configs = [yaml_io.from_dict(plain), preset]
    rounds = [[one_start(config) for config in configs] for _ in range(starts)]
    report = []
    for number, config in enumerate(configs):
        runs = sorted((phases[number] for phases in rounds), key=lambda phases: sum(phases.values()))
        totals = [sum(phases.values()) for phases in runs]
        fixed = config.evaluation.num_prompts * config.evaluation.samples_per_prompt
        report.append(
            {
                "preset": PRESET,
                "batch": config.ppo.batch_size,
                "tokens": config.sampling.max_new_tokens,
                "texts": config.scale_samples(False) + fixed,
                "all_seconds": totals,
                "seconds": statistics.median(totals),
                "phases": runs[starts // 2],
            }
        )
    return report


def one_start(config: RunConfig) -> dict[str, float]:
    """Start a run as the page does, and end it after its first update. Seconds by phase."""
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


# -- updates ----------------------------------------------------------------------------------------------------------


def updates(rounds: int) -> Row:
    """Each kind's medians over the rounds; ratios are taken within a round."""
    from bench.floors import medians

    kinds = [kind for kind in KINDS if kind != "bf16" or devices.processor_has_bf16()]  # else nothing computes in it
    items = in_turns(kinds, rounds, functools.partial(in_process, MODULE, "--one"))
    report: Row = {kind: medians(rows) for kind, rows in items.items()}
    for kind in kinds[:-1]:
        pairs = list(zip(items[kind], items["trl"], strict=True))
        report[kind]["speed_ratio"] = statistics.median(trl["seconds"] / ours["seconds"] for ours, trl in pairs)
        report[kind]["memory_ratio"] = statistics.median(ours["peak_bytes"] / trl["peak_bytes"] for ours, trl in pairs)
    return report


def configuration(kind: str, source: str) -> RunConfig:
    """The same for all: one optimizer step of two micro-batches an update, rule reward. TRL trains all weights."""
    adapter = {"kind": "none"} if kind in ("all", "trl") else {"kind": "lora", "r": RANK, "alpha": 2 * RANK}
    ppo = {
        **ONE_STEP,
        "num_updates": WARM_UPDATES + MEASURED_UPDATES,
        "num_epochs": 1,
        "learning_rate": 1e-6,  # so that the texts stay as long as they are
        "value_clip_range": 0.2,
    }
    return yaml_io.from_dict(
        {
            "engine": "trl" if kind == "trl" else "playground",
            "model": {"source": source, "precision": "bf16" if kind == "bf16" else "fp32", "adapter": adapter},
            "prompts": {"source": "typed", "typed": QUESTIONS * 2, "template": "chat"},
            "rewards": [{"kind": "length", "target": 20}],
            "score": {"normalise": "none"},
            "sampling": {"max_new_tokens": NEW_TOKENS, "temperature": 0.7},
            "ppo": ppo,
            "evaluation": {"num_prompts": 8},
        }
    )


def measure(kind: str, source: str = "") -> Row:
    """Seconds of an update in this process, and for ours by part and beside the floor of each."""
    import torch

    from bench import floors
    from playground.models import real_model

    config = configuration(kind, source or real_model.NAME)
    if kind == "trl":
        import trl.experimental.ppo.ppo_trainer  # noqa: F401
    from playground.training.loop.ranks import ALONE
    from playground.training.process.equipment import Equipment

    baseline = floors.resident_bytes()
    with tempfile.TemporaryDirectory() as outputs:
        equipment = Equipment(config, Path(outputs), ALONE, lambda: None)
    trainer: Any = equipment.trainer
    seconds: list[float] = []
    parts: list[Row] = []
    least: list[Row] = []
    rollouts, writing = (floors.rollouts_of(trainer), floors.timed(trainer, "write")) if kind != "trl" else ([], [])
    dtype = torch.bfloat16 if kind == "bf16" else torch.float32
    begin = time.perf_counter()

    def after_update(metrics: Any) -> None:
        nonlocal begin
        seconds.append(time.perf_counter() - begin)
        if rollouts:
            write, learn = writing[-1], metrics.seconds_update
            parts.append({"write": write, "compare": metrics.seconds_rollout - write, "learn": learn})
            rate = statistics.median(floors.product_rates(dtype=dtype))
            least.append(floor(trainer.policy, rollouts[-1], rate, floors.reading_rate(), dtype.itemsize))
        begin = time.perf_counter()

    trainer.train(after_update)
    report: Row = {"seconds": statistics.median(seconds[WARM_UPDATES:]), "peak_bytes": floors.peak_bytes() - baseline}
    if parts:
        report |= {"parts": floors.medians(parts[WARM_UPDATES:]), "floors": floors.medians(least[WARM_UPDATES:])}
    return report


def floor(policy: Any, rollout: Any, rate: float, bandwidth: float, number_bytes: int) -> Row:
    """Seconds that no program can save, and what they were computed with."""
    from bench import floors

    sizes, lengths = floors.Sizes.of(policy, number_bytes), floors.Lengths.of(rollout)
    prompts = floors.seen_by_tokens(prompt.ids for prompt in rollout.prompts)
    texts = floors.seen_by_tokens(
        ids[:total] for ids, total in zip(rollout.packed.ids.tolist(), lengths.totals, strict=True)
    )
    seconds = floors.floor_seconds(sizes, prompts, texts, lengths.alive, rate, bandwidth)
    return {**seconds, "operations_per_second": rate, "bytes_per_second": bandwidth}


# -- bf16 -------------------------------------------------------------------------------------------------------------


def log_prob_error() -> Row:
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
    log_probs = []
    for model in (exact, rounded):
        with torch.no_grad():
            logits = model.logits(model.hidden(packed.ids)[packed.predicts])
        log_probs.append(token_log_probs(logits, chosen))
    gaps = (log_probs[1] - log_probs[0]).abs()
    return {"mean": float(gaps.mean()), "most": float(gaps.max()), "tokens": len(gaps)}


if __name__ == "__main__":
    main()
