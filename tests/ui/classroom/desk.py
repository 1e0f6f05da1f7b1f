"""A class that is led without a page, and runs of a game on disk, as if they had been trained."""

from playground.runs.folder import requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Sample
from playground.runs.folder.writer import RunWriter
from playground.runs.sweeps import sweep_record
from playground.ui.auth.access import Access, Caller
from playground.ui.classroom import game_rewards
from playground.ui.classroom.classroom import Classroom
from playground.ui.classroom.room import Room, hash_of
from playground.ui.classroom.steps import DeskCommand, SentAnswer
from tests.ui.fake_server import FakeService

HOST = Caller()


class Desk:
    """The host's, of an open class with three people."""

    def __init__(self, hub):
        hub.outputs.mkdir(exist_ok=True)
        self.hub, self.room = hub, Room(hub.outputs)
        self.views = Classroom(self.room, hub, Access(), FakeService())
        code = self.room.open()
        self.people = [hash_of(self.room.join(code)) for _ in range(3)]

    @property
    def step(self):
        step = self.room.step()
        assert step
        return step

    def do(self, command, **asked):
        step = self.room.step()
        sent = DeskCommand(**{"do": command, "step": step.id if step else 0, **asked})
        answer = self.views.act(sent, HOST)
        assert not answer["error"]
        return answer

    def keep(self, person, value, item=1):
        """What one of the people has answered to the step, by their number."""
        self.views.keep(self.people[person], SentAnswer(step=self.step.id, item=item, value=value))


TEXTS = 20
RISING = [1.0 + row % 3 for row in range(TEXTS)]


def write_run(outputs, sweep, number, paid, wanted, ended=True):
    """The run of a reward that paid 0 for every text before and `paid` for them after, of which so many were wanted
    before and after; whether its texts `ended` by themselves."""
    run_id = sweep.runs[number - 1]
    run = RunDirectory.create(outputs, sweep.config(run_id), run_id)
    requests.record(run, sweep.request(run_id), "cpu")
    writer = RunWriter(run, num_updates=20)
    writer.samples([_sample(row, 0, "before", 0.0, row < wanted[0], ended) for row in range(TEXTS)])
    writer.samples([_sample(row, 20, "after", paid[row], row < wanted[1], ended) for row in range(TEXTS)])
    writer.finish("finished")
    sweep_record.write(outputs, sweep.model_copy(update={"made": len(sweep.runs)}))
    return run


def _sample(row, update, stage, paid, wanted, ended):
    texts = {"prompt_id": row, "prompt": f"Review {row}: It was", "completion": f" {stage} {row}.", "seed": 0}
    figures = {"score": paid, "scores": {"expression": paid}, "kl": 0.1}
    return Sample(update=update, stage=stage, **texts, **figures, behaviours={game_rewards.JUDGE: wanted}, ended=ended)
