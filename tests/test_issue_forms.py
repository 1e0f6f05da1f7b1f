"""The forms for issues are valid as GitHub reads them, ask for what helps, and name commands that are there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from playground import cli
from tests.support import PROJECT

FOLDER = PROJECT / ".github" / "ISSUE_TEMPLATE"
FORMS = ("bug", "lesson")
TYPES = {"markdown", "textarea", "input", "dropdown", "checkboxes"}


def form(name: str) -> dict[str, Any]:
    data = yaml.safe_load((FOLDER / f"{name}.yml").read_text(encoding="utf-8"))
    assert isinstance(data, dict)
    return data


def test_there_is_a_form_for_each_kind_of_issue() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.yml" for name in FORMS}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_has_what_github_requires(name: str) -> None:
    data = form(name)
    assert data.keys() <= {"name", "description", "title", "labels", "assignees", "projects", "type", "body"}
    assert all(isinstance(data[key], str) and data[key] for key in ("name", "description"))
    fields = data["body"]
    assert isinstance(fields, list)
    assert any(field["type"] != "markdown" for field in fields)
    ids = [field["id"] for field in fields]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", one) for one in ids)
    labels = [field["attributes"]["label"] for field in fields]
    assert len(set(labels)) == len(labels)
    for field in fields:
        assert field["type"] in TYPES
        assert field.keys() <= {"type", "id", "attributes", "validations"}
        assert isinstance(field.get("validations", {"required": False})["required"], bool)
        if field["type"] in ("dropdown", "checkboxes"):
            assert len(field["attributes"]["options"]) >= 1
        if field["type"] == "checkboxes":
            assert all(option.keys() <= {"label", "required"} for option in field["attributes"]["options"])


@pytest.mark.parametrize("name", FORMS)
def test_a_form_asks_for_what_doctor_prints(name: str) -> None:
    field = next(field for field in form(name)["body"] if field["id"] == "doctor")
    assert "`python -m playground doctor --json`" in field["attributes"]["label"]
    assert field["attributes"]["render"] == "json"
    assert field["validations"]["required"] is True


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yml")), ids=lambda path: path.name)
def test_the_commands_that_a_form_names_are_there(path: Path) -> None:
    known = {command.name or command.callback.__name__ for command in cli.app.registered_commands if command.callback}
    known |= {str(group.name) for group in cli.app.registered_groups}
    assert set(re.findall(r"python -m playground ([a-z-]+)", path.read_text())) <= known
