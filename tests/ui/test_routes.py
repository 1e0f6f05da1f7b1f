"""Our own HTTP routes: several runs in one answer, what a run can be downloaded as, and the page's own files."""

import asyncio
import io
import json
import re
import shutil
import threading
import zipfile

import pytest
from starlette.requests import Request

from playground.analysis.run_report import RunReport
from playground.cli import run_commands
from playground.config import yaml_io
from playground.pocket import judges
from playground.runs.folder import rollouts
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.ui import own_files, page, routes, run_files
from playground.ui.auth.access import Access
from playground.ui.classroom import class_routes
from playground.ui.feed import compare_serializer, feed, home, insight_serializer
from playground.ui.train import form
from tests.support import config_with, data_beside
from tests.ui import fake_run
from tests.ui.asking import client_of


@pytest.fixture(scope="module")
def written(recorded, tmp_path_factory):
    """An outputs folder with two finished runs that differ in beta and seed."""
    folder, first = tmp_path_factory.mktemp("written"), catalog.preset("kinder-reviews")
    shutil.copytree(recorded / "kinder-reviews", folder / "one")
    second = first.model_copy(update={"seed": 7, "kl": first.kl.model_copy(update={"coef": 0.0})})
    fake_run.write_run(folder, "two", second)
    return folder


@pytest.fixture
def client(written, tmp_path):
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    with client_of(feed.Hub(tmp_path)) as client:
        yield client


def test_an_overlay_brings_the_curves_of_all_runs_the_settings_that_differ_and_what_each_gained(client, tmp_path):
    data = client.get("/live/_overlay?runs=two,one").json()
    heads = [(run["id"], run["seed"], run["engine"], run["state"], run["method"]) for run in data["runs"]]
    assert heads == [("two", 7, "playground", "finished", "PPO"), ("one", 0, "playground", "finished", "PPO")]
    settings = {row["label"]: row["values"] for row in data["settings"]}
    assert settings == {"Seed": ["7", "0"], form.LABELS["kl.coef"]: ["0", "0.25"]}
    assert (data["problems"], data["scores_differ"]) == ([], "")
    assert data["reached"] == pytest.approx(min(max(run["evaluations"]["kl"]) for run in data["runs"]), rel=1e-4)
    for run in data["runs"]:
        assert len(run["metrics"]["update"]) == 40
        scores, kls = run["evaluations"]["score"], run["evaluations"]["kl"]
        assert len(scores) == len(kls) == len(run["evaluations"]["update"]) > 2
        assert (kls[0], run["there"]["kl"]) == (0, data["reached"])
        assert run["there"]["gain"] <= max(scores) - scores[0] + 1e-3
        assert (run["bill"]["texts"], run["bill"]["answers"]) == (40 * 48, 1)
    fake_run.write_run(tmp_path, "other", catalog.preset("chatterbox").model_copy(update={"engine": "trl"}))
    data = client.get("/live/_overlay?runs=two,other").json()
    assert data["scores_differ"]
    assert [run["engine"] for run in data["runs"]] == ["playground", "trl"]
    assert client.get("/live/_overlay?runs=two").json()["reached"] is None


def test_a_run_has_one_gain_one_kl_and_the_same_behaviours_wherever_it_is_shown(client, tmp_path, capsys):
    run = RunDirectory(tmp_path / "one")
    before, after = ([item for item in run.samples() if item.update == update] for update in (0, 40))
    gain = sum(new.score - old.score for old, new in zip(before, after, strict=True)) / 64
    kl = sum(item.kl for item in after) / 64
    assert abs(run.metrics()[-1].kl_to_reference - kl) > 0.05, "else it might be the training batch"
    history = client.get("/live/_runs").json()
    (row,) = (row for row in history["runs"] if row["id"] == "one")
    (laid,) = client.get("/live/_overlay?runs=one").json()["runs"]
    (listed,) = (item for item in printed_by_cli(capsys, "runs", tmp_path) if item["id"] == "one")
    printed = printed_by_cli(capsys, "show", tmp_path / "one")
    figures = row["figures"]
    assert [column["key"] for column in history["columns"]] == [*figures] == [key for key in listed if key in figures]
    in_list = {**figures["gain"], "gain": figures["gain"]["value"], "kl": figures["kl"]["value"]}
    for headline in (in_list, laid["end"], listed["headline"], printed["headline"], printed["outcome"]):
        assert (headline["gain"], headline["kl"]) == pytest.approx((gain, kl))
        assert headline["low"] < gain < headline["high"]
    sentence = printed["sentence"]
    assert all(words in sentence for words in (f"{gain:+.2f} sd", f"{kl:.1f} nats"))
    assert client.get("/live/one/poll").json()["snapshot"]["status"]["outcome"] == sentence
    assert client.get("/live/one/compare").json()["outcome"] in sentence
    assert RunReport.of(run).summary()["outcome/gain"] == pytest.approx(gain)
    moods = [[judges.sentiment(item.prompt, item.completion) or 0 for item in items] for items in (before, after)]
    counts = [sum(mood > 0 for mood in of_side) for of_side in moods]
    assert counts[1] > counts[0]
    assert sentence.startswith(f"It now is kind in {counts[1]} of 64 answers")
    for behaviours in (row["behaviours"], listed["behaviours"], printed["behaviours"]):
        first = behaviours[0]
        assert (first["name"], first["before"]["count"], first["after"]["count"]) == ("positive", *counts)
        assert (first["before"]["of"], first["after"]["of"], first["change"]) == (64, 64, 1)
    evaluations = laid["behaviours"][0]["evaluations"]
    assert evaluations["update"] == list(range(0, 41, 5))
    assert evaluations["share"][-1] == round(100 * counts[1] / 64, 1)
    assert evaluations["low"][-1] < evaluations["share"][-1] < evaluations["high"][-1]


