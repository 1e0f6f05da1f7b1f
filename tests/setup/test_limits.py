"""Caps by mode: what is at a cap is taken, what is one beyond it is refused, naming field, value and cap."""

import gzip
import json
import shutil

import pytest

from playground.config import RewardTrainingConfig
from playground.config.yaml_io import from_dict
from playground.errors import InvalidConfig
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog, limits
from playground.setup.limits import LIMITS
from tests.support import small_config

SPACE = LIMITS["space"]
BATCH = {"minibatch_size": 1, "micro_batch_size": 1}
WATCHED = {"evaluation": {"num_prompts": 10, "token_samples": 64, "every": 1}, "sampling": {"max_new_tokens": 100}}
CAPS = [
    ("ppo.num_updates", {"ppo": {"num_updates": 500}}, {"ppo": {"num_updates": 501}}),
    ("ppo.batch_size", {"ppo": {**BATCH, "batch_size": 96}}, {"ppo": {**BATCH, "batch_size": 97}}),
    ("ppo.num_epochs", {"ppo": {"num_epochs": 8}}, {"ppo": {"num_epochs": 9}}),
    ("sampling.max_new_tokens", {"sampling": {"max_new_tokens": 128}}, {"sampling": {"max_new_tokens": 129}}),
    ("max_minutes", {"max_minutes": 30}, {"max_minutes": 30.001}),
    ("ranks", {"ranks": 1}, {"ranks": 2}),
    ("model.adapter.r", {"model": {"adapter": {"r": 64}}}, {"model": {"adapter": {"r": 65}}}),
    ("prompts.limit", {"prompts": {"limit": 5000}}, {"prompts": {"limit": 5001}}),
    ("evaluation.num_prompts", {"evaluation": {"num_prompts": 64}}, {"evaluation": {"num_prompts": 65}}),
    ("evaluation.samples_per_prompt", {"evaluation": {"samples_per_prompt": 4}},
     {"evaluation": {"samples_per_prompt": 5}}),
    ("evaluation.every", {"evaluation": {"num_prompts": 50, "samples_per_prompt": 4, "every": 1},
     "ppo": {"num_updates": 48}}, {"evaluation": {"num_prompts": 50, "samples_per_prompt": 4, "every": 1},
     "ppo": {"num_updates": 49}}),
    ("evaluation.token_samples", {**WATCHED, "ppo": {"num_updates": 48}}, {**WATCHED, "ppo": {"num_updates": 49}}),
    ("rewards", {"rewards": [{"kind": "length"}] * 8}, {"rewards": [{"kind": "length"}] * 9}),
    ("judges", {"judges": [{"kind": "length"}] * 4}, {"judges": [{"kind": "length"}] * 5}),
    ("evaluation.num_texts", {"evaluation": {"num_texts": 64}}, {"evaluation": {"num_texts": 65}}),
    ("checkpoint.keep", {"checkpoint": {"keep": 3}}, {"checkpoint": {"keep": 4}}),
    ("device", {"device": "cpu"}, {"device": "cuda:0"}),
    ("model.source", {"model": {"source": "pocket-1m"}}, {"model": {"source": "openai-community/gpt2"}}),
    ("reference.source", {"reference": {"source": "pocket-1m"}}, {"reference": {"source": "/etc"}}),
    ("prompts.source", {"prompts": {"source": "pocket/claims"}}, {"prompts": {"source": "/etc/passwd"}}),
    ("prompts.source", {"prompts": {"source": "pocket/claims"}}, {"prompts": {"source": "Anthropic/hh-rlhf"}}),
    ("evaluation.text", {"evaluation": {"text": "english"}}, {"evaluation": {"text": "/etc/passwd"}}),
    ("rewards.0.kind", {"rewards": [{"kind": "length"}]}, {"rewards": [{"kind": "pattern", "pattern": "(a+)+$"}]}),
    ("judges.0.source", {"judges": []}, {"judges": [{"kind": "model", "source": "owner/judge"}]}),
    ("prompts.typed", {"prompts": {"typed": ["a" * 2000, "b"]}}, {"prompts": {"typed": ["a" * 2001, "b"]}}),
    ("prompts.typed", {"prompts": {"typed": ["a" * 2000] * 50}}, {"prompts": {"typed": ["a" * 2000] * 50 + ["b"]}}),
    ("experiments", {"experiments": False}, {"experiments": True}),
    ("experiments", {}, {"experiments": True, "faults": ["no-clip"]}),
    ("prompts.system", {"prompts": {"system": "a" * 2000}}, {"prompts": {"system": "a" * 2001}}),
]  # fmt: skip


