"""The whole path as a person has it: `app.py` by itself, with processes of its own that wait, train and answer."""

import subprocess
import sys

import pytest

from tests.support import PROJECT
from tests.ui.conftest import Site, visit
from tests.ui.test_browser import fill
from tests.ui.test_first_light import train_watch_compare_and_ask


class RealSite(Site):
    """`app.py` itself."""

    def spawn(self, arguments, environment):
        return subprocess.Popen([sys.executable, "app.py", *arguments], cwd=PROJECT, env=environment)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    served = RealSite(tmp_path_factory.mktemp("outputs"), tmp_path_factory.mktemp("unused"))
    served.start()
    yield served
    served.stop()


def test_app_py_trains_compares_and_answers_with_processes_of_its_own(site, make_page):
    page = visit(make_page(), site)
    fill(page, "ppo.num_updates", "1")
    train_watch_compare_and_ask(page, site.outputs, num_prompts=64)
