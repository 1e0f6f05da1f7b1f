"""Logs of other trainers in their real formats, read into our checks; what cannot be judged says what is missing."""

import contextlib
import gzip
import json
import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from tensorboardX import SummaryWriter

from playground.analysis.diagnosis import CHECKS, diagnose
from playground.analysis.diagnosis.run_records import Records, Thresholds
from playground.config import yaml_io
from playground.errors import InvalidConfig
from playground.imports import judging, log_files
from playground.imports.judging import TABLES
from playground.runs.folder.records import UpdateMetrics
from playground.setup import catalog
from tests.support import PROJECT, data_beside

LONG = 30
DATA = Path(__file__).with_name("logs")  # a row of each trainer, in its own names; a TrainerState without its log
ROWS, CHECKED, TEXTS = (data_beside(__file__, name) for name in ("logs/rows.json", "logs/checked.yaml", "tables.yaml"))
TRL_OLD, TRL_NOW, GRPO, VERL, OPENRLHF, _ = ROWS.values()


def rows(usual, **late):
    """A healthy log whose second half has other figures; `__` in a name stands for `/`."""
    changes = {name.replace("__", "/"): value for name, value in late.items()}
    return [{"step": step, **usual, **(changes if step > LONG / 2 else {})} for step in range(1, LONG + 1)]


def json_lines(path, steps):
    path.write_text("".join(json.dumps(row) + "\n" for row in steps))
    return path


def trainer_state(path, steps):
    """As transformers' TrainerState writes itself at a checkpoint."""
    state = json.loads((DATA / "trainer_state.json").read_text(encoding="utf-8"))
    state["log_history"][:0] = [{**row, "epoch": row["step"] / LONG} for row in steps]
    path.write_text(json.dumps(state, indent=2, sort_keys=True) + "\n")
    return path


def tensorboard(folder, steps, prefix=""):
    with contextlib.closing(SummaryWriter(str(folder))) as writer:
        for row in steps:
            for name, value in row.items():
                if name != "step":
                    writer.add_scalar(prefix + name, value, row["step"])
    return folder


def table(path, steps):
    pd.DataFrame(steps).to_csv(path, index=False)
    return path


def judge(path, *columns):
    log = judging.read(path, columns)
    return log, {foreign.alert.name: foreign for foreign in judging.judged(log, Thresholds())}


def states(alerts):
    return {name: foreign.alert.state for name, foreign in alerts.items() if foreign.alert.state != "not measured"}


NOW, OLD = rows(TRL_NOW, policy__clipfrac_avg=0.4), rows(TRL_OLD, ppo__policy__clipfrac=0.4)
OF_VERL, OF_GRPO = rows(VERL, actor__pg_clipfrac=0.4), rows(GRPO, clip_ratio__region_mean=0.4)
OF_OPENRLHF = rows(OPENRLHF | {"ppo_clip_ratio": 0.1}, ppo_clip_ratio=0.4)
FROM_WANDB = [{f"my run - train/{name}": value for name, value in row.items()} for row in OF_GRPO]
BY_VERL = [{"step": row["step"], "data": {name: row[name] for name in VERL}} for row in OF_VERL]
WRITERS = [
    ("trl-ppo", lambda folder: trainer_state(folder / "trainer_state.json", NOW)),
    ("trl-ppo", lambda folder: trainer_state(folder / "trainer_state.json", NOW).parent),
    ("trl-ppo", lambda folder: tensorboard(folder / "runs", NOW, "train/")),
    ("trl-old", lambda folder: tensorboard(folder / "runs", OLD)),
    ("trl-old", lambda folder: json_lines(folder / "a.jsonl", OLD)),
    ("verl", lambda folder: table(folder / "a.csv", OF_VERL)),
    ("verl", lambda folder: json_lines(folder / "a.jsonl", BY_VERL)),
    ("trl-groups", lambda folder: table(folder / "a.csv", FROM_WANDB)),
    ("openrlhf", lambda folder: tensorboard(folder / "runs", OF_OPENRLHF, "train/")),
]


@pytest.mark.parametrize(("name", "write"), WRITERS)
def test_every_format_is_read_into_the_same_check(tmp_path, name, write):
    log, alerts = judge(write(tmp_path))
    assert log.label == TABLES["formats"][name]["label"]
    assert len(log.metrics) == LONG
    assert {name for name, foreign in alerts.items() if foreign.alert.lit} == {"clipping"}
    alert, measured = alerts["clipping"]
    assert (alert.state, alert.updates, alert.remedies) == ("amber", [26, 27, 28, 29, 30], ())
    assert alert.evidence == "40% clipped (mean of the newest updates)."
    assert "no-clip" in measured
    if name == "trl-ppo":
        assert any("1/n" in note for note in log.notes)


