"""The types of payloads are no claim only: the committed file is what `make payloads` writes, and the compiler of the
scripts finds that real payloads are of these types, with no field left out and none beside."""

import json
import re
import subprocess
import typing
from pathlib import Path

import gradio as gr
import pytest

from bench import payloads
from playground.lessons.loading import Lessons
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.ui import page
from playground.ui.auth.access import Access
from playground.ui.feed import feed
from playground.ui.feed.run_feed import RunFeed
from playground.ui.feed.run_serializer import encode
from playground.ui.payloads.server import ServerAnswersData
from playground.ui.rewards import workbench_part
from playground.ui.runs import sweeps_part
from playground.ui.train import filling, form, form_parts, lesson_part, run_actions
from tests import reward_tools
from tests.lessons import FILES
from tests.service_here import ServiceHere
from tests.support import PROJECT, data_beside, small_config
from tests.ui import fake_run, fake_trace
from tests.ui.asking import client_of
from tests.ui.test_rewards_page import MEASURED, REWARDS

COMPILER = [PROJECT / ".venv" / "bin" / "node", PROJECT / "node_modules" / "typescript" / "bin" / "tsc"]
OPTIONS = {"strict": True, "exactOptionalPropertyTypes": True, "noEmit": True, "types": [], "lib": ["ES2023"]}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Runs of several methods, a sweep, an update in slow motion, a reward model, all made up."""
    folder = tmp_path_factory.mktemp("payloads")
    fake_trace.write_trace(fake_run.write_run(folder, "one", catalog.preset("kinder-reviews")))
    fake_run.write_run(folder, "judged", catalog.preset("chatterbox"))
    fake_run.write_ended(folder, "ended", "out_of_memory", message="There is no room left.")
    fake_run.write_sweep(folder, "leash", {"kl.coef": [0.1, 0.5], "seed": [0, 1]}, finished=3)
    reward_tools.finished(folder, "kind", pairs={"source": "kind"})
    return folder


def of_routes(outputs):
    with client_of(feed.Hub(outputs, lessons=Lessons(shipped=FILES))) as client:
        for line in Path(__file__).with_name("routes.txt").read_text(encoding="utf-8").splitlines():
            name, path = line.split()
            yield name, client.get(f"/live/{path}").json()


def of_feed(outputs):
    """What the live feed adds to a run as it grows: its records come in three parts."""
    whole = RunDirectory(outputs / "one")
    run = RunDirectory.create(outputs / "growing", whole.config(), "growing")
    reader = RunFeed(run)
    for part in range(3):
        for path in (whole.metrics_path, whole.samples_path, whole.events_path):
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            third = len(lines) // 3
            with (run.path / path.name).open("a", encoding="utf-8") as file:
                file.writelines(lines[part * third : (part + 1) * third])
        run.write_label(f"part {part}", "")
        delta = reader.poll()
        assert delta
        assert part or {"metrics", "moments", "events", "status", "run"} <= set(delta)
        yield "Delta", delta
        yield "Status", reader.status_now()
        yield "Snapshot", reader.snapshot()


def of_parts(outputs):
    demo = page.build(outputs)
    parts = [block for block in demo.blocks.values() if isinstance(block, gr.HTML) and "module" in block.props]
    called = {function.__name__ for part in parts for function in part.server_fns}
    assert called == set(typing.get_type_hints(ServerAnswersData)), "payloads/server.py has all server functions"
    modules = {part.props["module"] for part in parts}
    assert modules >= BEGINS.keys()
    yield "Lists", form_parts.lists(Access())
    for part in parts:
        props = {**part.props, "value": part.value}
        for prop, name in BEGINS.get(props["module"], {}).items():
            yield name, props[prop]


BEGINS = data_beside(__file__, "tables.yaml")["payloads_begin"]  # module -> prop -> the type of its value


def of_form(outputs):
    base = catalog.preset("yes-man")
    changed = base.model_copy(update={"seed": 3, "method": "rloo"})
    now = form.Form("yes-man", {}, form.values_of(changed))
    wrong = now._replace(values={**now.values, "seed": -1})
    filled = filling.filled_from("run:one", outputs)
    for update in (filled, filling.checked(now, outputs), filling.checked(wrong, outputs)):
        yield "Notes", update.notes
        if update.story:
            yield "Story", update.story
    mine = {"kind": "length", "weight": 1.0}
    behaviours = [{"name": "says-sorry", "words": "says sorry", "aim": "less", "above": 0, "measure": mine}]
    values = form.values_of(small_config(behaviours=behaviours, rewards=[{"kind": "keyword", "words": ["sorry"]}]))
    yield "Behaviour[]", values["behaviours"]
    yield "Reward[]", values["rewards"]
    smaller = base.model_copy(update={"model": base.model.model_copy(update={"source": "pocket-1m"})})
    yield "Needs", form_parts.needs(smaller, base, outputs)
    yield "Needs", form_parts.needs(base, base, outputs)
    yield "NoNeeds", form_parts.needs(small_config(device="cuda:77"), base, outputs)


def of_functions(outputs):
    ask = {function.__name__: function for function in run_actions.guarded_functions(outputs, Access())}
    ask |= {function.__name__: function for function in sweeps_part.guarded_functions(outputs, Access())}
    (start,) = lesson_part.guarded_functions(outputs, Access(), Lessons(shipped=FILES))
    sweep = {"preset": "kinder-reviews", "vary": [{"field": "kl.coef", "values": "0.1, 0.5"}], "seeds": 2}
    yield "ForkPoints", ask["fork_points"]("one")
    yield "Done", ask["name_run"]({"run": "one", "name": "First", "note": ""})
    yield "EditsAnswer", ask["change_settings"]({"run": "one", "changes": {"kl.coef": "much"}})
    yield "Started", ask["fork_run"]({"run": "one", "at": 0, "changes": {"kl.coef": "much"}})
    yield "Started", start({"lesson": "leash", "index": 2, "values": {"kl.coef": "much"}})
    yield "SweepAnswer", ask["plan_sweep"](sweep)
    yield "SweepAnswer", ask["plan_sweep"]({**sweep, "seeds": 0})
    yield "Weighed", workbench_part.weigh_rewards({"found": MEASURED, "rewards": REWARDS})
    yield "Weighed", workbench_part.weigh_rewards(None)


def of_service(outputs):
    """What the model service has found: for the check before a start, and for the workbench."""
    config = small_config(**SMALL, rewards=[{"kind": "length"}], judges=[{"kind": "grammar"}])
    service = ServiceHere()
    for part, name in {"model": "AboutModel", "prompts": "PromptsRead", "answers": "TriedAnswers"}.items():
        *_, before, last = form_parts.checked_part(part, lambda: config, outputs, service)
        yield "CheckedPart", before
        yield "CheckedPart", last
        yield name, last["found"]
    rewards = [{"kind": "length", "weight": 1, "target": "", "normalise": True, "cap": ""}]
    asked = (rewards, "The plot was", ("dull", ""), form.values_of(config))
    bench = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workbench_part, "SAMPLES", 8)
        for bench in workbench_part.scored(service, outputs, *asked):
            yield "Bench", bench
    assert bench["state"] == "done"
    service.close()


SMALL = {"model": {"source": "pocket-1m"}, "sampling": {"max_new_tokens": 4}}


PROMPT = {"id": 1, "text": "The film was"}
WRONG = [{"id": 1}, {**PROMPT, "more": 1}, {**PROMPT, "id": "1"}, {**PROMPT, "text": None}]
SOURCES = (of_routes, of_feed, of_parts, of_form, of_functions, of_service)


def compiled(written, folder):
    """What the compiler says of payloads, of which each source has a file of its own."""
    for source, named in written.items():
        lines = [
            f"const p{number}: Wire.{name} = {encode(payload).decode()};"
            for number, (name, payload) in enumerate(named)
        ]
        (folder / f"{source}.ts").write_text("\n".join([*lines, "export {};"]), encoding="utf-8")
    config = {"compilerOptions": OPTIONS, "files": [*(f"{source}.ts" for source in written), str(payloads.FILE)]}
    (folder / "tsconfig.json").write_text(json.dumps(config), encoding="utf-8")
    return subprocess.run([*COMPILER, "-p", "."], cwd=folder, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def mistakes(outputs, tmp_path_factory):
    """What it says of all payloads, asked once."""
    written = {source.__name__: source(outputs) for source in SOURCES}
    written |= {"right": iter([("Prompt", PROMPT)]), "wrong": (("Prompt", payload) for payload in WRONG)}
    return compiled(written, tmp_path_factory.mktemp("compiled"))


def mistakes_in(source, mistakes):
    return re.findall(rf"^{source}\.ts\(.*", mistakes, re.MULTILINE)


def test_the_file_is_what_is_made_of_the_types_in_python():
    assert payloads.FILE.read_text(encoding="utf-8") == payloads.typescript(), "run `make payloads`"


def test_a_payload_of_another_type_is_noticed(mistakes):
    assert (mistakes_in("right", mistakes), len(mistakes_in("wrong", mistakes))) == ([], len(WRONG))


@pytest.mark.parametrize("source", [source.__name__ for source in SOURCES])
def test_real_payloads_are_of_their_types(source, mistakes):
    assert mistakes_in(source, mistakes) == []
