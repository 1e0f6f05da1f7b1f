"""The prompts before a run: the figures are right, and the run then reads exactly what was shown."""

from __future__ import annotations

import json
from types import SimpleNamespace

from playground.config import PromptsConfig, SamplingConfig, yaml_io
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.training.data import preview
from playground.training.models.language_model import Tokens
from playground.training.process.session import Session
from playground.training.service import questions
from tests.training import snapshots


def hh_file(folder, num_rows: int = 12):
    """Dialogues in the form of HH-RLHF, and among them an empty, a repeated, a broken and a very long one."""
    rows = [f"\n\nHuman: Is number {n} kind?\n\nAssistant: It is." for n in range(num_rows)]
    rows += ["", rows[0], "no dialogue", f"\n\nHuman: {'Why? ' * 2000}\n\nAssistant: So."]
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps({"chosen": text, "rejected": "x"}) + "\n" for text in rows), encoding="utf-8")
    return path


def config(path, **changes):
    data = {
        "rewards": [{"kind": "length"}],
        "prompts": {"source": str(path), "limit": 5},
        "ppo": {"num_updates": 1, "batch_size": 4, "minibatch_size": 4, "micro_batch_size": 4, "num_epochs": 1},
        "sampling": {"max_new_tokens": 4},
        "evaluation": {"num_prompts": 3, "samples_per_prompt": 1, "every": 1},
        **changes,
    }
    return yaml_io.from_dict(data)


def test_lengths_are_given_in_four_figures_and_a_histogram():
    found = preview.lengths([3, 4, 4, 5, 6, 6, 7, 8, 9, 60])
    assert [found[name] for name in ("min", "median", "p90", "max")] == [3, 6, 9, 60]
    assert found["edges"][:3] == [3, 6, 9]
    assert found["edges"][-1] > 60
    assert found["counts"][:3] == [4, 4, 1]
    assert found["counts"][-1] == 1
    assert sum(found["counts"]) == 10
    assert preview.lengths([5, 5])["edges"] == [5, 6]
    assert preview.lengths([5, 5])["counts"] == [2]


def test_what_is_left_out_is_listed_with_its_rows(tmp_path):
    found = preview.preview(config(hh_file(tmp_path)))
    left_out = {item["reason"]: (item["count"], [row["row"] for row in item["rows"]]) for item in found["left_out"]}
    assert left_out["empty"] == (1, [13])
    assert left_out["repeated"] == (1, [14])
    assert left_out["no dialogue"] == (1, [15])
    assert found["num_rows"] == 16
    assert (found["num_training"], found["num_evaluation"], found["held_out"]) == (5, 3, True)
    assert (
        found["num_training"] + found["num_evaluation"] + found["num_unneeded"]
        == 13 - left_out.get("too long", (0,))[0]
    )
    assert found["columns"] == ["chosen", "rejected"]
    assert found["column"] == "chosen"
    assert len(found["rows"]) == 8
    assert all(row["text"].endswith("Assistant:") for row in found["rows"])


def test_special_tokens_are_shown_by_name_and_long_prompts_are_cut_for_show_only():
    tokenizer = snapshots.sentencepiece_like()
    tokens = Tokens(tokenizer, pad_id=0, eos_id=0)
    ids = tokenizer("the film").input_ids
    begin, text = preview.seen(tokens, ids)
    assert begin == {"text": "<s>", "special": True}
    assert (text["text"], text["special"]) == (" the film", False)
    assert len(text["tokens"]) == len(ids) - 1
    assert "".join(text["tokens"]) == " the film"
    last = preview.seen(tokens, ids[:1] + ids[1:] * 400)[-1]
    assert last["text"].endswith("more tokens")
    assert last["special"]


def test_an_instruct_model_reads_turns_in_the_preview_and_when_it_is_asked(tmp_path):
    folder = snapshots.snapshot(
        tmp_path / "model", "qwen2", own_pad=True, tokenizer=snapshots.byte_level(own_pad=True, chat=True)
    )
    made = config(hh_file(tmp_path), model={"source": str(folder)})
    found = preview.preview(made)
    assert found["form"] == "chat"
    assert found["rows"][0]["text"].startswith("\n\nHuman: Is number")
    marks = [piece["text"] for piece in found["seen"][0] if piece["special"]]
    assert marks == ["<|im_start|>", "<|im_end|>", "<|im_start|>"]
    assert found["seen"][0][1]["text"].startswith("user\nIs number")
    tokens, context = preview.tokens_of(folder)
    subject = questions.Subject(
        tokens, SimpleNamespace(context_length=context), None, None, None, SamplingConfig(), PromptsConfig()
    )
    asked = questions._checked_prompt("Hello", subject, None)
    expected = "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    assert tokens.tokenizer.decode(asked.ids, skip_special_tokens=False) == expected
    assert asked.text == "Hello"


def test_a_run_reads_what_the_preview_showed_and_records_what_was_left_out(tmp_path):
    made = config(hh_file(tmp_path))
    (answer,) = questions.QUESTIONS["prompts"](questions.Service(), {"config": made.model_dump(mode="json")})
    run = RunDirectory.create(tmp_path / "outputs", made, "r")
    session = Session(run, made, RunWriter(run, 1), lambda: None)
    fixed = [row["text"] for row in answer["rows"] if row["held_out"]]
    assert [prompt.text for prompt in session.split.evaluation] == fixed
    assert [prompt.text for prompt in session.split.training] == [row["text"] for row in answer["rows"][len(fixed) :]]
    assert answer["sentence"] in [event.message for event in run.events() if event.kind == "warning"]
