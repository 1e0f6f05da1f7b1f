"""docs/performance.md, from what speed.py, real_speed.py, page_load.py and tests/nightly/test_gpu.py have measured.
Each of them writes the whole page. Knows figures only."""

from __future__ import annotations

import json
import re
from typing import Any

from bench import tables
from bench.experiments import RESULTS, Row

ENGINES = {
    "bf16": "ours, LoRA, bf16",
    "fp32": "ours, LoRA, fp32",
    "all": "ours, all weights, fp32",
    "trl": "TRL, all weights, fp32",
}
PARTS = ("write", "compare", "learn")
BATCH = 16  # of the real model
LOADS = {"cold": "cold", "warm": "warm", "slow cold": "cold, slow computer", "slow warm": "warm, slow computer"}
WHERE_TIME_GOES = """
Where the time of an update of pocket-2m at 4 epochs goes: {shares}. With 192 features products are small, so what lies
between them weighs as much; a model ten times as large is nearer to its floor.
"""
START = """
From Start to the first update of `{preset}` with {batch} episodes of at most {tokens} tokens: **{seconds:.0f} s**
(median of {each}), including {texts} texts of the reference. The middle one: {named} s.
"""


def read(name: str) -> Row:
    """What a command has measured."""
    report: Row = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return report


def keep(name: str, report: Row) -> None:
    """Keep what was measured, and write the page."""
    (RESULTS / f"{name}.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    tables.write("performance", page())


def page() -> str:
    """docs/performance.md."""
    report = read("speed")
    looking = report["looking"]
    shares = "; ".join(f"{kind} {share:.0%}" for kind, share in report["profile"].items())
    return tables.page(
        "performance",
        **report["machine"],
        rounds=report["rounds"],
        speeds=tables.lines(speed(case, item) for case, item in report["cases"].items()),
        floors=tables.lines(floor(case, item) for case, item in report["cases"].items()),
        profile=tables.filled(WHERE_TIME_GOES.format(shares=shares)),
        looking=looking,
        together=looking["evaluation"] + looking["metrics"] + looking["logging"],
        real=real(read("real_speed")),
        load=load(read("load")),
        gpu=gpu(read("gpu")),
    )


def section(name: str, **values: Any) -> str:
    """A part of the page, its paragraphs filled once the values stand in them."""
    parts = tables.page(name, **values).strip().split("\n\n")
    wrapped = [part if re.match(r"[#|-]", part) else tables.filled(part) for part in parts]
    return "\n\n".join(wrapped)


# -- against TRL ------------------------------------------------------------------------------------------------------


def speed(case: str, item: Row) -> list[str]:
    """A line of the first table."""
    ours, theirs = item["playground"], item["trl"]
    return [
        case,
        f"{ours['episodes_per_second']:.1f}",
        f"{theirs['episodes_per_second']:.1f}",
        f"**{item['speed_ratio']:.2f}x**",
        f"{ours['peak_mb_added']:.0f}",
        f"{theirs['peak_mb_added']:.0f}",
        f"**{item['memory_ratio']:.2f}x**",
    ]


def floor(case: str, item: Row) -> list[str]:
    """A line of the second."""
    phases, times = item["playground"]["phases"], item["times_floor_by_phase"]
    return [
        case,
        f"{phases['rollout']:.2f}",
        f"{phases['score']:.3f}",
        f"{phases['update']:.2f}",
        f"{times['rollout']:.1f}x",
        f"{times['update']:.1f}x",
        f"**{item['times_floor']:.2f}x**",
        f"{item['gflops_per_second']:.0f}",
    ]


# -- a real model -----------------------------------------------------------------------------------------------------


def real(report: Row) -> str:
    """The section about it."""
    engines = {kind: report["updates"][kind] for kind in ENGINES if kind in report["updates"]}
    ours = {kind: item for kind, item in engines.items() if kind != "trl"}
    speeds = {kind: item["floors"]["operations_per_second"] / 1e9 for kind, item in ours.items() if kind != "all"}
    return section(
        "real-speed",
        **report["machine"],
        rounds=report["rounds"],
        starts="\n\n".join(start(item) for item in report["start"]),
        updates=tables.lines(update(kind, item) for kind, item in engines.items()),
        floors=tables.lines(beside_floor(kind, item) for kind, item in ours.items()),
        rates=", ".join(f"{speed:.0f} GFLOP/s in {kind}" for kind, speed in speeds.items()),
        gigabytes=ours["fp32"]["floors"]["bytes_per_second"] / 1e9,
        error=report["error"],
    )


def start(item: Row) -> str:
    """From Start to the first update."""
    named = ", ".join(f"{name} {seconds:.1f}" for name, seconds in item["phases"].items())
    each = ", ".join(f"{seconds:.1f}" for seconds in item["all_seconds"])
    return START.format(**item, each=each, named=named).strip()


def update(kind: str, item: Row) -> list[str]:
    """A line about an update."""
    speed_ratio, memory_ratio = (
        f"**{item[name]:.2f}x**" if name in item else "" for name in ("speed_ratio", "memory_ratio")
    )
    seconds, megabytes = item["seconds"], item["peak_bytes"] / 1e6
    return [
        ENGINES[kind],
        f"{seconds:.1f}",
        f"{BATCH / seconds:.2f}",
        speed_ratio,
        f"{megabytes:.0f}",
        memory_ratio,
    ]


def beside_floor(kind: str, item: Row) -> list[str]:
    """A line about the parts of an update."""
    spent, floors = item["parts"], item["floors"]
    seconds = [f"{spent[part]:.2f} ({floors[part]:.2f})" for part in PARTS]
    times = [f"**{spent[part] / floors[part]:.1f}x**" for part in PARTS]
    return [ENGINES[kind], *seconds, *times]


# -- a load of the page -----------------------------------------------------------------------------------------------


def load(report: Row) -> str:
    """The section about it."""
    lines = []
    for case, name in LOADS.items():
        item = report["cases"][case]
        kilobytes, seconds = f"{item['bytes'] / 1000:.0f}", f"{item['usable_seconds']:.1f}"
        lines.append([name, kilobytes, f"{item['requests']:.0f}", seconds, f"{item['busy']:.0%}"])
    kinds = sorted(report["cases"]["cold"]["kinds"].items(), key=lambda pair: -pair[1])
    return section(
        "load",
        **report["machine"],
        **report["how"],
        loads=tables.lines(lines),
        kinds=", ".join(f"{name} {count / 1000:.0f} kB" for name, count in kinds),
    )


# -- a GPU ------------------------------------------------------------------------------------------------------------


def gpu(report: Row) -> str:
    """The section about it."""
    cases = report["cases"]
    measured = {name: updates_of(item) for name, item in cases.items()}
    lines = []
    for name, forms in measured.items():
        lines += [gpu_update(f"{name}, {form}", item) for form, item in forms.items()]
    ours, theirs = cases["0.5B"]["fp32"], cases["0.5B, TRL"]["fp32"]
    other = [name for name in cases if not measured[name] and name != "preset"]
    left = [name for name in other if cases[name]["outcome"] != "ok"]
    return section(
        "gpu",
        **report["machine"],
        updates=tables.lines(lines),
        ratio=theirs["seconds_per_update"] / ours["seconds_per_update"],
        memory=ours["peak_gb"] / theirs["peak_gb"],
        preset=cases["preset"],
        tried="; ".join(name for name in other if name not in left),
        left="; ".join(left),
    )


def updates_of(case: Row) -> Row:
    """The forms in which a case has measured updates."""
    return {form: item for form, item in case.items() if isinstance(item, dict) and "episodes_per_second" in item}


def gpu_update(name: str, item: Row) -> list[str]:
    """A line about an update."""
    return [
        name,
        f"{item['episodes_per_second']:.1f}",
        f"{item['seconds_per_update']:.2f}",
        f"{item['rollout_share']:.0%}",
        f"{item['peak_gb']:.1f}",
        f"{item['estimated_gb']:.1f}" if "estimated_gb" in item else "",
        f"{item['times_floor']:.1f}x" if "times_floor" in item else "",
    ]


if __name__ == "__main__":
    tables.write("performance", page())
