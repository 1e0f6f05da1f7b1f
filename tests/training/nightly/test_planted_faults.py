"""Every planted fault raises its alert."""

import pytest

from bench import diagnosis
from playground.config import RunConfig, yaml_io
from playground.config.faults import FAULTS
from playground.setup import catalog
from tests.training import small_run
from tests.training.test_learning import shortened


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_raises_its_own_alert(fault, seed, tmp_path):
    preset = diagnosis.PRESETS.get(fault, diagnosis.PRESET)
    updates = 8 if fault == "score-on-every-token" else catalog.preset(preset).ppo.num_updates
    asked = ["experiments=true", f"faults=[{fault}]", *diagnosis.SETTINGS.get(fault, [])]
    data = shortened(preset, seed, updates, 32).model_dump(mode="json")
    session = small_run.trained(tmp_path, yaml_io.overridden(data, asked, RunConfig))
    session.save()  # with the reference's second fingerprint
    assert diagnosis.since(session.run, diagnosis.LAMP_OF[fault]) is not None