@pytest.mark.parametrize(("trainer", "always", "late", "name", "state", "words"), CHECKED)
def test_each_check_that_a_log_allows(tmp_path, trainer, always, late, name, state, words):
    log, alerts = judge(json_lines(tmp_path / "a.jsonl", rows(ROWS[trainer] | always, **late)))
    alert, measured = alerts[name]
    assert log.label == TABLES["formats"][trainer]["label"]
    assert any("surprisal of a completion" in note for note in log.notes) == ("objective/entropy" in always)
    assert alert.state == state
    assert words in alert.evidence
    assert bool(measured) == alert.lit
    if name == "no-spread":
        assert "it was not recorded which" in alert.cause
    if name == "kl-negative":
        assert "never lit" in measured
    if trainer == "trl-groups":
        assert alerts["kl-negative"].alert.state == "not measured"  # its kl is k3, which is never below 0


def test_what_cannot_be_judged_says_which_column_is_missing_and_a_gradient_a_hundred_times_the_others_is_seen(tmp_path):
    _, alerts = judge(json_lines(tmp_path / "a.jsonl", rows(TRL_NOW)))
    plain = {"kl-runaway": "quiet", "entropy-gone": "quiet"}
    assert states(alerts) == {"kl-negative": "quiet", "clipping": "quiet"} | plain
    said = {name: foreign.alert.evidence for name, foreign in alerts.items()}
    assert said["no-spread"].startswith("Missing: `score_std` (TRL 0.4 to 0.11, PPO: ppo/std_scores;")
    assert "`perplexity_reference` (no trainer known here logs it)" in said["strange-texts"]
    assert said["value-fit"].count("Missing") == 1
    assert "`explained_variance`" in said["value-fit"]
    assert said["wrong-way"].startswith("It needs more than a log has: the same prompts")
    assert not any("sd" in text.split() for text in said.values())  # scores of a log are in a unit of their own
    steps = rows(GRPO)
    steps[20]["grad_norm"] = 500.0
    alert = judge(json_lines(tmp_path / "a.jsonl", steps))[1]["gradient"].alert
    assert (alert.state, alert.updates) == ("amber", [21])
    assert "skipped" not in alert.evidence


@pytest.mark.parametrize("preset", ["kinder-reviews", "no-leash", "chatterbox", "group-scores"])
def test_a_run_of_our_own_is_judged_as_a_log_as_it_is_as_a_run(tmp_path, preset):
    folder = catalog.RECORDED / preset
    text = gzip.decompress((folder / "metrics.jsonl.gz").read_bytes()).decode()
    (tmp_path / "metrics.jsonl").write_text(text)
    metrics = [UpdateMetrics.model_validate_json(line) for line in text.splitlines()]
    records = Records(yaml_io.load(folder / "config.yaml"), metrics)
    ours = {alert.name: (alert.state, alert.updates) for alert in diagnose(records)}
    log, alerts = judge(tmp_path / "metrics.jsonl")
    assert log.label == "this project's own names"
    theirs = {name: (alerts[name].alert.state, alerts[name].alert.updates) for name in states(alerts)}
    assert len(theirs) >= 8
    assert theirs == {name: ours[name] for name in theirs}


def test_every_check_is_judged_or_says_why_never():
    judged, never = TABLES["judged"], TABLES["never"]
    assert judged.keys() | never.keys() == CHECKS.keys()
    assert not judged.keys() & never.keys()
    figures = UpdateMetrics.model_fields.keys()
    assert all(figure in figures for check in judged.values() for figure in check["needs"])
    for name, trainer in TABLES["formats"].items():
        assert trainer.keys() - {"label", "notes"} <= figures, name
        assert trainer.get("notes", {}).keys() <= {*trainer, *trainer.get("entropy", ())}, name


def test_no_more_is_claimed_than_the_table_of_faults_says():
    text = (PROJECT / "docs" / "diagnosis.md").read_text()
    table = text.partition("| Run | Its alert")[2].partition("\n\n")[0]
    lines = re.findall(r"^\| ([\w-]+) \| (.*?) \| (.*?) \| (.*?) \|$", table, re.MULTILINE)
    own = dict(re.findall(r"^\| `([\w-]+)` \| .* \| `([\w-]+)` \|$", text, re.MULTILINE))
    lit: dict[str, Counter[str]] = {}  # on how many of the three seeds
    for run, since, red, amber in lines:
        alerts = re.findall(r"([\w-]+)(?: \((\d)\))?", f"{red}, {amber}")
        lit[run] = sum((Counter({name: int(seeds or 3)}) for name, seeds in alerts), Counter())
        if run in own and len(re.findall(r"\d+", since)) == 3:
            lit[run][own[run]] = 3
    assert len(lit) > 12
    for name, check in TABLES["judged"].items():
        everywhere = {run for run, seeds in lit.items() if seeds[name] == 3}
        assert set(check["seen"]) <= everywhere, name
        assert check["seen"] or not everywhere, name


