"""Having the texts drawn that a run's frontier is estimated from, on the page. inside/frontier.js asks and draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from playground.errors import PlaygroundError, in_words
from playground.runs import frontier_samples, history
from playground.runs.model_service import ModelService


def functions(outputs: Path, service: ModelService) -> list[Callable[[Any], dict[str, str]]]:
    """The server function that draws; it answers when all is drawn and kept."""

    def draw_frontier(asked: Any) -> dict[str, str]:
        """Draw for {run}: texts of its reference and its newest policy. Gives back an error, or an empty one."""
        asked = asked if isinstance(asked, Mapping) else {}
        try:
            run = history.find_run(outputs, str(asked.get("run")))
            for _ in frontier_samples.draw(run, service):
                pass
        except (PlaygroundError, OSError) as error:
            return {"error": in_words(error)}
        return {"error": ""}

    return [draw_frontier]
