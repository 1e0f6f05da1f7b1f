"""The payload of a reward model's self-test, by the compiler of the scripts: making it takes ten seconds."""

from playground.ui.rewards import self_test_part
from playground.ui.train import form
from tests.service_here import ServiceHere
from tests.support import small_config
from tests.ui.test_payloads import SMALL, compiled


def test_what_the_self_test_of_a_reward_model_has_found_is_of_its_type(tmp_path, monkeypatch):
    monkeypatch.setattr("playground.training.service.questions.TESTED_SAMPLES", 8)
    service, values = ServiceHere(), form.values_of(small_config(**SMALL))
    spec = {"source": "pocket-agreeable", "template": "auto", "quantization": "none", "label": ""}
    checks = [("RewardCheck", check) for check in self_test_part.checked(service, tmp_path, spec, None, values)]
    service.close()
    assert (checks[-1][1]["state"], compiled({"checks": checks}, tmp_path)) == ("done", "")
