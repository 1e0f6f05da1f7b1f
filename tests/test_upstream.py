"""docs/upstream.md: each page's script still shows its defect of Gradio; each workaround in the code names its page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import PROJECT
from tests.test_docs import anchor_of
from tests.ui.conftest import CHROMIUM

TEXT = (PROJECT / "docs" / "upstream.md").read_text(encoding="utf-8")
PAGE = re.compile(
    r"^## (.+?)\n(.*?)```python\n(.*?)```\n\n```text\n(.*?)```\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE
)
PAGES = {title: (script, printed) for title, _, script, printed, _ in PAGE.findall(TEXT)}
IN_BROWSER = [title for title, (script, _) in PAGES.items() if "playwright" in script]
# Each script in a namespace of its own, as if it were alone; what it prints is kept by its title.
ONE_BY_ONE = """
import contextlib, io, json, sys
found = {}
for title, script in json.load(sys.stdin).items():
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(script, title, "exec"), {"__name__": "__main__"})
    found[title] = printed.getvalue()
print(json.dumps(found))
"""


def printed_by(titles: list[str], folder: Path) -> dict[str, str]:
    """What the scripts print, in one process without this project's changes to Gradio."""
    scripts = json.dumps({title: PAGES[title][0] for title in titles})
    environment = {**os.environ, "TMPDIR": str(folder), "CHROMIUM": CHROMIUM}
    command = [sys.executable, "-c", ONE_BY_ONE]
    answer = subprocess.run(
        command, input=scripts, env=environment, cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout.splitlines()[-1])


def test_every_page_says_what_happens_what_should_and_what_is_done_here() -> None:
    assert [*PAGES] == re.findall(r"^## (.+)$", TEXT, re.MULTILINE)
    assert len(PAGES) >= 6
    for _, _, _, _, rest in PAGE.findall(TEXT):
        assert all(f"**{word}**" in rest for word in ("Expected.", "Proposed.", "Here, meanwhile."))
        named = re.findall(r"`(ui/[\w/.]+)`", rest)
        assert named
        assert all((PROJECT / "playground" / name).is_file() for name in named)


def test_each_workaround_names_its_page_and_each_page_has_one() -> None:
    sources = [path for path in (PROJECT / "playground").rglob("*") if path.suffix in (".py", ".js")]
    named = {found for path in sources for found in re.findall(r"docs/upstream\.md#([\w-]+)", path.read_text("utf-8"))}
    assert named == {anchor_of(title) for title in PAGES}


@pytest.mark.nightly
def test_what_the_scripts_show_of_the_server_is_still_so(tmp_path: Path) -> None:
    titles = [title for title in PAGES if title not in IN_BROWSER]
    assert printed_by(titles, tmp_path) == {title: PAGES[title][1] for title in titles}


@pytest.mark.nightly
def test_what_the_scripts_show_in_a_browser_is_still_so(tmp_path: Path) -> None:
    assert printed_by(IN_BROWSER, tmp_path) == {title: PAGES[title][1] for title in IN_BROWSER}
