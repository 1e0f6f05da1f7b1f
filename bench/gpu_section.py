"""The section of docs/performance.md about a GPU, made from bench/results/gpu.json. speed.py and gpu.py write it."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from bench import page_section

PROJECT = Path(__file__).resolve().parents[1]
RESULTS = PROJECT / "bench" / "results" / "gpu.json"
TITLE = "## On a GPU"
WHAT = """
`make bench-gpu` checks and measures on one NVIDIA GPU, within 8 minutes and in this order: log-probs against fp32 on
the CPU, and the sampler's against a plain pass; the default preset; a model of the shape of Qwen2 0.5B with random
weights, 64 episodes of 128 new tokens, ours against TRL, memory against the estimate; LoRA; pause, stop and
resume; what the page says of the GPU; one rank; a reward model; DPO; 8 and 4 bits; memory that runs out. It writes
bench/results/gpu.json after each. With `.venv/bin/python bench/gpu.py --toy --device cpu` its code is tried without a
GPU, as a test does.
"""
NO_FIGURES = "No GPU has run it yet, so there are no figures."


def latest() -> str:
    """From the results on disk, if there are any."""
    return page_section.latest(RESULTS, section)


def put_into(page: Path) -> None:
    """Write the section anew, which is the last of the page."""
    before = page.read_text(encoding="utf-8").partition(TITLE)[0]
    page.write_text(before + latest(), encoding="utf-8")


def section(report: dict[str, Any] | None) -> str:
    """In Markdown."""
    parts = [TITLE, WHAT.strip()]
    if report is None:
        return "\n\n".join([*parts, NO_FIGURES]) + "\n"
    facts, cases = report["machine"], report["cases"]
    parts.append(
        textwrap.fill(
            f"Measured {facts['date']}, commit {facts['commit']}: {facts['device']}, {facts['memory_gb']} GB, torch "
            f"{facts['torch']}, transformers {facts['transformers']}, TRL {facts['trl']}.",
            120,
        )
    )
    rows = [row for name, found in cases.items() if found["outcome"] == "ok" for row in _updates(name, found)]
    if rows:
        titles = "64 episodes of 128 tokens, 2 epochs|episodes/s|s an update|rollout|peak, GB|estimated, GB|x floor"
        parts.append("\n".join([f"| {titles.replace('|', ' | ')} |", "|---" * 7 + "|", *rows]))
    ours, theirs = (cases.get(name, {}).get("fp32") for name in ("0.5B", "0.5B, TRL"))
    if ours and theirs:
        ratio, memory = theirs["seconds_per_update"] / ours["seconds_per_update"], ours["peak_gb"] / theirs["peak_gb"]
        parts.append(f"In fp32 ours is **{ratio:.2f}x** as fast as TRL and takes **{memory:.2f}x** its memory.")
    told = [f"- **{name}**: {_told(found)}" for name, found in cases.items()]
    parts.append("\n".join(textwrap.fill(line, 120, subsequent_indent="  ") for line in told))
    return "\n\n".join(parts) + "\n"


def _updates(name: str, found: dict[str, Any]) -> list[str]:
    rows = []
    for form, item in found.items():
        if isinstance(item, dict) and "episodes_per_second" in item:
            floor = f"{item['times_floor']:.1f}x" if "times_floor" in item else ""
            estimated = f"{item['estimated_gb']:.1f}" if "estimated_gb" in item else ""
            rows.append(
                f"| {name}, {form} | {item['episodes_per_second']:.1f} | {item['seconds_per_update']:.2f} | "
                f"{item['rollout_share']:.0%} | {item['peak_gb']:.1f} | {estimated} | {floor} |"
            )
    return rows


def _told(found: dict[str, Any]) -> str:
    if found["outcome"] != "ok":
        return f"{found['outcome']}: {found['why']}"
    figures = {name: value for name, value in found.items() if name not in ("outcome", "seconds_of_case")}
    if _updates("", figures):
        return f"see the table ({found['seconds_of_case']} s)."
    return f"{'; '.join(f'{name} {_short(value)}' for name, value in figures.items())}."


def _short(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name} {_short(item)}" for name, item in value.items()) + ")"
    if isinstance(value, list):
        return "(" + ", ".join(map(_short, value)) + ")"
    return str(value) or "nothing"
