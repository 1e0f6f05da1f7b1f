"""A run from within, as the page gets it: answers token by token, and an update in slow motion, as it was recorded and
under other settings."""

from __future__ import annotations

import json
import math

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from playground.setup import catalog
from playground.training.service.questions import QUESTIONS
from playground.ui import routes
from playground.ui.feed import feed
from tests.support import config_with
from tests.ui import fake_run
from tests.ui.fake_trace import CLIPPED, PIECES, write_trace


class Direct:
    """The model service without its process."""

    def ask(self, kind, question):
        return QUESTIONS[kind](self, json.loads(json.dumps(question)))


@pytest.fixture
def client(tmp_path):
    hub = feed.Hub(tmp_path)
    with TestClient(Starlette(routes=routes.routes(hub, service=Direct()))) as made:
        yield made
        made.portal.call(hub.close)


@pytest.fixture
def run(tmp_path):
    return fake_run.write_run(tmp_path, "one")


def test_one_answer_at_every_evaluation_comes_on_demand(client, run):
    fake_run.write_tokens(run)
    seed = run.samples()[0].seed
    shown = client.get(f"/live/one/tokens/1?seed={seed}").json()
    assert [look["update"] for look in shown["looks"]] == list(range(0, 41, 5))
    assert shown["why"] == ""
    assert shown["absent"] == {}
    assert shown["unit"] == "sd"
    samples = {sample.update: sample for sample in run.samples() if sample.prompt_id == 1}
    for look in shown["looks"]:
        assert "".join(look["pieces"]) == samples[look["update"]].completion + "<eos>"
    assert client.get("/live/one/tokens/1?seed=77").json()["looks"] == []
    assert client.get("/live/one/tokens/1?seed=-1").json() == shown, "no number: the first answer"
    assert client.get("/live/none/tokens/1").status_code == client.get("/live/one/tokens/x").status_code == 404


def test_where_nothing_was_kept_it_says_why(client, run):
    fake_run.write_tokens(run)

    def why(prompt_id=0):
        found = client.get(f"/live/one/tokens/{prompt_id}").json()
        assert found["looks"] == []
        return found["why"]

    assert why(9) == "Of each look, the first answers to the first 8 fixed prompts are kept token by token."
    run.tokens_path.unlink()
    assert why() == "This was made before answers were kept token by token. Train a run of your own to open them."
    text = run.config_path.read_text()
    run.config_path.write_text(text.replace("token_samples: 8", "token_samples: 0"))
    assert why() == "This run keeps no answers token by token (evaluation.token_samples is 0)."


def test_the_page_gets_what_was_recorded_and_every_number_of_its_formulas(client, run):
    write_trace(run, 12)
    found = client.get("/live/one/trace/12").json()
    assert (found["update"], found["changed"], found["no_what_if"]) == (12, False, "")
    assert [episode["pieces"] for episode in found["episodes"]] == PIECES
    assert found["clip_fraction"] == pytest.approx(sum(step["clip_fraction"] for step in found["steps"]) / 2)
    for episode in found["episodes"]:
        assert episode["score_paid"] == pytest.approx([0] * (len(episode["pieces"]) - 1) + [episode["score"]], abs=1e-5)
        for t, log_prob in enumerate(episode["log_probs"]):
            assert episode["probabilities"][t] == pytest.approx(math.exp(log_prob), rel=1e-5)
            assert episode["log_ratios"][t] == pytest.approx(log_prob - episode["reference_log_probs"][t], abs=1e-5)
        for item in episode["passes"]:
            for t, advantage in enumerate(episode["whitened"]):
                free, held = item["ratios"][t] * advantage, min(max(item["ratios"][t], 0.8), 1.2) * advantage
                assert item["free"][t] == pytest.approx(free, abs=1e-5)
                assert item["held"][t] == pytest.approx(held, abs=1e-5)
                assert item["policy_losses"][t] == pytest.approx(-min(free, held), abs=1e-5)
    first, second = found["pictures"]
    assert (first["num_clipped"], second["num_clipped"], second["drawn"], second["tokens"]) == (0, CLIPPED, 10, 10)
    assert second["share"] == found["steps"][1]["clip_fraction"] == CLIPPED / 10
    assert second["starts"] == {"0": 0, "1": len(PIECES[0])}
    assert second["edges"] == pytest.approx([math.log(0.8), math.log(1.2)], abs=1e-5)


def test_other_settings_are_computed_beside_what_was_recorded(client, run):
    write_trace(run, 12)
    before = client.get("/live/one/trace/12").json()
    found = client.get("/live/one/what-if/12?kl_coef=2&clip_range=0.6").json()
    assert found["changed"]
    assert found["recorded"] == before["recorded"]
    assert (found["settings"]["kl_coef"], found["recorded"]["kl_coef"]) == (2, 0.25)
    for mine, theirs in zip(found["episodes"], before["episodes"], strict=True):
        assert mine["leash"] == pytest.approx([8 * cost for cost in theirs["leash"]], abs=1e-5)
        assert mine["log_probs"] == theirs["log_probs"]
        assert mine["score_paid"] == theirs["score_paid"]
    assert [picture["num_clipped"] for picture in found["pictures"]] == [0, 0]
    assert client.get("/live/one/what-if/12?kl_coef=0.25").json() == before
    wide = client.get("/live/one/what-if/12?clip_range=10").json()["pictures"]
    assert [picture["edges"] for picture in wide] == [[None, pytest.approx(math.log(11), abs=1e-5)]] * 2


def test_without_a_critic_the_others_of_the_prompt_are_shown(client, run):
    write_trace(run, 12, baseline="leave_one_out", samples_per_prompt=2)
    first = client.get("/live/one/trace/12").json()["episodes"][0]
    assert first["values"] == first["deltas"] == []
    earned = [2.0 - 0.25 * sum(0.1 * t - 0.1 for t in range(6)), -1.0 - 0.25 * sum(0.1 * t - 0.1 for t in range(4))]
    assert first["group"]["earned"] == pytest.approx(earned, abs=1e-5)
    assert (first["group"]["place"], first["group"]["others_mean"]) == (0, pytest.approx(earned[1], abs=1e-5))
    assert first["advantages"] == pytest.approx([earned[0] - earned[1]] * 6, abs=1e-5)


def test_a_run_with_a_planted_fault_is_shown_as_it_was_and_no_other_way(client, tmp_path):
    base = catalog.preset(catalog.DEFAULT_PRESET).model_dump(mode="json")
    config = config_with(base, {"faults": ["reward-sign"], "experiments": True})
    write_trace(fake_run.write_run(tmp_path, "faulty", config), 12)
    found = client.get("/live/faulty/what-if/12?kl_coef=2").json()
    assert "planted mistake" in found["no_what_if"]
    assert not found["changed"]


@pytest.mark.parametrize("text", ["", "[]", "{}", "nonsense", "half", "nan"])
def test_a_damaged_trace_is_one_sentence(client, run, text):
    write_trace(run, 12)
    path = run.traces_path / "update-000012.json"
    whole = path.read_text()
    damaged = {"half": whole[: len(whole) // 2], "nan": whole.replace("-2.1", "NaN")}
    path.write_text(damaged.get(text, text))
    answer = client.get("/live/one/trace/12")
    assert answer.status_code == 404
    assert "was not recorded" in answer.json()["error"]
