"""What the Train page's handlers answer: notes, the Start button's words, the run to show."""

import pytest

from playground.runs import launcher, queue
from playground.runs.folder.directory import RunDirectory
from playground.runs.standby import StandbyWorker
from playground.setup import catalog, expected
from playground.setup.limits import LIMITS
from playground.ui.auth.access import Access, Caller
from playground.ui.train import controls, filling, form, form_parts, train_page
from playground.ui.train.form import Form, FormUpdate
from tests.ui import fake_run


@pytest.fixture
def values():
    return form.values_of(catalog.preset("kinder-reviews"))


def sent(values, chosen="kinder-reviews", notes=None):
    return Form(chosen, notes or {}, values)


def test_an_untouched_preset_can_start_and_differs_in_nothing(values, tmp_path):
    found = filling.checked(sent(values), tmp_path)
    assert (found.notes["problems"], found.notes["differences"], found.start) == ([], [], "Start training")
    assert found.notes["queue"] == ""
    assert "kinder-reviews" in found.text
    assert found.story["expect"]
    assert found.story["measured"] == expected.line("kinder-reviews") != ""
    values["kl.coef"] = 1.0
    story = filling.checked(sent(values), tmp_path).story
    assert (story["expect"], story["measured"]) == ("", ""), "what was measured no longer holds"
    assert (story["taught"], story["changed"]) == (catalog.preset("kinder-reviews").about.story, "beta 1.")
    values["rewards"] = form.values_of(catalog.preset("chatterbox"))["rewards"]
    story = filling.checked(sent(values), tmp_path).story
    assert (story["taught"], story["changed"]) == ("", "")
    assert story["what"] == "Kinder reviews, changed: beta 1 and length as reward."


def test_the_start_button_counts_what_is_to_be_fixed(values, tmp_path):
    values.update({"ppo.minibatch_size": 20, "kl.coef": -1})
    found = filling.checked(sent(values), tmp_path)
    assert found.start == "Fix 2 settings to start"
    assert {item["field"] for item in found.notes["problems"]} == {"ppo.minibatch_size", "kl.coef"}
    assert {item["label"] for item in found.notes["problems"]} == {"Minibatch", form.LABELS["kl.coef"]}


def start(values, outputs, asked="press-0001"):
    view, update = train_page.started(asked, sent(values), outputs, StandbyWorker(), Access(), Caller())
    return view, update.notes, update.start


def test_start_starts_the_run_that_the_form_describes_and_ends_the_trial_that_is_under_way(
    values, tmp_path, workers, monkeypatch
):
    ended = []
    monkeypatch.setattr(launcher, "end_trial", ended.append)
    values["kl.coef"] = 0.25
    view, notes, label = start(values, tmp_path)
    run = RunDirectory.open(tmp_path / view["run"])
    assert run.config().kl.coef == 0.25
    assert run.config().about.title == "Kinder reviews"
    assert label == "Add to the queue"
    assert notes["problems"] == []
    assert ended == [tmp_path]
    assert notes["queue"] == "“Kinder reviews” is training; one run at a time on this device."


def test_a_press_that_arrives_twice_is_one_run_and_another_press_or_other_settings_one_more(values, tmp_path, workers):
    first, second = (start(values, tmp_path) for _ in range(2))
    assert second[0]["run"] == first[0]["run"]
    assert second[1]["problems"] == []
    assert len(workers) == 1
    assert queue.waiting(tmp_path) == []
    second, notes, label = start(values, tmp_path, "press-0002")
    assert notes["problems"] == []
    assert label == "Add to the queue"
    values["seed"] = 5
    third, _, label = start(values, tmp_path, "press-0002")
    assert queue.waiting(tmp_path) == [second["run"], third["run"]]
    assert len(workers) == 1
    found = filling.checked(sent(values), tmp_path)
    assert label == found.start == "Add to the queue"
    assert found.notes["queue"].startswith("“Kinder reviews” is training")
    values["kl.coef"] = -1
    assert filling.checked(sent(values, notes=found.notes), tmp_path).notes["queue"] == "", "nothing starts before"


def test_settings_of_a_run_come_back_into_the_form(tmp_path):
    base = catalog.preset("no-leash")
    config = base.model_copy(update={"seed": 9, "ppo": base.ppo.model_copy(update={"num_updates": 7})})
    fake_run.write_run(tmp_path, "mine", config)
    filled = filling.filled_from("run:mine", tmp_path)
    assert form.config_of(filled.values, filling.base_of("run:mine", tmp_path)) == config
    assert filled.notes["differences"] == []
    assert filled.preset == "run:mine"
    assert filled.story == {
        **{"preset": "", "title": "No leash", "taught": base.about.story, "changed": "7 updates.", "what": ""},
        **{"expect": "", "measured": "", "settings_of": "No leash"},
    }
    RunDirectory(tmp_path / "mine").write_label("Seven", "")
    assert filling.filled_from("run:mine", tmp_path).story["settings_of"] == "Seven"


