"""Speed and memory, ours against TRL 1.12 and against the arithmetic floor: `make bench`.

Every measurement is a process of its own; the engines take turns, round after round, so that a busy moment of the
machine hits both; what is told is the median over the rounds. Writes bench/results/speed.json and docs/performance.md.
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import performance
from bench.experiments import Row, in_process, in_turns, machine_facts

MODULE = "bench.speed"
ENGINES = ("playground", "trl")
BATCH, NEW_TOKENS = 64, 32
CASES: dict[str, dict[str, Any]] = {
    "pocket-2m, 1 epoch": {"model": "pocket-2m", "num_epochs": 1},
    "pocket-2m, 4 epochs": {"model": "pocket-2m", "num_epochs": 4},
    "pocket-2m, 4 epochs, critic of its own": {"model": "pocket-2m", "num_epochs": 4, "critic": "separate"},
    "20M Llama, 1 epoch": {"model": "llama-20m", "num_epochs": 1},
    "20M Llama, 4 epochs": {"model": "llama-20m", "num_epochs": 4},
    "20M Llama, 1 epoch, critic of its own": {"model": "llama-20m", "num_epochs": 1, "critic": "separate"},
}
LLAMA_20M = {
    "hidden_size": 512,
    "intermediate_size": 1408,
    "num_hidden_layers": 6,
    "num_attention_heads": 8,
    "max_position_embeddings": 128,
    "tie_word_embeddings": True,
}
WARM_UPDATES, MEASURED_UPDATES = 1, 3
PHASES = ("rollout", "score", "update")
OPERATIONS = {  # what PyTorch's profiler calls them, behind aten::
    "matrix products": "mm addmm bmm",
    "attention": "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward",
    "one number at a time (norms, activations, rotations, softmax)": "mul add add_ sub div neg pow exp silu "
    "silu_backward rsqrt sum mean logsumexp _log_softmax cumsum where",
    "copies, gathers, fills": "cat copy_ fill_ index gather embedding_dense_backward _index_put_impl_ index_put_ "
    "slice_backward clone",
    "optimizer": "_fused_adamw_ _foreach_norm linalg_vector_norm mul_",
}


def main() -> None:
    """Measure and write the page. A case that was measured before and is not run again keeps its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    parser.add_argument("--one", nargs=2, metavar=("CASE", "ENGINE"), help="measure once in this process, print JSON")
    parser.add_argument("--share", action="store_true", help="what a whole run spends on looking, in this process")
    parser.add_argument("--profile", action="store_true", help="where an update's time goes, in this process")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(*arguments.one)))
    elif arguments.share:
        print(json.dumps(share_of_looking()))
    elif arguments.profile:
        print(json.dumps(profile_of_an_update()))
    else:
        compare(arguments.cases, arguments.rounds)


def compare(cases: list[str], rounds: int) -> None:
    """All measurements, each in a process of its own."""
    shares = [in_process(MODULE, "--share") for _ in range(rounds)]
    report: Row = {
        "machine": machine_facts(),
        "rounds": rounds,
        "cases": performance.read("speed")["cases"],
        "looking": {name: statistics.median(share[name] for share in shares) for name in shares[0]},
        "profile": in_process(MODULE, "--profile"),
    }
    for case in cases:
        items = in_turns(ENGINES, rounds, functools.partial(in_process, MODULE, "--one", case))
        report["cases"][case] = summary(items["playground"], items["trl"])
        report["cases"] = {name: report["cases"][name] for name in CASES if name in report["cases"]}
        performance.keep("speed", report)  # after each, so that a run that is cut off keeps what it has


