"""What the Train page's handlers answer: notes, the Start button's words, the run to show; uploads, what a run needs,
what the pickers offer, the check before a start. Which files are refused is tested in tests/security."""

import pytest

from playground.config import yaml_io
from playground.errors import InvalidConfig, Problem, ServiceUnavailable
from playground.runs import queue, trial
from playground.runs.folder.directory import RunDirectory
from playground.runs.standby import StandbyWorker
from playground.setup import catalog, checks, expected
from playground.setup.limits import LIMITS
from playground.ui import page
from playground.ui.auth import uploads
from playground.ui.auth.access import Access, Caller, Role
from playground.ui.auth.visitors import Visitor
from playground.ui.train import controls, filling, form, form_parts, run_actions, train_page
from playground.ui.train.form import Form, FormUpdate
from tests.support import small_config
from tests.ui import fake_run
from tests.ui.asking import refused
from tests.ui.fake_server import FakeService


@pytest.fixture
def values():
    return form.values_of(catalog.preset("kinder-reviews"))


def sent(values, chosen="kinder-reviews", notes=None):
    return Form(chosen, notes or {}, values)


def test_an_untouched_preset_can_start_and_differs_in_nothing(values, tmp_path):
    update = filling.checked(sent(values), tmp_path)
    assert (update.notes["problems"], update.notes["differences"], update.start) == ([], [], "Start training")
    assert update.notes["queue"] == ""
    assert "kinder-reviews" in update.text
    assert update.story["expect"]
    assert update.story["measured"] == expected.line("kinder-reviews") != ""
    values["kl.coef"] = 1.0
    story = filling.checked(sent(values), tmp_path).story
    assert (story["expect"], story["measured"]) == ("", ""), "what was measured no longer holds"
    assert (story["taught"], story["changed"]) == (catalog.preset("kinder-reviews").about.story, "leash 1.")
    values["rewards"] = form.values_of(catalog.preset("chatterbox"))["rewards"]
    story = filling.checked(sent(values), tmp_path).story
    assert (story["taught"], story["changed"]) == ("", "")
    assert story["what"] == "Kinder reviews, changed: leash 1 and length as reward."
    values["kl.coef"] = 0
    values["rewards"] = form.values_of(catalog.preset("kinder-reviews"))["rewards"]
    assert filling.checked(sent(values), tmp_path).story["taught"] == "", "no leash holds them"


def start(values, outputs, asked="press-0001"):
    view, update = train_page.started(asked, sent(values), outputs, StandbyWorker(), Access(), Caller())
    return view, update.notes, update.start


CHANGES = """needs apply, tryout apply, notes apply, real-model-start apply, filler input, bench-use click, None upload,
preset input, field-method input, field-kl-coef input, field-name blur, use-yaml click, None load, notes input"""


def test_whatever_changes_the_form_asks_anew_what_the_run_needs_and_no_press_has_two_handlers_that_wait(tmp_path):
    demo, asking, waiting = page.build(tmp_path), set(), []
    for handler in demo.fns.values():
        first = handler
        while first.trigger_after is not None:
            first = demo.fns[first.trigger_after]
        begun = {f"{getattr(demo.blocks.get(block), 'elem_id', None)} {event}" for block, event in first.targets}
        asks_by_the_notes = "module.recheck()" in str(handler.js)
        asking |= begun if getattr(handler.fn, "__name__", "") == "estimate" or asks_by_the_notes else set()
        waiting += handler.targets if handler.trigger_mode == "always_last" and handler.trigger_after is None else []
    assert set(CHANGES.replace("\n", " ").split(", ")) <= asking
    assert len(waiting) == len(set(waiting)), "two of them would wake each other for ever"


def test_a_press_starts_what_the_form_says_once_and_another_press_or_other_settings_one_more(values, tmp_path, workers):
    values["kl.coef"] = 0.3
    first, notes, label = start(values, tmp_path)
    assert (label, notes["problems"]) == ("Add to the queue", [])
    assert notes["queue"] == "“Kinder reviews \u00b7 leash 0.3” is training; one run at a time on this device."
    config = RunDirectory.open(tmp_path / first["run"]).config()
    assert (config.kl.coef, config.about.title) == (0.3, "Kinder reviews")
    assert start(values, tmp_path)[0]["run"] == first["run"]
    second = start(values, tmp_path, "press-0002")[0]["run"]
    values["seed"] = 5
    third, notes, label = start(values, tmp_path, "press-0002")
    assert queue.waiting(tmp_path) == [second, third["run"]]
    assert label == "Add to the queue"
    values["kl.coef"] = -1
    assert filling.checked(sent(values, notes=notes), tmp_path).notes["queue"] == "", "nothing starts before"


