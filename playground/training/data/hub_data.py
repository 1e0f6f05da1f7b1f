"""Rows of a dataset of the Hugging Face hub, or of a local folder that is laid out as one, read as a stream: only the
first rows of a large dataset are fetched, and nothing is kept on the disk. What can be wrong is a single sentence.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from playground.errors import PromptsUnusable

MAX_ROWS = 50_000
MAX_CHARACTERS = 100_000_000
FORMS = ("parquet", "json", "csv", "text", "arrow")  # of `datasets`; others unpack archives, or decode what is in them
ARCHIVES = (".zip", ".tar", ".tgz", ".7z", ".rar", ".pkl", ".pickle", ".pt", ".pth", ".npy", ".npz", ".h5", ".hdf5")
MAX_FILES = 10_000
BATCH = 100
SENTENCES = {  # kinds of error, or what they say -> the field, and what to do
    ("Bad split", "Unknown split"): "split: {name} has no such split ({words}).",
    ("BuilderConfig", "Config name is missing"): "subset: {name} has no such subset, or several ({words}).",
    ("gated",): "source: {name} is gated. Accept its terms on its page, then log in with `hf auth login`.",
    ("DatasetNotFoundError",): "source: there is no dataset {name} on the hub, or it is private. Check the spelling.",
    ("OfflineModeIsEnabled",): "source: {name} is not on this machine, and the hub is switched off (HF_HUB_OFFLINE).",
    ("ConnectionError", "TimeoutError", "ConnectError", "HTTPError"): "source: the hub cannot be reached for {name}. "
    "Check the network, or use a local folder.",
}


class Rows:
    """The first rows of one split. `source`: `owner/name`, or a local folder. `subset`: a configuration, or a folder
    inside it. Raises: PromptsUnusable, if it is not there, or cannot be reached or read."""

    def __init__(self, source: str, subset: str | None, split: str) -> None:
        self.source = source
        self._name = f"the folder {source}" if Path(source).expanduser().is_dir() else source
        with self._as_refusal():
            self._stream = self._open(subset, split)
            first = next(iter(self._stream), None)
        if first is None:
            raise PromptsUnusable(f"prompts.source: the split `{split}` of {self._name} has no rows.")
        self.columns = tuple(first)

    def rows(self, columns: Sequence[str], count: int = MAX_ROWS) -> tuple[list[dict[str, Any]], bool]:
        """Up to `count` rows of some columns in the order of the dataset, and whether it goes on behind them.

        Values beyond MAX_CHARACTERS in all are not read either: a row of a dataset may be of any size.
        """
        records: list[dict[str, Any]] = []
        characters = 0
        with self._as_refusal():
            for batch in self._stream.select_columns(list(columns)).iter(batch_size=min(BATCH, count + 1)):
                for values in zip(*(batch[column] for column in columns), strict=True):
                    if len(records) == count or characters > MAX_CHARACTERS:
                        return records, True
                    records.append(dict(zip(columns, values, strict=True)))
                    characters += sum(len(value) if isinstance(value, str) else len(str(value)) for value in values)
        return records, False

    def _open(self, subset: str | None, split: str) -> Any:
        import datasets  # a second of imports

        datasets.disable_progress_bars()
        folder, path = Path(self.source).expanduser(), self.source
        if folder.is_dir():
            _refuse_archives(folder)
            path = str(folder.resolve())
        dataset = self._loaded(path, subset, split)
        form = str(getattr(dataset.info, "builder_name", None) or "unknown")
        if form not in FORMS:
            raise PromptsUnusable(
                f"prompts.source: {self._name} is kept in a form that is not read here ({form[:40]}). Use .parquet, "
                ".jsonl, .csv or .txt files."
            )
        return dataset

    def _loaded(self, path: str, subset: str | None, split: str) -> Any:
        import datasets

        if subset and (Path(subset).is_absolute() or ".." in Path(subset).parts):
            raise PromptsUnusable(f"prompts.subset: `{subset[:80]}` is not a folder inside {self._name}.")
        if (Path(path) / "state.json").is_file():  # one split, as `save_to_disk` writes it
            files = {split: f"{path}/*.arrow"}
            return datasets.load_dataset("arrow", data_files=files, split=split, streaming=True)
        try:
            return datasets.load_dataset(path, subset, split=split, streaming=True)
        except ValueError as no_configuration:
            if not subset or "BuilderConfig" not in str(no_configuration):
                raise
            with contextlib.suppress(FileNotFoundError):
                return datasets.load_dataset(path, data_dir=subset, split=split, streaming=True)
            raise

    @contextlib.contextmanager
    def _as_refusal(self) -> Iterator[None]:
        """Turn what `datasets` and the libraries below it raise into one sentence."""
        import pyarrow
        from huggingface_hub.errors import HTTPError  # the client's own, for anything between here and the hub

        unreadable = (OSError, ValueError, RuntimeError, KeyError, TypeError, HTTPError, pyarrow.ArrowException)
        try:
            yield
        except unreadable as error:
            raise PromptsUnusable(self._sentence(error)) from error

    def _sentence(self, error: Exception) -> str:
        text, kinds = str(error), {kind.__name__ for kind in type(error).__mro__}
        words = " ".join(text.split())[:200] or type(error).__name__
        for signs, sentence in SENTENCES.items():
            if kinds & {*signs} or any(sign in text for sign in signs):
                return f"prompts.{sentence.format(name=self._name, words=words)}"
        return f"prompts.source: {self._name} cannot be read: {words.rstrip('.')}."


def _refuse_archives(folder: Path) -> None:
    """Raises: PromptsUnusable if a folder holds files that would be unpacked, or opened as programs."""
    for number, path in enumerate(folder.rglob("*")):
        if number >= MAX_FILES:
            raise PromptsUnusable(f"prompts.source: the folder {folder} holds more than {MAX_FILES:,} files.")
        name = path.name.lower()
        if name.endswith(ARCHIVES) or ".tar." in name:
            raise PromptsUnusable(
                f"prompts.source: the folder {folder} holds {path.name[:80]}, which is not read here: unpack it, and "
                "use .parquet, .jsonl, .csv or .txt files."
            )
