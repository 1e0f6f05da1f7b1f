"""Files of strangers, bounded before they are read whatever they claim to be: data and uploads, YAML and JSON, scripts
and logs of other trainers; and the tables that go out."""

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from playground import plain_files
from playground.analysis.run_report import RunReport
from playground.config import yaml_io
from playground.errors import InvalidConfig, PromptsUnusable
from playground.exports import csv_tables as exported
from playground.imports import importing, judging, log_files
from playground.training.data import hub_data
from tests.security import DATA, table
from tests.support import PROJECT, sample, small_config, update_metrics

TEXTS = table("hostile_texts")
MOST_SECONDS = 2.0  # of a processor
MOST_BYTES = 100_000_000  # more of address space than there was before: the system gives a reader no more
MEASURE = (DATA / "measure.py.txt").read_text(encoding="utf-8")


def write(path, text, encoding):
    path.write_bytes(gzip.compress(text.encode()) if encoding == "gzip" else text.encode(encoding))


def columns(path, count=10**6):
    path.write_text(",".join(f"c{n}" for n in range(count)) + "\n1\n")


def gigabyte(path):
    path.touch()
    os.truncate(path, 10**9)  # sparse


def device(path):
    path.symlink_to("/dev/zero")


BOMB = gzip.compress((b'{"prompt": "' + b"a" * 99_000 + b'"}\n') * 200) * 100  # 2 GB in 2 MB
MADE = {  # what is not written as a text
    "gigabyte.jsonl": gigabyte,
    "bomb.jsonl.gz": lambda path: path.write_bytes(BOMB),
    "cut.jsonl.gz": lambda path: path.write_bytes(gzip.compress(os.urandom(1000))[:500]),
    "columns.csv": columns,
    "columns-short.csv": lambda path: columns(path, 100_000),
    "pipe.jsonl": os.mkfifo,
    "device.txt": device,
    "folder.csv": os.mkdir,
}
FILES = TEXTS["data files"]


@pytest.mark.parametrize("readers", [("upload", "text"), ("pairs", "prompts")], ids="-".join)
def test_data_files_are_refused_in_little_time_and_memory_by_every_reader(tmp_path, figure, readers):
    for file, (_, *content) in FILES.items():
        MADE.get(file, write)(tmp_path / file, *content)
    names = [f"{kind}:{file}" for file in FILES for kind in readers if kind != "text" or file.endswith(".txt")]
    command = [sys.executable, "-c", MEASURE, str(tmp_path), str(MOST_BYTES), *names]
    child = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)
    assert child.returncode == 0, child.stderr[-2000:]
    answers = [json.loads(line) for line in child.stdout.splitlines()]
    assert [name for name, *_ in answers] == names
    for name, answer, seconds in answers:
        kind, _, file = name.partition(":")
        assert kind != "upload" or FILES[file][0] in answer.replace(file, ""), (name, answer)
        assert seconds <= MOST_SECONDS, name
    figure("hostile data files refused in 2 s and 100 MB (uploads, prompts, pairs, texts)", len(names), len(answers))


@pytest.mark.parametrize("name", ["a.zip", "data.tar.gz", "deep/rows.pkl"])
def test_a_folder_of_data_with_archives_or_pickles_is_refused_by_the_file(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / "rows.jsonl").write_text('{"prompt": "a"}\n')
    (tmp_path / name).write_bytes(b"\x80\4.")
    with pytest.raises(PromptsUnusable, match=Path(name).name):
        hub_data.Rows(str(tmp_path), None, "train")


def test_tables_for_spreadsheets_hold_no_formula_and_all_numbers():
    unseen = "\0\x01\x7f\x85\u200b\u200e\u202e\u2060\ufeff\u3000\u00a0\u2028"
    texts = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", '=HYPERLINK("x")', "\n=1", "\uff1d1", "a=1"]
    texts += [*(f"{mark}=1" for mark in unseen), "\u200b \ufeff\t@SUM(A1)", "\u200b"]
    samples = [sample(number, "after", -1.5, completion=text, kl=-0.25) for number, text in enumerate(texts)]
    rows = list(csv.DictReader(io.StringIO(exported.samples_csv(RunReport(small_config(), samples)), newline="")))
    for row, text in zip(rows, texts, strict=True):
        written = row["completion"]
        assert text in written
        assert (written == text) == (text == "a=1")
        assert written[:1] == ("a" if text == "a=1" else "'")
        assert (float(row["score"]), float(row["kl"])) == (-1.5, -0.25)
    metrics = [update_metrics(1, terms={"=evil()": 1.0, "\ufeff-=x": 2.0}, score_mean=-3.0)]
    head, row = list(csv.reader(io.StringIO(exported.metrics_csv(RunReport(small_config(), (), metrics)))))
    assert not [cell for cell in head if not cell[0].isalpha()]
    assert "-3.0" in row


