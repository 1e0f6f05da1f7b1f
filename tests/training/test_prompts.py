"""Prompts from files, folders laid out as datasets of the hub, and worlds; what can be wrong with each. In the chat
template of a model: what is said to whom, no token twice, and templates that cannot be used."""

import functools
import gzip
import json
from statistics import mean

import datasets
import pytest
from huggingface_hub import errors
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from playground.config import PromptsConfig
from playground.data import dialogues
from playground.errors import PromptsUnusable
from playground.pocket import judges
from playground.training.data import hub_data, prompts
from playground.training.models.chat import PromptForm
from playground.training.models.language_model import Tokens
from tests.support import data_beside
from tests.training import tiny

TEXTS, HUB_DATA, CHAT = (data_beside(__file__, f"{name}.yaml") for name in ("prompts", "hub_data", "chat"))
SPECIAL = ["<bos>", "<eos>", "<|im_start|>", "<|im_end|>"]


def source(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def lines_of(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def load(path, *, evaluation=1, room=50, **fields):
    return prompts.load(PromptsConfig(source=path, **fields), evaluation, room, tiny.tokens(), seed=0)


@pytest.mark.parametrize(("rows", "fixed", "words"), TEXTS["fixed"])
def test_fixed_prompts_come_from_a_file_of_their_own_and_doubles_are_counted(rows, fixed, words, tmp_path):
    training = source(tmp_path, "training.txt", "ab\ncd\nef\n")
    own = source(tmp_path, "own.jsonl", lines_of([{"prompt": text} for text in rows]))
    split = prompts.load(PromptsConfig(source=training), 9, 50, tiny.tokens(), seed=0, fixed=own)
    assert texts(split._replace(evaluation=[])) == ["ab", "cd", "ef"]
    assert sorted(prompt.text for prompt in split.evaluation) == fixed
    assert split.warnings == [words] * bool(words)
    with pytest.raises(PromptsUnusable, match=r"^evaluation\.prompts: "):
        prompts.load(PromptsConfig(source=training), 9, 50, tiny.tokens(), 0, fixed=source(tmp_path, "one.txt", "ab\n"))


def texts(split):
    return sorted(prompt.text for prompt in [*split.training, *(split.evaluation if split.held_out else [])])


def hh(*said):
    """A dialogue in the form of HH-RLHF, human first."""
    return "".join(f"\n\n{('Human', 'Assistant')[turn % 2]}: {text}" for turn, text in enumerate(said))


@pytest.mark.parametrize(("name", "content"), TEXTS["forms"])
def test_files_and_folders_of_every_form_give_the_same_prompts(tmp_path, name, content):
    packed = gzip.compress(content.encode(), mtime=0) if name.endswith(".gz") else content
    path = source(tmp_path, name, packed)
    split = load(str(tmp_path / "folder") if name.startswith("folder/") else path)
    assert texts(split) == ["ab", "cd", "ef"]
    assert split.held_out
    assert (len(split.evaluation), split.warnings) == (1, [])


def test_typed_prompts_are_a_source_and_settings_without_use_are_said(tmp_path):
    assert texts(load("typed", typed=("ab", "cd"))) == ["ab", "cd"]
    with pytest.raises(PromptsUnusable, match=r"^prompts\.typed: .* 1 can be used"):
        load("typed", typed=("ab", "ab"))
    said = load(source(tmp_path, "a.txt", "ab\ncd\n"), column="prompt", split="test").warnings
    assert said == ["a.txt has no use for prompts.column and prompts.split: without effect."]
    for name in ("pocket/reviews", "typed", "general/claims", "general/sums"):
        config = PromptsConfig(source=name, split="test")
        assert prompts.without_effect(config) == f"{name} has no use for prompts.split: without effect."
    assert prompts.without_effect(PromptsConfig(source="owner/set", column="a", subset="b", split="c")) == ""


def test_the_column_can_be_chosen_and_else_the_first_usual_one_is_read(tmp_path):
    for columns in ("chosen text PROMPT", "id instruction QUESTION", "rejected CHOSEN", "ANYTHING"):
        (expected,) = [name.lower() for name in columns.split() if name.isupper()]
        row = dict.fromkeys(columns.lower().split(), "x")
        config = PromptsConfig(source=source(tmp_path, "a.jsonl", lines_of([row])))
        assert prompts.read(config, 9, 0).column == expected
    assert texts(load(source(tmp_path, "a.csv", "prompt,other\nx,ab\ny,cd\n"), column="other")) == ["ab", "cd"]


@pytest.mark.parametrize(("row", "expected", "taken"), TEXTS["rows"])
def test_what_belongs_to_a_prompt_is_read_with_it_and_the_rest_is_named(tmp_path, row, expected, taken):
    read = prompts.read(PromptsConfig(source=source(tmp_path, "a.jsonl", lines_of([row]))), 9, 0)
    assert [dialogues.prompt_of(value) for value in read.values] == [expected]
    assert read.taken == taken


def test_what_else_stands_in_a_row_is_kept_for_a_function_also_of_claims_and_the_fixed_prompts(tmp_path):
    rows = [{"prompt": f"p{number}", "answer": number, "tags": [number]} for number in range(4)]
    path = source(tmp_path, "a.jsonl", lines_of([*rows, rows[0] | {"answer": 9}]))
    split = prompts.load(PromptsConfig(source=path), 2, 50, tiny.tokens(), 0, whole=True)
    assert split.columns == {row["prompt"]: row for row in rows}
    assert len(split.evaluation) == 2
    taken = "The prompts are `prompt`; for the reward in Python: `answer`, `tags`."
    assert prompts.read(PromptsConfig(source=path), 2, 0, whole=True).taken == taken
    assert not load(path).columns
    made = prompts.load(PromptsConfig(source="general/claims", limit=9), 2, 500, tiny.tokens(), 0, whole=True)
    assert {*made.columns} == {prompt.text for prompt in [*made.training, *made.evaluation]}
    assert all(row["question"] in text and row["right"] for text, row in made.columns.items())


def test_prompts_that_cannot_be_used_are_left_out_and_counted_by_reason(tmp_path):
    rows = ["ab", "", "cd", "ab", "  ", "c" * 60, "d" * 200_000, "cd", "ab", None]
    split = load(source(tmp_path, "a.jsonl", lines_of([{"prompt": text} for text in rows])))
    assert texts(split) == ["ab", "cd"]
    assert split.warnings == ["Left out of 10 rows of prompts: 3 empty, 3 repeated, 2 too long."]


CUT = hh("first", "no", "second", "no", "third")


def test_a_long_dialogue_loses_its_oldest_turns_whole_and_one_that_stays_too_long_is_left_out(tmp_path):
    def without(*said):
        return f"{hh(*said)}\n\nAssistant:"

    rows = [CUT, hh("other", "no", "second", "no", "third"), hh("x", "no", "y" * 90), hh("short"), "z" * 90]
    path = source(tmp_path, "a.jsonl", lines_of([{"prompt": text} for text in rows]))
    room = len(tiny.tokens().encode(without("second", "no", "third")))
    split = load(path, evaluation=0, room=500, max_tokens=room)
    assert texts(split) == sorted([without("second", "no", "third"), without("short")])
    left_out = "Left out of 5 rows of prompts: 2 too long, 1 repeated."
    assert split.warnings == [f"{left_out} 1 of 2 prompts lost their oldest turns (prompts.max_tokens)."]
    whole = load(path, evaluation=0, room=500)
    assert len(whole.training) == 5
    tighter = load(path, evaluation=0, room=500, max_tokens=room - 1)
    assert texts(tighter) == sorted([without("third"), without("short")])
    with pytest.raises(PromptsUnusable, match=r"raise prompts\.max_tokens"):
        load(path, evaluation=0, room=500, max_tokens=3)


def test_shares_divide_dialogues_by_how_they_begin_and_fixed_prompts_are_of_others(tmp_path):
    said = [(f"a{number}", "no", f"b{turn}") for number in range(60) for turn in range(3)]
    path = source(tmp_path, "a.jsonl", lines_of([{"prompt": hh(*three)} for three in said]))
    openings = []
    for share in ("0-40", "40-100"):
        split = load(path, evaluation=10, room=500, share=share)
        fixed, trained = ({dialogues.opening(prompt.text) for prompt in part} for part in split[:2][::-1])
        assert not fixed & trained
        openings.append(fixed | trained)
    assert not openings[0] & openings[1]
    assert openings[0] | openings[1] == {f"a{number}" for number in range(60)}
    assert 12 <= len(openings[0]) <= 36, "40 % of 60, 3 sd of a binomial around"


def test_examples_above_every_question_do_not_make_them_one_dialogue(tmp_path):
    rows = [{"prompt": hh("an example", "no", f"b{number}")} for number in range(20)]
    split = load(source(tmp_path, "a.jsonl", lines_of(rows)), evaluation=5, room=500)
    assert split.held_out
    assert (len(split.training), len(split.evaluation)) == (15, 5)


HALF = ["half a pair \ud83d", "half a pair ?"]  # which a YAML file cannot hold


@pytest.mark.parametrize(("value", "expected"), [*TEXTS["dialogues"], HALF])
def test_a_dialogue_is_asked_up_to_its_last_answer(value, expected):
    assert dialogues.prompt_of(value) == expected


@pytest.mark.parametrize("value", [[], {"role": "user"}, [{"role": "tool", "content": "x"}]])
def test_rows_that_are_no_dialogue_are_left_out(tmp_path, value):
    rows = [{"chosen": value}, {"chosen": "no turns"}, {"chosen": hh("ab", "x")}, {"chosen": hh("cd", "x")}]
    config = PromptsConfig(source=source(tmp_path, "a.jsonl", lines_of(rows)))
    selection = prompts.select(prompts.read(config, 9, 0), config, 1, 50, lambda text: [1], seed=0)
    assert {prompt.text for prompt in selection.prompts} == {f"{hh(text)}\n\nAssistant:" for text in ("ab", "cd")}
    assert selection.in_words() == "Left out of 4 rows of prompts: 2 no dialogue."


TOO_LONG = ["a.txt", "c" * 60 + "\nab\n" + "d" * 70, "2 too long. The model has room for 50"]


@pytest.mark.parametrize(("name", "text", "message"), [*TEXTS["refused"], TOO_LONG])
def test_prompts_that_cannot_be_read_are_refused_in_one_sentence_that_names_the_field(tmp_path, name, text, message):
    with pytest.raises(PromptsUnusable) as caught:
        load(source(tmp_path, name, text))
    assert message in str(caught.value)
    assert str(caught.value).startswith("prompts.")


@pytest.mark.parametrize("size", [3, 20])
def test_batches_walk_through_all_prompts_before_one_comes_again(size):
    pool = tiny.prompts("a", "b", "c", "d", "e")
    seen = [prompt.text for update in range(10) for prompt in prompts.prompt_batch(pool, size, update, seed=1)]
    assert len(seen) == 10 * size
    for start in range(0, len(seen) - 4, 5):
        assert sorted(seen[start : start + 5]) == ["a", "b", "c", "d", "e"]
    assert seen[:5] != seen[5:10] or seen[5:10] != seen[10:15], "a new order each time"
    assert prompts.prompt_batch(pool, 4, 7, 1) == prompts.prompt_batch(pool, 4, 7, 1)
    assert prompts.prompt_batch(pool, 4, 7, 1) != prompts.prompt_batch(pool, 4, 7, 2)


@pytest.mark.parametrize("name", ["pocket/claims", "pocket/reviews"])
def test_prompts_that_a_run_never_sees_are_of_the_mix_that_it_trains_on(name, monkeypatch):
    monkeypatch.setattr(prompts.pocket_prompts, "prompts", functools.cache(prompts.pocket_prompts.prompts))
    config = PromptsConfig(source=name, limit=4096)
    own, unseen = prompts.read(config, 64, seed=0).values, prompts.unseen(config, 64, seed=0)
    assert len(unseen) == prompts.NUM_UNSEEN
    assert not {*own} & {*unseen}
    assert len(own) == 4096 + 64

    def kinds(texts):
        claimed = [judges.claim_is_true(text) for text in texts]
        return [claimed.count(truth) / len(texts) for truth in (False, True, None)] + [mean(map(len, texts)) / 100]

    assert kinds(unseen) == pytest.approx(kinds(own), abs=0.07)


def values(path, **fields):
    return prompts.read(PromptsConfig(source=str(path), **fields), 9, 0).values


def test_a_folder_inside_a_dataset_is_a_subset(tmp_path):
    for part in ("harmless-base", "helpful-base"):  # as Anthropic/hh-rlhf has them
        for split in ("train", "test"):
            rows = [{"chosen": f"\n\nHuman: {part} {split} {n}\n\nAssistant: x", "rejected": "y"} for n in range(4)]
            source(tmp_path, f"{part}/{split}.jsonl", lines_of(rows))
    texts = values(tmp_path, subset="harmless-base", split="test")
    assert [text.split("\n")[2] for text in texts] == [f"Human: harmless-base test {n}" for n in range(4)]
    assert len(values(tmp_path)) == 8


def test_what_the_library_itself_has_saved_is_read(tmp_path):
    datasets.Dataset.from_dict({"prompt": list("abcd")}).save_to_disk(tmp_path / "saved")
    assert values(tmp_path / "saved") == list("abcd")


def test_only_the_first_rows_are_read_and_that_is_said(tmp_path, monkeypatch):
    source(tmp_path, "train.jsonl", lines_of([{"prompt": str(n), "other": "b" * 9, "id": n} for n in range(5)]))
    rows = hub_data.Rows(str(tmp_path), None, "train")
    assert [row["prompt"] for row in rows.rows(["prompt"], 3)[0]] == ["0", "1", "2"]
    assert (rows.rows(["prompt"], 3)[1], rows.rows(["prompt"], 5)[1]) == (True, False)
    monkeypatch.setattr(hub_data, "MAX_CHARACTERS", 15)
    assert rows.rows(["prompt", "other"]) == ([{"prompt": str(n), "other": "b" * 9} for n in range(2)], True)


@pytest.mark.parametrize(("folder", "fields", "message"), HUB_DATA["faults"])
def test_a_fault_of_a_dataset_is_told_in_one_sentence(tmp_path, folder, fields, message):
    place = tmp_path / folder
    place.mkdir()
    for name, text in HUB_DATA["files"][folder].items():
        source(place, name, text)
    with pytest.raises(PromptsUnusable, match=f"^{message}") as caught:
        values(place, **fields)
    assert str(place) in str(caught.value)
    assert "\n" not in str(caught.value)


CLIENT = type("ReadError", (errors.HTTPError,), {})  # which is no OSError


@pytest.mark.parametrize(("answered", "said", "message"), TEXTS["hub"])
def test_an_error_of_the_hub_is_told_in_one_sentence(answered, said, message, monkeypatch):
    def load(*_, **__):
        raise (datasets.exceptions.DatasetNotFoundError if answered else CLIENT)(said)

    monkeypatch.setattr(datasets, "load_dataset", load)
    with pytest.raises(PromptsUnusable, match=rf"^prompts\.source: .*{message}"):
        hub_data.Rows("a/b", None, "train")


def tokens(template=None):
    """A byte-level tokenizer that puts <bos> in front of every text, as Llama's does."""
    pieces = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    words = Tokenizer(models.BPE(vocab={piece: number for number, piece in enumerate(pieces)}, merges=[]))
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 0)])
    special = {"bos_token": "<bos>", "eos_token": "<eos>", "additional_special_tokens": SPECIAL[2:]}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, **special)
    tokenizer.chat_template = template
    return Tokens(tokenizer, pad_id=1, eos_id=1)


