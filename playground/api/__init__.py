"""The playground from Python (docs/notebook.md): train, sweep, train a reward model. `playground` has these names.

The checks, the worker and the waiting are those of the command line. Wrong input is a PlaygroundError that says every
problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playground.api import inputs
from playground.api.inputs import checked
from playground.api.results import Run, SweepRuns, TrainedReward
from playground.cli import following, reward_model_commands, sweep_commands
from playground.cli.arguments import find_run
from playground.config import RewardTrainingConfig, RunConfig, yaml_io
from playground.errors import PlaygroundError, RunFailed
from playground.runs.sweeps.sweep_making import SweepRequest
from playground.setup.estimates import own_model
from playground.watching.callback import Watch

__all__ = [
    "PlaygroundError",
    "Run",
    "RunFailed",
    "SweepRuns",
    "TrainedReward",
    "Watch",
    "open_run",
    "sweep",
    "train",
    "train_reward",
]  # fmt: skip
Folder = str | Path | None


@checked
def train(
    model: str | Path,
    set: Mapping[str, Any] | None = None,
    *,
    prompts: Any = None,
    reward: Any = None,
    outputs: Folder = None,
    run_id: str | None = None,
    wait: bool = True,
    **settings: Any,
) -> Run:
    """Train, with a progress bar. To interrupt the kernel asks the run to stop; to do it twice leaves it to itself.

    Args:
        model: a preset's name, a YAML file, or a model (id, folder, included one), which gets settings that fit it, or
            those of `preset=`.
        prompts: texts, dictionaries with columns, a DataFrame, a Dataset, or the name of a file or data set.
        reward: a function, a file, a kind, a reward model, an expression, an entry of `rewards`, or a list of these
            (`reward_weights=`: a number for each).
        outputs: the folder for runs; default: what PLAYGROUND_OUTPUTS says, else `outputs` here.
        run_id: the name of the run's folder. wait: False gives a run in the background; see `Run.wait`.
        settings: others, by path, its last part or TRL's name: beta=0.05, **{"kl.coef": 0.05}; also as a `set`.

    Raises: PlaygroundError: what cannot be carried out, with every problem at once. RunFailed, if its run fails.
    """
    folder = inputs.outputs_folder(outputs)
    data, changes = inputs.settings(model, prompts, reward, {**(set or {}), **settings}, folder)
    if "name" not in data:
        data["name"] = own_model.name_of(data, changes)
    run = Run(*following.start(yaml_io.overridden(data, changes, RunConfig), folder, run_id))
    if wait:
        return run.wait()
    return run


@checked
def sweep(
    model: str | Path,
    vary: Mapping[str, Any],
    *,
    prompts: Any = None,
    reward: Any = None,
    outputs: Folder = None,
    name: str | None = None,
    wait: bool = True,
    **settings: Any,
) -> SweepRuns:
    """Train every combination of the values in `vary`: {"beta": [0.1, 0.25], "seed": [0, 1, 2]}; the rest is as with
    `train`. With the `name` of one that is there it goes on. `on`: "ray" or "slurm" (docs/scale.md)."""
    folder, on, given = inputs.outputs_folder(outputs), settings.pop("on", "here"), settings.pop("set", None) or {}
    data, changes = inputs.settings(model, prompts, reward, {**given, **settings}, folder)
    record = sweep_commands.begin(folder, SweepRequest(str(model), data, changes, inputs.varied(vary), name, on))
    sweep_runs = SweepRuns(record.name, folder)
    if wait:
        return sweep_runs.wait()
    return sweep_runs


@checked
def train_reward(
    pairs: Any,
    *,
    base: str | Path | None = None,
    name: str | None = None,
    outputs: Folder = None,
    replace: bool = False,
    wait: bool = True,
    **settings: Any,
) -> TrainedReward:
    """Train a reward model from preference pairs: rows with prompt, chosen and rejected in any form that `train` takes
    prompts in, a file, a data set, or an annotator (kind, honest, ...). What it gives can be the reward of `train`.
    `replace`: in the place of one of this name."""
    folder = inputs.outputs_folder(outputs)
    chosen = {"pairs.source": inputs.source_of(pairs, folder, "pairs"), "base": base, "name": name}
    named = {field: value for field, value in chosen.items() if value is not None}
    config = yaml_io.overridden({}, inputs.overrides({**settings, **named}, True), RewardTrainingConfig)
    model = TrainedReward(*reward_model_commands.begin(config, folder, replace))
    if wait:
        return model.wait()
    return model


@checked
def open_run(run: str | Path, outputs: Folder = None) -> Run:
    """A run that there is, by its folder, or by its id in the outputs folder. Raises: RunNotFound."""
    return Run(find_run(str(run), inputs.outputs_folder(outputs)))
