"""The types of payloads are no claim only: the committed file is what `make payloads` writes, and the compiler of the
scripts finds that real payloads are of these types, with no field left out and none beside."""

from __future__ import annotations

import json
import subprocess
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from bench import payloads
from playground.lessons.loading import Lessons
from playground.runs.folder.directory import RunDirectory
from playground.runs.model_service import ModelService
from playground.setup import catalog
from playground.ui import page, routes
from playground.ui.auth.access import Access
from playground.ui.feed import feed
from playground.ui.feed.run_feed import RunFeed
from playground.ui.feed.run_serializer import encode
from playground.ui.payloads.server import ServerAnswersData
from playground.ui.rewards import self_test_part, workbench_part
from playground.ui.runs import sweeps_part
from playground.ui.train import filling, form, form_parts, lesson_part, run_actions
from tests import reward_tools
from tests.lessons import FILES
from tests.support import PROJECT, small_config
from tests.ui import fake_run, fake_trace
from tests.ui.test_weighing_part import FOUND, REWARDS

COMPILER = [PROJECT / ".venv" / "bin" / "node", PROJECT / "node_modules" / "typescript" / "bin" / "tsc"]
OPTIONS = {"strict": True, "exactOptionalPropertyTypes": True, "noEmit": True, "types": [], "lib": ["ES2023", "DOM"]}


def mistakes(found: list[tuple[str, Any]], folder: Path) -> str:
    """What the compiler says of payloads."""
    lines = [f"const p{number}: Wire.{name} = {_written(payload)};" for number, (name, payload) in enumerate(found)]
    (folder / "payloads.ts").write_text("\n".join([*lines, "export {};"]), encoding="utf-8")
    config = {"compilerOptions": OPTIONS, "files": ["payloads.ts", str(payloads.FILE)]}
    (folder / "tsconfig.json").write_text(json.dumps(config), encoding="utf-8")
    return subprocess.run([*COMPILER, "-p", folder], capture_output=True, text=True).stdout[:4000]


def _written(payload: Any) -> str:
    """As the page gets it, on one line: it cannot be code."""
    return json.dumps(payload, allow_nan=False)


def test_the_file_is_what_is_made_of_the_types_in_python() -> None:
    assert payloads.FILE.read_text(encoding="utf-8") == payloads.typescript(), "run `make payloads`"


