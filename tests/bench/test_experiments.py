"""Each configuration of a grid is trained and measured once, and once more when it has changed."""

import pytest

from bench import experiments
from bench.experiments import Cell, Figures
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from tests.bench import recorded


def options(tmp_path, *words):
    return experiments.options("").parse_args(["--outputs", str(tmp_path / "outputs"), *words])


def test_a_cell_is_trained_once_and_measured_once_until_it_changes(monkeypatch, tmp_path):
    figures, trained, measured = Figures("", tmp_path / "figures.json"), [], []

    def command(*words):
        """What trains writes a finished run."""
        trained.append(words[0])
        if words[0] == "train":
            _, settings, _, folder, _, run_id, _ = words
            run = RunDirectory.create(folder, experiments.yaml_io.load(settings), run_id)
        else:
            run = RunDirectory.open(words[1])
        RunWriter(run, 1).set_status(state="finished")

    def facts(run):
        measured.append(run.config().kl.coef)
        return {"beta": run.config().kl.coef}

    monkeypatch.setattr(experiments, "playground", command)
    cells = [Cell("kinder-reviews", seed, ("kl.coef=0.5",)) for seed in (0, 1)]
    for _ in range(2):
        rows = figures.measure(cells, facts, options(tmp_path))
    assert (trained, measured) == (["train"] * 2, [0.5, 0.5])
    kept = Figures("", tmp_path / "figures.json")
    assert [(row["seed"], row["beta"]) for row in kept.rows] == [(0, 0.5), (1, 0.5)]
    assert rows == kept.rows
    kept.rows[0]["made_of"] = "as the preset was before"
    kept.measure(cells, facts, options(tmp_path))
    assert (len(trained), measured[2:], len(kept.rows)) == (2, [0.5], 2)  # its run is still there
    kept.measure(cells[:1], facts, options(tmp_path, "--again"))
    assert (len(trained), len(kept.rows)) == (3, 2)


@pytest.mark.parametrize("name", ["presets", "methods", "sycophancy", "diagnosis"])
def test_what_was_measured_is_of_the_presets_as_they_are(name):
    rows = recorded(name)["runs"]
    cells = {(row["preset"], tuple(row["changes"])): row["seed"] for row in rows}
    assert len(cells) > 10
    for (preset, changes), seed in cells.items():
        config = Cell(preset, seed, changes).config
        assert Figures(name).kept(config, preset=preset, changes=list(changes)), preset
