"""The section of docs/performance.md about a real chat model, made from bench/results/real_speed.json. speed.py and
real_speed.py write it."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from bench import page_section

PROJECT = Path(__file__).resolve().parents[1]
RESULTS = PROJECT / "bench" / "results" / "real_speed.json"
TITLE = "## A real model"
NO_FIGURES = "`make bench-real` measures it; there are no figures yet."
NEXT = "## How the page loads"
WHAT = """
Written by `make bench-real` ({date}, commit {commit}): SmolLM2 135M Instruct (`make real-model`) on {processor},
{cores} cores, torch {torch}, transformers {transformers}, TRL {trl}. Before it measured, {load:.1f} processes wanted a
core.
"""
UPDATES = """
An update is 16 episodes of at most 32 new tokens after prompts in the chat template, one optimizer step of two
micro-batches and a rule as reward. Each has a process of its own; they took turns, rounds: {rounds}, of which these are
the medians, ratios within a round. LoRA has
rank 16. TRL's `PPOTrainer` trains all weights, in fp32, and a value model beside the policy: it is to be compared with
the row before it. The memory is what a process takes at its peak beside the loaded libraries.
"""
FLOOR = """
*Writing* is sampling, *comparing* the passes that give the KL, *learning* forward, backward and the optimizer. Their
floor is what no program can save, without padding: of writing the matrix products of the prompts, of what several have
in common once, and then for each token of the batch its matrix products or one reading of all weights from memory,
whichever takes longer; of comparing one pass of the reference and the LM head of both models; of learning the products
of forward and backward, in which weights that are frozen beside LoRA need no gradient. Taken at the rate of a product
of two 512 x 512 squares in the same type ({rates}) and of reading {gigabytes:.0f} GB/s, with the same threads, between
the updates. What ours does beyond it: in bf16 a pass of the policy's own, since the sampler's numbers are not those of
a training pass; one pass over up to 8 episodes after the step, for the update KL; padding, norms, activations and
casts.
"""
NAMES = {
    "bf16": "ours, LoRA, bf16",
    "fp32": "ours, LoRA, fp32",
    "all": "ours, all weights, fp32",
    "trl": "TRL, all weights, fp32",
}
PARTS = {"write": "writing", "compare": "comparing", "learn": "learning"}
BATCH = 16


def latest() -> str:
    """From the results on disk, if there are any."""
    return page_section.latest(RESULTS, section)


def put_into(page: Path, report: dict[str, Any]) -> None:
    """Write the section anew, or where it belongs if the page has none."""
    page_section.put_into(page, section(report), NEXT)


def section(report: dict[str, Any] | None) -> str:
    """In Markdown; of a report that lacks a part, the others."""
    if report is None:
        return f"{TITLE}\n\n{NO_FIGURES}\n"
    parts = [TITLE, _filled(WHAT.format(**report["machine"]))]
    parts += map(_start, report.get("start", []))
    parts += _updates(report["updates"], report["rounds"]) if "updates" in report else []
    parts += [_error(report["error"])] if "error" in report else []
    return "\n\n".join(parts) + "\n"


def _start(found: dict[str, Any]) -> str:
    phases = ", ".join(f"{name} {seconds:.1f}" for name, seconds in found["phases"].items())
    each = ", ".join(f"{seconds:.1f}" for seconds in found["all_seconds"])
    return _filled(
        f"From Start to the first update of `{found['preset']}` with {found['batch']} episodes of at most "
        f"{found['tokens']} tokens, as the page starts it: **{found['seconds']:.0f} s** (median of {each}). "
        f"{found['texts']} texts of the reference come before it. By what the run says that it does, in the middle "
        f"one: {phases} s."
    )


def _updates(found: dict[str, Any], rounds: int) -> list[str]:
    rows = []
    here = {kind: name for kind, name in NAMES.items() if kind in found}
    for kind, name in here.items():
        item = found[kind]
        ratios = [f"**{item[ratio]:.2f}x**" if ratio in item else "" for ratio in ("speed_ratio", "memory_ratio")]
        rows.append(
            f"| {name} | {item['seconds']:.1f} | {BATCH / item['seconds']:.2f} | {ratios[0]} | "
            f"{item['peak_bytes'] / 1e6:.0f} | {ratios[1]} |"
        )
    beside = []
    for kind in [*here][:-1]:
        spent, floors = found[kind]["parts"], found[kind]["floors"]
        cells = [f"{spent[part]:.2f} ({floors[part]:.2f})" for part in PARTS]
        times = [f"**{spent[part] / floors[part]:.1f}x**" for part in PARTS]
        beside.append(f"| {NAMES[kind]} | {' | '.join(cells + times)} |")
    rates = ", ".join(
        f"{found[kind]['floors']['operations_per_second'] / 1e9:.0f} GFLOP/s in {kind}"
        for kind in ("bf16", "fp32")
        if kind in found
    )
    gigabytes = found["fp32"]["floors"]["bytes_per_second"] / 1e9
    titles = [f"{part}, s (floor)" for part in PARTS.values()] + [f"{part}, x floor" for part in PARTS.values()]
    return [
        _filled(UPDATES.format(rounds=rounds)),
        "\n".join(["| | s an update | episodes/s | as fast as TRL | MB | of TRL's MB |", "|---" * 6 + "|", *rows]),
        "\n".join([f"| | {' | '.join(titles)} |", "|---" * 7 + "|", *beside]),
        _filled(FLOOR.format(rates=rates, gigabytes=gigabytes)),
    ]


def _error(found: dict[str, float]) -> str:
    return _filled(
        f"Log-probs in bf16 are {found['mean']:.3f} nats from those in fp32 on average, at most {found['most']:.2f} "
        f"({found['tokens']:.0f} tokens sampled at temperature 1, the same pass in both)."
    )


def _filled(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 120, break_on_hyphens=False)
