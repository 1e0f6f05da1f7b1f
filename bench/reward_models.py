"""Make the reward models that ship with the playground, and the model that flatters: `make reward-models`.

Each is trained as `python -m playground reward-train` trains it, with seed 0, on pairs of one annotator of the pocket
world, written by the model that the presets train: more pairs than by default, or, for one that is worse on purpose,
few and some of them wrong. Then its weights are rounded to fp16, to be small on disk.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from safetensors.torch import load_file, save_file  # noqa: E402

from playground.config import PairsConfig, RewardTrainingConfig  # noqa: E402
from playground.runs.reward_models import RewardTraining  # noqa: E402
from playground.setup import catalog  # noqa: E402
from playground.training.rewards import pair_trainer  # noqa: E402

SHIPPED = {
    name: RewardTrainingConfig(
        name=name, epochs=6, pairs=PairsConfig(source=source, limit=limit, flip=flip, writer="pocket-2m"), device="cpu"
    )
    for name, source, limit, flip in (
        ("pocket-agreeable", "agreeable", 4000, 0),
        ("pocket-honest", "honest", 4000, 0),
        ("pocket-kind-80", "kind", 80, 0.25),  # of the lesson on Goodhart's hill
        ("pocket-kind-2000", "kind", 2000, 0),  # the bigger judge beside it
    )
}
WEIGHTS = "model.safetensors"
FILES = ("config.json", WEIGHTS, "tokenizer.json", "tokenizer_config.json")


FLATTERER, FLATTERER_UPDATES = "pocket-2m-yes-man", 60


def main() -> None:
    """Train what is asked for and put it in its place."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*SHIPPED, FLATTERER], help="which of them; all by default")
    for name in parser.parse_args().names:
        if name == FLATTERER:
            flatter()
        else:
            print(f"{name}: right on {make(SHIPPED[name]):.1%} of held-out pairs")


def flatter() -> None:
    """The policy of a longer yes-man, seed 0: a model to start from whose bias is known."""
    with tempfile.TemporaryDirectory() as outputs:
        run = Path(outputs) / FLATTERER
        command = [sys.executable, "-m", "playground"]
        updates = f"ppo.num_updates={FLATTERER_UPDATES}"
        subprocess.run(
            [*command, "train", "yes-man", "--set", updates, "--outputs", outputs, "--run-id", FLATTERER],
            cwd=PROJECT,
            check=True,
        )
        saved = Path(outputs) / "merged"
        subprocess.run([*command, "save", str(run), "--to", str(saved), "--precision", "fp16"], cwd=PROJECT, check=True)
        place = catalog.POCKET_MODELS / FLATTERER
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        for file in FILES:
            if (saved / file).is_file():
                shutil.copyfile(saved / file, place / file)
    print(f"{FLATTERER}: the policy of yes-man after {FLATTERER_UPDATES} updates")


def make(config: RewardTrainingConfig) -> float:
    """One of them, in place of an older one; its accuracy on held-out pairs."""
    with tempfile.TemporaryDirectory() as folder:
        training = RewardTraining(Path(folder) / config.name)
        training.path.mkdir(parents=True)
        card = pair_trainer.train(config, training)
        shutil.rmtree(training.path)
        weights = training.folder / WEIGHTS
        save_file({name: tensor.half() for name, tensor in load_file(weights).items()}, weights, {"format": "pt"})
        del card["curve"]
        (training.folder / catalog.REWARD_CARD).write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
        place = catalog.POCKET_REWARD_MODELS / config.name
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(training.folder, place)
    for file in place.iterdir():
        file.chmod(0o644)
    return float(card["accuracy"])


if __name__ == "__main__":
    main()
