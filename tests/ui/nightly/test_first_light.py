"""The whole path as a person has it: `app.py` by itself, with processes of its own that wait, train and answer."""

import pytest

from tests.ui.conftest import serving, visit
from tests.ui.test_browser import fill
from tests.ui.test_first_light import train_watch_compare_and_ask


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("outputs"), program=("app.py",)) as served:
        yield served


def test_app_py_trains_compares_and_answers_with_processes_of_its_own(site, make_page):
    page = visit(make_page(), site)
    fill(page, "ppo.num_updates", "1")
    train_watch_compare_and_ask(page, site.outputs, num_prompts=64)
