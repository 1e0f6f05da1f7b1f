"""The documents say what is so: fields of the run format, its example, commands and files that the README names."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from playground.config import ExpressionReward, flatten, yaml_io
from playground.config.expression_language import FUNCTIONS
from playground.lessons import loading
from playground.rewards import mixture
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.exit_reasons import EXIT_REASONS
from playground.runs.folder.records import Evaluation, Event, Record, Sample, Status, UpdateMetrics
from playground.runs.folder.rollout_records import Histogram, RolloutRecord, RolloutText
from playground.runs.folder.writer import RunWriter
from playground.runs.sweeps.sweep_record import Sweep
from playground.setup import catalog, checks
from tests.support import PROJECT, sample, small_config, update_metrics

README = (PROJECT / "README.md").read_text(encoding="utf-8")
EXPERIMENTS = (PROJECT / "docs" / "experiments.md").read_text(encoding="utf-8")
RUNS = (PROJECT / "docs" / "runs.md").read_text(encoding="utf-8")
REWARDS = (PROJECT / "docs" / "rewards.md").read_text(encoding="utf-8")
RUN_FORMAT = (PROJECT / "docs" / "run-format.md").read_text(encoding="utf-8")
OF_TEXTS = (RolloutRecord, Histogram, RolloutText)
SCALE = (PROJECT / "docs" / "scale.md").read_text(encoding="utf-8")


def anchor_of(heading: str) -> str:
    """The fragment that leads to a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("record", [Status, UpdateMetrics, *OF_TEXTS, Sample, Evaluation, Event, Sweep])
def test_the_run_format_names_every_field(record: type[Record]) -> None:
    assert [name for name in record.model_fields if f"`{name}`" not in RUN_FORMAT] == []


def test_the_figures_of_an_update_are_told_as_they_are_declared() -> None:
    declared = [f"| `{name}` | {about.unit} | {about.words} |" for name, about in UpdateMetrics.about().items()]
    section = RUN_FORMAT.partition("## metrics.jsonl")[2].partition("## rollouts.jsonl")[0]
    assert [line for line in section.splitlines() if line.startswith("| `")] == declared
    assert set(UpdateMetrics.about()) == set(UpdateMetrics.model_fields)


def test_every_chart_of_the_page_is_of_a_figure_that_it_gets() -> None:
    charts = (PROJECT / "playground" / "ui" / "static" / "charts" / "specs.js").read_text(encoding="utf-8")
    bands = re.findall(r"band: \[(.*?)\]", charts)
    drawn = {*re.findall(r'column: "(\w+)"', charts), *re.findall(r"\w+", " ".join(bands))}
    live = {name for name, about in UpdateMetrics.about().items() if about.live}
    assert len(drawn) > 10
    assert drawn - live == {"perplexity_text"}


def test_the_ways_a_run_can_end_are_told_as_they_are() -> None:
    rows = re.findall(r"^\| (`\w+`)? *\| ([^|]+) \| ([^|]*) \| (yes|no) \|$", RUNS, re.MULTILINE)
    shown = [
        (reason.strip("`"), title.strip(), remedy.strip(), resume == "yes") for reason, title, remedy, resume in rows
    ]
    assert shown == [(reason, *end) for reason, end in EXIT_REASONS.items()]


def test_the_example_of_the_run_format_runs(outputs: Path) -> None:
    run = RunDirectory.create(outputs, small_config(), "one")
    writer = RunWriter(run, num_updates=3)
    writer.samples([sample(0, "before", 0.0), sample(0, "after", 1.0)])
    writer.metrics(update_metrics(2))
    found = re.search(r"```python\n(.*?)```", RUN_FORMAT, re.DOTALL)
    assert found is not None
    example = found.group(1).replace("outputs/kinder-reviews-20260131-101500", str(run.path))
    answer = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, timeout=240)
    assert answer.stdout.splitlines() == ["2 1.0 2.0", " before 0 ->  after 0", "not alive"], answer.stderr


def test_the_settings_that_are_told_in_the_names_of_other_trainers_are_ours() -> None:
    table = SCALE.partition("| Here | OpenRLHF | verl |")[2].partition("\n\n")[0]
    named = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
    assert len(named) == table.count("\n") - 1 > 20
    assert set(named) - flatten(small_config()).keys() == set()


def test_the_page_on_experiments_tells_of_every_preset_in_order() -> None:
    titles = [catalog.preset(name).about.title for name in catalog.preset_names()]
    assert re.findall(r"^\| \d+ \| ([^|]+) \|", EXPERIMENTS, re.MULTILINE) == titles
    first = re.findall(r"^\| \d+ \| ([^|]+) \|", README, re.MULTILINE)
    assert first == titles[:3]
    assert len(README.splitlines()) <= 150


def test_the_readme_counts_the_lessons() -> None:
    number = sum(len(course.lessons) for course in loading.Lessons().courses)
    assert f"begin with {number} short lessons" in " ".join(README.split())


def test_every_link_within_the_documents_leads_to_a_page_and_a_heading_that_are_there() -> None:
    for path in (PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *(PROJECT / "docs").glob("*.md")):
        for target, anchor in re.findall(
            r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", path.read_text(encoding="utf-8")
        ):
            other = path.parent / target if target else path
            assert other.exists(), f"{path.name}: {target}"
            if anchor:
                headings = re.findall(r"^#+ (.*)$", other.read_text(encoding="utf-8"), re.MULTILINE)
                assert anchor in map(anchor_of, headings), f"{path.name}: {target}#{anchor}"


def test_the_short_description_fits_a_space() -> None:
    found = re.search(r"^short_description: (.*)$", README, re.MULTILINE)
    assert found is not None
    assert len(found.group(1)) <= 60


def test_the_page_on_rewards_lists_every_function_of_an_expression_as_the_code_has_it() -> None:
    shown = re.findall(r"^\| `([a-z_]+\(.*\))` \| (.*) \|$", REWARDS, re.MULTILINE)
    assert shown == [*FUNCTIONS.values()]


def test_the_examples_on_the_page_of_rewards_are_configurations() -> None:
    blocks = [textwrap.dedent(found) for found in re.findall(r"(?:^    .*\n|^\n)+", REWARDS, re.MULTILINE)]
    examples = [block for block in blocks if re.search("^rewards:", block, re.MULTILINE) and "kind: model" not in block]
    named = []
    for example in examples:
        config = yaml_io.from_dict(yaml_io.parse_yaml(example))
        checks.check(config)
        named += [reward.kind for reward in config.rewards]
    assert named == ["expression", "expression", "python"]
    (share,) = re.findall(r"^        expression: (100 .*)$", REWARDS, re.MULTILINE)
    assert mixture.build(ExpressionReward(expression=share))(prompts=["p"], completions=["E" + "x" * 49]) == [2.0]