def problems(mode, outputs, **data):
    return limits.check(small_config(**data), LIMITS[mode], outputs)


@pytest.mark.parametrize(("field", "at", "beyond"), CAPS)
def test_a_public_page_takes_what_is_at_a_cap_and_refuses_what_is_beyond(field, at, beyond, outputs):
    assert problems("space", outputs, **at) == []
    (problem,) = problems("space", outputs, **beyond)
    assert problem.field == field
    assert problem.message.endswith(".") and "on a public page" in problem.message
    assert problems("local", outputs, **beyond) == []


def test_every_number_that_is_capped_has_its_test():
    assert set(SPACE.numbers) <= {field for field, *_ in CAPS}


def test_all_that_is_beyond_is_told_at_once(outputs):
    found = problems("space", outputs, model={"source": "x/y"}, ppo={"num_updates": 900}, device="cuda:1")
    assert {problem.field for problem in found} == {"model.source", "ppo.num_updates", "device"}
    with pytest.raises(InvalidConfig, match="may be at most 500 on a public page"):
        limits.require(small_config(ppo={"num_updates": 900}), SPACE, outputs)


def test_every_preset_that_ships_for_the_pocket_models_can_be_run_on_a_public_page(outputs):
    for name in [step.preset for step in catalog.story()]:
        assert limits.check(catalog.preset(name), SPACE, outputs) == []


def test_a_run_without_a_limit_gets_the_cap_and_a_shorter_one_keeps_its_own():
    assert limits.capped(small_config(), SPACE).max_minutes == 30
    assert limits.capped(small_config(max_minutes=5), SPACE).max_minutes == 5
    assert limits.capped(small_config(), LIMITS["local"]).max_minutes is None


def test_the_reference_may_be_a_run_of_this_page_and_no_other_folder(outputs, tmp_path):
    RunDirectory.create(outputs, small_config(), "mine")
    for source in ("mine", "mine/update-000040"):
        assert problems("space", outputs, reference={"source": source}) == []
    (outputs / "nothing").mkdir()
    for source in ("nothing", "mine/../../etc", "mine/update-1/../..", "../outputs/mine", str(outputs / "mine"), "."):
        assert [item.field for item in problems("space", outputs, reference={"source": source})] == ["reference.source"]


def test_prompts_may_be_a_file_that_the_page_has_kept_and_no_other(outputs, tmp_path):
    folder = outputs / catalog.UPLOADS
    folder.mkdir(parents=True)
    kept, pairs, linked = (folder / name for name in ("0123456789ab-p.txt", "pairs.jsonl", "0123456789ac-p.txt"))
    kept.write_text("a\nb\n")
    pairs.write_text("{}")
    linked.symlink_to(tmp_path / "secret.txt")
    (tmp_path / "secret.txt").write_text("secret")
    assert problems("space", outputs, prompts={"source": str(kept)}) == []
    for source in (pairs, linked, folder, folder / ".." / "uploads" / kept.name, folder / "0123456789ab-gone.txt"):
        assert [item.field for item in problems("space", outputs, prompts={"source": str(source)})] == [
            "prompts.source"
        ]


def test_a_reward_model_must_have_been_trained_here(outputs):
    folder = outputs / catalog.REWARD_MODELS / "judge"
    shutil.copytree(catalog.POCKET_MODELS / "pocket-1m", folder)
    named = {"rewards": [{"kind": "model", "source": "judge"}]}
    assert [item.field for item in problems("space", outputs, **named)] == ["rewards.0.source"]
    (folder / catalog.REWARD_CARD).write_text("{}")
    assert "rewards.0.source" not in [item.field for item in problems("space", outputs, **named)]


