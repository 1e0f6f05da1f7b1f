"""The prompts before a run: the figures are right, and the run then reads exactly what was shown."""

import json
from types import SimpleNamespace

from playground.config import PromptsConfig, SamplingConfig
from playground.training.data import preview
from playground.training.models.language_model import Tokens
from playground.training.service import questions
from tests.training import small_run, snapshots


def config(folder, **changes):
    """Of dialogues in the form of HH-RLHF, and among them an empty, a repeated, a broken and a very long one."""
    rows = [f"\n\nHuman: Is number {n} kind?\n\nAssistant: It is." for n in range(12)]
    rows += ["", rows[0], "no dialogue", f"\n\nHuman: {'Why? ' * 2000}\n\nAssistant: So."]
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps({"chosen": text, "rejected": "x"}) + "\n" for text in rows), encoding="utf-8")
    prompts = {"source": str(path), "limit": 5}
    return small_run.config(prompts=prompts, evaluation__num_prompts=3, sampling__max_new_tokens=4, **changes)


def test_lengths_are_given_in_four_figures_and_a_histogram():
    lengths = preview.lengths([3, 4, 4, 5, 6, 6, 7, 8, 9, 60])
    assert [lengths[name] for name in ("min", "median", "p90", "max")] == [3, 6, 9, 60]
    assert (lengths["edges"][:3], lengths["counts"][:3]) == ([3, 6, 9], [4, 4, 1])
    assert sum(lengths["counts"]) == 10


def test_rows_that_are_left_out_are_listed(tmp_path):
    shown = preview.preview(config(tmp_path))
    left_out = {item["reason"]: (item["count"], [row["row"] for row in item["rows"]]) for item in shown["left_out"]}
    assert left_out["empty"] == (1, [13])
    assert left_out["repeated"] == (1, [14])
    assert left_out["no dialogue"] == (1, [15])
    assert shown["num_rows"] == 16
    assert (shown["num_training"], shown["num_evaluation"], shown["held_out"]) == (5, 3, True)
    assert shown["num_unneeded"] == 13 - left_out.get("too long", (0,))[0] - 5 - 3
    assert shown["columns"] == ["chosen", "rejected"]
    assert shown["column"] == "chosen"
    assert len(shown["rows"]) == 8
    assert all(row["text"].endswith("Assistant:") for row in shown["rows"])


def test_special_tokens_are_shown_by_name_and_long_prompts_are_cut_for_show_only():
    tokenizer = snapshots.sentencepiece_like()
    tokens, ids = Tokens(tokenizer, pad_id=0, eos_id=0), tokenizer("the film").input_ids
    begin, text = preview.seen(tokens, ids)
    assert begin == {"text": "<s>", "special": True}
    assert (text["text"], text["special"]) == (" the film", False)
    assert len(text["tokens"]) == len(ids) - 1
    assert "".join(text["tokens"]) == " the film"
    last = preview.seen(tokens, ids[:1] + ids[1:] * 400)[-1]
    assert last["text"].endswith("more tokens")
    assert last["special"]


def test_an_instruct_model_reads_turns_in_the_preview_and_when_it_is_asked(tmp_path):
    tokenizer = snapshots.byte_level(own_pad=True, chat=True)
    folder = snapshots.snapshot(tmp_path / "model", "qwen2", own_pad=True, tokenizer=tokenizer)
    shown = preview.preview(config(tmp_path, model={"source": str(folder)}))
    assert shown["form"] == "chat"
    assert shown["rows"][0]["text"].startswith("\n\nHuman: Is number")
    marks = [piece["text"] for piece in shown["seen"][0] if piece["special"]]
    assert marks == ["<|im_start|>", "<|im_end|>", "<|im_start|>"]
    assert shown["seen"][0][1]["text"].startswith("user\nIs number")
    tokens, context = preview.tokens_of(folder)
    model = SimpleNamespace(context_length=context)
    subject = questions.Subject(tokens, model, None, None, None, SamplingConfig(), PromptsConfig())
    asked = questions._checked_prompt("Hello", subject, None)
    turns = "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    assert tokens.tokenizer.decode(asked.ids, skip_special_tokens=False) == turns
    assert asked.text == "Hello"


def test_a_run_reads_what_the_preview_showed_and_records_what_was_left_out(tmp_path):
    settings = config(tmp_path)
    (answer,) = questions.QUESTIONS["prompts"](questions.Service(), {"config": settings.model_dump(mode="json")})
    session = small_run.session(tmp_path / "outputs", settings)
    fixed = [row["text"] for row in answer["rows"] if row["held_out"]]
    assert [prompt.text for prompt in session.split.evaluation] == fixed
    assert [prompt.text for prompt in session.split.training] == [row["text"] for row in answer["rows"][len(fixed) :]]
    warned = [event.message for event in session.run.events() if event.kind == "warning"]
    assert answer["sentence"] == f"The prompts are `chosen`; not read: `rejected`. {warned[0]}"
