"""What the Train page's handlers answer: notes, the Start button's words, the run to show."""

from typing import Literal
from unittest.mock import Mock

import gradio as gr
import pytest

from playground.config import Part, knob
from playground.runs.folder.directory import RunDirectory
from playground.runs.start import launcher, queue
from playground.runs.start.standby import StandbyWorker
from playground.setup import catalog, expected
from playground.setup.limits import LIMITS
from playground.ui.train import controls, filling, form, train_page
from playground.ui.train.filling import SKIP, Form
from tests.ui import fake_run


@pytest.fixture
def values():
    return form.values_of(catalog.preset("kinder-reviews"))


def sent(values, chosen="kinder-reviews", notes=None):
    return Form(chosen, notes or {}, values)


def label(button):
    return button.value if hasattr(button, "value") else button["value"]


def test_an_untouched_preset_can_start_and_differs_in_nothing(values, tmp_path):
    notes, story, button, text = filling.checked(sent(values), tmp_path)
    assert notes["problems"] == [] and notes["differences"] == [] and label(button) == "Start training"
    assert "kinder-reviews" in text and story["expect"].startswith("The score climbs")
    assert story["measured"] == expected.line("kinder-reviews") != ""
    values["kl.coef"] = 1.0
    _, story, _, _ = filling.checked(sent(values), tmp_path)
    assert (story["expect"], story["measured"]) == ("", ""), "what was measured no longer holds"


def test_the_start_button_counts_what_is_to_be_fixed(values, tmp_path):
    values.update({"ppo.minibatch_size": 20, "kl.coef": -1})
    notes, _, button, _ = filling.checked(sent(values), tmp_path)
    assert label(button) == "Fix 2 settings to start"
    assert {item["field"] for item in notes["problems"]} == {"ppo.minibatch_size", "kl.coef"}
    assert {item["label"] for item in notes["problems"]} == {"Minibatch", "Leash (beta)"}


@pytest.mark.parametrize("chosen", ["kinder-revues", "", None, "run:../../etc", "presets/kinder-reviews.yaml"])
def test_an_unknown_preset_is_one_sentence(chosen, values, tmp_path):
    notes, _, button, _ = filling.checked(sent(values, chosen), tmp_path)
    (problem,) = notes["problems"]
    assert problem["field"] == "preset" and problem["message"].endswith((".", "?"))
    assert label(button) == "Fix 1 setting to start"


def start(values, outputs, asked="press-0001"):
    return train_page.started(asked, sent(values), outputs, StandbyWorker())


def test_start_starts_the_run_that_the_form_describes(values, tmp_path, workers):
    values["kl.coef"] = 0.25
    view, notes, button = start(values, tmp_path)
    run = RunDirectory.open(tmp_path / view["run"])
    assert run.config().kl.coef == 0.25 and run.config().about.title == "Kinder reviews"
    assert label(button) == "Add to the queue" and notes["problems"] == []


def test_a_start_ends_the_trial_that_is_under_way(values, tmp_path, workers, monkeypatch):
    ended = []
    monkeypatch.setattr(launcher, "end_trial", ended.append)
    start(values, tmp_path)
    assert ended == [tmp_path]


def test_a_worker_that_the_system_does_not_give_is_said_in_a_sentence(values, tmp_path, monkeypatch):
    monkeypatch.setattr(launcher, "new_worker", Mock(side_effect=OSError(11, "Resource temporarily unavailable")))
    view, notes, _ = start(values, tmp_path)
    (problem,) = notes["problems"]
    assert view["run"] is None and "could not be started: Resource temporarily unavailable." in problem["message"]


def test_a_press_that_arrives_twice_starts_one_run(values, tmp_path, workers):
    first, _, _ = start(values, tmp_path)
    second, notes, _ = start(values, tmp_path)
    assert second["run"] == first["run"] and notes["problems"] == [] and len(workers) == 1
    assert queue.waiting(tmp_path) == []


def test_another_press_or_other_settings_are_another_run_in_the_queue(values, tmp_path, workers):
    start(values, tmp_path)
    second, notes, button = start(values, tmp_path, "press-0002")
    assert notes["problems"] == [] and label(button) == "Add to the queue (1 waits)"
    values["seed"] = 5
    third, _, button = start(values, tmp_path, "press-0002")
    assert queue.waiting(tmp_path) == [second["run"], third["run"]] and len(workers) == 1
    assert label(button) == "Add to the queue (2 wait)"
    assert label(filling.checked(sent(values), tmp_path)[2]) == label(button)


@pytest.mark.parametrize("asked", [None, "", 7, ["press-0001"], "x" * 1000, "../../etc/passwd", "a b c d e"])
def test_a_press_without_a_proper_name_is_one_of_its_own(asked, values, tmp_path, workers):
    first, _, _ = start(values, tmp_path, asked)
    second, _, _ = start(values, tmp_path, asked)
    assert first["run"] != second["run"] and queue.waiting(tmp_path) == [second["run"]]


def test_an_outputs_folder_that_cannot_be_written_is_said(values, tmp_path, workers):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    view, notes, _ = start(values, blocked)
    assert view["run"] is None  # nothing to look at, and the page makes a new name for the next press
    assert "Cannot write to the outputs folder" in notes["problems"][0]["message"] and not workers


