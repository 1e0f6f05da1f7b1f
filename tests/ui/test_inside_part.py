"""A run from within, as the page gets it: answers token by token; an update in slow motion, as it was recorded and
under other settings; answers to a prompt of one's own; score against KL, and the marks on the slider of beta."""

import contextlib
import math
import shutil

import pytest

from playground.runs import frontier_samples
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.ui.auth.access import Access, Action, Caller, Role
from playground.ui.auth.visitors import Visitor
from playground.ui.feed.feed import Hub
from playground.ui.runs import compare_page
from playground.ui.train import filling, frontier_part
from tests.service_here import ServiceHere
from tests.support import config_with
from tests.ui import fake_run
from tests.ui.asking import client_of, refused
from tests.ui.fake_trace import CLIPPED, PIECES, write_trace


@pytest.fixture
def client(tmp_path):
    with contextlib.closing(ServiceHere()) as service, client_of(Hub(tmp_path), service=service) as client:
        yield client


@pytest.fixture
def run(recorded, tmp_path):
    return RunDirectory(shutil.copytree(recorded / "kinder-reviews", tmp_path / "one"))


def test_the_tokens_of_an_answer_at_every_evaluation_come_on_demand(client, run):
    fake_run.write_tokens(run)
    samples = {sample.update: sample for sample in run.samples() if sample.prompt_id == 2}
    tokens = client.get(f"/live/one/tokens/2?seed={samples[0].seed}").json()
    assert [look["update"] for look in tokens["looks"]] == list(range(0, 41, 5))
    assert (tokens["why"], tokens["absent"], tokens["unit"]) == ("", {}, "sd")
    for look in tokens["looks"]:
        assert "".join(look["pieces"]) == samples[look["update"]].completion + "<eos>"
    assert client.get("/live/one/tokens/2?seed=77").json()["looks"] == []
    assert client.get("/live/one/tokens/2?seed=-1").json() == tokens, "no number: the first answer"
    assert client.get("/live/none/tokens/2").status_code == client.get("/live/one/tokens/x").status_code == 404


def test_a_prompt_whose_tokens_were_not_kept_says_why(client, run):
    fake_run.write_tokens(run)

    def why(prompt_id=0):
        tokens = client.get(f"/live/one/tokens/{prompt_id}").json()
        assert tokens["looks"] == []
        return tokens["why"]

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
                free, clipped = item["ratios"][t] * advantage, min(max(item["ratios"][t], 0.8), 1.2) * advantage
                assert item["free"][t] == pytest.approx(free, abs=1e-5)
                assert item["held"][t] == pytest.approx(clipped, abs=1e-5)
                assert item["policy_losses"][t] == pytest.approx(-min(free, clipped), abs=1e-5)
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
    for changed, recorded_episode in zip(after["episodes"], before["episodes"], strict=True):
        assert changed["leash"] == pytest.approx([8 * cost for cost in recorded_episode["leash"]], abs=1e-5)
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


def test_the_texts_of_a_prompt_come_with_what_each_formula_makes_of_them(client, run):
    write_trace(run, 12, samples_per_prompt=2)
    trace = client.get("/live/one/trace/12").json()
    (group,) = trace["groups"]
    assert (group["places"], group["mean"], group["sd"], group["alike"]) == ([0, 1], 0.5, 1.5, False)
    assert [text["score"] for text in trace["texts"]] == [2, -1]
    by_name = {formula["name"]: formula for formula in trace["formulas"]}
    assert [name for name, formula in by_name.items() if formula["is_own"]] == ["ppo"]
    first, second = by_name["dapo"]["texts"]
    assert (first["advantages"], second["advantages"]) == ([1] * 6, [-1] * 4)
    assert first["pushes"] == pytest.approx([0.105, 0.097, 0, 0, 0.1, 0.05], abs=1e-6)  # r / 10 tokens, up to 1.28
    wider = client.get("/live/one/what-if/12?clip_range=0.6").json()["formulas"]
    assert [formula["clipped"] for formula in wider if formula["name"] == "ppo"] == [0]
    write_trace(run, 13)
    alone = client.get("/live/one/trace/13").json()
    assert alone["groups"][0]["mean"] is None
    assert sum("one text for each prompt" in formula["why_none"] for formula in alone["formulas"]) == 4


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


@pytest.mark.parametrize(("run_id", "prompt", "seed", "words"), refused("prompts"))
@pytest.mark.usefixtures("run")
def test_what_cannot_be_asked_is_one_sentence(tmp_path, run_id, prompt, seed, words):
    def answer(run, text, seed):
        yield from compare_page.answered(None, tmp_path, run, text, 1, seed)

    guarded = Access().guard(Action.ASK, answer, lambda sentence: {"state": "error", "message": sentence})
    *_, last = guarded(run_id, prompt, seed)
    assert last["state"] == "error"
    assert words in last["message"]
    assert last["message"].count("\n") == 0


HERE = Caller()
PRESET = catalog.preset("kinder-reviews")