def test_the_menu_has_the_story_numbered_and_on_a_public_page_nothing_else():
    (_, story), of_lessons, (title, real), (_, downloads), (_, gpu) = controls.preset_groups(LIMITS["local"])
    assert of_lessons[0] == "Of the lessons"
    assert ("full-stops", "Dot dot dot") in of_lessons[1]
    assert story[:2] == [("kinder-reviews", "1. Kinder reviews"), ("no-leash", "2. No leash")]
    assert len(story) == 22
    assert title == "A real chat model"
    assert real[0] == ("real-short-answers", "23. Short answers")
    assert ("gpt2", "GPT-2: kinder reviews") in downloads
    assert "hh-rlhf-1b" in dict(gpu)
    included, (_, public) = controls.preset_groups(LIMITS["space"])
    assert included == ("Included", story)
    assert {*public} < {*of_lessons[1]}
    assert not any(catalog.preset(name).experiments for name, _ in public), "none with a planted mistake"
    second = controls.steps()[1]
    assert (second["number"], second["title"], second["against"]) == (2, "No leash", "kinder-reviews")


def test_a_preset_whose_model_is_not_here_says_so_at_once(tmp_path):
    """The hub cannot be asked in a test; nothing is to be mended first to find out."""
    filled = filling.filled_from("smollm2-135m", tmp_path)
    (problem,) = filled.notes["problems"]
    assert problem["field"] == "model.source"
    assert "HF_HUB_OFFLINE" in problem["message"]
    assert filled.start == "Fix 1 setting to start"
    assert filled.values
    assert filling.filled_from("smollm2-135m", tmp_path, whole=False).notes["problems"] == []  # may not know


def test_yaml_fills_the_form_and_shows_what_differs(values, tmp_path):
    text = catalog.preset("kinder-reviews").model_copy(update={"seed": 3}).to_yaml()
    found = filling.from_text(text, sent(values), tmp_path)
    assert [item["field"] for item in found.notes["differences"]] == ["seed"]
    assert found.values["seed"] == 3


@pytest.mark.parametrize(
    ("text", "field"),
    [("kl: {coeff: 1}", "kl.coeff"), ("rewards: [{kind: kindness}]", "rewards.0.kind"), ("a: [", ""), ("3", "")],
)
def test_bad_yaml_is_a_problem_by_field_and_leaves_the_form_alone(text, field, values, tmp_path):
    filled = filling.from_text(text, sent(values, notes={"marks": {"seed": 0}}), tmp_path)
    assert filled == FormUpdate(notes=filled.notes, start=filled.start)
    assert field in {item["field"] for item in filled.notes["problems"]}
    assert filled.notes["marks"] == {"seed": 0}


def test_every_field_of_the_form_is_laid_out_once_and_one_that_the_configuration_gains_shows_up_by_itself():
    gained = ["model.new", "reference.new", "sampling.new", "ppo.new", "kl.new", "lora.rank", "budget"]
    for more in ([], gained):
        groups = controls.groups_of([*form.KNOBS, *more])
        placed = [*controls.PLACED, *(field for group in groups.values() for field in group)]
        assert sorted([*placed, "name", *form.LISTS]) == sorted([*form.FIELDS, *more])
    assert {"model.new", "reference.new"} <= set(groups["Models and reference"])
    assert groups[controls.OTHER] == ["lora.rank", "budget"]
    assert "ppo.new" in groups["More training settings"]


def test_what_only_lacks_the_real_model_says_what_to_do_and_what_it_would_take(tmp_path, monkeypatch):
    monkeypatch.setenv("PLAYGROUND_MODELS", str(tmp_path / "models"))
    filled = filling.filled_from("real-short-answers", tmp_path)
    assert [problem["field"] for problem in filled.notes["problems"]] == ["model.source"]
    assert filled.start == "Get its model to start"
    two = filling.checked(sent({**filled.values, "ppo.num_updates": 0}), tmp_path)
    assert two.start.startswith("Fix ")
    config = catalog.preset("real-short-answers")
    needed = form_parts.needs(config, config, tmp_path)
    assert needed["problem"] == "" and needed["download"] is None, "no run downloads it"
    assert needed["total_gb"] > 4 * 134_515_008 / 1e9
    assert needed["fit"] is None
