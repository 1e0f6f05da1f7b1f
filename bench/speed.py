"""Speed and memory, ours against TRL 1.12 and against the arithmetic floor: `make bench`.

Every measurement is a process of its own; the engines take turns, round after round, so that a busy moment of the
machine hits both; what is told is the median over the rounds. Writes bench/results/speed.json and docs/performance.md.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib.metadata
import json
import platform
import resource
import statistics
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from bench import gpu_section, load_section, real_speed_section  # noqa: E402
from bench.machine import processor_name  # noqa: E402

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
WARM_UPDATES, MEASURED_UPDATES = 1, 3


def main() -> None:
    """Measure and write the tables. A case that was measured before and is not run again keeps its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    parser.add_argument("--json", type=Path, default=PROJECT / "bench" / "results" / "speed.json")
    parser.add_argument("--page", type=Path, default=PROJECT / "docs" / "performance.md")
    parser.add_argument("--one", nargs=2, metavar=("CASE", "ENGINE"), help="measure once in this process, print JSON")
    parser.add_argument("--share", action="store_true", help="what a whole run spends on looking, in this process")
    parser.add_argument("--profile", action="store_true", help="where an update's time goes, in this process")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(*arguments.one)))
        return
    if arguments.share:
        print(json.dumps(share_of_looking()))
        return
    if arguments.profile:
        print(json.dumps(profile_of_an_update()))
        return
    shares = [in_process("--share") for _ in range(arguments.rounds)]
    report: dict[str, Any] = {
        "machine": machine(),
        "rounds": arguments.rounds,
        "cases": json.loads(arguments.json.read_text())["cases"] if arguments.json.exists() else {},
        "looking": {name: statistics.median(item[name] for item in shares) for name in shares[0]},
        "profile": in_process("--profile"),
    }
    for case in arguments.cases:
        found: dict[str, list[dict[str, Any]]] = {engine: [] for engine in ENGINES}
        for number in range(arguments.rounds):
            for engine in ENGINES if number % 2 == 0 else reversed(ENGINES):
                found[engine].append(in_process("--one", case, engine))
                print(case, engine, found[engine][-1]["seconds_per_update"], file=sys.stderr, flush=True)
        report["cases"][case] = summary(found)  # written after each, so that a run that is cut off keeps what it has
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        arguments.page.write_text(page(report), encoding="utf-8")
    print(f"written: {arguments.json}, {arguments.page}", file=sys.stderr)


# -- one measurement, in a process of its own -----------------------------------------------------------------------


def measure(case: str, engine: str) -> dict[str, Any]:
    """Seconds per update (whole and by phase), memory, and for our engine the arithmetic of one update."""
    import torch

    from playground.training.process import tuning

    settings = CASES[case]
    config = configuration(settings, engine)
    make_trainer = import_engine(engine)
    gc.collect()
    gc.freeze()  # TRL collects garbage several times an update; this spares it going through all that was imported
    baseline = resident_bytes()
    torch.manual_seed(0)
    policy, tokens = model(settings["model"])
    tuning.limit_threads(policy)
    trainer = make_trainer(config, policy, tokens)
    lines: list[Any] = []
    seconds: list[float] = []
    rates: list[float] = []
    tokens_of: list[tuple[int, int, int]] = []
    begin = time.perf_counter()

    def after_update(metrics: Any) -> None:
        nonlocal begin
        seconds.append(time.perf_counter() - begin)
        lines.append(metrics)
        rates.extend(matrix_product_rates())
        begin = time.perf_counter()

    if engine == "trl":
        trainer.train(after_update)
    else:
        collect = trainer.collect

        def counted() -> Any:
            rollout = collect()
            lengths, totals = rollout.episodes.lengths, rollout.packed.totals
            tokens_of.append((int(lengths.sum()), int(totals.sum()), int(totals.pow(2).sum())))
            return rollout

        trainer.collect = counted
        for _ in range(config.ppo.num_updates):
            after_update(trainer.update())
    measured = lines[WARM_UPDATES:]
    found = {
        "seconds_per_update": statistics.median(seconds[WARM_UPDATES:]),
        "phases": {
            phase: statistics.median(getattr(line, f"seconds_{phase}") for line in measured)
            for phase in ("rollout", "score", "update")
        },
        "completion_length": statistics.fmean(line.completion_length for line in measured),
        "peak_bytes_added": peak_bytes() - baseline,
        "imports_bytes": baseline,
        "threads": torch.get_num_threads(),
    }
    if tokens_of:
        rate = statistics.median(rates)
        work = [
            arithmetic(policy, *counts, config.ppo.num_epochs, 1 + config.separate_critic)
            for counts in tokens_of[WARM_UPDATES:]
        ]
        floor = {phase: statistics.median(item[phase] for item in work) / rate for phase in work[0]}
        found |= {"floor_seconds": floor, "flops_per_second": rate}
    return found


