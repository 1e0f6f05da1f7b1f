"""YAML and JSON that people type or hand over: plain data, bounded in size, depth and number, nothing given twice."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from playground import plain_files
from playground.config import yaml_io
from playground.errors import InvalidConfig
from tests.figures import Figure

HOSTILE = {
    "billion laughs": ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "alias"),
    "merge key": ("a: &x {b: 1}\nc: {<<: *x}\n", "alias"),
    "object": ("a: !!python/object/apply:os.system [ls]\n", "not valid YAML"),
    "own tag": ("a: !evil 1\n", "not valid YAML"),
    "twice": ("seed: 1\nseed: 2\n", "given twice"),
    "deep list": ("a: " + "[" * 5000 + "]" * 5000, "deeper than"),
    "deep map": ("{a: " * 3000 + "1" + "}" * 3000, "deeper than"),
    "deep, unclosed": ("[" * 90_000, "deeper than"),
    "many values": ("a: [" + "1," * 40_000 + "]", "values"),
    "large": ("a: " + "x" * 200_000, "larger than"),
    "date": ("a: 2001-99-99\n", "not valid YAML"),
    "several": ("a: 1\n---\nb: 2\n", "not valid YAML"),
    "no such bool": ("!!bool x", "not valid YAML"),
    "empty float": ('seed: !!float ""\n', "not valid YAML"),
    "long sexagesimal": (f"seed: {'1:' * 400}1.5\n", "not valid YAML"),
    "longest sexagesimal": (f"seed: 1{':59' * 30_000}\n", "at most 2.14748e+09"),
    "no bytes": ("seed: !!binary x\n", "not valid YAML"),
    "lone surrogate": ('name: "\\ud800"\n', "must be text in UTF-8"),
    "unhashable": ("{[1]: 2}", "not valid YAML"),
    "list": ("[1, 2]", "lines of `name: value`"),
}


def refusal(text: str) -> str:
    try:
        yaml_io.from_dict(yaml_io.parse_yaml(text))
    except InvalidConfig as error:
        return str(error)
    return ""


def test_hostile_yaml_is_refused_at_once(figure: Figure) -> None:
    bad = {}
    clock = time.process_time()
    for name, (text, words) in HOSTILE.items():
        if words not in (found := refusal(text)):
            bad[name] = found
    assert bad == {}
    assert time.process_time() - clock < 10
    figure("hostile YAML refused", len(HOSTILE), len(HOSTILE) - len(bad))


@pytest.mark.parametrize(
    "data",
    [
        {f"unknown{number}": 1 for number in range(10_000)},
        {"rewards": [{"kind": "length", f"unknown{number}": 1} for number in range(10_000)]},
    ],
)
def test_ten_thousand_unknown_names_cost_little_and_twenty_are_listed(data: dict[str, Any]) -> None:
    clock = time.process_time()
    with pytest.raises(InvalidConfig) as caught:
        yaml_io.from_dict(data)
    assert time.process_time() - clock < 2  # half a minute, once
    problems = caught.value.problems
    assert len(problems) == 21
    assert problems[-1].message.startswith("And 9,98")


@pytest.mark.parametrize("value", ["&x [*x]", "!!python/name:os.system", "[" * 9000, "[" * 30 + "]" * 30, "9" * 9000])
def test_a_value_on_the_command_line_is_bounded_too(value: str) -> None:
    assert yaml_io.parse_override(f"seed={value}") == ("seed", value)  # what a file may not hold is read as text
    with pytest.raises(InvalidConfig):
        yaml_io.overridden({"rewards": [{"kind": "length"}]}, [f"seed={value}"], yaml_io.RunConfig)


def test_a_file_is_bounded_before_it_is_read(tmp_path: Path) -> None:
    large, pipe, device = tmp_path / "large.yaml", tmp_path / "pipe.yaml", tmp_path / "zero.yaml"
    with open(large, "wb") as file:
        file.truncate(10**9)
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    for path, words in ((large, "larger than"), (pipe, "not an ordinary file"), (device, "not an ordinary file")):
        with pytest.raises(InvalidConfig, match=words):
            yaml_io.read_yaml(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [('{"a": 1, "a": 2}', "twice"), ("[" * 100_000, "deeper"), ("[" * 200 + "]" * 200, "deeper"), ("{", "Expecting")],
)
def test_json_is_bounded_in_depth_and_gives_nothing_twice(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        plain_files.parse_json(text)
    assert plain_files.parse_json(json.dumps({"a": [{"b": 1}]})) == {"a": [{"b": 1}]}
