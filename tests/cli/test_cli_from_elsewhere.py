"""`import` and `diagnose --log`: what they print, where, and how they leave."""

from __future__ import annotations

import json
from pathlib import Path

from playground.config import yaml_io
from tests.cli.conftest import Run
from tests.imports import forms


def test_import_prints_the_yaml_and_reports_beside_it(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "chapter \x1b[31m.py"
    script.write_text(forms.CHAPTER_ON_RLHF)
    result = run("import", script)
    assert result.code == 0
    assert "\x1b" not in result.out + result.err
    config = yaml_io.from_dict(yaml_io.parse_yaml(result.out))
    assert config.ppo.learning_rate == 1.41e-5
    assert result.out.startswith("# Made from ")
    assert "learning_rate = 1.41e-05 (line 6) -> ppo.learning_rate: 1.41e-05" in result.err
    assert "Has no equal here:\n" in result.err
    assert "target_kl = 6.0 (line 11): it did nothing" in result.err


def test_import_writes_a_file_that_train_takes(run: Run, tmp_path: Path) -> None:
    script, output = tmp_path / "grpo.py", tmp_path / "mine.yaml"
    script.write_text(forms.GRPO)
    result = run("import", script, "-o", output)
    assert result.code == 0
    assert result.last_line == str(output)
    assert yaml_io.load(output).method == "grpo"
    result = run("import", script, "--json")
    assert result.data["settings"]["kl"] == {"coef": 0.04}
    assert not result.err
    assert any(line["theirs"].startswith("beta = 0.04") for line in result.data["report"]["What each setting became"])


def test_import_refuses_in_a_sentence(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print(1)\n")
    for path, said in ((tmp_path / "a.py", "Nothing in this file"), (tmp_path / "none.py", "No such file")):
        result = run("import", path)
        assert result.code == 2
        assert said in result.err
        assert result.out == ""


def test_diagnose_judges_a_log(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(
        "".join(
            json.dumps({"step": step, "objective/kl": 1.0, "policy/clipfrac_avg": 0.6}) + "\n" for step in range(1, 9)
        )
    )
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
    found = run("diagnose", "--log", log, "--json", "--columns", "grad_norm=objective/kl").data
    assert found["columns"]["grad_norm"] == "objective/kl"
    assert found["rows"] == 8
    assert found["alerts"][0]["name"] == "clipping"
    assert found["alerts"][0]["remedies"] == []
    assert "(clipping, amber)" in run("diagnose", "--log", log, "--set", "clip_red=0.7").out


def test_diagnose_wants_a_run_or_a_log(run: Run, tmp_path: Path) -> None:
    assert run("diagnose").code == 2
    result = run("diagnose", "one", "--log", tmp_path / "x.csv")
    assert result.code == 2
    assert "one of them" in result.err
    assert run("diagnose", "--log", tmp_path / "x.csv").code == 2
