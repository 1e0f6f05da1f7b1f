"""One run as the page needs it, read step by step: what exists when it is opened, and what is new since then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from playground.analysis import examples
from playground.analysis.run_report import RunReport
from playground.rewards.mixture import term_names
from playground.runs.folder.attempts import Resumption, events_in_force, in_force, resumptions
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import JsonlTail
from playground.runs.folder.records import RESUMED, Evaluation, Event, Record, Sample, Status, UpdateMetrics
from playground.runs.folder.rollouts import Rollouts
from playground.runs.fork import parent_of
from playground.setup import catalog
from playground.ui.feed import insight_serializer, run_serializer, run_state
from playground.ui.payloads.inside import RolloutData
from playground.ui.payloads.insight import FrontierData, RunCheckData
from playground.ui.payloads.live import DeltaData, EventData, KnownData, MomentData, SnapshotData, StatusData
from playground.ui.train import frontier_part

MAX_EVENTS = 500  # of each kind
RECORDED_ID = "_recorded"  # not a possible run id, so it can never hide a run


def recorded_id(preset: str) -> str:
    """The id under which the page shows the recording of a preset; that of the default preset is the short one."""
    if preset == catalog.DEFAULT_PRESET:
        return RECORDED_ID
    return f"{RECORDED_ID}-{preset}"


class RunFeed:
    """One run as the page needs it: columns of metrics, evaluations, events. `poll` reads what is new."""

    def __init__(self, run: RunDirectory, *, recorded: bool = False) -> None:
        self.run = run
        self.recorded = recorded
        self.id = run.id
        if recorded:
            self.id = recorded_id(run.id)
        self.config = run.config()
        self.status: StatusData | None = None
        self.rewritten = 0  # how often the run was taken up again, so that what was shown no longer holds
        self._terms = term_names(self.config.rewards)
        self._ended_seen = False
        self._status_key: tuple[Any, ...] = ()
        self._label = run.label()
        self._rollouts = Rollouts(run, self.config)
        self.forked = parent_of(run.all_events()) is not None  # a run begins as one
        self._begin()

    def _begin(self) -> None:
        """Nothing has been read yet."""
        run = self.run
        self.columns = run_serializer.columns_of([], self._terms)
        self.metrics: list[UpdateMetrics] = []
        self.samples: list[Sample] = []
        self.evaluations: list[Evaluation] = []
        self.happened: list[Event] = []
        self.events: list[EventData] = []
        self._resumed: list[Resumption] = []
        nothing: dict[str, Any] = dict.fromkeys(("regimes", "judged", "behaviours", "alerts"))
        nothing |= {"farmed": "", "text": [], "prompts": [], "updates": []}
        self._known = cast(KnownData, nothing)  # each is sent whole when it changes
        self._tails: dict[type[Record], JsonlTail] = {
            UpdateMetrics: JsonlTail(run.metrics_path),
            Sample: JsonlTail(run.samples_path),
            Evaluation: JsonlTail(run.evaluations_path),
            Event: JsonlTail(run.events_path),  # last, so the event that begins an attempt is read with its records
        }

    @property
    def ended(self) -> bool:
        """True once the run has ended and everything it wrote has been read."""
        return self.status is not None and self.status["ended"] and self._ended_seen

    def poll(self) -> DeltaData | None:
        """Read what is new since the last call, as the content of a delta; None if nothing is."""
        status = self.run.status()  # first: whatever was written before an end is then surely read below
        new = self._read()
        if any(event.kind == RESUMED for event in new[Event]):
            self._begin()  # what was read of superseded updates goes: all is read once more
            self.rewritten += 1
            new = self._read()
            self._resumed = resumptions(new[Event])
        metrics, samples, evaluations = (
            in_force(new[kind], self._resumed) for kind in (UpdateMetrics, Sample, Evaluation)
        )
        delta: DeltaData = {
            **self._take_events(new[Event]),
            **self._take_samples(samples),
            **self._take_metrics(metrics),
        }
        if samples or (status.ended and not self._ended_seen):
            delta["alerts"] = insight_serializer.checks(self.report)
        if evaluations:
            self.evaluations += evaluations
            delta["text"] = run_serializer.text_perplexity(self.evaluations)
        if (label := self.run.label()) != self._label:
            self._label, delta["run"] = label, run_serializer.names(self.config, label)
        delta |= self._take_status(status, bool(metrics))
        self._ended_seen = status.ended
        self._known = cast(KnownData, {name: delta.get(name, value) for name, value in self._known.items()})
        return delta or None

    def _read(self) -> dict[type[Record], list[Any]]:
        return {kind: tail.read_records(kind) for kind, tail in self._tails.items()}

    def _take_events(self, happened: Sequence[Event]) -> DeltaData:
        self.happened += happened
        events = events_in_force(happened)
        events_data = [data for event in events if (data := run_serializer.event_data(event, self.forked))]
        self.events = _newest(self.events + events_data)
        if events_data:
            return {"events": events_data}
        return {}

    def _take_samples(self, samples: Sequence[Sample]) -> DeltaData:
        if not samples:
            return {}
        self.samples += samples
        grouped = run_serializer.moments(self.samples)
        updates, first_new = list(grouped), min(item.update for item in samples)
        begins = updates[:1] if first_new <= updates[0] else []
        report = self.report
        delta: DeltaData = {
            "updates": updates,
            "moments": [self._moment(grouped, update) for update in dict.fromkeys([*begins, updates[-1]])],
            "judged": insight_serializer.judged(report),
            "behaviours": insight_serializer.behaviours(report),
        }
        if begins:
            delta["prompts"] = run_serializer.prompts(grouped[updates[0]])
        return delta

    def _take_metrics(self, metrics: Sequence[UpdateMetrics]) -> DeltaData:
        if not metrics:
            return {}
        begins = not self.metrics
        self.metrics += metrics
        new = run_serializer.columns_of(metrics, self._terms)
        for name, values in new.items():
            self.columns[name] += values
        delta: DeltaData = {"metrics": new, "farmed": insight_serializer.farmed(self.columns, self.config)}
        if begins and not self.recorded:  # what sliders of beta say; before the first update not all of it is known
            delta["regimes"] = frontier_part.regimes_in(self.config, self.samples, self.metrics)
        return delta

    def _take_status(self, status: Status, learned: bool) -> DeltaData:
        state = run_state.of(self.run, status)
        fields = ("state", "phase", "message", "update", "num_updates", "attempt")
        key = (*(getattr(status, name) for name in fields), *state.key)
        if key == self._status_key and not learned:
            return {}
        self._status_key = key
        outcome = ""
        if status.ended:
            outcome = self.report.sentence
        self.status = run_state.added(run_serializer.status_data(status, self.columns, outcome), state)
        return {"status": self.status}

    @property
    def report(self) -> RunReport:
        """What it has come to, by what was read of it."""
        happened = events_in_force(self.happened)
        return RunReport(self.config, self.samples, self.metrics, happened, self.evaluations, label=self._label)

    def snapshot(self) -> SnapshotData:
        """Everything so far: of the evaluations the first and the newest (a recorded run brings all, to be played)."""
        grouped, status, label = run_serializer.moments(self.samples), self.status_now(), self.run.label()
        about = run_serializer.run_summary(self.id, self.config, label, recorded=self.recorded, forked=self.forked)
        updates = self._known["updates"]
        drawn = updates if self.recorded else dict.fromkeys(updates[:1] + updates[-1:])
        return {
            **self._known,
            "run": about,
            "status": status,
            "live": self.live_values(ended=status["ended"]),
            "metrics": run_serializer.thinned(self.columns),
            "events": self.events,
            "moments": [self._moment(grouped, update) for update in drawn],
        }

    def status_now(self) -> StatusData:
        """Where the run is now: what was read last says how long it had taken then. It has not ended before all that it
        wrote has been read: who hears of an end asks no more."""
        if self.status and self.status["ended"]:
            return self.status
        now = self.run.status()
        if self.status and now.ended:
            return self.status
        return run_state.added(run_serializer.status_data(now, self.columns), run_state.of(self.run, now))

    def moment(self, update: int) -> MomentData | None:
        """One evaluation by its update."""
        grouped = run_serializer.moments(self.samples)
        if update in grouped:
            return self._moment(grouped, update)
        return None

    def live_values(self, *, ended: bool) -> dict[str, Any]:
        """What can be changed now; of a recording, or once the run has ended, nothing."""
        if ended or self.recorded:
            return {}
        return run_serializer.live_values(self.report.config_now)

    def _moment(self, grouped: Mapping[int, list[Sample]], update: int) -> MomentData:
        first = min(grouped)
        ids: Sequence[int] = []
        if update > first:
            ids = examples.examples(self.config, grouped[first], grouped[update])
        return run_serializer.moment(grouped[update], ids)

    def rollout(self, update: int | None) -> RolloutData:
        """The training texts of an update, and its mean score; None: of the newest. Raises: RunNotFound."""
        rollout = run_serializer.rollout(self._rollouts.open(update, resumptions(self.happened)))
        means = dict(zip(self.columns["update"], self.columns["score_mean"], strict=True))
        mean = means.get(rollout["update"])  # none before its figures have come: they are written last
        return {**rollout, "mean": mean}

    def frontier(self) -> FrontierData:
        """Score against KL."""
        return insight_serializer.frontier(self.run, self.report, recorded=self.recorded)

    @property
    def lit(self) -> list[RunCheckData]:
        """The checks that are lit, as they were after the newest evaluation."""
        return [check for check in self._known["alerts"] or () if check["state"] in ("red", "amber")]


def _newest(events: Sequence[EventData]) -> list[EventData]:
    """Without the oldest of a kind of which there are too many: hundreds of checkpoints do not hide a warning."""
    count: Counter[str] = Counter()
    newest = []
    for event in reversed(events):
        count[event["kind"]] += 1
        if count[event["kind"]] <= MAX_EVENTS:
            newest.append(event)
    return newest[::-1]
