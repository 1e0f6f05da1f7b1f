"""The form's values and RunConfig are two spellings of the same settings, and a link is a third: what was changed in
the form, by the configuration's checks, and kept over a reload."""

import pytest

from playground.config import local_only, yaml_io
from playground.errors import InvalidConfig
from playground.setup import catalog
from playground.setup.limits import LIMITS
from playground.ui.auth.access import Caller, Role
from playground.ui.train import edits, filling, form, reward_form
from tests.support import data_beside, fields_of
from tests.ui.asking import refused

BASE = catalog.preset("kinder-reviews")
VALUES = form.values_of(BASE)
LOCAL = LIMITS["local"]
UNUSUAL = data_beside(__file__, "unusual.yaml")


def changed(**changes):
    return yaml_io.from_dict({**BASE.model_dump(mode="json"), **changes})


def problems_of(outputs=None, **changes):
    """The fields with which a form with these values has a problem."""
    values = {**VALUES, **{name.replace("__", "."): value for name, value in changes.items()}}
    return {*fields_of(form.config_of, values, BASE, outputs)}


@pytest.mark.parametrize("changes", [*UNUSUAL["form"], *UNUSUAL["link"]])
def test_whatever_can_be_set_comes_back_from_the_form_and_from_a_link_as_it_was(changes):
    config = changed(**changes)
    link = edits.written(config, BASE)  # people write both signs
    assert edits.from_text(link, BASE, LOCAL) == edits.from_text(link.replace(":", "=", 1), BASE, LOCAL) == config
    assert changes in UNUSUAL["link"] or form.config_of(form.values_of(config), BASE) == config


def test_a_preset_survives_the_form_where_behaviours_that_suit_the_prompts_are_an_empty_text():
    for name in catalog.preset_groups()[catalog.INCLUDED]:
        preset = catalog.preset(name)
        assert form.config_of(form.values_of(preset), preset) == preset
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
    assert form.with_labels("Write kl.coef:0.5.") == "Write kl.coef:0.5.", "as a link says it"


def test_what_only_the_disk_and_the_other_engine_know_is_beside_its_field(tmp_path):
    assert problems_of(tmp_path, reference__source="earlier-run") == {"reference.source"}
    saved = tmp_path / "earlier-run" / "checkpoints" / "update-000040"
    saved.mkdir(parents=True)
    (saved / "MANIFEST.json").touch()
    values = {**VALUES, "reference.source": "earlier-run"}
    assert form.config_of(values, BASE, tmp_path).reference.source == "earlier-run"
    assert problems_of(engine="trl", kl__controller="adaptive") == {"kl.controller"}


def test_the_reward_picker_offers_every_kind_with_its_own_fields(monkeypatch):
    kinds = {item["kind"]: item for item in reward_form.reward_kinds()}
    assert set(kinds) == {choice.name for choice in catalog.REWARDS}
    assert [field["name"] for field in kinds["length"]["fields"]] == ["target"]
    assert kinds["sentiment"]["fields"][0]["options"] == ["pocket-lexicon", "vader", "pocket-world"]
    assert kinds["repetition"]["weight"] == -1.0
    for kind, name in (("expression", "expression"), ("python", "code")):
        fields = {field["name"]: field for field in kinds[kind]["fields"]}
        assert fields[name]["lines"] >= 8
        assert reward_form.problem_of({"kind": kind, name: fields[name]["default"]}) == "", "what is there at first"
    assert kinds["python"]["warning"]
    monkeypatch.setenv(local_only.MODE, "space")
    assert set(kinds) - {item["kind"] for item in reward_form.reward_kinds()} == {"python", "pattern"}
    assert "local mode" in reward_form.problem_of({"kind": "python", "code": kinds["python"]["fields"][0]["default"]})


def test_what_is_wrong_with_a_reward_is_a_sentence_and_of_a_sound_one_nothing_is_said():
    assert reward_form.problem_of({"kind": "expression", "weight": 1, "expression": "words(completion)"}) == ""
    assert "no such function" in reward_form.problem_of({"kind": "expression", "expression": "wrods(completion)"})
    assert "no function `reward`" in reward_form.problem_of({"kind": "python", "code": "x = 1"})
    of_file = {"kind": "python", "code": "def reward(completion): return 1", "file": "none.py"}
    assert "Cannot read none.py" in reward_form.problem_of(of_file), "what the file says counts, not the code below it"
    for odd in (None, 7, [], {}, {"kind": "nonsense"}, {"kind": "expression", "expression": ["x"] * 9}):
        assert reward_form.problem_of(odd).endswith(".")


