"""What was changed in the form: in a link and back by the configuration's checks, and kept over a reload."""

from __future__ import annotations

import pytest

from playground.config import yaml_io
from playground.errors import InvalidConfig
from playground.setup import catalog
from playground.setup.limits import LIMITS
from playground.ui.auth.access import Caller, Role
from playground.ui.train import edits, filling

BASE = catalog.preset("kinder-reviews")
LOCAL = LIMITS["local"]
TYPED = ["The film, was", 'A "book": {1}, 2]', "C:\\new", "two\nlines", "\u00e9\u6620"]


def changed(**changes):
    return yaml_io.from_dict({**BASE.model_dump(mode="json"), **changes})


SORRY = {"name": "sorry", "words": "says sorry", "measure": {"kind": "keyword", "words": ["a"]}}


@pytest.mark.parametrize(
    "changes",
    [
        {"prompts": {"source": "typed", "typed": TYPED}},
        {"rewards": [{"kind": "keyword", "words": ["a,b", "c:d"], "weight": -0.5}, {"kind": "length", "target": 12}]},
        {"model": {"source": "someone/Some-Model_1.5", "adapter": {"kind": "lora"}}, "max_minutes": 2.5},
        {"behaviours": ["ends", SORRY]},
        {"behaviours": []},
        {"name": "null", "sampling": {"top_k": 5, "train_on_cut": True}},
        {"name": "12", "ppo": {**BASE.ppo.model_dump(), "learning_rate": 1e-05, "update_kl_stop": 0.1}},
    ],
)
def test_whatever_can_be_set_comes_back_from_a_link_as_it_was(changes):
    config = changed(**changes)
    assert edits.from_text(edits.written(config, BASE), BASE, LOCAL) == config


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("kl.coeff:0.5", "kl.coeff"),
        ("about.title:Mine", "about.title"),
        ("format:2", "format"),
        ("__class__:1", "set"),
        ("kl:{}", "kl"),
        ("kl.coef", "set"),
        ("kl.coef:-1", "kl.coef"),
        ("kl.coef:[[[[", "set"),
        ("rewards:" + "[" * 3000, "set"),
        ('rewards:[{"kind":"length"}]x', "set"),
        ('rewards:[{"kind":"python","code":"def reward(prompt, completion):\\n    return 1"}]', "rewards"),
        ("seed:" + "9" * 3900, "seed"),
        ("seed:" + "9" * 5000, "set"),
    ],
)
def test_what_a_link_may_not_say_is_refused_beside_its_field(text, field):
    with pytest.raises(InvalidConfig) as caught:
        edits.from_text(text, BASE, LOCAL)
    assert [problem.field for problem in caught.value.problems] == [field]


def test_a_link_is_bound_by_the_limits_of_the_page():
    for text in ("model.source:someone/model", "ppo.num_updates:5000", "prompts.source:/etc/passwd.txt"):
        edits.from_text(text, BASE, LOCAL)
        with pytest.raises(InvalidConfig, match="public page"):
            edits.from_text(text, BASE, LIMITS["space"])


def test_what_no_link_can_carry_is_said():
    long = changed(prompts={"source": "typed", "typed": ["x" * 3000, "y" * 3000]})
    python = changed(rewards=[{"kind": "python", "code": "def reward(prompt, completion):\n    return 1\n"}])
    for config, words in ((long, "too long for a link"), (python, "stranger's code")):
        notes = filling.notes_on("kinder-reviews", config, BASE, [])
        assert notes["link"] == ""
        assert words in notes["no_link"]
        assert edits.from_text(notes["kept"], BASE, LOCAL, from_link=False) == config  # after a reload


def at_load(tmp_path, given=None, mode="local", role=Role.HOST, **query):
    return filling.filled_at_load(given, Caller(mode, role, query=query), tmp_path, LIMITS[mode])


def test_a_page_opened_from_a_link_begins_with_its_settings(tmp_path):
    found = at_load(tmp_path, preset="no-leash", set="kl.coef:0.5,seed:3")
    assert (found.values["kl.coef"], found.values["seed"]) == (0.5, 3)
    assert "seed: 3" in found.text
    assert found.notes["restored"] == {"kept": False, "count": 2, "use": {"seed": 0, "kl.coef": 0.0}}
    assert [item["field"] for item in found.notes["differences"]] == ["seed", "kl.coef"]
    assert at_load(tmp_path, preset="no-leash").notes.get("restored") is None


def test_a_link_that_says_too_much_is_refused_and_the_preset_stays(tmp_path):
    found = at_load(tmp_path, preset="no-leash", set="kl.coef:0.5,kl.coeff:1")
    assert found.values["kl.coef"] == 0.0
    assert found.notes["problems"] == []
    assert [item["field"] for item in found.notes["restored"]["refused"]] == ["kl.coeff"]
    found = at_load(tmp_path, mode="space", role=Role.VISITOR, set="ppo.num_updates:5000")
    assert "public page" in found.notes["restored"]["refused"][0]["message"]


def test_who_only_watches_gets_the_preset_as_it_is(tmp_path):
    kept = {"address": " kl.coef:0.5", "preset": "kinder-reviews", "kept": "seed:5"}
    found = at_load(tmp_path, kept, mode="classroom", role=Role.VISITOR, set="kl.coef:0.5")
    assert (found.values["kl.coef"], found.values["seed"]) == (0.25, 0)
    assert "restored" not in found.notes


def test_what_was_kept_comes_back_after_a_reload_and_only_in_the_same_address(tmp_path):
    kept = {"address": "no-leash seed:3", "preset": "short-leash", "kept": "kl.coef:2,seed:5"}
    found = at_load(tmp_path, kept, preset="no-leash", set="seed:3")
    assert (found.values["seed"], found.values["kl.coef"], found.preset) == (5, 2, "short-leash")
    assert found.notes["restored"] == {"kept": True, "count": 2, "use": {"kl.coef": 5.0, "seed": 0}}
    found = at_load(tmp_path, kept, preset="no-leash", set="seed:4")  # another link was opened in this window
    assert found.values["seed"] == 4
    for given in (5, [], {"address": " "}, {"address": " ", "preset": 3, "kept": ""}):  # nonsense
        assert "restored" not in at_load(tmp_path, given).notes


def test_a_preset_or_run_that_is_not_there_is_said_and_the_form_has_its_values(tmp_path):
    for chosen in ("kinder-revues", "run:../../etc", "run:deleted", "presets/kinder-reviews.yaml"):
        found = at_load(tmp_path, preset=chosen)
        (problem,) = found.notes["problems"]
        assert problem["field"] == "preset"
        assert problem["message"].endswith((".", "?"))
        assert found.start == "Fix 1 setting to start"
        assert found.values["kl.coef"] == 0.25
