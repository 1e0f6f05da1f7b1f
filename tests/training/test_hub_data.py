"""Datasets through the function that hub ids take: folders laid out as hub repositories, and what can be wrong."""

from __future__ import annotations

import json
from pathlib import Path

import datasets
import pandas
import pytest
from huggingface_hub import errors

from playground.config import PromptsConfig
from playground.errors import PromptsUnusable
from playground.setup import checks
from playground.training.data import hub_data, prompts

CARD = "---\nconfigs:\n- config_name: {}\n  data_files: a.jsonl\n- config_name: other\n  data_files: b.jsonl\n---\n"


def write(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pandas.DataFrame(rows).to_parquet(path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def folder(tmp_path) -> Path:
    """Two folders of files, as Anthropic/hh-rlhf has them."""
    for part in ("harmless-base", "helpful-base"):
        for split in ("train", "test"):
            rows = [{"chosen": f"\n\nHuman: {part} {split} {n}\n\nAssistant: x", "rejected": "y"} for n in range(4)]
            write(tmp_path / part / f"{split}.jsonl", rows)
    return tmp_path


def values(source: Path, **fields) -> list[str]:
    return prompts.read(PromptsConfig(source=str(source), **fields), 9, 0).values


def test_a_folder_inside_a_dataset_is_a_subset(folder):
    found = values(folder, subset="harmless-base", split="test")
    assert [text.split("\n")[2] for text in found] == [f"Human: harmless-base test {n}" for n in range(4)]
    assert len(values(folder)) == 8


def test_named_configurations_are_subsets(tmp_path):
    (tmp_path / "README.md").write_text(CARD.format("main"))
    write(tmp_path / "a.jsonl", [{"prompt": "a"}])
    write(tmp_path / "b.jsonl", [{"prompt": "b"}])
    assert (values(tmp_path, subset="main"), values(tmp_path, subset="other")) == (["a"], ["b"])
    with pytest.raises(PromptsUnusable, match=r"^prompts\.subset: .* several subsets; name one\. It has main, other\."):
        values(tmp_path)


def test_parquet_with_chat_messages_gives_dialogues(tmp_path):
    said = [{"role": "user", "content": "ab"}, {"role": "assistant", "content": "cd"}]
    write(tmp_path / "data" / "train-00000-of-00001.parquet", [{"chosen": said, "score": 1.0}])
    (value,) = values(tmp_path)
    assert prompts.prompt_texts.prompt_of(value, "chosen") == "\n\nHuman: ab\n\nAssistant:"


def test_only_the_first_rows_are_read_and_that_is_said(tmp_path, monkeypatch):
    write(tmp_path / "train.jsonl", [{"prompt": str(n)} for n in range(5)])
    rows = hub_data.Rows(str(tmp_path), None, "train")
    assert rows.values("prompt", 3) == (["0", "1", "2"], True)
    assert rows.values("prompt", 5) == ([str(n) for n in range(5)], False)
    monkeypatch.setattr(hub_data, "MAX_CHARACTERS", 1)
    assert rows.values("prompt") == (["0", "1"], True)


def test_several_columns_are_read_together_and_stop_at_the_same_row(tmp_path, monkeypatch):
    write(tmp_path / "train.jsonl", [{"chosen": "a" * 9, "rejected": "b", "id": n} for n in range(4)])
    rows = hub_data.Rows(str(tmp_path), None, "train")
    row = {"chosen": "a" * 9, "rejected": "b"}
    assert rows.rows(["chosen", "rejected"]) == ([row] * 4, False)
    monkeypatch.setattr(hub_data, "MAX_CHARACTERS", 15)
    assert rows.rows(["chosen", "rejected"]) == ([row] * 2, True)


def broken(folder: Path) -> None:
    folder.joinpath("train.parquet").write_bytes(b"no parquet")


def empty(folder: Path) -> None:
    (folder / "notes.md").write_text("nothing here")


def program(folder: Path) -> None:
    (folder / f"{folder.name}.py").write_text("raise SystemExit('it was run')")


def usual(folder: Path) -> None:
    write(folder / "train.jsonl", [{"title": "a", "body": "b"}])


def later_broken(folder: Path) -> None:
    folder.joinpath("train.jsonl").write_text('{"prompt": "a"}\nno json\n')


@pytest.mark.parametrize(
    ("make", "fields", "message"),
    [
        (usual, {"split": "validation"}, "prompts.split: the folder {} has no such split. It has train."),
        (usual, {"subset": "german"}, "prompts.subset: the folder {} has no such subset."),
        (usual, {"subset": "../german"}, "prompts.subset: `../german` is not a folder inside the folder {}."),
        (usual, {"column": "prompt"}, "prompts.column: {} has no column `prompt`; it has `title`, `body`."),
        (usual, {}, "prompts.column: {} has none of the columns prompt, text, question, instruction, chosen; it has"),
        (broken, {}, "prompts.source: the folder {} cannot be read: Parquet magic bytes not found in footer."),
        (later_broken, {}, "prompts.source: the folder {} cannot be read: "),
        (empty, {}, "prompts.source: the folder {} has no data files such as .parquet, .jsonl or .csv."),
        (
            program,
            {},
            "prompts.source: the folder {} is a program that would have to run here, which is not supported.",
        ),
    ],
)
def test_what_is_wrong_with_a_dataset_is_one_sentence(tmp_path, make, fields, message):
    make(tmp_path)
    with pytest.raises(PromptsUnusable) as caught:
        values(tmp_path, **fields)
    assert str(caught.value).startswith(message.format(tmp_path)) and "\n" not in str(caught.value)


def gated(*_, **__):
    raise datasets.exceptions.DatasetNotFoundError("Dataset 'a/b' is a gated dataset on the Hub.")


def missing(*_, **__):
    raise datasets.exceptions.DatasetNotFoundError("Dataset 'a/b' doesn't exist on the Hub or cannot be accessed.")


def cut_off(*_, **__):
    raise ConnectionError("Couldn't reach 'a/b' on the Hub (ReadTimeout)")


def cut_off_by_the_client(*_, **__):
    raise type("ReadError", (errors.HTTPError,), {})("the connection is gone")  # which is no OSError


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (cut_off_by_the_client, "the hub cannot be reached for a/b. Check the network, or use a local folder."),
        (gated, "a/b is gated. Accept its terms on its page, then log in with `hf auth login`."),
        (missing, "there is no dataset a/b on the hub, or it is private. Check the spelling."),
        (cut_off, "the hub cannot be reached for a/b. Check the network, or use a local folder."),
    ],
)
def test_what_the_hub_answers_is_one_sentence(load, message, monkeypatch):
    monkeypatch.setattr(hub_data, "_hub_answers", lambda: True)
    monkeypatch.setattr(datasets, "load_dataset", load)
    with pytest.raises(PromptsUnusable) as caught:
        hub_data.Rows("a/b", None, "train")
    assert str(caught.value) == f"prompts.source: {message}"


def test_without_a_network_nothing_is_tried(monkeypatch):
    monkeypatch.setattr(hub_data.urllib.request, "getproxies", dict)
    monkeypatch.setattr(hub_data.socket, "getaddrinfo", cut_off)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: pytest.fail("it tried"))
    with pytest.raises(PromptsUnusable, match=r"^prompts\.source: the hub cannot be reached for Anthropic/hh-rlhf\."):
        hub_data.Rows("Anthropic/hh-rlhf", "harmless-base", "train")


@pytest.mark.parametrize(
    ("source", "fits"),
    [
        ("Anthropic/hh-rlhf", True),
        ("stanfordnlp/imdb", True),
        ("json", False),
        ("pocket/reviws", False),
        ("https://example.org/a", False),
        ("a/b/c", False),
        ("../etc", False),
    ],
)
def test_which_names_may_be_datasets(source, fits):
    assert (checks.prompts_problem(PromptsConfig(source=source)) is None) == fits
