"""Make the reward models that ship with the playground, and the model that flatters: `make reward-models`.

Each is trained as `python -m playground reward-train` trains it, with seed 0, on pairs of one annotator of the pocket
world, written by the model that the presets train: more pairs than by default, or, for one that is worse on purpose,
few and some of them wrong. Then its weights are rounded to fp16, to be small on disk.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

from safetensors.torch import load_file, save_file

from bench.experiments import playground
from playground.config import PairsConfig, RewardTrainingConfig
from playground.runs.reward_models import RewardTraining
from playground.setup import catalog
from playground.training.rewards import pair_trainer

SHIPPED = {  # name -> pairs
    "pocket-agreeable": PairsConfig(source="agreeable", limit=4000, writer="pocket-2m"),
    "pocket-honest": PairsConfig(source="honest", limit=4000, writer="pocket-2m"),
    # Of the lesson on Goodhart's hill, and the bigger judge beside it.
    "pocket-kind-80": PairsConfig(source="kind", limit=80, flip=0.25, writer="pocket-2m"),
    "pocket-kind-2000": PairsConfig(source="kind", limit=2000, writer="pocket-2m"),
    # Four that learned from the labels of pocket-kind-80, each from a bootstrap of them: an ensemble.
    **{
        f"pocket-kind-80-{number}": PairsConfig(
            source="kind", limit=80, flip=0.25, writer="pocket-2m", bootstrap=number
        )
        for number in range(1, 5)
    },
}
WEIGHTS = "model.safetensors"
FILES = ("config.json", WEIGHTS, "tokenizer.json", "tokenizer_config.json")
FLATTERER, FLATTERER_UPDATES = "pocket-2m-yes-man", 60


def main() -> None:
    """Train what is named and put it in its place."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*SHIPPED, FLATTERER], help="which of them; all by default")
    for name in parser.parse_args().names:
        if name == FLATTERER:
            flatter()
        else:
            print(f"{name}: right on {make(name):.1%} of held-out pairs")


def flatter() -> None:
    """The policy of a longer yes-man, seed 0: a model to start from whose bias is known."""
    with tempfile.TemporaryDirectory() as folder:
        outputs, merged = Path(folder), Path(folder) / "merged"
        updates = f"ppo.num_updates={FLATTERER_UPDATES}"
        playground("train", "yes-man", "--set", updates, "--outputs", outputs, "--run-id", FLATTERER)
        playground("save", outputs / FLATTERER, "--to", merged, "--precision", "fp16")
        place = catalog.POCKET_MODELS / FLATTERER
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        for file in FILES:
            if (merged / file).is_file():
                shutil.copyfile(merged / file, place / file)
    print(f"{FLATTERER}: the policy of yes-man after {FLATTERER_UPDATES} updates")


def make(name: str) -> float:
    """One of them, in place of an older one; its accuracy on held-out pairs."""
    config = RewardTrainingConfig(name=name, epochs=6, pairs=SHIPPED[name], device="cpu")
    with tempfile.TemporaryDirectory() as folder:
        training = RewardTraining(Path(folder) / name)
        training.path.mkdir(parents=True)
        card = pair_trainer.train(config, training)
        shutil.rmtree(training.path)
        weights = training.folder / WEIGHTS
        save_file({key: tensor.half() for key, tensor in load_file(weights).items()}, weights, {"format": "pt"})
        del card["curve"]
        (training.folder / catalog.REWARD_CARD).write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
        place = catalog.POCKET_REWARD_MODELS / name
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(training.folder, place)
    for file in place.iterdir():
        file.chmod(0o644)
    return float(card["accuracy"])


if __name__ == "__main__":
    main()
