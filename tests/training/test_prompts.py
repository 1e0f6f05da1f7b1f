import json

import pytest

from playground.config import PromptsConfig
from playground.errors import PromptsUnusable
from playground.training import prompts
from tests.training import tiny


def source(tmp_path, name: str, text: str | bytes) -> str:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def load(path: str, *, evaluation: int = 1, room: int = 50, **fields):
    return prompts.load(PromptsConfig(source=path, **fields), evaluation, room, tiny.tokens(), seed=0)


def test_text_csv_and_jsonl_files_give_the_same_prompts(tmp_path):
    files = [
        source(tmp_path, "a.txt", "ab\n\ncd\nef\n"),
        source(tmp_path, "a.csv", "id,prompt\n1,ab\n2,cd\n3,ef\n"),
        source(tmp_path, "a.jsonl", "".join(json.dumps({"prompt": text}) + "\n" for text in ("ab", "cd", "ef"))),
        source(tmp_path, "b.jsonl", "\ufeff" + "".join(json.dumps({"prompt": t}) + "\n" for t in ("ab", "cd", "ef"))),
    ]
    for path in files:
        split = load(path)
        assert sorted(prompt.text for prompt in split.training + split.evaluation) == ["ab", "cd", "ef"]
        assert split.held_out and len(split.evaluation) == 1


def test_the_column_can_be_chosen(tmp_path):
    split = load(source(tmp_path, "a.csv", "prompt,other\nx,ab\n"), column="other")
    assert split.training[0].text == "ab"


def test_too_few_prompts_to_hold_out_are_used_for_both_and_that_is_said(tmp_path):
    split = load(source(tmp_path, "a.txt", "ab\ncd\n"), evaluation=2)
    assert not split.held_out
    assert split.training == split.evaluation


def test_repeated_lines_count_once(tmp_path):
    split = load(source(tmp_path, "a.txt", "ab\n" * 50 + "cd\n"))
    assert len(split.training) + len(split.evaluation) == 2


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "", "has no prompts"),
        ("a.txt", "\n \n", "has no prompts"),
        ("a.csv", "prompt\nab\n  \n", "entry 2 of a.csv is empty"),
        ("a.csv", "text\nab\n", "no column `prompt`; it has text"),
        ("a.jsonl", '{"prompt": "ab"}\nnot json\n', "line 2 of a.jsonl"),
        ("a.jsonl", "[1]\n", "line 1 of a.jsonl"),
        ("a.txt", b"\xff\xfe\x00", "UTF-8"),
        ("a.txt", "ab\n" + "c" * 60 + "\n", "1 of 2 prompts are too long: the model has room for 50 tokens"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_sentence_that_names_the_field(tmp_path, name, text, message):
    with pytest.raises(PromptsUnusable) as caught:
        load(source(tmp_path, name, text))
    assert message in str(caught.value)
    assert str(caught.value).startswith("prompts.")


def test_a_file_that_is_gone_is_named(tmp_path):
    with pytest.raises(PromptsUnusable, match=r"gone\.txt"):
        load(str(tmp_path / "gone.txt"))


@pytest.mark.parametrize("size", [3, 7, 20])
def test_batches_walk_through_all_prompts_before_one_comes_again(size):
    pool = tiny.prompts("a", "b", "c", "d", "e")
    seen = [prompt.text for update in range(10) for prompt in prompts.prompt_batch(pool, size, update, seed=1)]
    assert len(seen) == 10 * size
    for start in range(0, len(seen) - 4, 5):
        assert sorted(seen[start : start + 5]) == ["a", "b", "c", "d", "e"]
    assert seen[:5] != seen[5:10] or seen[5:10] != seen[10:15], "a new order each time"


def test_a_batch_depends_on_seed_and_update_only():
    pool = tiny.prompts("a", "b", "c", "d", "e")
    assert prompts.prompt_batch(pool, 4, 7, 1) == prompts.prompt_batch(pool, 4, 7, 1)
    assert prompts.prompt_batch(pool, 4, 7, 1) != prompts.prompt_batch(pool, 4, 7, 2)
