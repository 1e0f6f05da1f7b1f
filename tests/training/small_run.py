"""Small runs that are trained within the test, by the session that a worker has."""

import copy

from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.training.process.session import Session
from tests.support import config_with, data_beside

SETTINGS = data_beside(__file__, "small.yaml")
FEW = 32  # texts of the reference fix the scale where no preset is trained: those of a whole run take half of its time


def config(**changes):
    """Keyword `ppo__num_epochs=2` sets ppo.num_epochs, `rewards=...` the whole part."""
    return config_with(copy.deepcopy(SETTINGS["small"]), changes)


def session(folder, config, run_id="r", between=lambda: None):
    """Of a new run that has not begun."""
    run = RunDirectory.create(folder, config, run_id)
    made = Session(run, config, RunWriter(run, config.ppo.num_updates), between)
    if not config.preset:
        made.fit_scale = lambda samples, *with_fixed: Session.fit_scale(made, min(samples, FEW), *with_fixed)
    return made


def trained(folder, config, run_id="r"):
    """Of a new run after its last update."""
    return train(session(folder, config, run_id))


def train(session):
    """To its last update, as a worker does."""
    session.begin()
    session.evaluate_if_due()
    session.train()
    return session