def summary(ours: list[Row], theirs: list[Row]) -> Row:
    """Medians of both engines, all single figures, and the ratios, each taken within its round."""
    from bench.floors import medians

    pairs = list(zip(ours, theirs, strict=True))
    report: Row = {"playground": of_engine(ours), "trl": of_engine(theirs)}
    report["speed_ratio"] = statistics.median(b["seconds_per_update"] / a["seconds_per_update"] for a, b in pairs)
    report["memory_ratio"] = statistics.median(a["peak_bytes_added"] / b["peak_bytes_added"] for a, b in pairs)
    times = []
    for item in ours:
        floor = item["floor_seconds"]
        whole = item["seconds_per_update"] / sum(floor.values())
        by_phase = {phase: item["phases"][phase] / seconds for phase, seconds in floor.items()}
        times.append({"times_floor": whole, "times_floor_by_phase": by_phase})
    rate = statistics.median(item["flops_per_second"] for item in ours)
    return {**report, **medians(times), "gflops_per_second": rate / 1e9}


def of_engine(items: list[Row]) -> Row:
    """Medians of the rounds of one engine."""
    seconds = [item["seconds_per_update"] for item in items]
    median = statistics.median(seconds)
    return {
        "seconds_per_update": median,
        "all_seconds": [round(value, 4) for value in seconds],
        "episodes_per_second": BATCH / median,
        "phases": {phase: statistics.median(item["phases"][phase] for item in items) for phase in PHASES},
        "peak_mb_added": statistics.median(item["peak_bytes_added"] for item in items) / 1e6,
        "completion_length": statistics.median(item["completion_length"] for item in items),
        "threads": items[0]["threads"],
    }


# -- one measurement, in a process of its own -------------------------------------------------------------------------


def measure(case: str, engine: str) -> Row:
    """Seconds per update (whole and by phase), memory, and for our engine the arithmetic of one update."""
    import torch

    from bench import floors
    from playground.training.process import tuning

    settings = CASES[case]
    config = configuration(settings, engine)
    make_trainer = import_engine(engine)
    gc.collect()
    gc.freeze()  # TRL collects garbage several times an update; this spares it going through all that was imported
    baseline = floors.resident_bytes()
    torch.manual_seed(0)
    policy, tokens = model(settings["model"])
    tuning.limit_threads(policy)
    trainer = make_trainer(config, policy, tokens)
    lines: list[Any] = []
    seconds: list[float] = []
    rates: list[float] = []
    begin = time.perf_counter()

    def after_update(metrics: Any) -> None:
        nonlocal begin
        seconds.append(time.perf_counter() - begin)
        lines.append(metrics)
        rates.extend(floors.product_rates())
        begin = time.perf_counter()

    rollouts: list[Any] = []
    if engine == "trl":
        trainer.train(after_update)
    else:
        rollouts = floors.rollouts_of(trainer)
        for _ in range(config.ppo.num_updates):
            after_update(trainer.update())
    measured = lines[WARM_UPDATES:]
    phases = [{phase: getattr(line, f"seconds_{phase}") for phase in PHASES} for line in measured]
    report: Row = {
        "seconds_per_update": statistics.median(seconds[WARM_UPDATES:]),
        "phases": floors.medians(phases),
        "completion_length": statistics.fmean(line.completion_length for line in measured),
        "peak_bytes_added": floors.peak_bytes() - baseline,
        "imports_bytes": baseline,
        "threads": torch.get_num_threads(),
    }
    if rollouts:
        rate, sizes, trunks = statistics.median(rates), floors.Sizes.of(policy), 1 + config.separate_critic
        work = []
        for rollout in rollouts[WARM_UPDATES:]:
            work.append(floors.arithmetic(sizes, floors.Lengths.of(rollout), config.ppo.num_epochs, trunks))
        floor = {phase: operations / rate for phase, operations in floors.medians(work).items()}
        report |= {"floor_seconds": floor, "flops_per_second": rate}
    return report


def configuration(settings: dict[str, Any], engine: str) -> Any:
    """The same for both engines: one optimizer step an epoch, since TRL cannot take more, in two micro-batches."""
    from playground.config.yaml_io import from_dict

    ppo = {
        "num_updates": WARM_UPDATES + MEASURED_UPDATES,
        "batch_size": BATCH,
        "minibatch_size": BATCH,
        "micro_batch_size": BATCH // 2,
        "num_epochs": settings["num_epochs"],
        "value_clip_range": 0.2,
    }
    return from_dict(
        {
            "engine": engine,
            "model": {"critic": settings.get("critic", "shared")},  # TRL trains a second model whatever this says
            "rewards": [{"kind": "sentiment"}],
            "score": {"normalise": "none"},
            "sampling": {"max_new_tokens": NEW_TOKENS},
            "ppo": ppo,
        }
    )


