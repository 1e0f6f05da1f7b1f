"""How one of several ranks ends the work of all: what the others are told, and what they raise. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping

Told = Mapping[str, str]  # why a rank has left: `reason` (see `runs.folder.end_reasons`) and `message`


class OtherLeft(Exception):
    """Another rank has left. `told`: why, by its rank; empty while that is not known yet."""

    def __init__(self, told: Mapping[int, Told] | None = None) -> None:
        super().__init__("; ".join(item["message"] for item in (told or {}).values()))
        self.told = dict(told or {})


class OtherLost(Exception):
    """Another rank does not answer: its process has ended, or the network between is gone."""
