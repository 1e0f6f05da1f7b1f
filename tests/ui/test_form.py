"""The form's values and RunConfig are two spellings of one thing."""

import pytest

from playground.config import RunConfig, TruthReward, local_only
from playground.errors import InvalidConfig
from playground.setup import catalog
from playground.ui.train import form, reward_form

LOCAL = [name for name in catalog.preset_names() if not catalog.is_hub_id(catalog.preset(name).model.source)]


@pytest.mark.parametrize("name", LOCAL)
def test_a_preset_survives_the_form(name):
    preset = catalog.preset(name)
    assert form.config_of(form.values_of(preset), preset) == preset


def test_what_only_the_disk_and_the_other_engine_can_tell_is_told_beside_its_field(tmp_path):
    base = catalog.preset("kinder-reviews")
    values = {**form.values_of(base), "reference.source": "earlier-run"}
    with pytest.raises(InvalidConfig, match=r"reference\.source"):
        form.config_of(values, base, tmp_path)
    saved = tmp_path / "earlier-run" / "checkpoints" / "update-000040"
    saved.mkdir(parents=True)
    (saved / "MANIFEST.json").touch()
    assert form.config_of(values, base, tmp_path).reference.source == "earlier-run"
    with pytest.raises(InvalidConfig) as caught:
        form.config_of({**form.values_of(base), "engine": "trl", "kl.controller": "adaptive"}, base)
    assert [problem.field for problem in caught.value.problems] == ["kl.controller"]


def test_every_field_but_name_and_rewards_survives_with_unusual_values():
    base = catalog.preset("kinder-reviews")
    config = RunConfig.model_validate(
        {
            **base.model_dump(mode="json"),
            "name": "mine",
            "seed": 7,
            "prompts": {"source": "pocket/claims", "column": "text", "limit": 33},
            "rewards": [
                {"kind": "length", "weight": 0.5, "target": 20},
                {"kind": "keyword", "words": ["thank you", "please"]},
                {"kind": "pattern", "weight": -1, "pattern": r"a, b"},
            ],
            "behaviours": [
                "polite",
                {"name": "says-sorry", "words": "says sorry", "measure": {"kind": "keyword", "words": ["sorry"]}},
            ],
            "score": {"normalise": "none", "clip": 4.0},
            "ppo": {"num_updates": 1000, "value_clip_range": 0.2, "update_kl_stop": 0.1, "schedule": "constant"},
            "kl": {"controller": "adaptive", "coef": 0.001, "target": 6.0},
        }
    )
    assert form.config_of(form.values_of(config), base) == config.model_copy(update={"about": base.about})


def test_a_sentence_names_settings_as_the_form_does():
    told = {
        "prompts.source: a.csv has no rows.": "Prompts: a.csv has no rows.",
        "Lower ppo.batch_size, or raise max_minutes.": "Lower \u201cBatch\u201d, or raise \u201cTime limit\u201d.",
        "Train with LoRA (model.adapter.kind: lora).": "Train with LoRA (\u201cAdapter\u201d: lora).",
        "Its last words are in worker.log.": "Its last words are in worker.log.",
    }
    assert {sentence: form.with_labels(sentence) for sentence in told} == told


def test_a_problem_of_a_reward_names_the_field_of_that_reward():
    told = {
        "rewards.0.source": "Reward, Model",
        "rewards.1.words.0": "Reward, Words",
        "judges.0.expression": "Judges that only watch, Expression",
        "rewards.0.weight": "Reward",
        "rewards": "Reward",
        "behaviours.2.measure.expression": "Behaviours that are counted, Expression",
        "behaviours.0.name": "Behaviours that are counted",
        "nonsense.a": "nonsense.a",
    }
    assert {field: form.label_of(field) for field in told} == told


def test_behaviours_that_suit_the_prompts_are_an_empty_text_in_the_form_and_none_at_all_an_empty_list():
    base = catalog.preset("kinder-reviews")
    values = form.values_of(base)
    assert values["behaviours"] == ""
    assert form.config_of(values, base).behaviours is None
    assert form.config_of({**values, "behaviours": []}, base).behaviours == ()
    told = form.config_of({**values, "behaviours": [{"name": "ends"}]}, base)
    (difference,) = form.differences_in_words(told, base)
    assert difference[1:] == ("Behaviours that are counted", "those that suit the prompts", "ends by itself")
    with pytest.raises(InvalidConfig) as caught:
        form.config_of({**values, "behaviours": [{"name": "", "words": "", "aim": "less", "above": 0}]}, base)
    assert [problem.field for problem in caught.value.problems] == ["behaviours.0.name"]


