"""Whether a run is to end before its last update, as `stop` in its settings asks: a sentence that says why, or nothing.

What it has written down decides, so one that was killed and resumed ends where it would have ended. The checks are
those that its reader sees, which is why this one module of the training may import `analysis`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from playground.config import RunConfig
from playground.rewards.mixture import mean_known
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.exit_reasons import EARLY
from playground.runs.folder.records import EDIT, Event, Sample, UpdateMetrics


def holds(events: Iterable[Event]) -> bool:
    """False for a run that was taken up after such an end: it goes on to its last update, unless a rule is changed."""
    ends = [event for event in events if event.data.get("reason") == EARLY]
    changed = [event for event in events if event.kind == EDIT and str(event.data.get("field")).startswith("stop.")]
    return not ends or bool(changed and changed[-1].time > ends[-1].time)


def after_update(config: RunConfig, update: UpdateMetrics) -> str:
    """Why it is to end after an update, whose texts the ceiling is held against."""
    most, kl = config.stop.kl, update.kl_to_reference
    if most is None or kl is None or kl <= most:
        return ""
    return f"Ended after update {update.update}: its KL of {kl:.3g} nats is above the ceiling of {most:g} (stop.kl)."


def after_evaluation(config: RunConfig, run: RunDirectory, done: int) -> str:
    """Why it is to end after an evaluation, which is on disk."""
    patience, samples = config.stop.patience, run.samples() if config.stop.patience or config.stop.on_red else []
    if patience:
        worth = worths(samples, config.kl.coef)
        best = max(worth, key=lambda update: worth[update], default=done)
        since = sum(update > best for update in worth)
        if since >= patience:
            count = f"{since} evaluation{'s' * (since > 1)}"
            return f"Ended after update {done}: {count} without a gain since update {best} (stop.patience)."
    if config.stop.on_red:
        from playground.analysis.diagnosis import diagnose  # half a second of imports
        from playground.analysis.diagnosis.run_records import Records

        alerts = diagnose(Records(config, run.metrics(), samples, run.events()))
        if red := [alert.label for alert in alerts if alert.state == "red"]:
            return f"Ended after update {done}: a check is red, \u201c{red[0]}\u201d (stop.on_red)."
    return ""


def worths(samples: Sequence[Sample], beta: float) -> dict[int, float]:
    """By update what an evaluation came to: the mean score less beta times the mean KL, as for the best checkpoint."""
    by_update = defaultdict[int, list[Sample]](list)
    for sample in samples:
        by_update[sample.update].append(sample)
    results = {}
    for update, answers in by_update.items():
        score, kl = mean_known(answer.score for answer in answers), mean_known(answer.kl for answer in answers)
        if score is not None:
            results[update] = score - beta * (kl or 0.0)
    return results