def import_engine(engine: str) -> Any:
    """Everything that the engine imports, so that the memory of libraries is not taken for that of training."""
    from playground.training.data.prompts import load
    from playground.training.loop.scoring import Scorer

    if engine == "trl":
        import trl.experimental.ppo.ppo_trainer  # noqa: F401

        from playground.training.trl_ppo import TRLTrainer as Engine
    else:
        from playground.training.loop.trainer import PPOTrainer as Engine  # type: ignore[assignment]
    model("pocket-2m")  # what `from_pretrained` imports when it is called

    def make(config: Any, policy: Any, tokens: Any) -> Any:
        prompts = load(config.prompts, 8, policy.context_length - NEW_TOKENS, tokens, config.seed).training
        return Engine(config, policy, policy.frozen_copy(), tokens, prompts, Scorer(config))

    return make


def model(name: str) -> Any:
    """A shipped model, or a Llama of 20 million random weights with the pocket tokenizer."""
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig

    from playground.setup import catalog
    from playground.training.models import language_model, loading

    policy, tokens = loading.load(catalog.model_folder("pocket-2m"), torch.device("cpu"))
    if name == "llama-20m":
        small = policy.model.config
        ids = {key: getattr(small, key) for key in ("vocab_size", "bos_token_id", "eos_token_id", "pad_token_id")}
        large = LlamaConfig(**LLAMA_20M, **ids)
        policy = language_model.LanguageModel(AutoModelForCausalLM.from_config(large).eval())
    return policy, tokens


def share_of_looking() -> dict[str, float]:
    """What part of a whole default run goes into evaluation, metrics and logging."""
    import torch  # noqa: F401

    from bench.floors import timed
    from playground.runs.folder.directory import RunDirectory
    from playground.runs.folder.writer import RunWriter
    from playground.setup import catalog
    from playground.training.process.session import Session

    config = catalog.preset(catalog.DEFAULT_PRESET)
    with tempfile.TemporaryDirectory() as outputs:
        run = RunDirectory.create(Path(outputs), config)
        writer = RunWriter(run, config.ppo.num_updates)
        logging = [timed(writer, name) for name in ("metrics", "event", "set_status")]
        session = Session(run, config, writer, lambda: None)
        evaluation, metrics = timed(session, "look"), timed(session.trainer, "measure")
        session.fix_scale()
        begin = time.perf_counter()
        session.evaluate_and_record("before")
        session.train()
        whole = time.perf_counter() - begin
    spent = {"evaluation": sum(evaluation), "metrics": sum(metrics), "logging": sum(map(sum, logging))}
    return {"run_seconds": whole, **{name: seconds / whole for name, seconds in spent.items()}}


def profile_of_an_update() -> dict[str, float]:
    """Shares of the time of one update of pocket-2m at 4 epochs, by kind of operation; the rest is dispatch, Python."""
    from torch.profiler import ProfilerActivity, profile

    from playground.training.process import tuning

    policy, tokens = model("pocket-2m")
    tuning.limit_threads(policy)
    trainer = import_engine("playground")(configuration(CASES["pocket-2m, 4 epochs"], "playground"), policy, tokens)
    trainer.update()
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        trainer.update()
    seconds = {item.key: item.self_cpu_time_total for item in recorded.key_averages()}
    whole = sum(seconds.values())
    shares = {}
    for kind, names in OPERATIONS.items():
        shares[kind] = sum(seconds.get(f"aten::{name}", 0.0) for name in names.split()) / whole
    return {**shares, "dispatch, autograd, Python and the rest": 1 - sum(shares.values())}


if __name__ == "__main__":
    main()