def printed_by_cli(capsys, command, path):
    if command == "runs":
        run_commands.runs(path, True)
    else:
        run_commands.show(str(path), path, True)
    return json.loads(capsys.readouterr().out)


def test_recordings_are_read_compared_exported_and_laid_over_each_other_like_runs(client):
    recorded = client.get("/live/_home").json()["recorded"]
    assert recorded["yes-man"] == "_recorded-yes-man"
    assert recorded.keys() == {folder.name for folder in catalog.RECORDED.iterdir()} >= {*catalog.names_with_model()}
    snapshot = client.get("/live/_recorded-yes-man/poll").json()["snapshot"]
    run = snapshot["run"]
    assert (run["id"], run["recorded"], run["preset"]) == ("_recorded-yes-man", True, "yes-man")
    assert len(snapshot["metrics"]["update"]) == 35
    compared = client.get("/live/_recorded-yes-man/compare").json()
    assert all((compared["run"]["recorded"], compared["outcome"], compared["knows"]))
    assert client.get("/live/_recorded-yes-man/metrics.csv").text.count("\n") == 36
    assert "name: yes-man" in client.get("/live/_recorded-yes-man/export/yaml").text
    data = client.get("/live/_overlay?runs=_recorded,_recorded-no-leash,one").json()
    assert [run["title"] for run in data["runs"]] == ["Kinder reviews", "No leash", "Kinder reviews"]
    assert data["problems"] == []
    assert data["runs"][1]["end"]["kl"] > 100
    for name in ("_recorded-", "_recorded-nobody", "_recorded-../kinder-reviews"):
        assert client.get(f"/live/{name}/poll").status_code == 404


SMALL = {"seed": 7, "ppo__num_updates": 4, "evaluation__num_prompts": 4}


def test_a_run_is_exported_as_yaml_as_a_script_for_trl_as_a_report_and_as_a_replay(tmp_path):
    config = config_with(catalog.preset("kinder-reviews").model_dump(mode="json"), SMALL)
    fake_run.write_run(tmp_path, "mine", config)
    files = {"html": "mine.html", "yaml": "mine.yaml", "trl": "mine.py", "replay": "mine-replay.html"}
    with client_of(feed.Hub(tmp_path)) as client:
        answers = {kind: client.get(f"/live/mine/export/{kind}") for kind in run_files.EXPORTS}
        for missing in ("mine/export/pickle", "nobody/export/yaml", "nobody/export/replay", "nobody/samples.csv"):
            assert client.get(f"/live/{missing}").status_code == 404
    names = {kind: answer.headers["content-disposition"] for kind, answer in answers.items()}
    assert names == {kind: f'attachment; filename="{file}"' for kind, file in files.items()}
    assert yaml_io.from_dict(yaml_io.parse_yaml(answers["yaml"].text)) == config
    compile(answers["trl"].text, "mine.py", "exec")
    assert "PPOTrainer" in answers["trl"].text
    assert "scale = -0.5, 1.9" in answers["trl"].text
    for kind in ("html", "replay"):
        assert answers[kind].text.startswith("<!doctype html>")
    assert "Kinder reviews \u00b7 4 updates, replay</title>" in answers["replay"].text


