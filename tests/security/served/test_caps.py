"""Caps, exceeded by one through the real handlers, as somebody without a browser would; and runs of one visitor, of one
address, and of all."""

import re

import pytest

from playground.runs import queue
from playground.runs.folder import requests
from playground.runs.folder.directory import RunDirectory
from playground.setup import limits
from playground.ui.auth.visitors import VISITOR_COOKIE
from playground.ui.train import form
from tests.security import pages, table
from tests.security.pages import PUBLIC
from tests.setup.test_limits import CAPS
from tests.support import at_once, small_config


def changes(data):
    """A change of a configuration as form values: only what differs from the small configuration, nested or not."""
    values, plain = (form.values_of(small_config(**changed)) for changed in (data, {}))
    return {field.replace(".", "__"): value for field, value in values.items() if value != plain[field]}


def test_each_cap_exceeded_by_one_is_refused_when_the_handler_is_called(space, figure):
    by_form = [cap for cap in CAPS if changes(cap[2])]
    not_in_the_form = {"experiments", "trackers"}
    assert {cap[0] for cap in CAPS} - {cap[0] for cap in by_form} == not_in_the_form
    refused = 0
    with space.nothing_changes(), space.visitor(f"{PUBLIC}1") as visitor:
        for field, _, beyond in by_form:
            run, problems = pages.start(space, visitor, **changes(beyond))
            refused += run is None and field in [problem["field"] for problem in problems]
    figure("caps of a public page, exceeded by one in a direct call, refused", len(by_form), refused)


def test_a_program_is_refused_all_caps_at_once_each_by_the_name_of_its_setting(space):
    beyond = {
        "ppo": {"num_updates": 501, "batch_size": 112},
        "sampling.max_new_tokens": 129,
        "prompts.source": "/etc/passwd",
        "model.source": "/etc",
    }
    with space.nothing_changes(), space.program(address=f"{PUBLIC}2") as program:
        for name in ("start", "estimate"):
            refusal = pages.called(program, name, settings=beyond)
            fields = {line.partition(":")[0] for line in refusal.splitlines()}
            assert fields >= {"ppo.num_updates", "ppo.batch_size", *list(beyond)[1:]}, name
        assert "kind" in pages.called(program, "start", settings={"rewards": [{"kind": "python", "path": "/x"}]})
        assert "2,000" in pages.called(program, "generate", run="done", prompt="a" * 2_001)
        assert "1 to 4 samples" in pages.called(program, "generate", run="done", prompt="a", n=5)


ASKED, SCORED = ("answer", 0), ("answer", 1)  # the handlers that ask a model, and that score texts
BEYOND = table("beyond")


@pytest.mark.parametrize("mode", ["space", "classroom"])
def test_questions_beyond_a_cap_are_refused_before_a_model_is_asked(mode, request, teacher, clock, figure):
    page, refused = request.getfixturevalue(mode), []
    with page.visitor(f"{PUBLIC}3") if mode == "space" else page.member(teacher.code, f"{PUBLIC}3") as client:
        with page.nothing_changes():
            for data, words in BEYOND:
                clock.now += 61
                index = page.index_of(*(SCORED if isinstance(data[0], list) else ASKED))
                remaining = pages.arguments(page.functions()[index])[len(data) :]
                message = pages.call(client, index, [*data, *remaining])
                failed = '"state":"error"' in message["text"] or not message["success"]
                refused += [failed and bool(re.search(words, message["text"]))]
        values = ["done", "The film was", 4, 0]
        assert "wonderful" in pages.call(client, page.index_of(*ASKED), values)["text"]
    figure("questions beyond a cap refused before a model is asked", len(BEYOND), sum(refused))


def test_a_model_of_the_hub_is_no_model_that_a_class_scores_with(classroom, teacher):
    index = classroom.index_of(*SCORED)
    fields = [part.elem_id for part in classroom.functions()[index].inputs]
    data = [[{"kind": "length", "weight": 1}], "a", "b", "c", *pages.arguments(classroom.functions()[index])[4:]]
    data[next(at for at, name in enumerate(fields) if name and "model-source" in name)] = "gpt2"
    with classroom.member(teacher.code, f"{PUBLIC}4") as member, classroom.nothing_changes():
        assert '"error"' in pages.call(member, index, data)["text"]