def test_settings_of_a_run_come_back_into_the_form(tmp_path):
    base = catalog.preset("no-leash")
    config = base.model_copy(update={"seed": 9, "ppo": base.ppo.model_copy(update={"num_updates": 7})})
    fake_run.write_run(tmp_path, "mine", config)
    filled = filling.filled_from("run:mine", tmp_path)
    assert form.config_of(filled.values, filling.base_of("run:mine", tmp_path)) == config
    story = {"preset": "", "story": "No leash, but 7 updates.", "expect": "", "measured": ""}
    story["settings_of"] = "No leash"
    assert filled.notes["differences"] == [] and filled.story == story and filled.preset == "run:mine"
    RunDirectory(tmp_path / "mine").write_label("Seven", "")
    assert filling.filled_from("run:mine", tmp_path).story["settings_of"] == "Seven"


def test_the_menu_has_the_story_numbered_and_on_a_public_page_nothing_else():
    (_, story), (_, downloads), (_, gpu) = controls.preset_groups(LIMITS["local"])
    assert story[:2] == [("kinder-reviews", "1. Kinder reviews"), ("no-leash", "2. No leash")] and len(story) == 22
    assert ("gpt2", "GPT-2: kinder reviews") in downloads and "hh-rlhf-1b" in dict(gpu)
    assert controls.preset_groups(LIMITS["space"]) == [("Ships with the playground", story)]
    second = controls.steps()[1]
    assert (second["number"], second["title"], second["against"]) == (2, "No leash", "kinder-reviews")


def test_a_preset_whose_model_is_not_here_says_so_at_once(tmp_path):
    """The hub cannot be asked in a test; nothing is to be mended first to find out."""
    filled = filling.filled_from("smollm2-135m", tmp_path)
    (problem,) = filled.notes["problems"]
    assert problem["field"] == "model.source" and "HF_HUB_OFFLINE forbids" in problem["message"]
    assert label(filled.start) == "Fix 1 setting to start"
    assert filling.filled_from("smollm2-135m", tmp_path, whole=False).notes["problems"] == []  # may not know


def test_yaml_fills_the_form_and_shows_what_differs(values, tmp_path):
    text = catalog.preset("kinder-reviews").model_copy(update={"seed": 3}).to_yaml()
    notes = filling.from_text(text, sent(values), tmp_path).notes
    assert [item["field"] for item in notes["differences"]] == ["seed"]


@pytest.mark.parametrize(
    ("text", "field"),
    [("kl: {coeff: 1}", "kl.coeff"), ("rewards: [{kind: kindness}]", "rewards.0.kind"), ("a: [", ""), ("3", "")],
)
def test_bad_yaml_is_told_by_field_and_leaves_the_form_alone(text, field, values, tmp_path):
    filled = filling.from_text(text, sent(values, notes={"marks": {"seed": 0}}), tmp_path)
    notes = filled.notes
    assert filled.values == {} and filled.preset == filled.text == SKIP
    assert field in {item["field"] for item in notes["problems"]} and notes["marks"] == {"seed": 0}


def test_every_field_of_the_form_is_laid_out_once():
    placed = [*controls.PLACED, *(field for group in controls.GROUPS.values() for field in group)]
    assert sorted([*placed, "name", *form.LISTS]) == sorted(form.FIELDS)


def test_a_field_that_the_configuration_gains_shows_up_by_itself():
    gained = ["model.new", "reference.new", "sampling.new", "ppo.new", "kl.new"]
    groups = controls.groups_of([*form.KNOBS, *gained, "lora.rank", "budget"])
    placed = [*controls.PLACED, *(field for group in groups.values() for field in group)]
    assert sorted([*placed, "name", *form.LISTS]) == sorted([*form.FIELDS, *gained, "lora.rank", "budget"])
    assert {"model.new", "reference.new"} <= set(groups["Models and reference"])
    assert groups[controls.OTHER] == ["lora.rank", "budget"]
    assert (
        "ppo.new" in groups["More training settings"]
        and "engine" in controls.groups_of(["engine"])["More training settings"]
    )


def test_every_kind_of_field_has_a_control(monkeypatch):
    class Invented(Part):
        critic: Literal["shared", "separate"] = knob("shared", "Critic")
        source: str | None = knob(None, "Reference")
        kind: Literal["a", "b"] | None = knob("a", "Kind")
        whiten: bool = knob(True, "Whiten")
        top_k: int | None = knob(None, "Top k", slider=(0, 100, 1))

    fields = Invented.model_fields
    monkeypatch.setattr(form, "_annotation", lambda field: fields[field].annotation)
    words = dict.fromkeys(("help", "low", "high"), "")
    monkeypatch.setattr(form, "KNOBS", {name: field.json_schema_extra | words for name, field in fields.items()})
    with gr.Blocks():
        made = {name: type(controls.control(name, dict.fromkeys(fields, ""))) for name in fields}
    assert made == {"critic": gr.Radio, "source": gr.Textbox, "kind": gr.Radio, "whiten": gr.Checkbox, "top_k": gr.HTML}