def test_hostile_yaml_is_refused_at_once(figure):
    refusals, clock = {}, time.thread_time()
    for name, (text, _) in TEXTS["yaml"].items():
        with pytest.raises(InvalidConfig) as refused:
            yaml_io.from_dict(yaml_io.parse_yaml(text))
        refusals[name] = str(refused.value)
    assert [name for name, (_, words) in TEXTS["yaml"].items() if words not in refusals[name]] == []
    assert time.thread_time() - clock < 10
    figure("hostile YAML refused", len(TEXTS["yaml"]), len(refusals))


MANY = {f"unknown{number}": 1 for number in range(10_000)}


@pytest.mark.parametrize("data", [MANY, {"rewards": [{"kind": "length", **MANY}]}], ids=["settings", "of a reward"])
def test_ten_thousand_unknown_names_cost_little_and_twenty_are_listed(data):
    clock = time.thread_time()
    with pytest.raises(InvalidConfig) as caught:
        yaml_io.from_dict(data)
    assert time.thread_time() - clock < 2  # half a minute, once
    problems = caught.value.problems
    assert len(problems) == 21
    assert problems[-1].message.startswith("And 9,98")


@pytest.mark.parametrize("value", ["&x [*x]", "!!python/name:os.system", "[" * 9000, "[" * 30 + "]" * 30, "9" * 9000])
def test_a_value_on_the_command_line_is_bounded_too(value):
    assert yaml_io.parse_override(f"seed={value}") == ("seed", value)  # what a file may not hold is read as text
    with pytest.raises(InvalidConfig):
        yaml_io.overridden({"rewards": [{"kind": "length"}]}, [f"seed={value}"], yaml_io.RunConfig)


UNREADABLE = [(gigabyte, "larger than"), (os.mkfifo, "not an ordinary file"), (device, "not an ordinary file")]


@pytest.mark.parametrize(("make", "words"), UNREADABLE)
def test_a_file_is_bounded_before_it_is_read(make, words, tmp_path):
    make(tmp_path / "made.yaml")
    with pytest.raises(InvalidConfig, match=words):
        yaml_io.read_yaml(tmp_path / "made.yaml")


@pytest.mark.parametrize("what", TEXTS["json"])
def test_json_is_bounded_in_depth_and_gives_nothing_twice(what):
    text, words = TEXTS["json"][what]
    with pytest.raises(ValueError, match=words):
        plain_files.parse_json(text)
    assert plain_files.parse_json(json.dumps({"a": [{"b": 1}]})) == {"a": [{"b": 1}]}


PPO = "from trl import PPOConfig\nconfig = PPOConfig(steps=1)\n"
IFS = "".join(" " * depth + "if a:\n" for depth in range(90)) + " " * 90 + f"x = [{'1,' * 60_000}]\n"
SCRIPTS = {
    **TEXTS["scripts"],
    "conditions in conditions": ("py", PPO + IFS),
    "thousands of settings": ("py", PPO + f"LoraConfig({','.join(f'r{i}=1' for i in range(20_000))})"),
    "thousands of names": ("yaml", "stage: ppo\n" + "".join(f"learning_rat{i}: 1\n" for i in range(4500))),
}


@pytest.mark.parametrize("what", SCRIPTS)
def test_a_script_of_another_trainer_takes_no_time_and_no_memory(what, tmp_path):
    kind, text = SCRIPTS[what]
    path = tmp_path / f"script.{kind}"
    path.write_text(text)
    began = time.thread_time()
    try:
        script = importing.read(path)
        text_of_answer = script.yaml_text(path.name) + str(script.report())
    except InvalidConfig as error:
        text_of_answer = str(error)
    assert time.thread_time() - began < 5
    assert len(text_of_answer) < 100_000


def test_code_that_a_script_brings_along_is_pointed_out(tmp_path):
    path = tmp_path / "script.py"
    rewards = [{"kind": "python", "code": "def reward(prompt, completion):\n    return 1.0\n"}]
    path.write_text(f"from playground.rewards import mixture\nREWARDS = {rewards!r}\n{PPO}")
    text = importing.read(path).yaml_text("script.py")
    assert "return 1.0" in text
    assert text.splitlines()[1].startswith("# Fill in or check: rewards: the")


LOGS = {**TEXTS["logs"], "columns.csv": ",".join(f"a{i}" for i in range(10_000)) + "\n" + "1\n" * 20_000}


@pytest.mark.parametrize("name", LOGS)
def test_a_log_is_read_no_farther_than_its_bounds(name, tmp_path, monkeypatch):
    path = tmp_path / name
    path.write_text(LOGS[name])
    read, numbers = [], log_files.numbers
    monkeypatch.setattr(log_files, "numbers", lambda row: read.append(len(row)) or numbers(row))
    with pytest.raises(InvalidConfig, match=r"more than|No column"):
        judging.read(path)
    assert len(read) <= log_files.MOST_ROWS + 1
    assert sum(read) < 1_000_000


def test_a_log_of_many_numbers_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(log_files, "MOST_NUMBERS", 100)
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps({"step": step, "clip_fraction": 0.1}) + "\n" for step in range(60)))
    with pytest.raises(InvalidConfig, match="numbers"):
        judging.read(path)
