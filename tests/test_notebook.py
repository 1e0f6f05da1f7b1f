"""Runs from Python and in a notebook: what `playground.train` takes and gives, what interrupts do, the page in a frame,
and the example, which tests/nightly/test_notebook.py runs in a kernel."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import types
from html import escape
from pathlib import Path

import httpx
import nbformat
import numpy as np
import pandas as pd
import pytest

import playground
from bench.notebook import NOTEBOOK
from playground import notebook
from playground.api import inputs
from playground.errors import InvalidConfig, PlaygroundError, RunFailed, RunNotFound
from playground.runs.folder.directory import RunDirectory
from playground.runs.model_service import GeneratedSample
from playground.setup.estimates import own_model
from tests.support import PROJECT, data_beside, small_config, wait_until

MOST_BYTES = 400_000
TABLES = data_beside(__file__, "notebook.yaml")


@pytest.fixture
def here(outputs, tmp_path, fake_worker, monkeypatch):
    """The outputs folder of a notebook whose workers only act as if; `finish.yaml` and others say what they do."""
    monkeypatch.setenv("PLAYGROUND_OUTPUTS", str(outputs))
    for name in ("finish", "fail", "wait"):
        (tmp_path / f"{name}.yaml").write_text(small_config(name).to_yaml(), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return outputs


def test_a_run_is_trained_and_its_records_are_tables(here, capfd):
    run = playground.train("finish.yaml", {"kl.coef": np.float64(0.5), "seed": np.int64(7)}, run_id="one")
    assert (run.id, run.path, run.status.state) == ("one", here / "one", "finished")
    config = RunDirectory(run.path).config()
    assert (config.kl.coef, config.seed) == (0.5, 7)
    assert run.metrics["score_mean"].to_dict() == {1: 0.5, 2: 1.0, 3: 1.5}
    assert run.samples["stage"].tolist() == ["before", "before", "after", "after"]
    pairs = run.compare()
    assert pairs[["before", "after", "gain", "kl"]].values.tolist() == [
        [" before 0", " after 0", 1.0, 4.0],
        [" before 1", " after 1", 3.0, 4.0],
    ]
    assert pairs["ends_after"].all()
    assert pairs.index.names == ["prompt_id", "seed"]
    assert run.counts.loc[3].set_index("behaviour").loc["ends", ["count", "of"]].tolist() == [2, 2]
    assert "(one): finished, update 3 of 3. " in repr(run)
    assert "Score +2.00 sd on 2 prompts" in repr(run)
    assert "3/3" in capfd.readouterr().err  # the bar


def test_two_runs_are_compared_on_the_same_prompts(here):
    run, other = (playground.train("finish.yaml", run_id=name) for name in ("one", "other"))
    assert (playground.open_run("other").path, playground.open_run(other.path).id) == (other.path, "other")
    table = run.compare(other)
    assert table["other"].tolist() == table["this"].tolist() == [" after 0", " after 1"]
    assert table["gain"].tolist() == [0.0, 0.0]


def test_what_cannot_be_carried_out_names_every_problem_without_a_traceback(here):
    with pytest.raises(InvalidConfig) as error:
        playground.train("kinder-reviews", {"kl.coef": -1, "ppo.gama": 1})
    assert error.value._render_traceback_() == [str(error.value)]
    assert {problem.field for problem in error.value.problems} == {"kl.coef", "ppo.gama"}
    with pytest.raises(InvalidConfig, match="set: must be a dictionary"):
        playground.train("kinder-reviews", ["kl.coef=0.2"])
    assert isinstance(error.value, playground.PlaygroundError)
    assert playground.RunFailed is RunFailed
    with pytest.raises(RunNotFound, match="nothing is not a run folder"):
        playground.open_run("nothing")
    assert not list(here.glob("*/config.yaml"))


def test_a_run_that_fails_is_an_error_that_says_where_it_is(here):
    with pytest.raises(RunFailed, match=r"one: failed\. Out of memory\. Halve the batch\.") as error:
        playground.train("fail.yaml", run_id="one")
    assert f'playground.open_run("{here / "one"}")' in str(error.value)
    assert playground.open_run("one").status.reason == "out_of_memory"


def test_an_interrupt_stops_the_run_and_gives_what_it_has(here):
    usual = signal.getsignal(signal.SIGINT)  # until the run is followed: to send it earlier ends the tests

    def interrupt():
        wait_until(lambda: signal.getsignal(signal.SIGINT) != usual and RunDirectory(here / "one").status().update == 1)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    run = playground.train("wait.yaml", run_id="one")
    assert (run.status.state, run.metrics.index.tolist()) == ("stopped", [1])


def test_a_run_in_the_background_is_stopped_and_waited_for_also_from_another_thread(here):
    run = playground.train("wait.yaml", wait=False)
    assert not run.status.ended
    run.stop()
    thread = threading.Thread(target=run.wait)  # where a signal handler could not be set
    thread.start()
    thread.join()
    assert run.status.state == "stopped"
    run.stop()  # once more, of one that has ended: nothing


ROWS = [{"prompt": "The film was", "wanted": "good"}, {"prompt": "The plot was", "wanted": None}]


@pytest.mark.parametrize(
    ("prompts", "kept"),
    [
        (["The film was", "The plot was"], [{"prompt": "The film was"}, {"prompt": "The plot was"}]),
        (ROWS, ROWS),
        (iter(ROWS), ROWS),
        (pd.DataFrame(ROWS), ROWS),
        ({"prompt": ["The film was", "The plot was"], "wanted": ["good", None]}, ROWS),
        ({"prompt": pd.Series(["The film was", "The plot was"]), "wanted": ["good", None]}, ROWS),
        ([[{"role": "user", "content": "Hello"}]], [{"prompt": [{"role": "user", "content": "Hello"}]}]),
        (
            [{"prompt": "a", "n": np.int64(3), "v": np.array([1.5, np.nan])}],
            [{"prompt": "a", "n": 3, "v": [1.5, None]}],
        ),
    ],
)
def test_rows_keep_all_their_columns_in_a_file_that_stays(outputs, prompts, kept):
    data, _ = inputs.settings("kinder-reviews", prompts, None, {}, outputs)
    path = Path(data["prompts"]["source"])
    assert (path.parent, path.name.partition("-")[2]) == (outputs.resolve() / "uploads", "prompts.jsonl")
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == kept
    assert inputs.settings("kinder-reviews", "my.csv", None, {}, outputs)[0]["prompts"] == {"source": "my.csv"}


def test_a_model_gets_what_fits_it_with_prompts_reward_and_settings_of_ones_own(outputs):
    settings = {"beta": 0.05, "kl.target": np.float64(2), "num_generations": 4, "reward_weights": [1, -0.5]}
    rewards = ["length", "words(completion) / 10"]
    data, changes = inputs.settings("pocket-1m", ["The film was"], rewards, settings, outputs)
    assert own_model.name_of(data, changes) == "pocket-1m · length + words(completi... · leash 0.05 · target distance 2"
    assert data["model"]["source"] == "pocket-1m"
    assert data["prompts"]["source"].endswith("prompts.jsonl")
    assert data["rewards"] == [
        {"kind": "length", "weight": 1},
        {"kind": "expression", "expression": "words(completion) / 10", "weight": -0.5},
    ]
    assert changes == ["kl.coef=0.05", "kl.target=2.0", "ppo.samples_per_prompt=4"]
    judge, preset = "pocket-honest", {"preset": "yes-man"}
    data, _ = inputs.settings("pocket-1m", None, judge, preset, outputs)
    assert (data["model"]["source"], data["rewards"]) == ("pocket-1m", [{"kind": "model", "source": judge}])
    assert data["prompts"]["source"] == "pocket/claims"


@pytest.mark.parametrize(("name", "arguments", "sentence"), TABLES["refused"])
def test_what_no_function_can_take_is_refused_in_a_sentence(here, name, arguments, sentence):
    with pytest.raises(playground.PlaygroundError) as error:
        getattr(playground, name)(**arguments)
    assert sentence in str(error.value)


def test_a_run_is_diagnosed_exported_and_asked(here, tmp_path, monkeypatch):
    def answers(service, source, prompt, *, num_samples, seed):
        sides = ((side, number) for number in range(num_samples) for side in ("reference", "policy"))
        return (GeneratedSample(*side, f"{prompt} {side}", 0.5, {}, 1.5, 3, True) for side in sides)

    monkeypatch.setattr("playground.runs.model_service.ModelService.compare", answers)
    monkeypatch.setattr("playground.exports.figures.drawn", lambda name, panels, below: {"svg": b"", "pdf": b""})
    run = playground.train("finish.yaml", run_id="one")
    assert {"label", "state", "evidence", "remedy"} <= {*run.diagnose().columns}
    assert run.export("csv").startswith("attempt,")
    assert run.export("yaml", tmp_path / "mine.yaml") == str(tmp_path / "mine.yaml")
    assert run.export("figures", tmp_path / "figures") == str(tmp_path / "figures")
    assert (tmp_path / "figures" / "runs.csv").is_file()
    assert run.generate("The", n=2)["after"].tolist() == ["The ('policy', 0)", "The ('policy', 1)"]
    for name, arguments, sentence in TABLES["refused_by_a_run"]:
        with pytest.raises(playground.PlaygroundError, match=sentence):
            getattr(run, name)(**arguments)


def test_a_sweep_and_a_reward_model_are_trained_and_named(here):
    sweep = playground.sweep("finish.yaml", {"beta": [0.1, 0.25], "seed": [0, 1]}, name="two")
    assert (sweep.status.state, [run.id for run in sweep.runs]) == ("finished", [f"two-{n}" for n in range(1, 5)])
    table = sweep.table[["kl.coef", "finished", "score", "score_half"]]
    assert table.values.tolist() == [[0.1, 2, 2.0, None], [0.25, 2, 2.0, None]]
    pairs = [{"prompt": f"{n}", "chosen": "good", "rejected": "bad"} for n in range(20)]
    judge = playground.train_reward(pairs, name="finish", epochs=1)
    assert (judge.name, judge.status.state, judge.as_reward()["source"]) == ("finish", "finished", "finish")
    assert judge.report["accuracy"] > 0.5
    assert (here / "reward-models" / "finish" / "reward.json").is_file()


def test_only_what_is_public_is_listed():
    public = "PlaygroundError Run RunFailed SweepRuns TrainedReward Watch __version__ open_run sweep train train_reward"
    assert dir(playground) == public.split()


@pytest.fixture
def page(here):
    """Pages that a notebook serves are closed after the test."""
    yield here
    notebook.close_pages()


def test_the_page_is_served_once_and_may_be_in_a_frame_of_this_machine(page):
    run = playground.train("finish.yaml", run_id="one")
    drawn_page, again = run.show(height=700), run.show()
    assert drawn_page.address == again.address
    assert drawn_page.address.endswith("/?run=one&view=presentation")
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    answer = httpx.get(drawn_page.address, headers=headers, timeout=60)
    policy = answer.headers["content-security-policy"]
    assert answer.status_code == 200
    assert policy.endswith("frame-ancestors 'self' http://localhost:* http://127.0.0.1:*")
    assert "x-frame-options" not in answer.headers
    going = playground.train("wait.yaml", run_id="two", wait=False)
    assert escape(drawn_page.address.replace("one", "two")) in going._repr_html_()
    going.stop()
    drawn = drawn_page._repr_html_()
    assert drawn.startswith(f'<object type="text/html" data="{escape(drawn_page.address)}" width="100%" height="700"')
    assert all(words in drawn for words in ('<img style="max-width: 100%" alt="', "data:image/png;base64,iVBOR"))
    assert str(drawn_page).endswith(drawn_page.address)


def test_where_no_page_can_be_served_there_is_a_picture(here, monkeypatch, capsys):
    def refuse(outputs):
        raise PlaygroundError("Port 1 needs administrator rights.")

    monkeypatch.setattr(notebook, "_address_of_page", refuse)
    drawn = playground.train("finish.yaml", run_id="one").show()._repr_html_()
    assert drawn.startswith("<p><img")
    assert "<object" not in drawn
    assert "Port 1 needs administrator rights." in capsys.readouterr().err


def test_names_of_runs_are_no_markup(here):
    run = playground.train("finish.yaml", run_id="one")
    RunDirectory(run.path).write_label("<img src=x onerror=alert(1)>", "")
    assert "<img" not in run._repr_html_()
    assert "<img" not in notebook.Shown(repr(run), "", b"", 900)._repr_html_()


def test_on_colab_the_page_comes_through_its_proxy(page, monkeypatch):
    calls = []
    output = types.SimpleNamespace(
        eval_js=lambda script: calls.append(script) or "https://abc-7913-colab.googleusercontent.com/",
        serve_kernel_port_as_iframe=lambda port, path, height: calls.append((port, path, height)),
    )
    monkeypatch.setitem(sys.modules, "google.colab", types.SimpleNamespace(output=output))
    monkeypatch.setitem(sys.modules, "google.colab.output", output)
    monkeypatch.setenv("PLAYGROUND_HOSTS", "")
    drawn_page = playground.train("finish.yaml", run_id="one").show()
    port = httpx.URL(address := notebook._address_of_page(page.resolve())).port
    assert calls == [f"google.colab.kernel.proxyPort({port})", (port, "/?run=one&view=presentation", "900")]
    answer = httpx.get(address, headers={"host": "abc-7913-colab.googleusercontent.com"}, timeout=60)
    assert answer.status_code == 200
    assert "https://colab.research.google.com" in answer.headers["content-security-policy"]
    assert "<object" not in drawn_page._repr_html_()


def test_the_package_stays_light_until_something_is_asked_of_it():
    code = "import sys, playground; print({'pandas', 'typer', 'gradio', 'playground.notebook'} & {*sys.modules}); "
    code += "print(playground.train.__module__, {'gradio', 'torch'} & {*sys.modules}); playground.nothing"
    answer = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, timeout=600)
    assert answer.stdout.splitlines() == ["set()", "playground.api set()"]
    assert "AttributeError: module 'playground' has no attribute 'nothing'" in answer.stderr


def code_of_example():
    return [cell for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code"]


def test_the_outputs_of_the_example_are_there_and_name_no_folder_of_a_machine():
    _, *code = code_of_example()  # the first one prints nothing
    assert all(cell.execution_count and cell.outputs for cell in code)
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert len(text) < MOST_BYTES
    assert not re.search(r"/(home|root|tmp|Users|work)/", text)


def test_the_code_of_the_example_runs(page, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(NOTEBOOK.parent)
    monkeypatch.setattr(sys, "path", [*sys.path])
    names = {}
    for cell in code_of_example():
        exec(cell.source, names)
    assert [RunDirectory(names[name].path).config().kl.coef for name in ("run", "short")] == [0.25, 2.0]
    assert names["pairs"]["gain"].tolist() == [1.0, 3.0]


def test_the_first_cell_fetches_what_is_missing_and_leaves_what_colab_has(tmp_path, monkeypatch):
    cell = code_of_example()[0]
    commands = []

    def call(command, check):
        commands.append(command)
        if command[0] == "git":
            folder = tmp_path / command[-1]
            (folder / "playground").mkdir(parents=True)
            (folder / "playground" / "notebook.py").touch()
            (folder / "requirements.txt").write_bytes((PROJECT / "requirements.txt").read_bytes())

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(subprocess, "run", call)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(SystemExit, match="REPOSITORY"):
        exec(cell.source, {})
    exec(cell.source.replace('REPOSITORY = ""', 'REPOSITORY = "https://example.org/it"'), {})
    clone, install = commands
    assert clone == ["git", "clone", "--depth=1", "https://example.org/it", "rlhf-playground"]
    names = {pin.split("==")[0] for pin in install[5:]}
    assert {"gradio", "trl", "transformers"} <= names
    assert not names & {"torch", "numpy", "pandas"}
    assert sys.path[0] == str(tmp_path / "rlhf-playground")
    exec(cell.source, {})
    assert len(commands) == 2  # it is there now
