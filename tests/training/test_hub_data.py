"""Datasets through the function that hub ids take: folders laid out as hub repositories, and what can be wrong."""

import json
from pathlib import Path

import datasets
import pytest
import yaml
from huggingface_hub import errors

from playground.config import PromptsConfig
from playground.errors import PromptsUnusable
from playground.training.data import hub_data, prompts


def write(path, rows):
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def values(source, **fields):
    return prompts.read(PromptsConfig(source=str(source), **fields), 9, 0).values


def test_a_folder_inside_a_dataset_is_a_subset(tmp_path):
    for part in ("harmless-base", "helpful-base"):  # as Anthropic/hh-rlhf has them
        for split in ("train", "test"):
            rows = [{"chosen": f"\n\nHuman: {part} {split} {n}\n\nAssistant: x", "rejected": "y"} for n in range(4)]
            write(tmp_path / part / f"{split}.jsonl", rows)
    texts = values(tmp_path, subset="harmless-base", split="test")
    assert [text.split("\n")[2] for text in texts] == [f"Human: harmless-base test {n}" for n in range(4)]
    assert len(values(tmp_path)) == 8


def test_only_the_first_rows_are_read_and_that_is_said(tmp_path, monkeypatch):
    write(tmp_path / "train.jsonl", [{"prompt": str(n), "other": "b" * 9, "id": n} for n in range(5)])
    rows = hub_data.Rows(str(tmp_path), None, "train")
    assert [row["prompt"] for row in rows.rows(["prompt"], 3)[0]] == ["0", "1", "2"]
    assert (rows.rows(["prompt"], 3)[1], rows.rows(["prompt"], 5)[1]) == (True, False)
    monkeypatch.setattr(hub_data, "MAX_CHARACTERS", 15)
    assert rows.rows(["prompt", "other"]) == ([{"prompt": str(n), "other": "b" * 9} for n in range(2)], True)


TEXTS = yaml.safe_load(Path(__file__).with_name("hub_data.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("folder", "fields", "message"), TEXTS["faults"])
def test_a_fault_of_a_dataset_is_told_in_one_sentence(tmp_path, folder, fields, message):
    source = tmp_path / folder
    source.mkdir()
    for name, text in TEXTS["files"][folder].items():
        (source / name).write_text(text)
    with pytest.raises(PromptsUnusable, match=f"^{message}") as caught:
        values(source, **fields)
    assert str(source) in str(caught.value)
    assert "\n" not in str(caught.value)


CLIENT = type("ReadError", (errors.HTTPError,), {})  # which is no OSError
MISSING = datasets.exceptions.DatasetNotFoundError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (CLIENT("the connection is gone"), "cannot be reached"),
        (MISSING("Dataset 'a/b' is a gated dataset on the Hub."), "a/b is gated"),
        (MISSING("Dataset 'a/b' doesn't exist on the Hub or cannot be accessed."), "there is no dataset a/b"),
    ],
)
def test_an_error_of_the_hub_is_told_in_one_sentence(error, message, monkeypatch):
    def load(*_, **__):
        raise error

    monkeypatch.setattr(datasets, "load_dataset", load)
    with pytest.raises(PromptsUnusable, match=rf"^prompts\.source: .*{message}"):
        hub_data.Rows("a/b", None, "train")
