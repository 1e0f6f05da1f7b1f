"""The reward models of the experiments on a real chat model, and the outputs folders in which runs look for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bench import real_judges
from bench.real_judges import LIKES
from playground.config import ModelReward
from playground.errors import ModelNotFound
from playground.setup import catalog


@pytest.fixture
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page's; what makes a reward model writes two files and trains nothing."""

    def made(name: str, outputs: Path, *_: Any) -> dict[str, Any]:
        folder = outputs / catalog.REWARD_MODELS / name
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(b"weights")
        (folder / catalog.REWARD_CARD).write_text("{}")
        return {"pairs": 3}

    monkeypatch.setattr(real_judges, "OUTPUTS", tmp_path / "outputs")
    monkeypatch.setattr(real_judges, "_answers", lambda *_: ([], [], 1.0))
    monkeypatch.setattr(real_judges, "_made", made)
    return tmp_path / "outputs"


def needed(preset: str) -> list[str]:
    rewards = [spec for _, spec in catalog.preset(preset).scorers]
    return [spec.source for spec in rewards if isinstance(spec, ModelReward)]


@pytest.mark.parametrize("known", [[], ["real-agreeable", "real-honest"]], ids=["made now", "made before"])
def test_what_the_bench_trained_is_found_by_the_presets_on_the_page(outputs: Path, known: Sequence[str]) -> None:
    for name in known:
        real_judges._made(name, outputs / "real")
    assert set(real_judges.prepare(outputs / "real", known, [])) == set(LIKES) - set(known)
    for preset in ("real-agreeable-judge", "real-honest-judge", "real-classifier-penalty"):
        (name,) = needed(preset)
        weights = catalog.reward_model_folder(name, None, outputs) / "model.safetensors"
        assert weights.samefile(outputs / "real" / catalog.REWARD_MODELS / name / "model.safetensors")
    assert {path.name for path in (outputs / catalog.REWARD_MODELS).iterdir()} == set(LIKES)


def test_a_try_elsewhere_leaves_the_outputs_folder_of_the_page_alone(outputs: Path, tmp_path: Path) -> None:
    real_judges.prepare(tmp_path / "elsewhere", {}, [])
    assert not outputs.exists()
    with pytest.raises(ModelNotFound, match="Train it once with"):
        catalog.reward_model_folder("real-honest", None, outputs)
