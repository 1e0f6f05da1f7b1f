"""One update as a click on its point of a curve opens it: its scores as a histogram and a few of its training texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from playground.config import RunConfig
from playground.errors import RunNotFound
from playground.runs.folder.attempts import Resumption
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import is_kept
from playground.runs.folder.rollout_records import RolloutIndex
from playground.ui.feed.run_serializer import plain

OFF = "This run keeps no texts of its updates: that is switched off by evaluation.rollout_texts."
BEFORE = "This run was made before updates kept their texts."
NONE_YET = "No update has been made yet."


def keeps_rollouts(run: RunDirectory, config: RunConfig, begun: bool) -> bool:
    """Whether a run has texts of its updates; one that has not `begun` its updates, whether it will have."""
    return is_kept(run.rollouts_path) or (config.evaluation.rollout_texts > 0 and not begun)


class Rollouts:
    """Those of one run, each read when it is asked for."""

    def __init__(self, run: RunDirectory, config: RunConfig) -> None:
        self._run, self._config = run, config
        self._index = RolloutIndex(run.rollouts_path)

    def data(self, update: int | None, resumed: Sequence[Resumption]) -> dict[str, Any]:
        """One update, with the neighbours of which there is something too; None: the newest. Raises: RunNotFound, with
        the reason why there is none."""
        known = self._index.updates(resumed)
        wanted = known[-1] if update is None and known else update
        found = None if wanted is None else self._index.read(wanted, resumed)
        if found is None:
            raise RunNotFound(self._why_none(wanted, known))
        return {
            "update": found.update,
            "histogram": plain(found.histogram),
            "texts": plain(found.texts),
            "previous": max((other for other in known if other < found.update), default=None),
            "next": min((other for other in known if other > found.update), default=None),
        }

    def _why_none(self, update: int | None, known: Sequence[int]) -> str:
        if known:
            return f"No texts were kept of update {update}; there are some of updates {known[0]} to {known[-1]}."
        if not self._config.evaluation.rollout_texts:
            return OFF
        return BEFORE if self._run.status().update else NONE_YET
