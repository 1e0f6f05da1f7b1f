"""The documents and the forms for issues say what is so: fields, examples, commands and files that they name, and when
the nightly run was green."""

import datetime
import os
import re
import subprocess
import textwrap

import pytest
import yaml

from playground import cli
from playground.config import yaml_io
from playground.config.expression_language import FUNCTIONS
from playground.lessons import loading
from playground.runs.folder.exit_reasons import EXIT_REASONS
from playground.runs.folder.records import Evaluation, Event, Sample, Status, UpdateMetrics
from playground.runs.folder.rollout_records import Histogram, RolloutRecord, RolloutText
from playground.runs.folder.writer import RunWriter
from playground.runs.sweeps.sweep_record import Sweep
from playground.setup import catalog, checks
from tests.support import PROJECT, sample, update_metrics

README = (PROJECT / "README.md").read_text(encoding="utf-8")
CHARTS = (PROJECT / "playground" / "ui" / "static" / "charts" / "specs.js").read_text(encoding="utf-8")
EXPERIMENTS, RUNS, REWARDS, RUN_FORMAT, UPSTREAM, DEFINITIONS = (
    (PROJECT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("experiments", "runs", "rewards", "run-format", "upstream", "definitions")
)
RECORDS = (Status, RolloutRecord, Histogram, RolloutText, Sample, Evaluation, Event, Sweep)
DEFECT = re.compile(  # of docs/upstream.md: title, what happens, script, what it prints, what should happen and is done
    r"^## (.+?)\n(.*?)```python\n(.*?)```\n\n```text\n(.*?)```\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE
)


def anchor_of(heading):
    """The fragment that leads to a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("record", RECORDS)
def test_the_run_format_names_every_field(record):
    assert [name for name in record.model_fields if f"`{name}`" not in RUN_FORMAT] == []


def defined(part):
    """The cells of each line of a part of the page of definitions, by the name in front."""
    text = DEFINITIONS.partition(f"## {part}")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| `(.*?)`(.*) \|$", text, re.MULTILINE)
    return {name: [cell.strip() for cell in rest.split("|")] for name, rest in lines}


@pytest.mark.parametrize(
    ("part", "records", "prefix"),
    [
        ("Training batches", [UpdateMetrics], ""),
        ("Fixed prompts", [Sample], "fixed_prompts."),
        ("Fixed", [Evaluation], ""),
    ],
)
def test_every_figure_has_a_definition_with_its_unit_and_a_place_in_the_code(part, records, prefix):
    lines, texts = defined(part), {}
    assert set(UpdateMetrics.about()) == set(UpdateMetrics.model_fields)
    for name, about in (item for record in records for item in record.about().items()):
        _, _, formula, unit, estimator, code, _ = lines[f"{prefix}{name}"]
        assert formula, name
        assert estimator, name
        assert unit == about.unit, name
        path, _, function = code.strip("`").partition(":")
        text = texts.setdefault(path, (PROJECT / "playground" / path).read_text(encoding="utf-8"))
        assert not function or re.search(rf"(def|class) {function}\b", text), f"{name}: {code}"


def test_every_chart_of_the_page_is_of_a_figure_that_it_gets_and_defined_under_its_name():
    lines = defined("Training batches") | defined("Fixed prompts")
    titles = re.findall(r'title: "([^"]+)".*?column: "(\w+)"', CHARTS, re.DOTALL)
    assert [name for title, name in titles if lines[name][0] != f"({title})"] == []
    assert len(titles) > 10
    bands = re.findall(r"band: \[(.*?)\]", CHARTS)
    drawn = {*re.findall(r'column: "(\w+)"', CHARTS), *re.findall(r"\w+", " ".join(bands))}
    live = {name for name, about in UpdateMetrics.about().items() if about.live}
    assert len(drawn) > 10
    assert drawn - live == {"perplexity_text"}


def test_the_ways_a_run_can_end_are_told_as_they_are():
    rows = re.findall(r"^\| (`\w+`)? *\| ([^|]+) \| ([^|]*) \| (yes|no) \|$", RUNS, re.MULTILINE)
    shown = [
        (reason.strip("`"), title.strip(), remedy.strip(), resume == "yes") for reason, title, remedy, resume in rows
    ]
    assert shown == [(reason, *end) for reason, end in EXIT_REASONS.items()]


def test_the_example_of_the_run_format_runs(run, capsys):
    writer = RunWriter(run, num_updates=3)
    writer.samples([sample(0, "before", 0.0), sample(0, "after", 1.0)])
    writer.metrics(update_metrics(2))
    (example,) = re.findall(r"```python\n(.*?)```", RUN_FORMAT, re.DOTALL)
    assert "outputs/kinder-reviews-20260131-101500" in example
    exec(example.replace("outputs/kinder-reviews-20260131-101500", str(run.path)), {})
    assert capsys.readouterr().out.splitlines() == ["2 1.0 2.0", " before 0 ->  after 0", "not alive"]


def test_the_page_on_experiments_tells_of_every_preset_in_order():
    titles = [catalog.preset(name).about.title for name in catalog.preset_names()]
    assert re.findall(r"^\| \d+ \| ([^|]+) \|", EXPERIMENTS, re.MULTILINE) == titles
    first = re.findall(r"^\| \d+ \| ([^|]+) \|", README, re.MULTILINE)
    assert first == titles[:3]
    assert len(README.splitlines()) <= 150


def test_the_page_on_the_chapters_has_every_lesson_that_answers_one_and_the_readme_counts_them():
    page = (PROJECT / "docs" / "chapters.md").read_text(encoding="utf-8")
    lessons = {lesson.name: lesson for course in loading.Lessons().courses for lesson in course.lessons}
    named = re.findall(r"\?lesson=([a-z-]+)\]\(\.\./lessons/([a-z-]+)\.yaml\)", page)
    linked = {name for _, name in named}
    assert {name for name, lesson in lessons.items() if lesson.chapter} <= linked
    assert linked <= set(lessons)
    assert [shown for shown, name in named if shown != name] == []
    presets = re.findall(r"\[([a-z-]+)\]\(\.\./presets/|playground train ([a-z0-9-]+)", page)
    assert {one or other for one, other in presets} <= set(catalog.every_preset_name())
    assert len(presets) > 2
    assert f"begin with {len(lessons)} short lessons" in " ".join(README.split())


def test_the_list_of_pages_has_every_page_and_every_link_leads_to_a_page_and_a_heading_that_are_there():
    pages = {path.name for path in (PROJECT / "docs").glob("*.md")} - {"README.md"}
    listed = re.findall(r"\]\(([\w-]+\.md)", (PROJECT / "docs" / "README.md").read_text(encoding="utf-8"))
    assert set(listed) == pages
    link = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
    for path in (PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *(PROJECT / "docs").glob("*.md")):
        for target, anchor in link.findall(path.read_text(encoding="utf-8")):
            other = path.parent / target if target else path
            assert other.exists(), f"{path.name}: {target}"
            headings = re.findall(r"^#+ (.*)$", other.read_text(encoding="utf-8"), re.MULTILINE) if anchor else []
            assert not anchor or anchor in map(anchor_of, headings), f"{path.name}: {target}#{anchor}"


def test_the_page_on_rewards_lists_every_function_of_an_expression_as_the_code_has_it():
    shown = re.findall(r"^\| `([a-z_]+\(.*\))` \| (.*) \|$", REWARDS, re.MULTILINE)
    assert shown == [*FUNCTIONS.values()]


def test_the_examples_on_the_page_of_rewards_are_configurations():
    blocks = [textwrap.dedent(block) for block in re.findall(r"(?:^    .*\n|^\n)+", REWARDS, re.MULTILINE)]
    examples = [block for block in blocks if re.search("^rewards:", block, re.MULTILINE) and "kind: model" not in block]
    kinds = []
    for example in examples:
        config = yaml_io.from_dict(yaml_io.parse_yaml(example))
        checks.check(config)
        kinds += [reward.kind for reward in config.rewards]
    assert kinds == ["expression", "python", "verify"]


def test_each_workaround_names_a_defect_that_is_told():
    sources = [path for path in (PROJECT / "playground").rglob("*") if path.suffix in (".py", ".js")]
    anchors = {name for path in sources for name in re.findall(r"docs/upstream\.md#([\w-]+)", path.read_text("utf-8"))}
    assert anchors == {anchor_of(title) for title, *_ in DEFECT.findall(UPSTREAM)}


FOLDER = PROJECT / ".github" / "ISSUE_TEMPLATE"


@pytest.mark.parametrize("name", ["bug", "lesson"])
def test_a_form_for_issues_asks_for_what_doctor_prints(name):
    form = yaml.safe_load((FOLDER / f"{name}.yml").read_text(encoding="utf-8"))
    (doctor,) = [field for field in form["body"] if field.get("id") == "doctor"]
    assert "`python -m playground doctor --json`" in doctor["attributes"]["label"]
    assert (doctor["attributes"]["render"], doctor["validations"]["required"]) == ("json", True)


def test_every_command_that_is_named_anywhere_is_there():
    commands = {command.name or command.callback.__name__ for command in cli.app.registered_commands}
    commands |= {str(group.name) for group in cli.app.registered_groups}
    sources = [path for path in (PROJECT / "playground").rglob("*") if path.suffix in (".py", ".js", ".toml")]
    pages = [PROJECT / "README.md", PROJECT / "Makefile", *(PROJECT / "docs").glob("*.md"), *FOLDER.glob("*.yml")]
    for path in (*sources, *pages, *(PROJECT / "lessons").glob("*.yaml")):
        named = set(re.findall(r"python -m playground ([a-z][a-z-]*)", path.read_text(encoding="utf-8")))
        assert named <= commands, path


DAYS = 14
DONE = re.compile(r"<!-- nightly -->\n(\S+), commit \w{8}: [\d,]{5,} cases passed in \d+ minutes on \d+ cores\.\n")


@pytest.mark.skipif("NIGHTLY_RUN" in os.environ, reason="this is the nightly run")
def test_the_nightly_run_was_green_within_14_days_of_the_newest_commit():
    document = (PROJECT / "docs" / "reliability.md").read_text("utf-8")
    written = DONE.search(document)
    assert written, "run .ci/nightly"
    command = ["git", "log", "-1", "--format=%cI"]
    newest = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True).stdout.strip()
    if newest:  # else these files are no checkout
        age = datetime.datetime.fromisoformat(newest).date() - datetime.date.fromisoformat(written[1])
        assert age.days <= DAYS, "run .ci/nightly"
