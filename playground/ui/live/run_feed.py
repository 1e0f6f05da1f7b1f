"""One run as the page needs it, read step by step: what there is when it is opened, and what is new since then.

Knows run directories and `wire`; nothing of viewers, HTTP or gradio. `feed` has one of these for each watched run.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from playground.config import RunConfig
from playground.errors import InvalidConfig
from playground.insight import before_after, meters
from playground.insight.diagnosis.run_records import Thresholds
from playground.rewards.mixture import term_names
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import JsonlTail
from playground.runs.folder.records import (
    RESUMED,
    Evaluation,
    Event,
    Resumption,
    Sample,
    UpdateMetrics,
    events_in_force,
    in_force,
    resumptions,
)
from playground.runs.start.fork import parent_of
from playground.runs.steer import changes
from playground.setup import catalog
from playground.ui.live import standing, wire, wire_behaviours, wire_lamps, wire_rewards
from playground.ui.train import frontier_part

MAX_EVENTS = 500  # of each kind
RECORDED_ID = "_recorded"  # not a possible run id, so it can never hide a run


def recorded_id(preset: str) -> str:
    """The id under which the page shows the recording of a preset; that of the default preset is the short one."""
    return RECORDED_ID if preset == catalog.DEFAULT_PRESET else f"{RECORDED_ID}-{preset}"


class RunFeed:
    """One run as the page needs it: columns of metrics, evaluations, events. `poll` reads what is new."""

    def __init__(self, run: RunDirectory, *, recorded: bool = False) -> None:
        self.run = run
        self.recorded = recorded
        self.id = recorded_id(run.id) if recorded else run.id
        self.config = run.config()
        self.status: dict[str, Any] = {}
        self.rewritten = 0  # how often the run was taken up again, so that what was shown no longer holds
        self._ended_seen = False
        self._status_key: tuple[Any, ...] = ()
        self._label = run.label()
        self.forked = parent_of(run.all_events()) is not None  # a run begins as one
        self._begin()

    def _begin(self) -> None:
        """Nothing has been read yet."""
        run = self.run
        self.columns = wire.new_columns(term_names(self.config.rewards))
        self.metrics: list[UpdateMetrics] = []
        self.happened: list[Event] = []
        self.samples: list[Sample] = []
        self.behaviours: dict[str, Any] | None = None  # as counted when the last samples were read
        self.lamps: list[dict[str, Any]] | None = None  # as they were then
        self.evaluations: list[Evaluation] = []
        self.events: list[dict[str, Any]] = []
        self.edits: list[changes.Edit] = []
        self._resumed: list[Resumption] = []
        self._tails = {
            "metrics": JsonlTail(run.metrics_path),
            "samples": JsonlTail(run.samples_path),
            "evaluations": JsonlTail(run.evaluations_path),
            "events": JsonlTail(run.events_path),
        }

    @property
    def ended(self) -> bool:
        """True once the run has ended and everything it wrote has been read."""
        return bool(self.status.get("ended")) and self._ended_seen

    def poll(self) -> dict[str, Any] | None:
        """Read what is new since the last call, as the content of a delta; None if nothing is."""
        status = self.run.status()  # first: whatever was written before an end is then surely read below
        delta: dict[str, Any] = {}
        happened = self._tails["events"].read_records(Event)
        if any(event.kind == RESUMED for event in happened):
            self._begin()  # what was read of superseded updates goes: all is read once more
            self.rewritten += 1
            happened = self._tails["events"].read_records(Event)
            self._resumed = resumptions(happened)
        self.happened += happened
        if events := self._events(events_in_force(happened)):
            self.events = _newest(self.events + events)
            delta["events"] = events
        before = len(self.columns["update"])
        metrics = in_force(self._tails["metrics"].read_records(UpdateMetrics), self._resumed)
        self.metrics += metrics
        for record in metrics:
            wire.append(self.columns, record)
        if metrics:
            start = max(0, min(before, len(self.columns["update"]) - len(metrics)))
            delta["metrics"] = {name: values[start:] for name, values in self.columns.items()}
            delta["farmed"] = wire_rewards.farmed(self.columns, self.config)
        samples = in_force(self._tails["samples"].read_records(Sample), self._resumed)
        if samples:
            self.samples += samples
            delta.update(self._evaluations(min(item.update for item in samples)))
            delta["judged"] = wire_rewards.judged(self.samples, self.config)
            self.behaviours = wire_behaviours.measured(self.samples, self.config, self.current_config())
            delta["behaviours"] = self.behaviours
        if metrics and not before:
            delta["regimes"] = self._regimes()
        if samples or (status.ended and not self._ended_seen):
            self.lamps = delta["lamps"] = self.lamps_at()
        if evaluations := in_force(self._tails["evaluations"].read_records(Evaluation), self._resumed):
            self.evaluations += evaluations
            delta["text"] = wire.text_perplexity(self.evaluations)
        if (label := self.run.label()) != self._label:
            self._label, delta["run"] = label, wire.names(self.config, label)
        stands = standing.of(self.run, status)
        key = (
            status.state, status.phase, status.message, status.update, status.num_updates, status.attempt, stands.key
        )  # fmt: skip
        if key != self._status_key or metrics:
            self._status_key = key
            outcome = self._outcome() if status.ended else ""
            self.status = wire.status_data(status, self.columns, outcome, stands)
            delta["status"] = self.status
        self._ended_seen = status.ended
        return delta or None

    def lamps_at(self, at: Thresholds = wire_lamps.USUAL) -> list[dict[str, Any]] | None:
        """Is it healthy, by these thresholds?"""
        happened = events_in_force(self.happened)
        return wire_lamps.lamps(self.current_config(), self.metrics, self.samples, happened, at)

    def _regimes(self) -> dict[str, Any] | None:
        """What its sliders of beta say; a recording has none."""
        if self.recorded or not self.metrics:  # before the first update not all of it is known
            return None
        return frontier_part.regimes_in(self.config, self.samples, self.metrics)

    def _outcome(self) -> str:
        batches = before_after.of_batches(*(self.columns[name] for name in ("update", "score_mean", "kl_to_reference")))
        return meters.outcome_words(self.config, self.samples, batches, edited=bool(self.edits))

    def snapshot(self) -> dict[str, Any]:
        """Everything so far: of the evaluations the first and the newest (a recorded run brings all, to be played)."""
        grouped = wire.moments(self.samples)
        wanted = list(grouped) if self.recorded else sorted({*list(grouped)[:1], *list(grouped)[-1:]})
        status = self.status_now()
        return {
            "run": wire.run_summary(
                self.id,
                self.config,
                self.run.label(),
                recorded=self.recorded,
                can_ask=not self.recorded and self.run.latest_checkpoint() is not None,
                forked=self.forked,
            ),
            "regimes": self._regimes(),
            "status": status,
            "live": {} if self.recorded or status["ended"] else wire.live_values(self.current_config()),
            "metrics": wire.thinned(self.columns),
            "text": wire.text_perplexity(self.evaluations),
            "farmed": wire_rewards.farmed(self.columns, self.config),
            "judged": wire_rewards.judged(self.samples, self.config),
            "behaviours": self.behaviours,
            "lamps": self.lamps,
            "events": self.events,
            "prompts": wire.prompts(next(iter(grouped.values()), [])),
            "updates": list(grouped),
            "moments": [wire.moment(grouped[update]) for update in wanted],
        }

    def status_now(self) -> dict[str, Any]:
        """Where the run is now: what was read last says how long it had taken then."""
        if self.status.get("ended"):
            return self.status
        now = self.run.status()
        return wire.status_data(now, self.columns, standing=standing.of(self.run, now))

    def moment(self, update: int) -> dict[str, Any] | None:
        """One evaluation by its update."""
        found = wire.moments(self.samples).get(update)
        return wire.moment(found) if found else None

    def current_config(self) -> RunConfig:
        """The configuration with every change that was applied in mid-run."""
        try:
            return changes.edited(self.config, self.edits)
        except InvalidConfig:  # events that somebody wrote by hand; the page can live with the first values
            return self.config

    def _events(self, events: list[Event]) -> list[dict[str, Any]]:
        """What the page shows of new events; edits are kept."""
        self.edits += changes.edits_of(events)
        return [shown for event in events if (shown := wire.event_data(event, self.forked))]

    def _evaluations(self, since: int) -> dict[str, Any]:
        grouped = wire.moments(item for item in self.samples if item.update >= since)
        newest = max(grouped)
        shown = [wire.moment(grouped[newest])]
        data: dict[str, Any] = {"updates": sorted({item.update for item in self.samples}), "moments": shown}
        if min(grouped) == 0:
            data["prompts"] = wire.prompts(grouped[0])
            if newest != 0:
                shown.insert(0, wire.moment(grouped[0]))
        return data


def _newest(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the oldest of a kind of which there are too many: hundreds of checkpoints do not hide a warning."""
    spare = Counter(event["kind"] for event in events)
    spare.subtract(dict.fromkeys(spare, MAX_EVENTS))
    kept = []
    for event in events:
        if spare[event["kind"]] > 0:
            spare[event["kind"]] -= 1
        else:
            kept.append(event)
    return kept
