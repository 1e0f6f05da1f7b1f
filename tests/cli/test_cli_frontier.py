"""Score against KL in the terminal: what `show` tells of it, before and after texts were drawn."""

import json

import pytest

from playground import cli
from playground.cli import run_commands
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from tests.ui import fake_run


class Service:
    """The model service, made up."""

    def __init__(self, outputs):
        pass

    def ask(self, kind, question, timeout_seconds):
        yield from fake_run.frontier_samples(question)

    def close(self):
        pass


@pytest.fixture
def show(capsys, monkeypatch, tmp_path):
    """What `show` of a run prints on stdout and stderr."""
    fake_run.write_run(tmp_path, "one", catalog.preset("kinder-reviews"))
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setattr(run_commands, "ModelService", Service)

    def command(*options):
        with pytest.raises(SystemExit) as left:
            cli.main(["show", "one", "--outputs", str(tmp_path), *options])
        assert not left.value.code
        return capsys.readouterr()

    return command


def test_the_looks_are_always_told_and_what_was_possible_once_it_was_drawn(show, tmp_path):
    before = json.loads(show("--json").out)["frontier"]
    updates = {item.update for item in RunDirectory(tmp_path / "one").samples()}
    assert [look["update"] for look in before["looks"]] == sorted(updates)
    assert (before["possible"], before["sentence"]) == (None, "")
    assert "nats the run scores" not in show().out
    drawn = show("--frontier", "--json")
    assert "loading the models" in drawn.err
    after = json.loads(drawn.out)["frontier"]
    assert after["looks"] == before["looks"]
    assert [one["n"] for one in after["possible"]["best_of"]] == [1, 2, 4, 8, 16]
    assert after["sentence"] in show().out.replace("\n", " ")