def test_a_sweep_and_overlaid_runs_are_taken_away_as_tables_and_charts(tmp_path, monkeypatch):
    monkeypatch.setattr(run_files.figures, "drawn", lambda name, panels, below: {"svg": b"<svg/>", "pdf": b"%PDF"})
    fake_run.write_sweep(tmp_path, "leash", {"kl.coef": [0.1, 0.5], "seed": [0, 1]})
    with client_of(feed.Hub(tmp_path)) as client:
        runs = client.get("/live/_figures/runs.csv?sweep=leash")
        curves = client.get("/live/_figures/curves.csv?runs=leash-1,_recorded")
        charts = client.get("/live/_figures/charts.zip?sweep=leash")
        for missing in ("runs.csv?sweep=nothing", "runs.csv", "charts.exe?sweep=leash", "runs.csv?runs=nobody"):
            assert client.get(f"/live/_figures/{missing}").status_code == 404
    assert (runs.headers["content-disposition"], runs.text.count("\n")) == ('attachment; filename="leash-runs.csv"', 5)
    assert {line.split(",")[0] for line in curves.text.splitlines()[1:]} == {"leash-1", "kinder-reviews"}
    with zipfile.ZipFile(io.BytesIO(charts.content)) as packed:
        assert {"runs.csv", "curves.csv", "settings.yaml", "score_mean.svg", "score_mean.pdf"} <= {*packed.namelist()}
        assert packed.read("score_mean.pdf") == b"%PDF"


def test_a_run_without_texts_of_its_updates_says_why(client, tmp_path):
    RunDirectory(tmp_path / "two").rollouts_path.unlink()
    config = catalog.preset("kinder-reviews")
    off = config.model_copy(update={"evaluation": config.evaluation.model_copy(update={"rollout_texts": 0})})
    fake_run.write_run(tmp_path, "off", off)
    RunDirectory.create(tmp_path, config, "new")
    RunDirectory.create(tmp_path, off, "new-off")
    why = {"two": rollouts.BEFORE, "off": rollouts.OFF, "new": "No update has been made yet.", "new-off": rollouts.OFF}
    for name, sentence in why.items():
        answer = client.get(f"/live/{name}/rollout/last")
        assert (answer.status_code, answer.json()["error"]) == (404, sentence)
    missing = client.get("/live/one/rollout/41").json()
    assert missing == {"error": "No texts were kept of update 41; there are some of updates 1 to 40."}


@pytest.mark.parametrize(("mode", "shown"), [("local", None), ("classroom", "one"), ("space", None)])
def test_only_a_class_is_shown_a_run_of_its_own_accord_where_nothing_trains(recorded, tmp_path, mode, shown):
    shutil.copytree(recorded / "kinder-reviews", tmp_path / "one")
    fake_run.write_run(tmp_path, "failed", fail_at=3)
    header = home.home_data(feed.Hub(tmp_path), mode)
    assert (header["living"], header["newest"], header["shown"]) == (None, "failed", shown)


@pytest.mark.parametrize(("asked", "shown", "words"), data_beside(__file__, "tables.yaml")["overlays"])
def test_a_run_that_is_not_there_is_one_sentence_and_the_others_are_laid_over_each_other(asked, shown, words, client):
    data = client.get("/live/_overlay", params={"runs": asked}).json()
    assert [run["id"] for run in data["runs"]] == shown
    assert words in " ".join(data["problems"])


def test_the_outcome_says_what_the_run_cost_and_where_training_stopped_paying(client, tmp_path):
    RunDirectory(tmp_path / "one").evaluations_path.write_text(
        '{"update": 0, "stage": "before", "perplexity_text": 4.0}\n'
        '{"update": 40, "stage": "after", "perplexity_text": 6.0}\n'
    )
    data = client.get("/live/one/outcome").json()
    assert any("4 \u2192 6: it is forgetting" in sentence for sentence in data["sentences"])
    assert data["compute"]["sentence"].endswith("GB.")
    assert (data["adapter"], data["weights"]) == (False, True), "it has a checkpoint"
    assert data["plateau"] is None or data["plateau"]["sentence"] in data["sentences"]
    empty = RunDirectory.create(tmp_path, catalog.preset("kinder-reviews"), "empty")
    nothing = {"plateau": None, "sentences": [], "compute": None, "adapter": False, "weights": False}
    found = client.get(f"/live/{empty.id}/outcome").json()
    assert any("TRL does not clip gradients" in sentence for sentence in found.pop("trl"))
    assert found == nothing


MANY = 60  # requests; asyncio's own threads are fewer


def asked_often(hub, path, **path_params):
    """A route's handler, asked by many at once; what can be awaited."""
    (handler,) = [route.endpoint for route in routes.routes(hub) if route.path == path]
    scope = {"type": "http", "method": "GET", "headers": [], "query_string": b"", "path": path, "server": ("here", 80)}
    return [asyncio.ensure_future(handler(Request({**scope, "path_params": path_params}))) for _ in range(MANY)]


