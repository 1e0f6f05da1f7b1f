"""A class votes over real HTTP: a hundred phones at once, double taps, a reload, and what the host gets of it."""

import http.cookiejar
import json
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from playground.classroom import votes
from playground.data import preferences
from playground.runs import history
from tests.support import wait_until
from tests.ui import fake_run
from tests.ui.conftest import Site
from tests.ui.test_browser_access import TOKEN

VOTERS, EACH = 100, 5


@pytest.fixture(scope="module")
def served(tmp_path_factory, recorded):
    """A page for a class, with a finished run."""
    outputs = tmp_path_factory.mktemp("class")
    fake_run.write_run(outputs, "taught")
    fake_run.write_run(outputs, "other")
    made = Site(outputs, recorded, mode="classroom")
    made.start(TOKEN)
    yield made
    made.stop()


class Browser:
    """A browser with cookies of its own."""

    def __init__(self, site):
        self.url = site.url
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def get(self, path):
        with self.opener.open(self.url + path, timeout=120) as answer:
            return answer.read().decode()

    def post(self, path, asked):
        headers = {"Content-Type": "application/json", "Origin": self.url.rstrip("/")}
        request = urllib.request.Request(self.url + path, json.dumps(asked).encode(), headers)
        try:
            with self.opener.open(request, timeout=120) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return {"error": json.load(error)["error"]}

    def step(self):
        return json.loads(self.get("class/state"))["step"]


@pytest.fixture
def host(served):
    found = Browser(served)
    found.get(f"host?token={TOKEN}")
    assert found.post("class/lead", {"do": "open"})["error"] == ""
    return found


def code_of(host):
    return json.loads(host.get("class/front"))["code"]


def joined(host, served):
    found = Browser(served)
    assert found.post("class/join", {"code": code_of(host)}) == {"error": ""}
    return found


def begin(host, **more):
    answer = host.post("class/lead", {"do": "vote", "what": "blind", "source": "taught", "each": EACH, **more})
    assert answer["error"] == ""


def votes_on(step):
    """For the longer text; both, where they are as long."""
    for pair in step["vote"]["pairs"]:
        left, right = len(pair["left"]), len(pair["right"])
        yield pair["number"], "tie" if left == right else "left" if left > right else "right"


def test_a_hundred_people_vote_at_once_and_nothing_is_lost_or_counted_twice(served, host):
    begin(host)
    code = code_of(host)

    def votes_all(_number):
        phone = Browser(served)
        assert phone.post("class/join", {"code": code}) == {"error": ""}
        step = phone.step()
        given = dict(votes_on(step))
        for number, value in given.items():
            asked = {"step": step["id"], "item": number, "value": value}
            assert phone.post("class/answer", asked) == {"error": ""}
            assert phone.post("class/answer", asked) == {"error": ""}  # a double tap
        again = phone.step()  # a reload
        assert again["mine"] == {str(number): value for number, value in given.items()}
        assert again["vote"]["pairs"] == step["vote"]["pairs"]
        return len(given)

    with ThreadPoolExecutor(VOTERS) as pool:
        assert sum(pool.map(votes_all, range(VOTERS))) == VOTERS * EACH
    front = json.loads(host.get("class/front"))
    assert front["answered"] == front["joined"] == VOTERS == front["step"]["vote"]["done"]
    assert front["votes"]["live"][0].startswith(f"{VOTERS * EACH} votes by {VOTERS} people on ")
    rows = [json.loads(line) for line in host.get(f"class/votes.jsonl?step={front['step']['id']}").splitlines()]
    assert 0 < sum(row["votes"] + row["against"] + row["ties"] for row in rows) <= VOTERS * EACH
    assert all(len(row["chosen"]) > len(row["rejected"]) for row in rows)


def test_which_text_is_which_is_said_only_once_it_is_shown(served, host):
    begin(host)
    phone = joined(host, served)
    step = phone.step()
    assert step["vote"]["tally"] is None
    assert all("after" not in pair for pair in step["vote"]["pairs"])
    for number, value in votes_on(step):
        phone.post("class/answer", {"step": step["id"], "item": number, "value": value})
    seen = json.loads(host.get("class/front?screen=1"))
    assert "votes" not in seen
    assert seen["step"]["vote"]["tally"] is None
    assert seen["step"]["vote"]["pairs"] == []
    host.post("class/lead", {"do": "show", "step": step["id"]})
    refused = phone.post(
        "class/answer", {"step": step["id"], "item": step["vote"]["pairs"][0]["number"], "value": "tie"}
    )
    assert "closed" in refused["error"]
    shown = phone.step()
    assert "after training wins" in shown["vote"]["tally"]["said"][-1]
    samples = history.find_run(served.outputs, "taught").samples()
    after = {sample.completion for sample in samples if sample.stage == "after"}
    assert all(pair[pair["after"]] in after for pair in shown["vote"]["pairs"])