@pytest.mark.parametrize(("template", "text", "fields", "expected", "remark"), CHAT["read"])
def test_the_model_reads_a_prompt_in_its_own_form(template, text, fields, expected, remark):
    """With each special token once."""
    asked = tokens(template)
    form = PromptForm(asked, PromptsConfig(**fields))
    names = asked.tokenizer.convert_ids_to_tokens(form.ids(text))
    assert remark in form.remarks if remark else not form.remarks
    assert "".join(names).replace("\u0120", " ").replace("\u010a", "\n") == expected


@pytest.mark.parametrize(("template", "fields", "message"), CHAT["refused"])
def test_a_template_that_cannot_be_used_is_refused_in_one_sentence(template, fields, message):
    with pytest.raises(PromptsUnusable) as caught:
        PromptForm(tokens(template), PromptsConfig(**fields))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_row_that_the_template_refuses_is_left_out_and_a_template_that_refuses_all_is_the_error(tmp_path):
    template = "{% if messages|length > 2 %}{{ raise_exception('one turn') }}{% endif %}{{ messages[0].content }}"
    turns = [{"role": role, "content": "b\n\nHuman: c"} for role in ("user", "assistant", "user")]
    config = PromptsConfig(source=str(tmp_path / "rows.jsonl"), template="chat")
    form = PromptForm(tokens(template), config)

    def chosen(*rows):
        (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps({"messages": row}) for row in rows))
        return prompts.select(prompts.read(config, 1, 0), config, 1, 50, form.ids, seed=0)

    selection = chosen(turns[:1], [{"role": "user", "content": "d"}], turns)
    assert sorted(dialogues.turns(prompt.text)[0].content for prompt in selection.prompts) == ["b\nHuman: c", "d"]
    assert [(item.reason, item.count) for item in selection.left_out] == [("refused by the chat template", 1)]
    with pytest.raises(PromptsUnusable, match="one turn"):
        chosen(turns, [*turns, *turns[1:]])
