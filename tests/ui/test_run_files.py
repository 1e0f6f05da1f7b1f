"""What a run can be downloaded as."""

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from playground.config import yaml_io
from playground.setup import catalog
from playground.ui import routes, run_files
from playground.ui.auth.access import Access
from playground.ui.feed import feed
from tests.ui import fake_run


@pytest.fixture
def client(tmp_path):
    first = catalog.preset("kinder-reviews")
    second = first.model_copy(update={"seed": 7, "kl": first.kl.model_copy(update={"coef": 0.0})})
    fake_run.write_run(tmp_path, "two", second)
    hub = feed.Hub(tmp_path)
    with TestClient(Starlette(routes=routes.routes(hub))) as made:
        yield made
        made.portal.call(hub.close)


def test_a_run_is_exported_as_yaml_as_a_script_for_trl_as_a_report_and_as_a_replay(client):
    answers = {kind: client.get(f"/live/two/export/{kind}") for kind in run_files.EXPORTS}
    names = {kind: answer.headers["content-disposition"] for kind, answer in answers.items()}
    files = {"html": "two.html", "yaml": "two.yaml", "trl": "two.py", "replay": "two-replay.html"}
    assert names == {kind: f'attachment; filename="{file}"' for kind, file in files.items()}
    assert yaml_io.from_dict(yaml_io.parse_yaml(answers["yaml"].text)).seed == 7
    compile(answers["trl"].text, "two.py", "exec")
    assert "PPOTrainer" in answers["trl"].text
    assert "Scale(mean=-0.5, sd=1.9" in answers["trl"].text
    for kind in ("html", "replay"):
        assert answers[kind].text.startswith("<!doctype html>")
    assert "Kinder reviews, replay</title>" in answers["replay"].text
    for missing in ("two/export/pickle", "nobody/export/yaml", "nobody/export/replay", "nobody/samples.csv"):
        assert client.get(f"/live/{missing}").status_code == 404


def test_a_visitor_of_a_class_gets_the_replay_too(tmp_path):
    fake_run.write_run(tmp_path, "one")
    client = TestClient(Starlette(routes=routes.routes(feed.Hub(tmp_path), Access("classroom", tmp_path))))
    assert client.get("/live/one/export/replay").status_code == 200
