"""What is said of a file: `check` of a student's, also of one that exits, loops or floods; `import`; `diagnose`."""

import json
import os

import nbformat
import pytest

from bench import exercise
from playground.cli import exercise_commands
from playground.cli.exercise_commands import FUNCTIONS
from playground.config import local_only, yaml_io
from playground.rewards.limited_process import LimitedProcess
from tests.cli.conftest import REFUSED
from tests.support import PROJECT, data_beside

EXAMPLE = (PROJECT / "examples" / "minimal_rlhf.py").read_text(encoding="utf-8")
MISTAKES = (  # what is written in the example, and what instead: a flood of text, a wrong sign
    ("    mask, tokens = ", "    print('x' * 10**7)\n    mask, tokens = "),
    ("-settings.kl_coef * kl", "settings.kl_coef * kl"),
)
QUICK_RUNNER = data_beside(__file__, "tables.yaml")["quick_runner"].format(project=str(PROJECT))


def written(folder, text, name="mine.py"):
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.fixture
def quick(tmp_path, monkeypatch):
    """Processes of the check that only call the functions."""
    monkeypatch.setattr(exercise_commands, "RUNNER", written(tmp_path, QUICK_RUNNER, "runner.py"))


def give_up_soon(patch, loops):
    """Wait a second for the answer to this request, which never comes."""
    ask = LimitedProcess.ask
    patch.setattr(LimitedProcess, "ask", lambda *asked: ask(*asked[:2], 1.0 if asked[1] == loops else asked[2]))


def test_each_function_is_right_wrong_or_missing_and_cells_that_fail_are_left_out(run, tmp_path, monkeypatch):
    """In a student's notebook."""
    head, unwritten, _ = exercise.pieces(EXAMPLE)
    text = EXAMPLE[len(head) :]
    for right, wrong in MISTAKES:
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    cells = ["%matplotlib inline\n" + head, "!ls", "1 / 0", text, unwritten["generate_with_logprobs"]]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    file = written(tmp_path, nbformat.writes(notebook), "mine.ipynb")
    answer = exercise_commands.checked(exercise_commands.read(file), file)
    monkeypatch.setattr(exercise_commands, "checked", lambda *_: answer)
    result = run("check", written(tmp_path, ""))
    assert result.code == 1
    assert result.out.splitlines()[:4] == [
        "generate_with_logprobs: not written yet",
        "compute_kl: right",
        "compute_advantages: wrong",
        "        Case: returns after KL 0.4 and -0.2, kl_coef 0.5",
    ]
    assert "        Hint: Each token pays r_t = -kl_coef * kl_t." in result.out
    assert "    Expected: tensor([[-0.1000, 0.1000]])" in result.out
    assert result.last_line == "3 of 5 are right."
    facts = run("check", tmp_path / "mine.py", "--json").data
    assert (facts["right"], facts["functions"]) == (3, answer[0])
    assert tuple(answer[0]) == FUNCTIONS == exercise.FUNCTIONS
    assert result.err == "A cell was left out: ZeroDivisionError: division by zero, in line 1.\n"
    assert facts["left_out"] == answer[1]


def test_a_function_that_ends_the_process_or_loops_takes_no_other_with_it(run, quick, tmp_path, monkeypatch):
    give_up_soon(monkeypatch, {"function": "train"})
    loop = "import os, time\ndef train():\n    while True: time.sleep(1)\n"
    result = run("check", written(tmp_path, loop + "def compute_kl(): os._exit(0)\n"), "--json")
    assert result.code == 1
    verdicts = result.data["functions"]
    assert {name: verdict.get("error", verdict["verdict"]) for name, verdict in verdicts.items()} == {
        **dict.fromkeys(FUNCTIONS, "right"),
        "compute_kl": "It ended its process, or wrote something other than an answer to its pipe, and was stopped.",
        "train": "It took longer than 1 s and was stopped.",
    }


LOOP = "import time\nwhile True: time.sleep(1)"
LARGE = pytest.param("mine.py", "x = 1\n" * 200_000, "larger than 1 MB", id="large")
ENDLESS = ("mine.py", LOOP, "took longer than 1 s and was stopped")