def test_a_model_with_too_many_parameters_is_refused_by_its_header(outputs):
    count = json.loads((catalog.POCKET_MODELS / "pocket-2m" / "card.json").read_text())["parameters"]
    assert limits.check(small_config(), SPACE._replace(parameters=count), outputs) == []
    (problem,) = limits.check(small_config(), SPACE._replace(parameters=count - 1), outputs)
    assert problem.field == "model.source" and "million parameters" in problem.message


@pytest.mark.parametrize("mode", ["classroom", "space"])
def test_no_page_for_others_takes_python_rewards(mode):
    assert "python" in LIMITS[mode].refused_rewards


@pytest.mark.parametrize(
    ("field", "data"),
    [
        ("base", {"base": "openai-community/gpt2"}),
        ("base", {"base": "/etc"}),
        ("pairs.source", {"pairs": {"source": "/etc/passwd"}}),
        ("pairs.writer", {"pairs": {"writer": "x/y"}}),
        ("pairs.prompts", {"pairs": {"prompts": "x/y"}}),
    ],
)
def test_a_reward_model_is_trained_from_what_ships(field, data):
    config = RewardTrainingConfig.model_validate(data)
    assert [problem.field for problem in limits.check_reward_training(config, SPACE)] == [field]
    assert limits.check_reward_training(config, LIMITS["classroom"]) == []
    assert limits.check_reward_training(RewardTrainingConfig(), SPACE) == []


def test_uploads_are_bounded_in_bytes_rows_and_all_together(outputs, tmp_path):
    at, beyond = tmp_path / "at.txt", tmp_path / "beyond.txt"
    at.write_text("x\n" * 5000)
    beyond.write_text("x\n" * 5001)
    assert limits.upload_problem(at, SPACE, outputs) == ""
    assert "5,001 rows; at most 5,000 on a public page" in limits.upload_problem(beyond, SPACE, outputs)
    assert limits.upload_problem(beyond, LIMITS["local"], outputs) == ""
    small = SPACE._replace(upload_bytes=10_000)
    assert limits.upload_problem(at, small, outputs) == ""
    assert "10,002 bytes; at most 10,000" in limits.upload_problem(beyond, small, outputs)
    packed = tmp_path / "packed.txt.gz"
    packed.write_bytes(gzip.compress(b"x\n" * 100_000))
    assert "more than" in limits.upload_problem(packed, small, outputs)
    (outputs / catalog.UPLOADS).mkdir(parents=True)
    (outputs / catalog.UPLOADS / "old").write_bytes(b"x" * 90_001)
    full = SPACE._replace(uploads_bytes=100_000)
    assert "no more room" in limits.upload_problem(at, full, outputs)


def test_texts_and_samples_of_a_question_are_bounded():
    assert limits.text_problem("The prompt", "a" * 2000, SPACE) == ""
    assert "2,001 characters; at most 2,000" in limits.text_problem("The prompt", "a" * 2001, SPACE)
    assert limits.text_problem("The prompt", "a" * 10**6, LIMITS["local"]) == ""
    assert [bool(limits.samples_problem(count, SPACE)) for count in (0, 1, 4, 5, float("nan"), "4", None)] == [
        True, False, False, True, True, True, True,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "mode"), [("", "local"), ("space", "space"), ("classroom", "classroom"), ("?", "space")]
)
def test_a_process_knows_the_mode_of_the_page_that_started_it(value, mode, monkeypatch):
    monkeypatch.setenv(limits.MODE_VARIABLE, value)
    assert limits.mode_of_process() == mode


def test_what_is_said_of_the_caps_are_the_caps():
    words = " ".join(limits.in_words(SPACE))
    for number in (
        "500 updates",
        "96 episodes",
        "128 new tokens",
        "30 minutes",
        "10,000 answers",
        "8 rewards and 4",
        "1 run",
        "5 runs",
        "2,000",
        "2 MB",
    ):
        assert number in words
    assert limits.in_words(LIMITS["local"]) == limits.in_words(LIMITS["classroom"]) == []


def test_a_refusal_names_field_value_and_cap(outputs):
    (problem,) = limits.check(from_dict({"rewards": [{"kind": "length"}], "max_minutes": 31}), SPACE, outputs)
    assert str(problem) == "max_minutes: may be at most 30 on a public page (got 31)."