def test_the_same_name_of_a_start_by_another_visitor_is_another_start(tmp_path, workers):
    config, access = catalog.preset("kinder-reviews"), Access(mode="classroom")
    people = [Caller("classroom", Role.HOST, Visitor(cookie)) for cookie in ("one", "one", "two")]
    runs = [run_actions.start(config, "press-0001", tmp_path, None, access, person).id for person in people]
    assert runs[0] == runs[1]
    assert runs[2] != runs[0]


def test_settings_of_a_run_come_back_into_the_form(tmp_path):
    base = catalog.preset("no-leash")
    config = base.model_copy(update={"seed": 9, "ppo": base.ppo.model_copy(update={"num_updates": 7})})
    fake_run.write_run(tmp_path, "mine", config)
    filled = filling.filled_from("run:mine", tmp_path)
    assert form.config_of(filled.values, filling.base_of("run:mine", tmp_path)) == config
    assert filled.notes["differences"] == []
    assert filled.preset == "run:mine"
    assert (filled.story["taught"], filled.story["changed"]) == (base.about.story, "7 updates.")
    assert (filled.story["expect"], filled.story["settings_of"]) == ("", "No leash \u00b7 7 updates")
    RunDirectory(tmp_path / "mine").write_label("Seven", "")
    assert filling.filled_from("run:mine", tmp_path).story["settings_of"] == "Seven"


def test_the_menu_has_the_story_numbered_and_on_a_public_page_nothing_else():
    (_, story), (_, of_lessons), *_ = controls.preset_groups(LIMITS["local"])
    assert story[:2] == [("kinder-reviews", "1. Kinder reviews"), ("no-leash", "2. No leash")]
    included, (_, public) = controls.preset_groups(LIMITS["space"])
    assert included == ("Included", story)
    assert {*public} < {*of_lessons}
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
    update = filling.from_text(text, sent(values), tmp_path)
    assert [item["field"] for item in update.notes["differences"]] == ["seed"]
    assert update.values["seed"] == 3


@pytest.mark.parametrize(("text", "field"), refused("yaml"))
def test_bad_yaml_is_a_problem_by_field_and_leaves_the_form_alone(text, field, values, tmp_path):
    filled = filling.from_text(text, sent(values, notes={"marks": {"seed": 0}}), tmp_path)
    assert filled == FormUpdate(notes=filled.notes, start=filled.start)
    assert field in {item["field"] for item in filled.notes["problems"]}
    assert filled.notes["marks"] == {"seed": 0}


def test_every_field_of_the_form_is_laid_out_once_and_one_that_the_configuration_gains_shows_up_by_itself():
    gained = ["model.new", "reference.new", "sampling.new", "ppo.new", "kl.new", "lora.rank", "budget"]
    for new in ([], gained):
        groups = controls.groups_of([*form.KNOBS, *new])
        placed = [*controls.PLACED, *(field for group in groups.values() for field in group)]
        assert sorted([*placed, "name", *form.LISTS]) == sorted([*form.FIELDS, *new])
    assert {"model.new", "reference.new"} <= set(groups["Models and reference"])
    assert groups[controls.OTHER] == ["lora.rank", "budget"]
    assert "ppo.new" in groups["More training settings"]


def test_an_experiment_that_only_lacks_the_real_model_says_what_to_do_and_what_it_would_take(tmp_path, monkeypatch):
    monkeypatch.setenv("PLAYGROUND_MODELS", str(tmp_path / "models"))
    filled = filling.filled_from("real-short-answers", tmp_path)
    assert [problem["field"] for problem in filled.notes["problems"]] == ["model.source"]
    assert filled.start == "Get its model to start"
    two = filling.checked(sent({**filled.values, "ppo.num_updates": 0}), tmp_path)
    assert two.start.startswith("Fix ")
    config = catalog.preset("real-short-answers")
    needed = form_parts.needs(config, config, tmp_path)
    assert needed["problem"] == ""
    assert needed["download"] is None, "no run downloads it"
    assert needed["total_gb"] > 4 * 134_515_008 / 1e9
    assert needed["fit"] is None