def configuration(settings: dict[str, Any], engine: str) -> Any:
    """The same for both engines: one optimizer step an epoch, since TRL cannot take more, in two micro-batches."""
    from playground.config.yaml_io import from_dict

    return from_dict(
        {
            "engine": engine,
            "model": {"critic": settings.get("critic", "shared")},  # TRL trains a second model whatever this says
            "rewards": [{"kind": "sentiment"}],
            "score": {"normalise": "none"},
            "sampling": {"max_new_tokens": NEW_TOKENS},
            "ppo": {
                "num_updates": WARM_UPDATES + MEASURED_UPDATES,
                "batch_size": BATCH,
                "minibatch_size": BATCH,
                "micro_batch_size": BATCH // 2,
                "num_epochs": settings["num_epochs"],
                "value_clip_range": 0.2,
            },
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
        large = LlamaConfig(
            vocab_size=small.vocab_size,
            hidden_size=512,
            intermediate_size=1408,
            num_hidden_layers=6,
            num_attention_heads=8,
            max_position_embeddings=128,
            tie_word_embeddings=True,
            bos_token_id=small.bos_token_id,
            eos_token_id=small.eos_token_id,
            pad_token_id=small.pad_token_id,
        )
        policy = language_model.LanguageModel(AutoModelForCausalLM.from_config(large).eval())
    return policy, tokens


def arithmetic(
    policy: Any, sampled: int, total: int, squares: int, num_epochs: int, trained_trunks: int
) -> dict[str, float]:
    """Floating-point operations that one update cannot do without, by phase.

    Counted: two for each weight of a matrix and token that goes through it, and attention; three times that for forward
    and backward. No padding, the LM head only where a completion token is predicted. Left out: everything that is not a
    matrix product.

    Args:
        sampled: completion tokens. total: prompt and completion tokens. squares: sum of the squared episode lengths.
        trained_trunks: 2 with a critic of its own, which also reads what was sampled.
    """
    trunk = sum(weight.numel() for layer in policy.trunk.layers for weight in layer.parameters() if weight.ndim == 2)
    head = policy.lm_head.weight.numel()
    attention = 2 * squares * policy.hidden_size * len(policy.trunk.layers)  # causal: half of 4 T^2 H for each layer
    forward = 2 * trunk * total + attention
    # policy, reference and a separate critic; the heads of the first two, and ours again for the KL
    return {
        "rollout": (1 + trained_trunks) * forward + 3 * 2 * head * sampled,
        "update": num_epochs * 3 * (trained_trunks * forward + 2 * head * sampled),
    }


def matrix_product_rates(size: int = 512, seconds: float = 0.3, device: str = "cpu", dtype: Any = None) -> list[float]:
    """Operations per second of products of two squares, many short measurements, with this process's threads.

    Taken between the updates: the speed of a shared machine changes within minutes.

    Args:
        dtype: of torch; default float32.
    """
    import torch

    a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    finish = torch.cuda.synchronize if a.is_cuda else lambda: None
    for _ in range(3 if a.is_cuda else 0):  # the first product on a GPU chooses its kernel
        a @ b
    rates = []
    finish()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(10):
            a @ b
        finish()
        rates.append(10 * 2 * size**3 / (time.perf_counter() - begin))
    return rates


def share_of_looking() -> dict[str, float]:
    """What part of a whole default run goes into evaluation, metrics and logging."""
    import tempfile

    import torch  # noqa: F401

    from playground.runs.folder.directory import RunDirectory
    from playground.runs.folder.writer import RunWriter
    from playground.setup import catalog
    from playground.training.process.session import Session

    seconds = {"evaluation": 0.0, "metrics": 0.0, "logging": 0.0}

    def timed(name: str, function: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            begin = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                seconds[name] += time.perf_counter() - begin

        return call

    config = catalog.preset(catalog.DEFAULT_PRESET)
    with tempfile.TemporaryDirectory() as outputs:
        run = RunDirectory.create(Path(outputs), config)
        writer = RunWriter(run, config.ppo.num_updates)
        for name in ("metrics", "event", "set_status"):
            setattr(writer, name, timed("logging", getattr(writer, name)))
        session = Session(run, config, writer, lambda: None)
        session.look = timed("evaluation", session.look)  # type: ignore[method-assign]
        session.trainer.measure = timed("metrics", session.trainer.measure)  # type: ignore[method-assign]
        session.fix_scale()
        begin = time.perf_counter()
        session.evaluate_and_record("before")
        session.train()
        whole = time.perf_counter() - begin
    return {"run_seconds": whole, **{name: value / whole for name, value in seconds.items()}}


OPERATIONS = {  # what PyTorch's profiler calls them
    "matrix products": ("aten::mm", "aten::addmm", "aten::bmm"),
    "attention": (
        "aten::_scaled_dot_product_flash_attention_for_cpu",
        "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
    ),
    "one number at a time (norms, activations, rotations, softmax)": (
        "aten::mul",
        "aten::add",
        "aten::add_",
        "aten::sub",
        "aten::div",
        "aten::neg",
        "aten::pow",
        "aten::exp",
        "aten::silu",
        "aten::silu_backward",
        "aten::rsqrt",
        "aten::sum",
        "aten::mean",
        "aten::logsumexp",
        "aten::_log_softmax",
        "aten::cumsum",
        "aten::where",
    ),
    "copies, gathers, fills": (
        "aten::cat",
        "aten::copy_",
        "aten::fill_",
        "aten::index",
        "aten::gather",
        "aten::embedding_dense_backward",
        "aten::_index_put_impl_",
        "aten::index_put_",
        "aten::slice_backward",
        "aten::clone",
    ),
    "optimizer": ("aten::_fused_adamw_", "aten::_foreach_norm", "aten::linalg_vector_norm", "aten::mul_"),
}


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
    spent = {item.key: item.self_cpu_time_total for item in recorded.key_averages()}
    whole = sum(spent.values())
    shares = {kind: sum(spent.get(name, 0.0) for name in names) / whole for kind, names in OPERATIONS.items()}
    return {**shares, "dispatch, autograd, Python and the rest": 1 - sum(shares.values())}


def resident_bytes() -> int:
    """Memory of this process now."""
    import psutil

    return int(psutil.Process().memory_info().rss)


def peak_bytes() -> int:
    """Most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


# -- the report ------------------------------------------------------------------------------------------------------


def in_process(*arguments: str) -> dict[str, Any]:
    """Run this file with other arguments; its last line of output is JSON."""
    from playground.runs.children import torch_environment

    environment = {**torch_environment(), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, __file__, *arguments], env=environment, cwd=PROJECT, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def summary(rounds: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Medians of both engines, all single figures, and the ratios, each taken within its round."""
    report: dict[str, Any] = {}
    for engine, items in rounds.items():
        seconds = [item["seconds_per_update"] for item in items]
        report[engine] = {
            "seconds_per_update": statistics.median(seconds),
            "all_seconds": [round(value, 4) for value in seconds],
            "episodes_per_second": BATCH / statistics.median(seconds),
            "phases": {name: statistics.median(item["phases"][name] for item in items) for name in items[0]["phases"]},
            "peak_mb_added": statistics.median(item["peak_bytes_added"] for item in items) / 1e6,
            "completion_length": statistics.median(item["completion_length"] for item in items),
            "threads": items[0]["threads"],
        }
    ours, theirs = rounds["playground"], rounds["trl"]
    pairs = list(zip(ours, theirs, strict=True))
    report["speed_ratio"] = statistics.median(b["seconds_per_update"] / a["seconds_per_update"] for a, b in pairs)
    report["memory_ratio"] = statistics.median(a["peak_bytes_added"] / b["peak_bytes_added"] for a, b in pairs)
    report["times_floor"] = statistics.median(
        item["seconds_per_update"] / sum(item["floor_seconds"].values()) for item in ours
    )
    report["times_floor_by_phase"] = {
        phase: statistics.median(item["phases"][phase] / item["floor_seconds"][phase] for item in ours)
        for phase in ours[0]["floor_seconds"]
    }
    report["gflops_per_second"] = statistics.median(item["flops_per_second"] for item in ours) / 1e9
    return report


def machine() -> dict[str, str]:
    """Where and with what this was measured."""
    from playground.setup.devices import available_cores

    versions = {name: version_of(name) for name in ("torch", "transformers", "trl")}
    commit = ""
    with contextlib.suppress(OSError):  # no git here
        asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=PROJECT, capture_output=True, text=True)
        commit = asked.stdout.strip()
    return {
        "processor": processor_name(),
        "cores": str(available_cores()),
        "python": platform.python_version(),
        **versions,
        "commit": commit or "unknown",
        "date": time.strftime("%Y-%m-%d"),
    }


def version_of(package: str) -> str:
    """Of an installed package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def page(report: dict[str, Any]) -> str:
    """docs/performance.md."""
    facts = report["machine"]
    rows, floors = [], []
    for case, item in sorted(report["cases"].items(), key=lambda pair: list(CASES).index(pair[0])):
        ours, theirs = item["playground"], item["trl"]
        rows.append(
            f"| {case} | {ours['episodes_per_second']:.1f} | {theirs['episodes_per_second']:.1f} | "
            f"**{item['speed_ratio']:.2f}x** | {ours['peak_mb_added']:.0f} | {theirs['peak_mb_added']:.0f} | "
            f"**{item['memory_ratio']:.2f}x** |"
        )
        by_phase = item["times_floor_by_phase"]
        floors.append(
            f"| {case} | {ours['phases']['rollout']:.2f} | {ours['phases']['score']:.3f} | "
            f"{ours['phases']['update']:.2f} | {by_phase['rollout']:.1f}x | {by_phase['update']:.1f}x | "
            f"**{item['times_floor']:.2f}x** | {item['gflops_per_second']:.0f} |"
        )
    looking = report["looking"]
    together = looking["evaluation"] + looking["metrics"] + looking["logging"]
    shares = "; ".join(f"{kind} {share:.0%}" for kind, share in report["profile"].items())
    profile = (
        f"Where the time of an update of pocket-2m at 4 epochs goes: {shares}. With 192 features a product is soon "
        "done, and the work between two products, which moves as many numbers and multiplies few, weighs as much; "
        "products of so few rows run below the rate of a large one; a model ten times as large is nearer to its floor."
    )
    return f"""# Speed and memory

Written by `make bench` ({facts["date"]}, commit {facts["commit"]}): {facts["processor"]}, {facts["cores"]} cores,
Python {facts["python"]}, torch {facts["torch"]}, transformers {facts["transformers"]}, TRL {facts["trl"]}. Every
measurement is a process of its own; the two engines take turns; medians of {report["rounds"]} rounds, ratios within a
round. All single figures are in `bench/results/speed.json`.

## Against TRL 1.12's `PPOTrainer`

Same model, same prompts, {BATCH} episodes an update, at most {NEW_TOKENS} new tokens, one optimizer step an epoch in
two micro-batches, rule reward, float32. TRL is spared most of the garbage collections that it asks for (`gc.freeze()`
after the imports). The memory is what training adds at its peak to the loaded libraries.

| | ours, episodes/s | TRL, episodes/s | ours is | ours, MB | TRL, MB | ours takes |
|---|---|---|---|---|---|---|
{chr(10).join(rows)}

TRL trains a full value model beside the policy, computes the LM head on prompt tokens too, keeps the logits of a whole
batch, and steps once an epoch whatever the number of minibatches (docs/trl.md). Ours shares the trunk and computes
logits only where a completion token is predicted. With a *critic of its own* (`model.critic: separate`) ours trains a
second trunk too: those rows compare like with like.

## Against the arithmetic

The floor is what the matrix products of one update take, without padding, at the rate that this machine reaches on a
product of two 512 x 512 squares with the same threads (last column, GFLOP/s; measured between the updates). Everything
above 1x is padding, small shapes, memory traffic and Python.

| | rollout, s | score, s | optimise, s | rollout, x floor | optimise, x floor | update, x floor | GFLOP/s |
|---|---|---|---|---|---|---|---|
{chr(10).join(floors)}

{textwrap.fill(profile, 120)}

## What looking costs

In a run of the default preset ({looking["run_seconds"]:.0f} s after loading): evaluating the fixed prompts
{looking["evaluation"]:.1%}, computing metrics {looking["metrics"]:.1%}, writing them {looking["logging"]:.1%};
together {together:.1%}.

{real_speed_section.latest()}
{load_section.latest()}
{gpu_section.latest()}"""


if __name__ == "__main__":
    main()