class Service:
    """A model service whose texts come one after the other; at each of them `look` is called."""

    def __init__(self, look=lambda: None):
        self.look, self.looks, self.given_up = look, [], 0

    def ask(self, kind, question, timeout_seconds):
        try:
            for done in range(3):
                yield {"phase": "writing and scoring texts", "done": done, "of": 3}
                self.looks.append(self.look())
        except GeneratorExit:
            self.given_up += 1
            raise
        yield from fake_run.frontier_samples(question)


@pytest.fixture
def outputs(recorded, tmp_path):
    for name in ("one", "two", "three"):
        shutil.copytree(recorded / "kinder-reviews", tmp_path / "outputs" / name)
    return tmp_path / "outputs"


def functions(outputs, service):
    """Both server functions, for a caller; an error is answered as it is where they are registered."""
    guard = Access().guard_all

    def of(function):
        return lambda argument, caller=HERE: guard(Action.ASK, [lambda inner: function(inner, caller)])[0](argument)

    return [of(function) for function in frontier_part.functions(outputs, service)]


def test_a_run_has_its_path_and_says_why_nothing_is_known_of_what_was_possible(recorded, outputs):
    with client_of(Hub(outputs, recorded)) as client:
        first = client.get("/live/one/frontier").json()
        shutil.rmtree(RunDirectory(outputs / "one").checkpoints_path)
        answer, of_recording = (client.get(f"/live/{run}/frontier").json() for run in ("one", "_recorded"))
    assert (first["missing"], first["can_draw"]) == ("", True)
    samples = RunDirectory(outputs / "one").samples()
    path = answer["evaluations"]
    assert path["update"] == sorted({item.update for item in samples})
    last = [item.score for item in samples if item.update == 40]
    assert path["score"][-1] == pytest.approx(sum(last) / len(last), rel=1e-3)
    assert path["low"][-1] < path["score"][-1] < path["high"][-1]
    assert (answer["possible"], answer["sentence"], answer["can_draw"]) == (None, "", False)
    assert (answer["beta"], answer["unit"]) == (PRESET.kl.coef, "sd")
    assert answer["missing"]
    assert of_recording["missing"] not in ("", answer["missing"])
    assert not of_recording["can_draw"]


def visitor(cookie, address="a"):
    return Caller("space", Role.VISITOR, Visitor(cookie, address))


def test_only_who_began_a_drawing_and_the_host_can_stop_it_and_it_can_be_begun_again(outputs):
    service = Service()
    drawing, progress = functions(outputs, service)
    caller_of_run = visitor("mine")
    service.look = lambda: [progress({"run": "one", "stop": True}, visitor(other)) for other in ("theirs", "")]
    assert drawing({"run": "one"}, caller_of_run) == {"error": ""}
    assert service.looks == [[{"error": frontier_part.NOT_BEGUN_HERE}] * 2] * 3
    for caller in (caller_of_run, Caller("space", Role.HOST)):
        service.look = lambda caller=caller: progress({"run": "two", "stop": True}, caller)
        assert drawing({"run": "two"}, caller_of_run) == {"error": frontier_part.STOPPED}
    assert service.given_up == 2
    assert not (outputs / "two" / frontier_samples.NAME).exists()
    service.look = lambda: progress({"run": "one", "stop": True}, caller_of_run)  # of another run, which is not drawn
    assert drawing({"run": "two"}, caller_of_run) == {"error": ""}
    assert (outputs / "two" / frontier_samples.NAME).exists()


def test_an_address_has_so_many_drawings_at_a_time_and_the_host_and_others_have_theirs(outputs, monkeypatch):
    monkeypatch.setattr(frontier_part, "MOST_OF_ADDRESS", 1)
    service, answers = Service(), []
    drawing, _ = functions(outputs, service)
    callers = (visitor("another"), visitor("mine", "b"), Caller("space", Role.HOST))

    def look():  # while the first is drawn, others are asked for
        service.look = lambda: None
        answers.extend(drawing({"run": "two"}, caller)["error"] for caller in callers)

    service.look = look
    assert drawing({"run": "one"}, visitor("mine")) == {"error": ""}
    assert answers == [frontier_part.NOT_MORE.format(1), "", ""]
    assert drawing({"run": "three"}, visitor("another")) == {"error": ""}, "the first has ended"


def marks(config):
    return filling.notes_on("", config, config, [])["regimes"]


def test_the_recording_of_the_preset_knows_where_the_marks_are():
    of_preset = marks(PRESET)
    assert of_preset["loose"] < PRESET.kl.coef < of_preset["tight"], "the preset is where a leash holds"
    assert marks(catalog.preset("short-leash"))["tight"] < catalog.preset("short-leash").kl.coef
    other = PRESET.model_copy(update={"rewards": catalog.preset("chatterbox").rewards})
    assert (marks(other)["tight"], marks(other)["loose"]) == (4.0, None), "all that its scale gives"
    raw = other.model_copy(update={"score": other.score.model_copy(update={"normalise": "none"})})
    assert marks(raw) is None, "its scale is not known"
    assert marks(catalog.preset("best-of-n")) is None, "it does not read beta"