def write(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def is_readable(source):
    config = yaml_io.from_dict({"rewards": [{"kind": "length"}], "prompts": {"source": source}})
    return checks.prompts_problem(config.prompts) is None


def test_an_upload_is_kept_once_under_a_plain_name_and_of_claims_no_column_is_read(tmp_path):
    outputs = tmp_path / "outputs"
    upload, again = (
        uploads.keep(write(tmp_path, "my <b>films.csv", "id,prompt\n1,ab\n2,cd\n"), outputs) for _ in range(2)
    )
    assert upload == again
    assert [path.name for path in (outputs / "uploads").iterdir()] == [upload.path.name]
    assert upload.path.name.endswith("-my-b-films.csv")
    assert upload.path.is_absolute()
    assert (upload.columns, upload.column) == (("id", "prompt"), "prompt")
    assert upload.sentence.startswith("my <b>films.csv: 2 rows")
    assert "`prompt`" in upload.sentence
    assert is_readable(str(upload.path))
    rows = "question,right,wrong\n" + "".join(f"Which {n}?,a,b\n" for n in range(10))
    note, chosen = form_parts.taken(str(write(tmp_path, "mine.csv", rows)), tmp_path)
    assert chosen["prompts.column"][1] == ""
    assert "claims" in note["sentence"]
    assert is_readable(str(tmp_path / chosen["prompts.source"][1]))


def test_the_panel_gets_the_estimate_or_the_reason_why_there_is_none(tmp_path, monkeypatch):
    """A model that cannot be had is never said to fit, also one of which all measures are known."""
    config, suggested = small_config(), catalog.preset("tinyllama-1.1b-chat")
    assert form_parts.needs(config, config, tmp_path)["problem"] == ""
    assert "cuda:77" in form_parts.needs(small_config(device="cuda:77"), config, tmp_path)["problem"]
    needs = form_parts.needs(suggested, suggested, tmp_path)
    assert "HF_HUB_OFFLINE forbids" in needs["problem"]
    assert "verdict" not in needs
    monkeypatch.setattr(checks, "require_in_reach", lambda config, outputs: None)  # as if the hub could be asked
    needs = form_parts.needs(suggested, suggested, tmp_path)
    assert (needs["problem"], needs["download"]["source"]) == ("", "TinyLlama/TinyLlama-1.1B-Chat-v1.0")


def checked(part, outputs, read=small_config, service=None):
    return list(form_parts.checked_part(part, read, outputs, service or FakeService()))


def test_what_goes_wrong_is_one_sentence_with_the_pages_words(tmp_path):
    def refuse():
        raise InvalidConfig([Problem("model.source", "There is no such model.")])

    class Broken(FakeService):
        def ask(self, kind, question, timeout_seconds=0.0):
            raise ServiceUnavailable("prompts.column: a.csv has no column `x`.")
            yield

    (only,) = checked("model", tmp_path, refuse)
    assert (only["state"], only["message"]) == ("error", "Model: There is no such model.")
    assert checked("prompts", tmp_path, service=Broken())[-1]["message"] == "Column: a.csv has no column `x`."


@pytest.mark.parametrize(("state", "shown"), [("done", "done"), ("failed", "error")])
def test_a_trial_that_is_short_of_memory_comes_with_what_would_help(tmp_path, monkeypatch, state, shown):
    base = catalog.preset("kinder-reviews")
    lora = base.model.adapter.model_copy(update={"kind": "lora"})
    better = base.model_copy(update={"model": base.model.model_copy(update={"adapter": lora})})

    def make(config, outputs):
        yield {"state": "asking", "phase": "loading the model", "seconds": 2.0}
        yield {"state": state, "message": "Too little.", "advice": "", "better": better.model_dump(mode="json")}

    monkeypatch.setattr(trial, "make", make)
    *_, asking, last = checked("update", tmp_path, lambda: base)
    change = last["found"]["change"] if state == "done" else last["change"]
    assert (asking["seconds"], last["state"]) == (2.0, shown)
    assert change["values"] == {"model.adapter.kind": "lora"}
    assert change["differences"][0]["label"] == "Adapter"