ENDLESS = [("rewards:" + "[" * 3000, "set"), ("seed:" + "9" * 3900, "seed")]


@pytest.mark.parametrize(("text", "field"), [*refused("links"), *ENDLESS])
def test_what_a_link_may_not_say_is_refused_beside_its_field(text, field):
    assert fields_of(edits.from_text, text, BASE, LOCAL) == [field]


def test_a_link_is_bound_by_the_limits_of_the_page():
    for text in ("model.source:someone/model", "ppo.num_updates:5000", "prompts.source:/etc/passwd.txt"):
        edits.from_text(text, BASE, LOCAL)
        with pytest.raises(InvalidConfig, match="public page"):
            edits.from_text(text, BASE, LIMITS["space"])


def test_what_no_link_can_carry_is_said_and_comes_back_after_a_reload():
    long = changed(prompts={"source": "typed", "typed": ["x" * 3000, "y" * 3000]})
    python = changed(rewards=[{"kind": "python", "code": "def reward(prompt, completion):\n    return 1\n"}])
    for config, words in ((long, "too long for a link"), (python, "stranger's code")):
        notes = filling.notes_on("kinder-reviews", config, BASE, [])
        assert notes["link"] == ""
        assert words in notes["no_link"]
        assert edits.from_text(notes["kept"], BASE, LOCAL, from_link=False) == config


def at_load(tmp_path, given=None, mode="local", role=Role.HOST, **query):
    return filling.filled_at_load(given, Caller(mode, role, query=query), tmp_path, LIMITS[mode])


def test_a_page_opened_from_a_link_begins_with_its_settings_or_refuses_all_of_them(tmp_path):
    form = at_load(tmp_path, preset="no-leash", set="kl.coef:0.5,seed:3")
    assert (form.values["kl.coef"], form.values["seed"]) == (0.5, 3)
    assert "seed: 3" in form.text
    assert form.notes["restored"] == {"kept": False, "count": 2, "use": {"seed": 0, "kl.coef": 0.0}}
    assert [item["field"] for item in form.notes["differences"]] == ["seed", "kl.coef"]
    assert at_load(tmp_path, preset="no-leash").notes.get("restored") is None
    refused = at_load(tmp_path, preset="no-leash", set="kl.coef:0.5,kl.coeff:1")
    assert refused.values["kl.coef"] == 0.0
    assert [item["field"] for item in refused.notes["restored"]["refused"]] == ["kl.coeff"]


def test_who_only_watches_gets_the_preset_as_it_is(tmp_path):
    kept = {"address": " kl.coef:0.5", "preset": "kinder-reviews", "kept": "seed:5"}
    form = at_load(tmp_path, kept, mode="classroom", role=Role.VISITOR, set="kl.coef:0.5")
    assert (form.values["kl.coef"], form.values["seed"]) == (0.25, 0)
    assert "restored" not in form.notes


def test_what_was_kept_comes_back_after_a_reload_and_only_in_the_same_address(tmp_path):
    kept = {"address": "no-leash seed:3", "preset": "short-leash", "kept": "kl.coef:2,seed:5"}
    form = at_load(tmp_path, kept, preset="no-leash", set="seed:3")
    assert (form.values["seed"], form.values["kl.coef"], form.preset) == (5, 2, "short-leash")
    assert form.notes["restored"] == {"kept": True, "count": 2, "use": {"kl.coef": 5.0, "seed": 0}}
    elsewhere = at_load(tmp_path, kept, preset="no-leash", set="seed:4")  # another link was opened in this window
    assert elsewhere.values["seed"] == 4
    for nonsense in (5, [], {"address": " "}, {"address": " ", "preset": 3, "kept": ""}):
        assert "restored" not in at_load(tmp_path, nonsense).notes


@pytest.mark.parametrize("chosen", ["kinder-revues", "run:../../etc", "run:deleted", "presets/kinder-reviews.yaml"])
def test_a_preset_or_run_that_is_not_there_is_said_and_the_form_has_its_values(tmp_path, chosen):
    form = at_load(tmp_path, preset=chosen)
    (problem,) = form.notes["problems"]
    assert problem["field"] == "preset"
    assert problem["message"].endswith((".", "?"))
    assert (form.start, form.values["kl.coef"]) == ("Fix 1 setting to start", 0.25)