@pytest.mark.parametrize(
    ("path", "where", "reading"),
    [
        ("{run_id}/compare", compare_serializer, "comparison"),
        ("{run_id}/outcome", insight_serializer, "outcome"),
        ("{run_id}/metrics.csv", run_files.csv_tables, "metrics_csv"),
        ("{run_id}/export/{kind}", run_files.exports, "yaml_text"),
        ("_runs", routes.history_data, "history_data"),
    ],
)
async def test_however_many_read_a_whole_run_the_feed_of_others_goes_on(path, where, reading, written, monkeypatch):
    go_on = threading.Event()

    def waits(*_, **__):
        go_on.wait(600)
        raise routes.RunNotFound("Enough.")

    monkeypatch.setattr(where, reading, waits)

    hub = feed.Hub(written)
    calls = asked_often(hub, f"/live/{path}", run_id="one", kind="yaml")
    try:
        async with asyncio.timeout(60):
            channel = await hub.channel("one")
            assert await asyncio.to_thread(channel.feed.snapshot)
    finally:
        go_on.set()
        answers = await asyncio.gather(*calls)
        await hub.close()
    assert [(answer.status_code, answer.body) for answer in answers] == [(404, b'{"error":"Enough."}')] * MANY


async def test_those_who_ask_for_the_header_at_the_same_moment_share_one_answer(tmp_path, monkeypatch):
    looks = []
    monkeypatch.setattr(routes, "HOME_SECONDS", 60.0)  # however long this machine takes for all of them
    monkeypatch.setattr(home, "home_data", lambda hub, mode: looks.append(1) or {})
    answers = await asyncio.gather(*asked_often(feed.Hub(tmp_path), "/live/_home"))
    assert {answer.body for answer in answers} == {b"{}"}
    assert looks == [1]


@pytest.mark.parametrize("address", ["moment/", "rollout/", "trace/", "tokens/"])
def test_a_number_of_thousands_of_digits_in_an_address_is_not_found(client, address):
    for digits in (13, 5000):
        answer = client.get(f"/live/one/{address}{'9' * digits}")
        assert answer.status_code == 404
        assert len(answer.text) < 200
    assert client.get(f"/live/one/{address}{'9' * 12}").status_code in (200, 404)


def test_scripts_are_kept_for_ever_under_an_address_that_changes_with_them(client, tmp_path, monkeypatch):
    address = "/" + own_files.address("core/dom.js")
    assert "immutable" in client.get(address).headers["cache-control"]
    old = client.get("/playground/static/0123456789abcdef/core/dom.js")  # of a page from before an update
    assert (old.status_code, old.headers["cache-control"]) == (200, "no-cache")
    assert client.get("/playground/static/core/dom.js").status_code == 404
    monkeypatch.setattr(own_files, "STATIC", tmp_path)
    assert own_files.fingerprint.__wrapped__() not in address


def test_a_script_is_served_line_by_line_without_the_lines_that_are_comments(client):
    for name in ("core/dom.js", "charts/chart.js", "train/notes.js"):
        written = (own_files.STATIC / name).read_text(encoding="utf-8").split("\n")
        answer = client.get(f"/{own_files.address(name)}")
        served = answer.text.split("\n")
        assert len(served) == len(written)
        assert "/javascript" in answer.headers["content-type"]
        left_out = {line.strip()[:2].strip() for line, sent in zip(written, served, strict=True) if line != sent}
        assert left_out <= {"//", "/*", "*", "*/"}
        assert "/**\n" not in answer.text
    casts = 'const a = /** @type {Wire.Run} */ (b); // why\n  // a comment\n/** two\n * lines */\nf("// no comment");\n'
    assert own_files.COMMENT.sub("", casts) == casts.replace("  // a comment", "").replace("/** two\n * lines */", "")


def test_every_script_of_the_page_is_named_ahead_or_for_its_page_and_each_is_there(client, tmp_path):
    ahead = page.ahead(page.build(tmp_path), Access())
    scripts = {path.relative_to(own_files.STATIC).as_posix() for path in own_files.STATIC.rglob("*.js")}
    names = {name for name in scripts if not name.startswith("standalone/")}  # those are for pages without a server
    names |= set(own_files.LANGUAGE_FILES)
    needed = {name for name in names if f'href="{own_files.address(name)}"' in ahead}
    for name in names:  # and what one loads by itself, when a folded part is opened
        for other in re.findall(r'\bimport\("(\.[^"]+)"\)', own_files.script(name)):
            inside = (own_files.STATIC / name).parent / other
            named = inside.resolve().relative_to(own_files.STATIC.resolve()).as_posix()
            needed |= {named} if named in own_files.LANGUAGE_FILES else own_files.needed_by(named)
    for page_name, _, _ in class_routes.PAGES.values():
        needed |= own_files.needed_by(f"classroom/{page_name}.js")
    assert needed == names, "a script that no part of the page needs"
    for name in (*names, own_files.SHEET):
        assert client.get(f"/{own_files.address(name)}").status_code == 200
