"""What can be said of a run by name: its figures, with how they read, for the conditions and sentences of a lesson."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from playground.analysis import pass_at
from playground.analysis.before_after import read_once
from playground.analysis.diagnosis import CHECKS
from playground.analysis.diagnosis.run_records import Records
from playground.analysis.run_report import RunReport
from playground.config import RunConfig, methods
from playground.config.behaviour_settings import BANDED
from playground.lessons import memory_facts, shapes
from playground.rewards import behaviours as counted
from playground.rewards import verify
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Status
from playground.setup import catalog, describe, expected

FIRST = "first."  # before a name: of the first run, where a second one is looked at
BEFORE = ".before"
HIGHEST = ".highest"  # of a count, at any evaluation
SHAPE = "shape."
LAMP = "lamp."
CHANCE = "score.chance"  # half of the 95 % interval of the gain over the fixed prompts
BAND = "band."  # band.PRESET.FIGURE, in a sentence: where runs of a preset end on other seeds
LOSS = "policy_loss"
APART = "disagreement"
NOTHING = 1e-4
NEWEST = 5  # updates of which a share of groups is the mean
GROUPS = {"all-right": "groups_all_right", "all-wrong": "groups_all_wrong"}  # name -> its column in metrics.jsonl
CURVES = {
    "score": "score_mean",
    "kl": "kl_to_reference",
    "penalised": "penalised_reward",
    "beta": "kl_coef",
    "entropy": "entropy",
    "length": "completion_length",
    "distinct": "distinct_2",
    "perplexity": "perplexity_reference",
    "clip_fraction": "clip_fraction",
    "explained_variance": "explained_variance",
    LOSS: "policy_loss",
    APART: "disagreement",
}  # name of a figure -> its column in metrics.jsonl
CHARTS = {  # what of the curves a lesson may name -> its column, or the key of its chart
    **CURVES,
    "monitors": "judged",
    "answers": "answers",
    "groups": "groups",
}
ALWAYS = ("score", CHANCE, "kl", "unchanged", "distinct", "length", "entropy", "perplexity", "updates", "minutes")
WITH_BEFORE = ("length", "entropy", "distinct")
LABELS = {
    "score": "gain in score",
    CHANCE: "gain that may be chance",
    "kl": "distance",
    "unchanged": "unchanged texts",
    "distinct": "word pairs that differ",
    "length": "length",
    "entropy": "entropy",
    "perplexity": "perplexity under the reference",
    "clip_fraction": "clipped tokens",
    "explained_variance": "explained variance",
    "beta": "leash",
    "penalised": "score less penalty",
    LOSS: "loss of the policy",
    APART: "disagreement of the judges",
    **{f"pass_{k}": f"one of {k} answers right" for k in pass_at.KS},
    "all-right": "groups that are all right",
    "all-wrong": "groups that are all wrong",
    "updates": "updates",
    "minutes": "time",
}
Facts = Mapping[str, "RunFact"]


class RunFact(NamedTuple):
    """A figure of a run, and how it reads in a sentence. What has words only is for sentences."""

    value: float | None
    words: str


@functools.lru_cache(maxsize=64)
def shares(config: RunConfig) -> dict[str, str]:
    """The behaviours that a run of these settings counts: name -> words. Of a preset that was measured, those of which
    there was something to count."""
    words_by_name = {behaviour.name: behaviour.words for behaviour in counted.of_config(config)}
    bands = expected.bands(describe.of(config).preset)
    return {name: words for name, words in words_by_name.items() if not bands or name in bands or name not in BANDED}


@functools.lru_cache(maxsize=64)
def known(config: RunConfig) -> set[str]:
    """The names of all facts that a run of these settings has, for conditions."""
    names = [*ALWAYS, *shares(config)]
    if methods.METHODS[config.method].in_own_loop:
        names.append("clip_fraction")
    if config.has_critic:
        names.append("explained_variance")
    if config.reads("kl.coef") and methods.METHODS[config.method].trains:
        names += ["beta", "penalised"]
    if methods.METHODS[config.method].trains:
        names += [LOSS, f"{LOSS}{BEFORE}"]
    if config.score.combine != "sum":
        names += [APART, f"{APART}{BEFORE}"]
    names += memory_facts.of_settings(config)
    names += checks_of(config)
    before = [f"{name}{BEFORE}" for name in (*WITH_BEFORE, *shares(config))]
    highest = [f"{name}{HIGHEST}" for name in shares(config)]
    return {*names, *before, *highest, *(f"{LAMP}{name}" for name in CHECKS)}


@functools.lru_cache(maxsize=64)
def curves(config: RunConfig) -> set[str]:
    """The figures whose curve a run of these settings draws."""
    return known(config) & CURVES.keys()


def charts(config: RunConfig) -> set[str]:
    """The curves of a run of these settings that a lesson may name to be in sight."""
    checked = checks_of(config)
    lines = {"monitors": config.judges, "answers": checked, "groups": set(GROUPS) & set(checked)}
    return curves(config) | {name for name, drawn in lines.items() if drawn}


def is_share(name: str, config: RunConfig) -> bool:
    """Whether it goes from 0 to 1, and is asked in percent."""
    of_memory = memory_facts.of_settings(config).keys() - {memory_facts.TOTAL}
    counts = {*shares(config), *checks_of(config), "unchanged", "distinct", "clip_fraction", *of_memory}
    return name.removesuffix(BEFORE).removesuffix(HIGHEST) in counts


def label(name: str, config: RunConfig) -> str:
    """What a fact is called."""
    return {**LABELS, **memory_facts.LABELS, **shares(config)}.get(name, name)


@read_once("config_path", "samples_path", "events_path", "metrics_path", "status_path", size=256)
def of_run(run: RunDirectory) -> dict[str, RunFact]:
    """All that is known of a run as it is on disk now. Raises: InvalidConfig."""
    report = RunReport.of(run)
    config = report.config
    facts = _of_fixed_prompts(report)
    for name, value in of_checks(report).items():
        facts[name] = RunFact(value, f"{100 * value:.0f} %")
    facts |= _of_status(report.status)
    facts |= _of_settings(config)
    facts |= _of_metrics(report, facts)
    for check in report.checks:
        words = "lit" if check.lit else "quiet"
        facts[f"{LAMP}{check.name}"] = RunFact(float(check.lit), words)
    shapes = {f"{SHAPE}{name}" for name in curves(config)}
    names = known(config) | shapes  # a new set: that of `known` is kept
    return {name: fact for name, fact in facts.items() if name in names}


def _of_fixed_prompts(report: RunReport) -> dict[str, RunFact]:
    facts: dict[str, RunFact] = {}
    if headline := report.headline:
        facts["score"] = RunFact(headline.gain, in_score(headline.gain, report.unit))
        if headline.high is not None:
            half = headline.high - headline.gain
            facts[CHANCE] = RunFact(half, in_score(half, report.unit)[1:])
        if headline.kl is not None:
            facts["kl"] = RunFact(headline.kl, f"{shortly(headline.kl)} nats")
    for meter in report.behaviours:
        top = max(meter.counts, key=lambda count: count.share)
        for suffix, count in (("", meter.after), (BEFORE, meter.before), (HIGHEST, top)):
            facts[f"{meter.name}{suffix}"] = RunFact(count.share, f"{count.yes} of {count.of}")
    if pairs := report.pairs:
        same = sum(pair.before.completion == pair.after.completion for pair in pairs)
        facts["unchanged"] = RunFact(same / len(pairs), f"{same} of {len(pairs)}")
    if outcome := report.outcome:
        for name, length in (("length", outcome.length_after), (f"length{BEFORE}", outcome.length_before)):
            facts[name] = RunFact(length, f"{length:.0f} tokens")
    return facts


def checks_of(config: RunConfig) -> list[str]:
    """The names of what is known where answers are checked."""
    if not verify.first_of((*config.rewards, *config.judges)):
        return []
    passes = [f"pass_{k}" for k in pass_at.KS if k <= config.evaluation.samples_per_prompt]
    groups = GROUPS if config.ppo.samples_per_prompt > 1 else ()
    return [f"{name}{end}" for name in (*passes, *groups) for end in ("", BEFORE)]


def of_checks(report: RunReport) -> dict[str, float]:
    """pass@k before and at the newest evaluation; the groups that are all right or all wrong, over the first and the
    newest five updates."""
    figures: dict[str, float] = {}
    for item in report.passes:
        figures |= {f"pass_{item.k}{BEFORE}": item.before.mean, f"pass_{item.k}": item.now.mean}
    for name, column in GROUPS.items():
        shares = [value for one in report.metrics if (value := getattr(one, column)) is not None]
        if shares:
            figures |= {f"{name}{BEFORE}": fmean(shares[:NEWEST]), name: fmean(shares[-NEWEST:])}
    return figures


def _of_settings(config: RunConfig) -> dict[str, RunFact]:
    return {name: RunFact(*fact) for name, fact in memory_facts.of_settings(config).items()}


def values(facts: Facts) -> dict[str, float | None]:
    """Without their words."""
    return {name: fact.value for name, fact in facts.items()}


def band_in_words(name: str) -> str:
    """Of `band.PRESET.FIGURE`: "+2.8 to +4.9 sd"; empty where it was not measured."""
    preset, _, figure = name.removeprefix(BAND).rpartition(".")
    band = expected.bands(preset).get(figure)
    if not band:
        return ""
    return expected.band_in_words(figure, band, catalog.preset(preset).score_unit)


def curve(run: RunDirectory, name: str) -> list[tuple[int, float]]:
    """A figure at each update at which it is known."""
    points = ((item.update, getattr(item, CURVES[name])) for item in run.metrics())
    return [(update, float(value)) for update, value in points if value is not None]


def shortly(value: float) -> str:
    """Three significant digits at most: 199, 8.4, 0.05; what is only the rounding of a computer is 0."""
    size = abs(value)
    if size < NOTHING:
        return "0"
    if size >= 100:
        return f"{value:,.0f}"
    if size >= 1:
        return f"{value:.1f}"
    return f"{value:.2g}"


def in_score(value: float, unit: str) -> str:
    """A difference of scores: "+3.9 sd", "+0.42 sd"."""
    return f"{value:+z.{expected.decimals(abs(value))}f} {unit}"


def _of_metrics(report: RunReport, found: Facts) -> dict[str, RunFact]:
    """What the updates have measured: over the newest ones; the clipped share over all, the critic's over a quarter."""
    records = Records(report.config, report.metrics)
    facts: dict[str, RunFact] = {}

    def add(name: str, series: Sequence[float], words: str) -> None:
        if series:
            mean = fmean(series)
            facts[name] = RunFact(mean, words.format(shortly(mean), percent=f"{100 * mean:.0f} %"))

    of = {name: [value for _, value in records.values(column)] for name, column in CURVES.items()}
    ways = {"distinct": "{percent}", "entropy": "{} nats per token", LOSS: "{}", APART: f"{{}} {report.unit}"}
    for name, words in ways.items():
        add(name, of[name][-5:], words)
        add(f"{name}{BEFORE}", of[name][:3], words)
    add("perplexity", of["perplexity"][-5:], "{}")
    add("clip_fraction", of["clip_fraction"], "{percent}")
    critic = of["explained_variance"]
    add("explained_variance", critic[-max(1, len(critic) // 4) :], "{}")
    for name, column in of.items():
        if column:
            shape = shapes.shape(name, column)
            facts[f"{SHAPE}{name}"] = RunFact(None, shape)
    if of["penalised"]:
        last = of["beta"][-1:]
        if report.config.kl.moves:
            last = of["beta"][-max(1, len(of["beta"]) // 3) :]
        beta = fmean(last)
        facts["beta"] = RunFact(beta, f"{beta:.3g}")
        if {"score", "kl"} <= found.keys():
            left = (found["score"].value or 0.0) - beta * (found["kl"].value or 0.0)
            facts["penalised"] = RunFact(left, in_score(left, report.unit))
    return facts


def _of_status(status: Status) -> dict[str, RunFact]:
    seconds = status.seconds_at_work()
    words = f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.1f} minutes"
    return {"updates": RunFact(status.update, str(status.update)), "minutes": RunFact(seconds / 60, words)}
