"""Caps that the owner of a public page has raised: for the host, or for everybody, and never beyond the device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playground.errors import InvalidConfig
from playground.setup import devices, estimates, limits
from playground.setup.devices import Device
from playground.setup.limits import LIMITS
from playground.sources.curated import CURATED
from tests.support import small_config

GB = 10**9
HUB = {"model": {"source": "somebody/something"}}
SUGGESTED = {"model": {"source": CURATED[0].name}}
MANY = {"ppo": {"num_updates": 501}}


def of_page(word: str, mode: str = "space", has_host: bool = True) -> limits.PageLimits:
    return limits.of_page(mode, {limits.CAPS_VARIABLE: word}, has_host)


def refused(capped: limits.Limits, outputs: Path, **data: Any) -> list[str]:
    return [problem.field for problem in limits.check(small_config(**data), capped, outputs)]


@pytest.mark.parametrize("word", ["", "pocket"])
def test_by_itself_a_public_page_is_for_pocket_models_for_its_owner_too(word: str) -> None:
    assert of_page(word) == (LIMITS["space"], LIMITS["space"])


@pytest.mark.parametrize("mode", ["local", "classroom"])
def test_a_page_that_is_not_public_knows_no_such_caps(mode: str) -> None:
    assert of_page("all", mode) == (LIMITS[mode], LIMITS[mode])


def test_caps_for_the_host_leave_those_of_visitors_as_they_are(outputs: Path) -> None:
    visitors, host = of_page("host")
    assert visitors is LIMITS["space"]
    for data in (HUB, SUGGESTED, MANY, {"device": "cuda:0"}, {"prompts": {"source": "owner/dataset"}}):
        assert refused(visitors, outputs, **data) and not refused(host, outputs, **data), data
    scored = {"rewards": [{"kind": "model", "source": "owner/judge"}]}
    assert refused(visitors, outputs, **scored) == ["rewards.0.source"] and not refused(host, outputs, **scored)


def test_the_host_names_no_file_of_the_machine_and_brings_no_code(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = of_page("host").host
    (outputs / "owner" / "local").mkdir(parents=True)
    monkeypatch.chdir(outputs)  # a relative path that looks like a name on the hub
    for path in ("/etc", "./model", "~/model", "owner/local"):
        assert refused(host, outputs, model={"source": path}) == ["model.source"], path
        assert refused(host, outputs, reference={"source": path}) == ["reference.source"], path
    for path in ("/etc/passwd", "owner/local", "prompts.txt"):
        assert refused(host, outputs, prompts={"source": path}) == ["prompts.source"], path
    assert refused(host, outputs, rewards=[{"kind": "pattern", "pattern": "(a+)+$"}]) == ["rewards.0.kind"]


def test_caps_raised_for_all_let_visitors_train_suggested_models_only_and_no_longer_than_before(outputs: Path) -> None:
    visitors = of_page("all").visitors
    for model in CURATED:
        assert refused(visitors, outputs, model={"source": model.name}) == []
    assert refused(visitors, outputs, **HUB) == ["model.source"]
    assert refused(visitors, outputs, model={**SUGGESTED["model"], "revision": "refs/pr/1"}) == ["model.revision"]
    assert refused(visitors, outputs, reference=HUB["model"]) == ["reference.source"]
    assert refused(visitors, outputs, prompts={"source": "owner/dataset"}) == ["prompts.source"]
    assert refused(visitors, outputs, device="cuda:0") == []
    for several in ({"device": "all"}, {"device": "cuda:0,1"}, {"ranks": 2}):
        assert refused(visitors, outputs, **several) == [*several], "one device for each visitor"
    for field, cap in LIMITS["space"].numbers.items():
        assert visitors.numbers[field] == cap
    assert limits.capped(small_config(), visitors).max_minutes == 30


def test_a_word_that_is_not_known_and_a_host_that_cannot_be_are_refused_at_the_start() -> None:
    with pytest.raises(InvalidConfig, match="must be one of pocket, host, all"):
        of_page("everything")
    with pytest.raises(InvalidConfig, match="PLAYGROUND_HOST_TOKEN"):
        of_page("host", has_host=False)
    assert of_page("all", has_host=False).visitors.more == "suggested"


def gpu(monkeypatch: pytest.MonkeyPatch, total: int, free: int) -> None:
    monkeypatch.setattr(devices, "available", lambda: [Device("cuda:0", "A GPU", total, free)])


def test_the_estimate_decides_what_fits(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    largest = max(CURATED, key=lambda model: model.architecture.parameters)
    whole = small_config(model={"source": largest.name})
    gpu(monkeypatch, 8 * GB, 8 * GB)
    for capped in (of_page("all").visitors, of_page("host").host):
        with pytest.raises(InvalidConfig, match="does not fit: about") as caught:
            estimates.require_fit(whole, capped, outputs)
        assert caught.value.problems[0].field == "model.source" and "8 GB of cuda:0" in str(caught.value)
        estimates.require_fit(small_config(**SUGGESTED), capped, outputs)
    estimates.require_fit(whole, LIMITS["space"], outputs)  # which does not ask
    gpu(monkeypatch, 80 * GB, 80 * GB)
    estimates.require_fit(whole, of_page("host").host, outputs)


def test_a_device_that_another_run_holds_now_counts_with_all_it_has(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu(monkeypatch, 80 * GB, GB)
    estimates.require_fit(small_config(**SUGGESTED), of_page("host").host, outputs)


def test_a_model_of_which_nothing_is_known_is_not_started(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu(monkeypatch, 80 * GB, 80 * GB)
    with pytest.raises(InvalidConfig) as caught:
        estimates.require_fit(small_config(**HUB), of_page("host").host, outputs)
    assert caught.value.problems[0].field == "model.source"


def test_the_page_says_the_caps_that_hold() -> None:
    visitors, host = of_page("all")
    assert "the suggested ones that fit" in limits.in_words(visitors)[0] and "30 minutes" in limits.in_words(visitors)
    assert "of the hub that fit" in limits.in_words(host)[0] and len(limits.in_words(host)) == 1
