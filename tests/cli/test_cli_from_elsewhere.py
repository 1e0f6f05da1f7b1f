"""`import` and `diagnose --log`: what they print, where, and how they leave."""

import json

from playground.config import yaml_io
from tests.support import PROJECT

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
    assert result.data["settings"]["kl"] == {"coef": 0.04}
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
    assert "!! The steps are too bold (clipping, red)" in result.out
    assert "\n   try:" not in result.out
    assert "\n   measured: In this project's own runs: lit on all seeds of no-clip." in result.out
    assert "Not judged:\n" in result.out
    assert "Missing: `score_std`" in result.out
    assert "1 lit, 1 quiet, 20 not judged." in result.out
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
