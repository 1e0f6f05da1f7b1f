"""The panel of the reward self-test: what it asks the service, what it says when it cannot, and what it draws."""

import pytest

from playground.config import RunConfig
from playground.ui import own_files
from playground.ui.rewards import self_test_part
from playground.ui.train import form
from tests.support import AskedService, data_beside, small_config
from tests.ui.asking import refused
from tests.ui.conftest import in_page, of_module

REPORT = data_beside(__file__, "reward-report.json")


def states(service, source, outputs, pairs="automatic", **spec):
    flat = form.values_of(small_config())
    values = {name: flat[name] for name in form.FIELDS if name.startswith(self_test_part.FORM_GROUPS)}
    asked = {"source": source, "template": "auto", "quantization": "none", "label": "", **spec}
    return list(self_test_part.checked(service, outputs, asked, pairs, values))


def test_the_form_and_the_panel_make_the_question(tmp_path):
    service = AskedService({"phase": "scoring"}, {"report": REPORT})
    heard = states(service, "someone/judge", tmp_path, "kind", template="pair", label="good", quantization="int8")
    assert [state["state"] for state in heard] == ["asking", "asking", "done"]
    assert heard[-1]["report"] == REPORT
    ((kind, question),) = service.asked
    config = RunConfig.model_validate(question["config"])
    (reward,) = config.rewards
    read = (reward.source, reward.template, reward.label, reward.quantization)
    assert read == ("someone/judge", "pair", "good", "int8")
    assert config.model == small_config().model
    assert (kind, question["pairs"]) == ("reward-check", "kind")
    assert question["outputs"] == str(tmp_path.resolve())


@pytest.mark.parametrize(("source", "pairs", "sentence"), refused("reward_checks"))
def test_what_cannot_be_tested_is_said_before_the_model_is_woken(source, pairs, sentence, tmp_path):
    service = AskedService()
    (state,) = states(service, source, tmp_path, pairs)
    assert state["state"] == "error"
    assert sentence in state["message"]
    assert not service.asked


def test_the_report_is_drawn_as_text(site, make_page):
    page = make_page()
    page.goto(site.url + own_files.address("core/dom.js") + "?tab=rewards&part=test")  # drawn where it is in view
    text = of_module(
        page,
        f"/{own_files.address('rewards/check.js')}",
        in_page("mount-check"),
        REPORT,
    )
    assert text["images"] == 0
    assert "Right on <b>few</b> of kind." in text["text"]
    assert text["special"] == ["<bos>", "<eos>"]
    assert "<img src=x>" in text["text"]
    assert text["rows"] == ["", "in-force"]
    for part in ("Look at this before training on it", "60 %", "sd 1.5", "1 MB", "+2 \u00b1"):
        assert part in text["text"], part