def test_steps_of_a_log_that_were_written_again_or_far_apart(tmp_path):
    again = [{"global_step": 10 * step, **TRL_NOW} for step in (1, 2, 3, 2, 3, 4, 5, 6)]
    again[3]["policy/clipfrac_avg"] = 0.9
    log, _ = judge(json_lines(tmp_path / "a.jsonl", again))
    assert [row.update for row in log.metrics] == [10, 20, 30, 40, 50, 60]
    assert log.metrics[1].clip_fraction == 0.9
    assert any("10 steps apart" in note and "50 steps" in note for note in log.notes)


def test_rows_that_are_left_out_are_counted_with_the_reason(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("step,len,loss,why\n1,20,0.1,x\n2,nan,inf,\n3,many,0.1,\n4,,0.1,\n5,-inf,0.1,\nno,21,nan,\n")
    log, alerts = judge(path, "completion_length=len")
    assert [(row.update, row.completion_length) for row in log.metrics] == [(1, 20), (6, 21)]
    assert log.left_out == 4
    assert log.notes[0] == (
        "4 of 6 rows left out: 2 have figures that are not finite (NaN or infinite) or too large; 1 has text in the "
        "place of a number; 1 has none of the figures that are known."
    )
    alert, measured = alerts["not-finite"]
    assert (alert.state, alert.updates, bool(measured)) == ("amber", [2, 5, 6], True)
    assert alert.evidence == "len at 2 steps, first at 2; loss at 2 steps, first at 2."
    assert "not-finite" not in judge(json_lines(tmp_path / "b.jsonl", rows(TRL_NOW)))[1]


@pytest.mark.parametrize(("name", "text", "said"), [*TEXTS["unreadable"], ("a.json", "[" * 5000, "nested deeper")])
def test_a_log_that_cannot_be_read_says_why(tmp_path, name, text, said):
    path = tmp_path / name
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidConfig, match=said):
        judging.read(path)


def test_a_log_is_bounded(tmp_path, monkeypatch):
    path = json_lines(tmp_path / "a.jsonl", rows(TRL_NOW))
    monkeypatch.setattr(log_files, "MOST_ROWS", 5)
    with pytest.raises(InvalidConfig, match="more than 5 rows"):
        judging.read(path)
    monkeypatch.setattr(log_files, "MOST_BYTES", 100)
    with pytest.raises(InvalidConfig, match="larger than"):
        judging.read(path)
    with pytest.raises(InvalidConfig, match="No such file"):
        judging.read(tmp_path / "none.jsonl")
    with pytest.raises(InvalidConfig, match="neither"):
        judging.read(tmp_path)


@pytest.mark.parametrize(("name", "text", "metrics"), TEXTS["people_have"])
def test_what_people_have_of_a_log_is_read(tmp_path, name, text, metrics):
    data = text.encode("utf-16" if name.startswith("utf16") else "utf-8")
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    log = judging.read(tmp_path / name, ["kl_to_reference=kl"])
    assert [[row.update, row.kl_to_reference] for row in log.metrics] == metrics


def test_columns_can_be_named_and_one_run_of_a_table_with_several_chosen(tmp_path):
    path = table(tmp_path / "mine.csv", [{"iteration": row["step"], "clips": 0.6, "len": 9} for row in rows({})])
    log, alerts = judge(path, "clip_fraction=clips,completion_length=len")
    assert log.label == "columns as you named them"
    assert states(alerts) == {"clipping": "red", "length": "quiet"}
    with pytest.raises(InvalidConfig, match=r"No column of this log is known \(clips, iteration, len\)"):
        judging.read(path)
    with pytest.raises(InvalidConfig) as refused:
        judging.read(path, ["clip_fraction=other", "colour=clips", "clips"])
    assert len(refused.value.problems) == 3
    assert "no column 'other'" in str(refused.value)
    (tmp_path / "a.csv").write_text("Step,a - kl,b - kl\n1,2,3\n2,,4\n")
    log = judging.read(tmp_path / "a.csv", ["run=b,kl_to_reference=kl"])
    assert [row.kl_to_reference for row in log.metrics] == [3, 4]
    assert log.notes[-1] == "Of the run b."
    with pytest.raises(InvalidConfig, match=r"no run 'c' \(there are: a, b\)"):
        judging.read(tmp_path / "a.csv", ["run=c"])


def test_a_folder_of_checkpoints_or_of_runs(tmp_path):
    for step in (9, 10):
        (tmp_path / f"checkpoint-{step}").mkdir()
        trainer_state(tmp_path / f"checkpoint-{step}" / "trainer_state.json", NOW[:step])
    log = judging.read(tmp_path)
    assert any("checkpoint-10/trainer_state.json, the newest of 2" in note for note in log.notes)
    for run in ("one", "two"):
        tensorboard(tmp_path / "runs" / run, NOW[:2])
    with pytest.raises(InvalidConfig, match="its folders one, two have, so name one of them"):
        judging.read(tmp_path / "runs")
