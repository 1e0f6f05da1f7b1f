"""What the page is told of an answer token by token: what was kept, or in a sentence why there is nothing."""

import gzip
import json
import shutil

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from playground.config.yaml_io import from_dict
from playground.errors import ServiceUnavailable
from playground.setup.limits import LIMITS
from playground.ui import routes
from playground.ui.feed import feed
from playground.ui.runs import token_part
from tests.ui import fake_run

LOOKS = (0, 5, 10, 15, 20, 25, 30, 35, 40)


@pytest.fixture
def run(tmp_path):
    made = fake_run.write_run(tmp_path, "mine")
    fake_run.write_tokens(made)
    return made


@pytest.fixture
def client(run):
    hub = feed.Hub(run.path.parent)
    with TestClient(Starlette(routes=routes.routes(hub))) as made:
        yield made
        made.portal.call(hub.close)


def test_one_answer_at_every_evaluation_comes_on_demand(client, run):
    seed = run.samples()[0].seed
    shown = client.get(f"/live/mine/tokens/1?seed={seed}").json()
    assert [look["update"] for look in shown["looks"]] == list(LOOKS)
    assert shown["why"] == "" and shown["absent"] == {} and shown["unit"] == "sd"
    samples = {sample.update: sample for sample in run.samples() if sample.prompt_id == 1}
    for look in shown["looks"]:
        assert "".join(look["pieces"]) == samples[look["update"]].completion + "<eos>"
    assert client.get("/live/mine/tokens/1?seed=77").json()["looks"] == []
    assert client.get("/live/mine/tokens/1?seed=-1").json() == shown, "no number: the first answer"
    assert client.get("/live/none/tokens/1").status_code == client.get("/live/mine/tokens/x").status_code == 404


def test_where_nothing_was_kept_it_says_why(client, run):
    def why(prompt_id=0):
        found = client.get(f"/live/mine/tokens/{prompt_id}").json()
        assert found["looks"] == []
        return found["why"]

    assert why(9) == "Of each look, the first answers to the first 8 fixed prompts are kept token by token."
    run.tokens_path.unlink()
    assert why() == "This run was made before answers were kept token by token."
    text = run.config_path.read_text()
    run.config_path.write_text(text.replace("token_samples: 8", "token_samples: 0"))
    assert why() == "This run keeps no answers token by token (evaluation.token_samples is 0)."


def test_a_recording_says_so_and_a_packed_one_is_read(run):
    kept = token_part.looks(run, 0, None, recorded=True)
    run.tokens_path.with_name("tokens.jsonl.gz").write_bytes(gzip.compress(run.tokens_path.read_bytes()))
    run.tokens_path.unlink()
    assert token_part.looks(run, 0, None, recorded=True) == kept and len(kept["looks"]) == len(LOOKS)
    run.tokens_path.with_name("tokens.jsonl.gz").unlink()
    assert "Train a run of your own" in token_part.looks(run, 0, None, recorded=True)["why"]


def test_shipped_recordings_show_their_answers_or_say_why_not(tmp_path):
    hub = feed.Hub(tmp_path)
    found = {run_id: token_part.looks(hub.find(run_id), 0, None, recorded=True) for run_id in hub.recorded}
    assert all(bool(shown["looks"]) != bool(shown["why"]) for shown in found.values())
    assert [look["update"] for look in found["_recorded"]["looks"]] == [*range(0, 41, 5)]


METHODS = """
    {} | |
    {"engine": "trl"} | |
    {"method": "rloo"} | | measured against other answers
    {"method": "rloo", "engine": "trl"} | TRL's trainer of this method pays no single tokens | no critic
    {"method": "dpo"} | DPO pays no single tokens | no critic
    {"method": "steer"} | Steering pays no single tokens | no critic
"""


@pytest.mark.parametrize("case", METHODS.strip().splitlines())
def test_what_a_method_has_not_is_said_in_a_sentence(case):
    data, reward, value = map(str.strip, case.split("|"))
    absent = token_part.absent(from_dict({"rewards": [{"kind": "sentiment"}], **json.loads(data)}))
    assert reward in absent.get("reward", "") and bool(absent.get("reward")) == bool(reward)
    assert value in absent.get("value", "") and bool(absent.get("value")) == bool(value)


class Service:
    """Answers with a text, and remembers the question."""

    def __init__(self, completion="", fails=False):
        self.completion, self.fails, self.asked = completion, fails, []

    def ask(self, kind, question):
        self.asked.append((kind, question))
        if self.fails:
            raise ServiceUnavailable("The model did not answer in time. Try again with fewer samples.")
        yield {"completion": self.completion, "pieces": ["a"], "values": None}


def asking(run, service):
    (function,) = token_part.functions(run.path.parent, service, LIMITS["local"])
    return function


def test_an_answer_that_was_not_kept_is_written_again(run):
    samples = {(sample.update, sample.prompt_id): sample for sample in run.samples()}
    for update, side in ((0, "reference"), (40, "policy")):
        sample = samples[update, 20]
        service = Service(sample.completion)
        shown = asking(run, service)({"run": "mine", "prompt_id": 20, "update": update, "seed": sample.seed})
        assert shown["error"] == "" and shown["look"]["pieces"] == ["a"] and "critic" in shown["absent"]["value"]
        expected = {"source": str(run.path), "prompt": sample.prompt, "seed": sample.seed, "side": side, "index": None}
        assert service.asked == [("tokens", expected)]


def test_figures_of_another_text_than_the_one_shown_are_not_shown(run):
    shown = asking(run, Service("another text"))({"run": "mine", "prompt_id": 20, "update": 40})
    assert shown["error"] == token_part.OTHER_TEXT and "look" not in shown


QUESTIONS = """
    {"run": "_recorded-x", "prompt_id": 0, "update": 0} | ships without its weights
    {"run": "../mine", "prompt_id": 0, "update": 0} | not a run id
    {"run": "mine", "prompt_id": 0, "update": 15} | The weights of update 15 are not kept
    {"run": "mine", "prompt_id": 0, "update": 16} | no such answer
    {"run": "mine", "prompt_id": -1, "update": 0} | no such answer
    {"run": "mine", "prompt_id": "0", "update": true} | no such answer
    {"run": "mine", "prompt": "x", "side": "both", "seed": 0, "index": 0} | no such answer
    {"run": "mine", "prompt": "x", "side": "policy", "seed": null, "index": 0} | no such answer
    null | not a run id
"""


@pytest.mark.parametrize("case", QUESTIONS.strip().splitlines())
def test_what_cannot_be_asked_is_one_sentence_and_asks_no_model(run, case):
    question, words = case.split(" | ")
    service = Service()
    answer = asking(run, service)(json.loads(question))
    assert words in answer["error"] and service.asked == []


def test_without_weights_or_service_there_is_a_sentence(run):
    fixed = {"run": "mine", "prompt_id": 0, "update": 0}
    assert "did not answer in time" in asking(run, Service(fails=True))(fixed)["error"]
    shutil.rmtree(run.checkpoints_path)
    assert "has not saved any weights yet" in asking(run, Service())(fixed)["error"]


def test_a_prompt_that_is_too_long_for_a_public_page_is_refused(run):
    (function,) = token_part.functions(run.path.parent, Service(), LIMITS["space"])
    long = "x" * (LIMITS["space"].prompt_characters + 1)
    shown = function({"run": "mine", "prompt": long, "side": "policy", "seed": 0, "index": 0})
    assert "The prompt has" in shown["error"]
