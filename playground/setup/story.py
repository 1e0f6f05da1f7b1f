"""The presets that ship with their model as one story (presets/story.csv): in which order, held against what, and what
to look for. The words and figures are those of the recordings in ui/recorded. `catalog` and the Train page ask here."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

PATH = Path(__file__).parents[2] / "presets" / "story.csv"


class StoryStep(NamedTuple):
    """One experiment of the story: its preset, the earlier one to hold it against, and what to look for there."""

    preset: str
    against: str
    look: str


with open(PATH, encoding="utf-8", newline="") as _file:
    STORY = tuple(StoryStep(**row) for row in csv.DictReader(_file))
