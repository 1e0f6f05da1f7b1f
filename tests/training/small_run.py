"""Small runs that are trained within the test, by the session that a worker has."""

import copy

from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.training.process.session import Session
from tests.support import config_with, data_beside

SETTINGS = data_beside(__file__, "small.yaml")
FEW = 32  # texts of the reference: to write as many as a run has takes half of the time of a small one


def config(**changes):
    """Keyword `ppo__num_epochs=2` sets ppo.num_epochs, `rewards=...` the whole part."""
    return config_with(copy.deepcopy(SETTINGS["small"]), changes)


def session(folder, config, run_id="r", between=lambda: None):
    run = RunDirectory.create(folder, config, run_id)
    return with_few(Session(run, config, RunWriter(run, config.ppo.num_updates), between))


def with_few(session):
    """The session, which fixes its scale on few texts where it trains no preset."""
    if not session.config.preset:
        session.fit_scale = lambda samples, *fixed: Session.fit_scale(session, min(samples, FEW), *fixed)
    return session


def trained(folder, config, run_id="r"):
    return train(session(folder, config, run_id))


def train(session):
    session.begin()
    session.evaluate_if_due()
    session.train()
    return session