@pytest.mark.parametrize(("name", "text", "said"), [*REFUSED["check"], LARGE, ENDLESS])
def test_what_cannot_be_read_or_run_is_refused_in_a_sentence(run, quick, tmp_path, monkeypatch, name, text, said):
    give_up_soon(monkeypatch, {"code": [LOOP]})
    result = run("check", tmp_path / name if text is None else written(tmp_path, text, name))
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def test_what_is_no_file_is_refused_and_not_read_for_ever(run, tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    for file in (tmp_path / "pipe.py", tmp_path):
        result = run("check", file)
        assert (result.code, result.out) == (2, "")
    assert "it is not an ordinary file" in run("check", tmp_path / "pipe.py").err


def test_a_line_of_a_cell_that_only_looks_like_a_command_stays(tmp_path):
    cells = ["x = (7\n     % 4)", "%time y = 1\nz = 2"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    file = written(tmp_path, nbformat.writes(notebook), "mine.ipynb")
    assert exercise_commands.read(file) == [cells[0], "pass\nz = 2"]


def test_all_five_right_are_exit_code_0_and_where_others_are_served_nothing_is_run(run, quick, tmp_path, monkeypatch):
    result = run("check", written(tmp_path, ""))
    assert (result.code, result.last_line) == (0, "5 of 5 are right.")
    monkeypatch.setenv(local_only.MODE, "classroom")
    result = run("check", PROJECT / "examples" / "exercise.py")
    assert result.code == 1
    assert "on your own machine only" in result.err


FORMS = PROJECT / "tests" / "imports" / "forms"


def test_import_prints_the_yaml_and_reports_beside_it(run, tmp_path):
    script = tmp_path / "chapter \x1b[31m.py"
    script.write_bytes((FORMS / "chapter_on_rlhf.py.txt").read_bytes())
    result = run("import", script)
    assert result.code == 0
    assert "\x1b" not in result.out + result.err
    config = yaml_io.from_dict(yaml_io.parse_yaml(result.out))
    assert config.ppo.learning_rate == 1.41e-5
    assert result.out.startswith("# Made from ")
    assert "learning_rate = 1.41e-05 (line 6) -> ppo.learning_rate: 1.41e-05" in result.err
    assert "Has no equal here:\n" in result.err
    assert "target_kl = 6.0 (line 11): it did nothing" in result.err


def test_import_writes_a_file_that_train_takes(run, tmp_path):
    script, output = tmp_path / "grpo.py", tmp_path / "mine.yaml"
    script.write_bytes((FORMS / "grpo.py.txt").read_bytes())
    result = run("import", script, "-o", output)
    assert (result.code, result.last_line) == (0, str(output))
    assert yaml_io.load(output).method == "grpo"
    result = run("import", script, "--json")
    assert result.data["settings"]["kl"] == {"coef": 0.04, "estimator": "k3_corrected", "where": "loss"}
    assert not result.err
    assert any(line["theirs"].startswith("beta = 0.04") for line in result.data["report"]["What each setting became"])


def test_import_refuses_in_one_line(run, tmp_path):
    (tmp_path / "a.py").write_text("print(1)\n")
    for path, said in ((tmp_path / "a.py", "Nothing in this file"), (tmp_path / "none.py", "No such file")):
        result = run("import", path)
        assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
        assert said in result.err


def test_diagnose_judges_a_log(run, tmp_path):
    log = tmp_path / "log.jsonl"
    rows = [{"step": step, "objective/kl": 1.0, "policy/clipfrac_avg": 0.6} for step in range(1, 9)]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run("diagnose", "--log", log)
    assert result.code == 0
    assert "log.jsonl: TRL 0.9 to 1.12, PPO, 8 rows." in result.out
    assert "!! It learns in steps that are too bold. The steps are too bold (clipping, red)" in result.out
    assert "\n   try:" not in result.out
    assert "\n   measured: In this project's own runs: lit on all seeds of no-clip." in result.out
    assert "Not judged:\n" in result.out
    assert "Missing: `score_std`" in result.out
    assert "1 lit, 2 quiet, 21 not judged." in result.out
    assert "docs/diagnosis.md" in result.last_line
    answer = run("diagnose", "--log", log, "--json", "--columns", "grad_norm=objective/kl").data
    assert (answer["rows"], answer["columns"]["grad_norm"]) == (8, "objective/kl")
    assert (answer["alerts"][0]["name"], answer["alerts"][0]["remedies"]) == ("clipping", [])
    assert "(clipping, amber)" in run("diagnose", "--log", log, "--set", "clip_red=0.7").out


def test_diagnose_wants_a_run_or_a_log(run, tmp_path):
    assert run("diagnose").code == 2
    result = run("diagnose", "one", "--log", tmp_path / "x.csv")
    assert result.code == 2
    assert "one of them" in result.err
    assert run("diagnose", "--log", tmp_path / "x.csv").code == 2
