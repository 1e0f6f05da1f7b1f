"""A run from within, as the page gets it: answers token by token; an update in slow motion, as it was recorded and
under other settings; streamed answers to a prompt of one's own."""

import json
import math
import shutil

import pytest

from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.training.service.questions import QUESTIONS
from playground.ui.auth.access import Access, Action
from playground.ui.feed.feed import Hub
from playground.ui.runs import compare_page
from tests.support import config_with
from tests.ui import fake_run
from tests.ui.asking import client_of, refused
from tests.ui.fake_trace import CLIPPED, PIECES, write_trace


class Direct:
    """The model service without its process."""

    def ask(self, kind, question):
        return QUESTIONS[kind](self, json.loads(json.dumps(question)))


@pytest.fixture
def client(tmp_path):
    with client_of(Hub(tmp_path), service=Direct()) as client:
        yield client


@pytest.fixture
def run(recorded, tmp_path):
    """A run that has finished."""
    return RunDirectory(shutil.copytree(recorded / "kinder-reviews", tmp_path / "one"))


def test_the_tokens_of_an_answer_at_every_evaluation_come_on_demand(client, run):
    fake_run.write_tokens(run)
    samples = {sample.update: sample for sample in run.samples() if sample.prompt_id == 2}
    shown = client.get(f"/live/one/tokens/2?seed={samples[0].seed}").json()
    assert [look["update"] for look in shown["looks"]] == list(range(0, 41, 5))
    assert (shown["why"], shown["absent"], shown["unit"]) == ("", {}, "sd")
    for look in shown["looks"]:
        assert "".join(look["pieces"]) == samples[look["update"]].completion + "<eos>"
    assert client.get("/live/one/tokens/2?seed=77").json()["looks"] == []
    assert client.get("/live/one/tokens/2?seed=-1").json() == shown, "no number: the first answer"
    assert client.get("/live/none/tokens/2").status_code == client.get("/live/one/tokens/x").status_code == 404


def test_a_prompt_whose_tokens_were_not_kept_says_why(client, run):
    fake_run.write_tokens(run)

    def why(prompt_id=0):
        shown = client.get(f"/live/one/tokens/{prompt_id}").json()
        assert shown["looks"] == []
        return shown["why"]

    assert why(9) == "Of each look, the first answers to the first 8 fixed prompts are kept token by token."
    run.tokens_path.unlink()
    assert why() == "This was made before answers were kept token by token. Train a run of your own to open them."
    text = run.config_path.read_text()
    run.config_path.write_text(text.replace("token_samples: 8", "token_samples: 0"))
    assert why() == "This run keeps no answers token by token (evaluation.token_samples is 0)."


def test_the_page_gets_what_was_recorded_and_every_number_of_its_formulas(client, run):
    write_trace(run, 12)
    trace = client.get("/live/one/trace/12").json()
    assert (trace["update"], trace["changed"], trace["no_what_if"]) == (12, False, "")
    assert [episode["pieces"] for episode in trace["episodes"]] == PIECES
    assert trace["clip_fraction"] == pytest.approx(sum(step["clip_fraction"] for step in trace["steps"]) / 2)
    for episode in trace["episodes"]:
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
    first, second = trace["pictures"]
    assert (first["num_clipped"], second["num_clipped"], second["drawn"], second["tokens"]) == (0, CLIPPED, 10, 10)
    assert second["share"] == trace["steps"][1]["clip_fraction"] == CLIPPED / 10
    assert second["starts"] == {"0": 0, "1": len(PIECES[0])}
    assert second["edges"] == pytest.approx([math.log(0.8), math.log(1.2)], abs=1e-5)


def test_other_settings_are_computed_beside_what_was_recorded(client, run):
    write_trace(run, 12)
    before = client.get("/live/one/trace/12").json()
    after = client.get("/live/one/what-if/12?kl_coef=2&clip_range=0.6").json()
    assert after["changed"]
    assert after["recorded"] == before["recorded"]
    assert (after["settings"]["kl_coef"], after["recorded"]["kl_coef"]) == (2, 0.25)
    for mine, theirs in zip(after["episodes"], before["episodes"], strict=True):
        assert mine["leash"] == pytest.approx([8 * cost for cost in theirs["leash"]], abs=1e-5)
    assert [picture["num_clipped"] for picture in after["pictures"]] == [0, 0]
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
    trace = client.get("/live/faulty/what-if/12?kl_coef=2").json()
    assert "planted mistake" in trace["no_what_if"]
    assert not trace["changed"]


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


@pytest.fixture
def ask(run, tmp_path):
    """What the page is told, as it is registered."""

    def answer(run, text, seed):
        yield from compare_page.answered(None, tmp_path, run, text, 1, seed)

    guarded = Access().guard(Action.ASK, answer, lambda sentence: {"state": "error", "message": sentence})
    return lambda *asked: list(guarded(*asked))


@pytest.mark.parametrize(("run_id", "prompt", "seed", "words"), refused("prompts"))
def test_what_cannot_be_asked_is_one_sentence(ask, run_id, prompt, seed, words):
    last = ask(run_id, prompt, seed)[-1]
    assert last["state"] == "error"
    assert words in last["message"]
    assert last["message"].count("\n") == 0