def test_prompts_of_the_machine_are_not_looked_at(space):
    values = [{"ask": "prompts"}, *pages.form_values(prompts__source="/etc/passwd")[1:]]
    with space.nothing_changes(), space.visitor(f"{PUBLIC}5") as visitor:
        assert "must be one of" in pages.call(visitor, space.index_of("try_part"), values)["text"]


def test_one_run_each_with_a_limit_of_time_which_only_its_visitor_can_stop(space, figure):
    """By the page and by name."""
    with space.visitor(f"{PUBLIC}101") as first, space.visitor(f"{PUBLIC}102") as second, space.client() as stranger:
        first_run, _ = pages.start(space, first)
        run = RunDirectory(space.outputs / first_run)
        assert (run.config().max_minutes, requests.of(run).mode) == (30, "space")
        assert requests.of(run).visitor
        assert not re.search(f"{first.cookies[VISITOR_COOKIE]}|{PUBLIC}101", run.request_path.read_text())
        again, problems = pages.start(space, first, seed=1)
        assert again is None
        assert "You have a run here already" in problems[0]["message"]
        second_run, _ = pages.start(space, second)
        assert second_run in queue.waiting(space.outputs)
        assert first_run != second_run
        refusals = [
            pages.stop(space, *tried) for tried in ((first, second_run), (second, first_run), (stranger, first_run))
        ]
        refusals.append(pages.called(second, "change", run=first_run, settings={"kl.coef": 1}))
        assert {first_run, second_run} <= space.alive()
        assert pages.stop(space, second, second_run) == ""
        assert pages.stop(space, first, first_run) == ""
    refused = sum("started by another visitor" in refusal for refusal in refusals)
    figure("runs that another visitor tried to stop or change, left alone", len(refusals), refused)


def test_a_program_without_cookies_has_the_run_of_its_address(space):
    settings = {"ppo.num_updates": 500}
    with space.program(address=f"{PUBLIC}104") as program, space.program(address=f"{PUBLIC}104") as again:
        run = pages.called(program, "start", settings=settings)["run"]
        assert RunDirectory(space.outputs / run).config().max_minutes == 30
        assert "You have a run here already" in pages.called(again, "start", settings=settings | {"seed": 1})
        assert pages.called(again, "stop", run=run)["run"] == run


def test_six_clicks_at_the_same_moment_are_one_run(space):
    with space.visitor(f"{PUBLIC}103") as visitor:
        cookies, started = dict(visitor.cookies), []

        def click(seed):
            with space.client(f"{PUBLIC}103", cookies=cookies) as tab:
                started.append(pages.start(space, tab, seed=seed)[0])

        at_once(*[lambda seed=seed: click(seed) for seed in range(6)])
        (run,) = filter(None, started)
        assert space.alive() == {run}
        pages.stop(space, visitor, run)


def test_who_sheds_the_cookie_is_counted_by_address_and_the_queue_has_an_end(space, figure):
    limit, runs = limits.LIMITS["space"], []

    def tried(address, seed):
        with space.visitor(address) as visitor:
            run, problems = pages.start(space, visitor, seed=seed)
            runs.append(run)
        return problems[0]["message"] if problems else ""

    shed = [tried(f"{PUBLIC}110", number) for number in range(limit.runs_per_address + 1)]
    assert shed[:-1] == [""] * limit.runs_per_address
    assert "from your network" in shed[-1]
    one_trains = 1
    numbers = range(limit.queue + one_trains - limit.runs_per_address)
    assert [tried(f"{PUBLIC}{120 + number}", number) for number in numbers] == [""] * len(numbers)
    assert "The queue is full: 5 runs wait" in tried(f"{PUBLIC}140", 0)
    assert len(queue.waiting(space.outputs)) == limit.queue
    figure("runs of one address or queue too many, refused", 2, 2)
    with space.host() as host:
        for run in filter(None, reversed(runs)):
            pages.stop(space, host, run)
    assert not space.alive()