@pytest.mark.parametrize(
    ("asked", "texts", "wins"),
    [
        ({"what": "start"}, (" reference of taught", " policy of taught."), "from after training"),
        (
            {"what": "runs", "against": "other"},
            (" policy of taught", " policy of other."),
            "by the policy of other",
        ),
    ],
)
def test_what_is_compared_is_hidden_until_it_is_shown_and_then_named(served, host, asked, texts, wins):
    before = len(json.loads(host.get("class/front"))["steps"])
    answer = host.post("class/lead", {"do": "vote", "source": "taught", "count": 6, "each": 6, **asked})
    assert answer["error"] == ""
    wait_until(lambda: not json.loads(host.get("class/front"))["step"]["vote"]["wait"], 60)
    assert len(json.loads(host.get("class/front"))["steps"]) == before + 1
    phone = joined(host, served)
    step = phone.step()
    assert all({pair["left"], pair["right"]} == set(texts) and "after" not in pair for pair in step["vote"]["pairs"])
    for pair in step["vote"]["pairs"]:
        value = "left" if pair["left"] == texts[1] else "right"
        phone.post("class/answer", {"step": step["id"], "item": pair["number"], "value": value})
    host.post("class/lead", {"do": "show", "step": step["id"]})
    shown = phone.step()["vote"]
    assert shown["sides"][1] == wins
    assert f"The text {wins} wins 100\u00a0%" in shown["tally"]["said"][-1]
    assert all(pair[pair["after"]] == texts[1] for pair in shown["pairs"])


def test_while_texts_are_written_everyone_hears_that_a_vote_comes_and_also_if_it_does_not(served, host):
    phone = joined(host, served)
    host.post("class/lead", {"do": "vote", "what": "texts", "source": "pocket-1m"})
    wait_until(lambda: json.loads(host.get("class/front"))["step"]["vote"]["wait"] == votes.NOT_COME, 60)
    front = json.loads(host.get("class/front"))
    assert "no two different texts" in front["votes"]["problem"]
    assert front["step"]["state"] == "closed"
    seen = phone.step()["vote"]
    assert (seen["wait"], seen["pairs"], seen["title"]) == (votes.NOT_COME, [], "Which text is better?")


def test_runs_of_the_same_title_can_be_chosen_apart(served, host):
    sources = [one for one in json.loads(host.get("class/votes"))["sources"] if one["trained"]]
    assert {one["value"] for one in sources} == {"taught", "other"}
    assert all(one["label"].endswith(f" ({one['value']})") for one in sources)


def test_two_groups_see_each_its_own_brief_and_the_screen_both(served, host):
    begin(host, briefs=["the kinder one", "the shorter one"])
    briefs = [joined(host, served).step()["vote"]["brief"] for _ in range(4)]
    assert briefs == ["the kinder one", "the shorter one"] * 2
    seen = json.loads(host.get("class/front?screen=1"))["step"]["vote"]
    assert seen["briefs"] == ["the kinder one", "the shorter one"]


def test_a_judge_learns_from_the_votes_and_its_file_is_there_to_take_away(served, host):
    begin(host, each=64)
    phone = joined(host, served)
    step = phone.step()
    assert "needed" in host.post("class/lead", {"do": "judge", "step": step["id"]})["error"]
    for number, value in votes_on(step):
        phone.post("class/answer", {"step": step["id"], "item": number, "value": value})
    made = host.post("class/lead", {"do": "judge", "step": step["id"]})
    assert json.loads(host.get("class/votes"))["judges"] == []  # they stand with the vote
    assert made == {"error": "", "made": f"class-{step['id']}"}
    (judge,) = json.loads(host.get("class/front"))["votes"]["judges"]
    assert judge["name"] == made["made"]
    assert judge["said"]
    pairs, _ = preferences.read_file(str(served.outputs / "class-votes" / f"{made['made']}.jsonl"))
    assert all(len(pair.chosen) > len(pair.rejected) for pair in pairs)
    refused = host.post("class/lead", {"do": "train_on_votes", "judge": "pocket-agreeable"})
    assert "no such reward model" in refused["error"]


def test_only_the_host_gets_the_votes(served, host):
    begin(host)
    phone = joined(host, served)
    step = phone.step()
    for path in ("class/votes", f"class/votes.jsonl?step={step['id']}", "class/front", "class/front?screen=1"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            phone.get(path)
        assert refused.value.code == 403
    for do in ("vote", "judge", "words", "train_on_votes"):
        assert phone.post("class/lead", {"do": do, "step": step["id"]})["error"]
    for value in (
        {"step": step["id"], "item": 9999, "value": "left"},
        {"step": step["id"], "item": 1, "value": "both"},
    ):
        assert phone.post("class/answer", value)["error"]


def test_what_cannot_be_voted_on_is_said(host):
    for source, word in (("nothing", "no run"), ("../etc", "no run"), ("org/model", "no run")):
        asked = {"do": "vote", "what": "texts", "source": source}
        assert word in host.post("class/lead", asked)["error"]
    for what, against, word in (("runs", "taught", "two different runs"), ("runs", "nothing", "no run")):
        asked = {"do": "vote", "what": what, "source": "taught", "against": against}
        assert word in host.post("class/lead", asked)["error"]
    asked = {"do": "vote", "what": "start", "source": "pocket-1m"}
    assert "no run" in host.post("class/lead", asked)["error"]
    asked = {"do": "vote", "what": "blind", "source": "taught", "briefs": ["one", ""]}
    assert "Two groups" in host.post("class/lead", asked)["error"]
    assert votes.MOST_PAIRS == 200  # as the desk's script has it
