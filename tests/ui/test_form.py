"""The form's values and RunConfig are two spellings of one thing."""

import pytest

from playground.config import RunConfig, local_only
from playground.errors import InvalidConfig
from playground.setup import catalog
from playground.ui.train import form, reward_form

BASE = catalog.preset("kinder-reviews")
VALUES = form.values_of(BASE)
LOCAL = catalog.preset_groups()[catalog.INCLUDED]
TYPED = ("The film was", "\n\nHuman: Hi\n\nAssistant:", "C:\\new \\n")


def problems_of(outputs=None, **changes):
    """The fields with which a form with these values has a problem."""
    values = {**VALUES, **{name.replace("__", "."): value for name, value in changes.items()}}
    with pytest.raises(InvalidConfig) as caught:
        form.config_of(values, BASE, outputs)
    return {problem.field for problem in caught.value.problems}


def test_a_preset_survives_the_form():
    for name in LOCAL:
        preset = catalog.preset(name)
        assert form.config_of(form.values_of(preset), preset) == preset


def test_every_field_survives_with_unusual_values():
    sorry = {"name": "says-sorry", "words": "says sorry", "measure": {"kind": "keyword", "words": ["sorry"]}}
    config = RunConfig.model_validate(
        {
            **BASE.model_dump(mode="json"),
            "name": "mine",
            "seed": 7,
            "prompts": {"source": "typed", "typed": TYPED, "limit": 33},
            "rewards": [
                {"kind": "length", "weight": 0.5, "target": 20},
                {"kind": "keyword", "words": ["thank you", "please"]},
                {"kind": "pattern", "weight": -1, "pattern": r"a, b"},
            ],
            "behaviours": ["polite", sorry],
            "score": {"normalise": "none", "clip": 4.0},
            "ppo": {"num_updates": 1000, "value_clip_range": 0.2, "update_kl_stop": 0.1, "schedule": "constant"},
            "kl": {"controller": "adaptive", "coef": 0.001, "target": 6.0},
        }
    )
    values = form.values_of(config)
    assert values["prompts.typed"].splitlines()[1] == "\\n\\nHuman: Hi\\n\\nAssistant:"
    assert form.config_of(values, BASE) == config.model_copy(update={"about": BASE.about})


def test_behaviours_that_suit_the_prompts_are_an_empty_text_and_none_at_all_an_empty_list():
    assert VALUES["behaviours"] == ""
    assert form.config_of(VALUES, BASE).behaviours is None
    assert form.config_of({**VALUES, "behaviours": []}, BASE).behaviours == ()
    assert problems_of(behaviours=[{"name": "", "words": "", "aim": "less", "above": 0}]) == {"behaviours.0.name"}


def test_all_problems_come_at_once_and_name_their_fields():
    """Also those that only the disk can tell, of the parts that are valid otherwise."""
    numbers = {"kl__coef": "abc", "ppo__num_updates": ""}
    words = {"prompts__source": "", "rewards": [{"kind": "keyword", "weight": 1, "words": " , "}]}
    assert problems_of(**numbers, **words, model__source="gpt-99") == set(
        "kl.coef ppo.num_updates prompts.source rewards.0.words model.source".split()
    )
    assert problems_of(kl__coef=-1, prompts__source="typed", prompts__typed="only one") == {"kl.coef", "prompts.typed"}


def test_what_only_the_disk_and_the_other_engine_know_is_beside_its_field(tmp_path):
    assert problems_of(tmp_path, reference__source="earlier-run") == {"reference.source"}
    saved = tmp_path / "earlier-run" / "checkpoints" / "update-000040"
    saved.mkdir(parents=True)
    (saved / "MANIFEST.json").touch()
    values = {**VALUES, "reference.source": "earlier-run"}
    assert form.config_of(values, BASE, tmp_path).reference.source == "earlier-run"
    assert problems_of(engine="trl", kl__controller="adaptive") == {"kl.controller"}


def test_a_sentence_names_settings_as_the_form_does():
    sentences = {
        "prompts.source: a.csv has no rows.": "Prompts: a.csv has no rows.",
        "Lower ppo.batch_size, or raise max_minutes.": "Lower \u201cBatch\u201d, or raise \u201cTime limit\u201d.",
        "Train with LoRA (model.adapter.kind: lora).": "Train with LoRA (\u201cAdapter\u201d: lora).",
        "Its last words are in worker.log.": "Its last words are in worker.log.",
    }
    assert {sentence: form.with_labels(sentence) for sentence in sentences} == sentences


def test_a_problem_of_a_reward_names_the_field_of_that_reward():
    reward, judges, behaviours = (form.LABELS[name] for name in form.LISTS)
    labels = {
        "rewards.0.source": f"{reward}, Model",
        "rewards.1.words.0": f"{reward}, Words",
        "judges.0.expression": f"{judges}, Expression",
        "rewards.0.weight": reward,
        "rewards": reward,
        "behaviours.2.measure.expression": f"{behaviours}, Expression",
        "behaviours.0.name": behaviours,
        "nonsense.a": "nonsense.a",
    }
    assert {field: form.label_of(field) for field in labels} == labels


def test_the_reward_picker_offers_every_kind_with_its_own_fields():
    kinds = {item["kind"]: item for item in reward_form.reward_kinds()}
    assert set(kinds) == {choice.name for choice in catalog.REWARDS}
    assert [field["name"] for field in kinds["length"]["fields"]] == ["target"]
    assert kinds["sentiment"]["fields"][0]["options"] == ["pocket-lexicon", "vader", "pocket-world"]
    assert kinds["repetition"]["weight"] == -1.0
    for kind, name in (("expression", "expression"), ("python", "code")):
        fields = {field["name"]: field for field in kinds[kind]["fields"]}
        assert fields[name]["lines"] > 1
        assert reward_form.problem_of({"kind": kind, name: fields[name]["default"]}) == "", "what is there at first"
    assert kinds["python"]["warning"]


def test_what_is_wrong_with_one_reward_is_a_sentence_and_nothing_if_nothing_is():
    assert reward_form.problem_of({"kind": "expression", "weight": 1, "expression": "words(completion)"}) == ""
    assert "no such function" in reward_form.problem_of({"kind": "expression", "expression": "wrods(completion)"})
    assert "no function `reward`" in reward_form.problem_of({"kind": "python", "code": "x = 1"})
    for odd in (None, 7, [], {}, {"kind": "nonsense"}, {"kind": "expression", "expression": ["x"] * 9}):
        assert reward_form.problem_of(odd).endswith(".")


def test_a_shared_playground_offers_no_reward_that_is_for_ones_own_machine(monkeypatch):
    monkeypatch.setenv(local_only.MODE, "space")
    offered = {item["kind"] for item in reward_form.reward_kinds()}
    assert offered == {choice.name for choice in catalog.REWARDS} - {"python", "pattern"}
    code = {"kind": "python", "code": "def reward(prompt, completion): return 1"}
    assert "local mode" in reward_form.problem_of(code)
