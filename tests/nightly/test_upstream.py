"""docs/upstream.md: each page's script still shows its defect of Gradio."""

import json
import os
import subprocess
import sys

import pytest

from tests.test_docs import DEFECT, UPSTREAM
from tests.ui.conftest import CHROMIUM

PAGES = {title: (script, printed) for title, _, script, printed, _ in DEFECT.findall(UPSTREAM)}
IN_BROWSER = [title for title, (script, _) in PAGES.items() if "playwright" in script]
OF_SERVER = [title for title in PAGES if title not in IN_BROWSER]
# Each script in a namespace of its own, as if it were alone; what it prints is kept by its title.
ONE_BY_ONE = """
import contextlib, io, json, sys
texts = {}
for title, script in json.load(sys.stdin).items():
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(script, title, "exec"), {"__name__": "__main__"})
    texts[title] = printed.getvalue()
print(json.dumps(texts))
"""


@pytest.mark.parametrize("titles", [OF_SERVER, IN_BROWSER], ids=["server", "browser"])
def test_what_the_scripts_show_is_still_so(tmp_path, titles):
    """In one process without this project's changes to Gradio."""
    scripts = json.dumps({title: PAGES[title][0] for title in titles})
    environment = {**os.environ, "TMPDIR": str(tmp_path), "CHROMIUM": CHROMIUM}
    command = [sys.executable, "-c", ONE_BY_ONE]
    answer = subprocess.run(
        command, input=scripts, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout.splitlines()[-1]) == {title: PAGES[title][1] for title in titles}
