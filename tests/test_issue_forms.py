"""The forms for issues are valid as GitHub reads them, ask for what helps, and name commands that are there."""

import re

import pytest
import yaml

from playground import cli
from tests.support import PROJECT

FOLDER = PROJECT / ".github" / "ISSUE_TEMPLATE"
TEXTS = {name: (FOLDER / f"{name}.yml").read_text(encoding="utf-8") for name in ("bug", "lesson")}
TYPES = {"markdown", "textarea", "input", "dropdown", "checkboxes"}


@pytest.mark.parametrize("name", TEXTS)
def test_a_form_has_what_github_requires(name):
    form = yaml.safe_load(TEXTS[name])
    assert form.keys() <= {"name", "description", "title", "labels", "assignees", "projects", "type", "body"}
    assert all(isinstance(form[key], str) and form[key] for key in ("name", "description"))
    questions = [field for field in form["body"] if field["type"] != "markdown"]
    ids, labels = [field["id"] for field in form["body"]], [field["attributes"]["label"] for field in form["body"]]
    assert questions
    assert len(set(ids)) == len(set(labels)) == len(form["body"])
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", name) for name in ids)
    for field in form["body"]:
        assert field["type"] in TYPES
        assert field.keys() <= {"type", "id", "attributes", "validations"}
        assert isinstance(field.get("validations", {"required": False})["required"], bool)
        options = field["attributes"].get("options", [])
        assert bool(options) == (field["type"] in ("dropdown", "checkboxes"))
        assert field["type"] == "dropdown" or all(option.keys() <= {"label", "required"} for option in options)


@pytest.mark.parametrize("name", TEXTS)
def test_a_form_asks_for_what_doctor_prints(name):
    (field,) = [field for field in yaml.safe_load(TEXTS[name])["body"] if field["id"] == "doctor"]
    assert "`python -m playground doctor --json`" in field["attributes"]["label"]
    assert (field["attributes"]["render"], field["validations"]["required"]) == ("json", True)


@pytest.mark.parametrize("name", TEXTS)
def test_the_commands_that_a_form_names_are_there(name):
    commands = {command.name or command.callback.__name__ for command in cli.app.registered_commands}
    commands |= {str(group.name) for group in cli.app.registered_groups}
    assert set(re.findall(r"python -m playground ([a-z-]+)", TEXTS[name])) <= commands
