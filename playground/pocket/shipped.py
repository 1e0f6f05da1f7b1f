"""Which pocket models there are, where they lie, and what their cards say. Standard library only; loads no weights.

The catalog, the worker and the tests call it; `pretrain` writes what it reads.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

MODELS_DIR = Path(__file__).parent / "models"
DEFAULT_MODEL = "pocket-2m"
REQUIRED_FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "card.json")


class PocketShape(NamedTuple):
    """The architecture of one pocket size (Llama, tied embeddings) and how long it is trained."""

    hidden_size: int
    intermediate_size: int
    layers: int
    heads: int
    train_tokens: int
    peak_learning_rate: float


SHAPES: dict[str, PocketShape] = {
    "pocket-1m": PocketShape(128, 352, 4, 4, 9_000_000, 3e-3),
    "pocket-2m": PocketShape(192, 512, 4, 6, 12_000_000, 2e-3),
}
VOCAB_SIZE = 1280
MAX_POSITIONS = 128


def model_folder(name: str) -> Path:
    """The folder of a shipped pocket model. Raises KeyError for a name that is none."""
    if name not in SHAPES:
        raise KeyError(f"no pocket model is called {name!r}; there are {', '.join(SHAPES)}")
    return MODELS_DIR / name


def is_complete(folder: Path) -> bool:
    return all((folder / file).is_file() for file in REQUIRED_FILES)


def available() -> dict[str, Path]:
    """Shipped models with all their files: name -> folder."""
    return {name: folder for name in SHAPES if is_complete(folder := model_folder(name))}


def card(name: str) -> dict[str, Any]:
    """The card of a shipped model. Raises FileNotFoundError where it has not been made yet."""
    return json.loads((model_folder(name) / "card.json").read_text(encoding="utf-8"))