def test_all_problems_come_at_once_and_name_their_fields():
    base = catalog.preset("kinder-reviews")
    values = form.values_of(base)
    values.update({"kl.coef": "abc", "ppo.num_updates": "", "ppo.minibatch_size": 20})
    values.update({"model.source": "gpt-99", "prompts.source": ""})
    values["rewards"] = [{"kind": "keyword", "weight": 1, "words": " , "}]
    with pytest.raises(InvalidConfig) as caught:
        form.config_of(values, base)
    fields = {problem.field for problem in caught.value.problems}
    assert {
        "ppo.num_updates",
        "ppo.minibatch_size",
        "kl.coef",
        "model.source",
        "prompts.source",
        "rewards.0.words",
    } <= fields


def test_an_indivisible_batch_names_the_field_and_a_value_that_works():
    base = catalog.preset("kinder-reviews")
    with pytest.raises(InvalidConfig) as caught:
        form.config_of({**form.values_of(base), "ppo.minibatch_size": 20}, base)
    (problem,) = caught.value.problems
    assert problem.field == "ppo.minibatch_size" and "try" in problem.message


def test_an_empty_text_means_no_value_where_that_is_allowed():
    base = catalog.preset("kinder-reviews")
    values = form.values_of(base)
    assert values["score.clip"] == ""
    assert form.config_of({**values, "score.clip": 3}, base).score.clip == 3.0
    assert form.config_of({**values, "score.clip": ""}, base).score.clip is None


def test_fields_of_another_kind_of_reward_are_dropped():
    base = catalog.preset("kinder-reviews")
    values = {**form.values_of(base), "rewards": [{"kind": "truth", "weight": 2, "judge": "vader"}]}
    (reward,) = form.config_of(values, base).rewards
    assert reward == TruthReward(weight=2.0)


def test_differences_are_told_with_labels_and_values():
    base = catalog.preset("kinder-reviews")
    changed = form.config_of({**form.values_of(base), "kl.coef": 0.3, "score.clip": 2}, base)
    told = {item.field: (item.label, item.before, item.after) for item in form.differences_in_words(changed, base)}
    assert told == {"kl.coef": ("Leash (beta)", f"{base.kl.coef:.3g}", "0.3"), "score.clip": ("Score clip", "off", "2")}


def test_the_reward_picker_offers_every_kind_with_its_own_fields():
    kinds = {item["kind"]: item for item in reward_form.reward_kinds()}
    assert set(kinds) == {choice.name for choice in catalog.REWARDS}
    assert [field["name"] for field in kinds["length"]["fields"]] == ["target"]
    assert kinds["sentiment"]["fields"][0]["options"] == ["pocket-lexicon", "vader", "pocket-world"]
    assert kinds["repetition"]["weight"] == -1.0


def test_every_knob_has_a_control_that_can_hold_it():
    for field in form.KNOBS:
        kinds = (form.options_of, form.is_text, form.is_switch, form.is_list)
        if not any(kind(field) for kind in kinds):
            assert form.knob_data(field)["slider"] or field == "seed", field


def test_the_engine_is_shown_where_there_is_a_choice():
    knobs = {"seed": {}, "engine": {}}
    assert list(form.shown(knobs, ("playground",))) == ["seed"]
    assert list(form.shown(knobs, ("playground", "trl"))) == ["seed", "engine"]


def test_options_are_told_as_words_and_short_names_stay():
    options = {"playground": "Playground", "trl": "TRL", "k1": "k1", "bf16": "bf16", "leave_one_out": "Leave one out"}
    assert {option: form.option_label(option) for option in options} == options


def test_what_is_wrong_with_one_reward_is_a_sentence_and_nothing_if_nothing_is():
    assert reward_form.problem_of({"kind": "expression", "weight": 1, "expression": "words(completion)"}) == ""
    assert "no such function" in reward_form.problem_of({"kind": "expression", "expression": "wrods(completion)"})
    assert "an empty completion" in reward_form.problem_of({"kind": "expression", "expression": "log(0)"})
    assert "no function `reward`" in reward_form.problem_of({"kind": "python", "code": "x = 1"})
    for odd in (None, 7, [], {}, {"kind": "nonsense"}, {"kind": "expression", "expression": ["x"] * 9}):
        assert reward_form.problem_of(odd).endswith(".")


def test_the_texts_that_stand_in_a_new_reward_are_valid_and_fields_for_them_have_lines():
    for kind, name in (("expression", "expression"), ("python", "code")):
        (offered,) = [item for item in reward_form.reward_kinds() if item["kind"] == kind]
        fields = {field["name"]: field for field in offered["fields"]}
        assert fields[name]["lines"] > 1
        assert reward_form.problem_of({"kind": kind, name: fields[name]["default"]}) == ""
    assert "Runs your code on this machine" in offered["warning"]


def test_a_shared_playground_offers_no_reward_that_is_for_ones_own_machine(monkeypatch):
    monkeypatch.setenv(local_only.MODE, "space")
    offered = {item["kind"] for item in reward_form.reward_kinds()}
    assert offered == {choice.name for choice in catalog.REWARDS} - {"python", "pattern"}
    code = {"kind": "python", "code": "def reward(prompt, completion): return 1"}
    assert "can only be used in local mode" in reward_form.problem_of(code)