def test_a_payload_of_another_type_is_found(tmp_path: Path) -> None:
    right = {"id": 1, "text": "The film was"}
    assert mistakes([("Prompt", right)], tmp_path) == ""
    wrong = ({"id": 1}, {**right, "more": 1}, {**right, "id": "1"}, {**right, "text": None})
    assert mistakes([("Prompt", payload) for payload in wrong], tmp_path).count("error TS") == len(wrong)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of several methods, a sweep, an update in slow motion, a reward model, all made up."""
    folder = tmp_path_factory.mktemp("payloads")
    fake_trace.write_trace(fake_run.write_run(folder, "one", catalog.preset("kinder-reviews")))
    fake_run.write_run(folder, "judged", catalog.preset("chatterbox"))
    fake_run.write_ended(folder, "ended", "out_of_memory", message="There is no room left.")
    fake_run.write_sweep(folder, "leash", {"kl.coef": [0.1, 0.5], "seed": [0, 1]}, finished=3)
    reward_tools.finished(folder, "kind", pairs={"source": "kind"})
    return folder


def test_what_the_routes_answer_is_of_its_type(outputs: Path, tmp_path: Path) -> None:
    hub = feed.Hub(outputs, lessons=Lessons(shipped=FILES))
    with TestClient(Starlette(routes=routes.routes(hub))) as client:
        found = [(name, client.get(f"/live/{path}").json()) for name, path in routed()]
        client.portal.call(hub.close)
    assert mistakes(found, tmp_path) == ""


def routed() -> Iterator[tuple[str, str]]:
    yield "Access", "_access"
    yield "Home", "_home"
    yield "History", "_runs"
    yield "Sweep", "_sweeps/leash"
    yield "RewardModels", "_rewards"
    yield "RewardTraining", "_rewards/kind"
    yield "Overlay", "_overlay?runs=one,judged,_recorded,_recorded-best-of-n,nobody"
    yield "Compare", "one/compare?with=_recorded"
    yield "Lessons", "_lessons"
    yield "Reveal", "_recorded-no-leash/lesson/leash/0"
    yield "Reveal", "_recorded/lesson/leash/1?first=_recorded-no-leash"
    yield "Reveal", "one/lesson/leash/2?first=_recorded-no-leash"
    yield "Mysteries", "_mysteries"
    yield "MysteryAnswer", "_recorded-mystery-01/mystery"
    yield "Trace", "one/trace/12"
    yield "Trace", "_recorded/trace/1"
    yield "Error", "nobody/poll"
    for run in ("one", "judged", "ended", "_recorded", "_recorded-yes-man", "_recorded-from-pairs"):
        yield "Poll", f"{run}/poll"
        yield "Compare", f"{run}/compare"
        yield "Outcome", f"{run}/outcome"
        yield "ResumeOffer", f"{run}/resume"
        yield "Frontier", f"{run}/frontier"
        yield "Tokens", f"{run}/tokens/0"
        yield "Moment", f"{run}/moment/0"
    yield "Rollout", "one/rollout/last"


def test_what_the_live_feed_adds_is_of_its_type(tmp_path: Path) -> None:
    """A run as it grows: its records come in three parts."""
    whole = fake_run.write_run(tmp_path, "whole", catalog.preset("kinder-reviews"))
    run = RunDirectory.create(tmp_path, whole.config(), "growing")
    found: list[tuple[str, Any]] = []
    reader = RunFeed(run)
    for part in range(3):
        for path in (whole.metrics_path, whole.samples_path, whole.events_path, whole.evaluations_path):
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
            third = len(lines) // 3
            with (run.path / path.name).open("a", encoding="utf-8") as file:
                file.writelines(lines[part * third : (part + 1) * third])
        run.write_label(f"part {part}", "")
        found += [("Delta", reader.poll()), ("Status", reader.status_now()), ("Snapshot", reader.snapshot())]
    assert {"metrics", "moments", "events", "status", "run"} <= set(found[0][1])
    assert mistakes(_sent(found), tmp_path) == ""


def _sent(found: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """As the browser gets it."""
    return [(name, json.loads(encode(payload))) for name, payload in found]


def test_what_the_parts_of_the_page_begin_with_is_of_its_type(tmp_path: Path) -> None:
    demo = page.build(tmp_path)
    parts = [block for block in demo.blocks.values() if isinstance(block, gr.HTML) and "module" in block.props]
    called = {function.__name__ for part in parts for function in part.server_fns}
    found: list[tuple[str, Any]] = [("Lists", form_parts.lists(Access()))]
    for part in parts:
        props = {**part.props, "value": part.value}
        found += [(name, props[prop]) for prop, name in BEGINS.get(props["module"], {}).items()]
    assert {name for begins in BEGINS.values() for name in begins.values()} == {name for name, _ in found[1:]}
    assert called == set(typing.get_type_hints(ServerAnswersData)), "payloads/server.py has all server functions"
    assert mistakes(_sent(found), tmp_path) == ""


BEGINS = {  # module -> prop -> the type of its value
    "train/form_knob": {"knob": "Knob"},
    "train/notes": {"value": "Notes"},
    "train/story": {"value": "Story"},
    "train/preset": {"steps": "Step[]"},
    "train/behaviours": {"ready": "ReadyBehaviour[]"},
    "rewards/picker": {"value": "Reward[]"},
    "rewards/training": {"form": "RewardForm", "value": "UploadedPairs"},
    "rewards/check": {"value": "RewardCheck"},
    "rewards/workbench": {"value": "Bench"},
    "runs/answers": {"value": "Answers"},
    "runs/history": {"sweep": "SweepChoices"},
}


def test_what_the_form_is_told_is_of_its_type(outputs: Path, tmp_path: Path) -> None:
    base = catalog.preset("yes-man")
    changed = base.model_copy(update={"seed": 3, "method": "rloo"})
    now = form.Form("yes-man", {}, form.values_of(changed))
    filled = filling.filled_from("run:one", outputs)
    found: list[tuple[str, Any]] = []
    wrong = now._replace(values={**now.values, "seed": -1})
    for update in (filled, filling.checked(now, outputs), filling.checked(wrong, outputs)):
        found += [("Notes", update.notes)] + ([("Story", update.story)] if update.story else [])
    mine = {"kind": "length", "weight": 1.0}
    behaviours = [{"name": "says-sorry", "words": "says sorry", "aim": "less", "above": 0, "measure": mine}]
    own = small_config(behaviours=behaviours, rewards=[{"kind": "keyword", "words": ["sorry"]}])
    values = form.values_of(own)
    found += [("Behaviour[]", values["behaviours"]), ("Reward[]", values["rewards"])]
    smaller = base.model_copy(update={"model": base.model.model_copy(update={"source": "pocket-1m"})})
    found += [("Needs", form_parts.needs(smaller, base, outputs)), ("Needs", form_parts.needs(base, base, outputs))]
    found.append(("NoNeeds", form_parts.needs(small_config(device="cuda:77"), base, outputs)))
    assert mistakes(_sent(found), tmp_path) == ""


def test_what_server_functions_answer_is_of_its_type(outputs: Path, tmp_path: Path) -> None:
    ask = {function.__name__: function for function in run_actions.guarded_functions(outputs, Access())}
    (start,) = lesson_part.guarded_functions(outputs, Access(), Lessons(shipped=FILES))
    sweep = {"preset": "kinder-reviews", "vary": [{"field": "kl.coef", "values": "0.1, 0.5"}], "seeds": 2}
    functions = {function.__name__: function for function in sweeps_part.guarded_functions(outputs, Access())}
    found: list[tuple[str, Any]] = [
        ("ForkPoints", ask["fork_points"]("one")),
        ("Done", ask["name_run"]({"run": "one", "name": "First", "note": ""})),
        ("EditsAnswer", ask["change_settings"]({"run": "one", "changes": {"kl.coef": "much"}})),
        ("Started", ask["fork_run"]({"run": "one", "at": 0, "changes": {"kl.coef": "much"}})),
        ("Started", start({"lesson": "leash", "index": 2, "values": {"kl.coef": "much"}})),
        ("SweepAnswer", functions["plan_sweep"](sweep)),
        ("SweepAnswer", functions["plan_sweep"]({**sweep, "seeds": 0})),
        ("Weighed", workbench_part.weigh_rewards({"found": FOUND, "rewards": REWARDS})),
        ("Weighed", workbench_part.weigh_rewards(None)),
    ]
    assert mistakes(_sent(found), tmp_path) == ""


@pytest.mark.usefixtures("service_here")
def test_what_the_model_service_has_found_is_of_its_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check before a start, and the workbench."""
    monkeypatch.setattr(workbench_part, "SAMPLES", 8)
    asked = {"model": {"source": "pocket-1m"}, "sampling": {"max_new_tokens": 4}}
    config = small_config(**asked, rewards=[{"kind": "length"}], judges=[{"kind": "grammar"}])
    service = ModelService()
    found: list[tuple[str, Any]] = []
    for part in ("model", "prompts", "answers"):
        *_, before, last = form_parts.checked_part(part, lambda: config, tmp_path, service)
        found += [("CheckedPart", before), ("CheckedPart", last), (FOUND_OF[part], last["found"])]
    values = form.values_of(config)
    rewards = [{"kind": "length", "weight": 1, "target": "", "normalise": True, "cap": ""}]
    scored = workbench_part.scored(service, tmp_path, rewards, "The plot was", ("dull", ""), values)
    found += [("Bench", one) for one in scored]
    service.close()
    assert [payload["state"] for name, payload in found if name == "Bench"][-1] == "done"
    assert mistakes(_sent(found), tmp_path) == ""


@pytest.mark.nightly
@pytest.mark.usefixtures("service_here")
def test_what_the_self_test_of_a_reward_model_has_found_is_of_its_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playground.training.service.questions.TESTED_SAMPLES", 8)
    service, values = ModelService(), form.values_of(small_config(model={"source": "pocket-1m"}))
    spec = {"source": "pocket-agreeable", "template": "auto", "quantization": "none", "label": ""}
    found = [("RewardCheck", one) for one in self_test_part.checked(service, tmp_path, spec, None, values)]
    service.close()
    assert found[-1][1]["state"] == "done"
    assert mistakes(_sent(found), tmp_path) == ""


FOUND_OF = {"model": "AboutModel", "prompts": "PromptsRead", "answers": "TriedAnswers"}
