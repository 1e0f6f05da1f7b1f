"""The panel that trains reward models: what it reads, what it may be asked for, and once in a browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from playground.config import RewardTrainingConfig
from playground.runs import launcher, reward_models
from playground.ui.auth.access import Access
from playground.ui.rewards import training_part as panel
from tests.reward_tools import REPORT
from tests.support import wait_until
from tests.ui import fake_run
from tests.ui.asking import refused


def asked(outputs, name, argument):
    """One of the panel's server functions."""
    (function,) = [item for item in panel.guarded_functions(outputs, Access()) if item.__name__ == name]
    return function(argument)


def values(name="finish", **changes):
    fields = {"pairs.source": "kind", "base": "pocket-1m", "pairs.limit": 100, "learning_rate": ""}
    return {"name": name, **fields, **changes}


def test_a_training_is_started_from_flat_values_and_read_back(outputs, fake_worker):
    answer = asked(outputs, "start_training", {"values": values(**{"pairs.flip": 0.25}), "replace": False})
    assert answer == {"name": "finish", "exists": False, "problems": []}
    training = reward_models.find(outputs, "finish")
    wait_until(lambda: training.status().ended)
    config = training.config()
    assert (config.pairs.flip, config.pairs.limit, config.learning_rate) == (0.25, 100, None)
    seen = panel.detail(outputs, "finish")
    assert (seen["state"], seen["settings"]) == ("finished", "100 pairs, 5 epochs, 25 % wrong answers, seed 0")
    assert seen["training"] == {"step": [1, 2], "loss": [1.0, 0.5], "accuracy": [0.5, 0.75]}
    assert seen["held_out"]["accuracy"] == [0.9]
    assert seen["card"]["report"] == REPORT
    again = asked(outputs, "start_training", {"values": values(), "replace": False})
    assert again["exists"]
    assert again["name"] is None
    assert asked(outputs, "start_training", {"values": values(), "replace": True})["name"] == "finish"


@pytest.mark.parametrize(("changes", "field"), refused("trainings"))
def test_what_is_wrong_is_said_beside_its_field(outputs, fake_worker, changes, field):
    answer = asked(outputs, "start_training", {"values": values(**changes), "replace": False})
    assert [item["field"] for item in answer["problems"]] == [field]
    assert reward_models.trainings(outputs) == []


def test_an_upload_is_checked_and_kept(tmp_path, outputs):
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text('{"prompt": "a", "chosen": "b", "rejected": "c"}\n', encoding="utf-8")
    bad.write_text('{"text": "a"}\n', encoding="utf-8")
    taken = panel.taken_in(str(good), outputs)
    kept = Path(taken["uploaded"])
    assert taken["problem"] == ""
    assert kept.parent == outputs / "uploads"
    assert kept.name.endswith("-good.jsonl")
    assert kept.read_bytes() == good.read_bytes()
    refused = panel.taken_in(str(bad), outputs)
    assert refused["uploaded"] is None
    assert refused["problem"].startswith("row 1 of bad.jsonl has no `chosen`")


def test_one_that_trains_is_watched_and_stopped_and_another_is_trained_and_used_as_reward(site, make_page, monkeypatch):
    monkeypatch.setattr(launcher, "new_worker", fake_run.spawn)
    reward_models.start(RewardTrainingConfig(name="wait"), site.outputs)
    page = make_page()
    page.goto(site.url + "?tab=rewards&part=train")
    report = page.locator(".reward-report")
    expect(report).to_contain_text("step 1 of")
    expect(report.locator(".small-plot").first).to_be_visible()
    expect(report.locator(".state strong")).to_have_text("running")
    expect(page.locator(".reward-form button[type=submit]")).to_be_disabled()
    report.get_by_role("button", name="Stop").click()
    expect(report).to_contain_text("nothing was saved")
    page.locator("#reward-name").fill("judge")
    page.get_by_role("button", name="Train", exact=True).click()
    expect(report.locator(".outcome")).to_have_text(re.compile(r"^Right on 90 % of 60 held-out pairs.* 80 % to 95 %"))
    expect(report.locator(".state strong")).to_be_in_viewport()  # the button is at the end of a long form
    expect(page.locator("#check-source input")).to_have_value("judge")  # what is to be tested next
    report.get_by_role("button", name="Try on texts").click()
    expect(page).to_have_url(re.compile(r"tab=rewards$"))
    bench = page.locator("#bench-rewards .reward")
    expect(bench).to_have_count(1)
    expect(bench.get_by_label("Model", exact=True)).to_have_value("judge")
    page.get_by_role("tab", name="Train").click()
    report.get_by_role("button", name="Test", exact=True).click()
    expect(page.locator("#check-button")).to_be_visible()
    page.go_back()
    report.get_by_role("button", name="Use as reward on Train").click()
    expect(page.locator("#notes")).to_contain_text("Reward model judge")
    expect(page).to_have_url(re.compile(r"/\?settings=all$"))  # where the picker is
    row = page.locator("#field-rewards .reward")
    expect(row.get_by_label("Model", exact=True)).to_have_value("judge")
