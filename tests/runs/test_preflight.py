"""The pre-flight check of a configuration: the model in words, its completions, what each reward says of them."""

import pytest

from playground.errors import ServiceUnavailable
from playground.runs import preflight
from playground.runs.model_service import ModelService
from tests.model_folders import model_folder
from tests.support import small_config

TYPED = {"source": "typed", "typed": ["The film was", "My sister says", "A book"]}


def test_a_folder_of_ones_own_is_described_with_its_form_and_its_adapter(tmp_path, outputs):
    model = {"source": str(model_folder(tmp_path / "mine")), "adapter": {"kind": "lora", "r": 4}}
    facts = dict(preflight.about_model(small_config(model=model, prompts=TYPED), outputs)["facts"])
    assert facts["Found"] == "a folder of this machine"
    assert facts["What it is"].startswith("llama, 384 parameters")
    assert facts["Prompt format"] == "as plain text, which it continues; it has no chat template"
    assert facts["What is trained"] == "LoRA of rank 4 beside frozen weights"


@pytest.mark.usefixtures("service_here")
def test_eight_real_completions_with_each_rewards_score_or_its_error(outputs):
    config = small_config(
        model={"source": "pocket-1m"},
        sampling={"max_new_tokens": 4},
        rewards=[{"kind": "length"}, {"kind": "python", "code": "def reward(prompt, completion):\n    return 1 / 0\n"}],
        judges=[{"kind": "grammar"}],
    )
    service = ModelService()
    *_, answer = preflight.answers(config, outputs, service)
    length, broken, grammar = answer["rewards"]
    assert len(answer["samples"]) == 8
    assert all(row["completion"] for row in answer["samples"])
    assert length["values"] == [len(row["completion"].split()) for row in answer["samples"]]
    assert broken["values"] is None
    assert "division by zero" in broken["problem"]
    assert (grammar["judge"], len(grammar["values"]), grammar["problem"]) == (True, 8, "")
    prompts = preflight.prompts_read(config, service)
    assert prompts["form"] == "plain"
    assert prompts["rows"]
    with pytest.raises(ServiceUnavailable, match="chat template"):
        list(preflight.answers(small_config(prompts={**TYPED, "system": "Be kind"}), outputs, service))
    service.close()
