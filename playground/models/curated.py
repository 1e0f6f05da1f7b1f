"""Models of the hub that the playground suggests: what each is good for, and its measures, known without a network.

They stand in curated.csv. The measures are those of each model's config.json; a test builds the architecture from them
and counts the weights. `catalog` offers them, `estimates` reckons with them before anything is downloaded.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

from playground.models.architectures import Architecture


class HubModel(NamedTuple):
    """One suggested model. `download_mb` is about the size of its weights; `preset` names its preset."""

    name: str
    label: str
    help: str
    licence: str
    architecture: Architecture
    download_mb: int
    chat_template: bool
    preset: str

    @property
    def size(self) -> str:
        """Weights and download, for reading: "124 million parameters, 548 MB"."""
        millions = self.architecture.parameters / 1e6
        count = f"{millions / 1000:.1f} billion" if millions >= 1000 else f"{millions:.0f} million"
        return f"{count} parameters, {self.download_mb:,} MB"


def _read() -> Iterator[HubModel]:
    sizes = [field.name for field in fields(Architecture) if field.name not in ("model_type", "tied")]
    with open(Path(__file__).with_suffix(".csv"), encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            measures = {name: int(row.pop(name)) for name in sizes}
            made = Architecture(model_type=row.pop("model_type"), tied=row.pop("tied") == "yes", **measures)
            size, chat = int(row.pop("download_mb")), row.pop("chat_template") == "yes"
            yield HubModel(architecture=made, download_mb=size, chat_template=chat, **row)


CURATED = tuple(_read())
BY_NAME = {model.name: model for model in CURATED}
