"""The game of a class on its pages: the host reads every reward before it is trained or shown; whose it is says only
that person's own phone."""

from unittest.mock import Mock

import pytest

from playground.errors import PlaygroundError, RunBusy
from playground.runs import history
from playground.runs.folder import requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.runs.sweeps import sweep_making, sweep_record
from playground.ui.classroom import game_rewards as game
from playground.ui.classroom.room_file import NoClass
from playground.ui.classroom.steps import DeskCommand
from playground.ui.feed.feed import Hub
from tests.ui.classroom.desk import HOST, RISING, Desk, write_run

WORDS, KIND = "-words(completion)", "sentiment(completion)"


class Class(Desk):
    def __init__(self, outputs):
        super().__init__(Hub(outputs))
        self.outputs = outputs
        self.do("begin_game")

    def write(self, person, reward):
        self.keep(person, {"reward": reward})

    def desk(self):
        return self.views.desk([], screen=False).game

    def screen(self):
        return self.views.desk([], screen=True)

    def phone(self, person):
        return self.views.step(self.step, self.people[person]).game

    def trained(self):
        """Two rewards as if they had been trained: the first is a hack."""
        sweep = game.sweep_of("game-1", [KIND, WORDS], 1.0)
        write_run(self.outputs, sweep, 1, RISING, (4, 18))
        write_run(self.outputs, sweep, 2, RISING, (12, 4))
        self.room.set_state(self.step, "closed", {**self.step.data, "sweep": "game-1"})


@pytest.fixture
def class_(tmp_path):
    return Class(tmp_path / "outputs")


def test_no_reward_is_on_the_screen_or_on_another_phone_before_it_is_shown(class_):
    class_.write(0, WORDS)
    class_.trained()
    for shown in (class_.screen(), class_.phone(1)):
        assert [text for text in (WORDS, KIND, game.JUDGED) if text in str(shown)] == []


def test_only_what_the_host_has_read_is_trained(class_, workers):
    class_.write(0, WORDS)
    class_.write(1, KIND)
    with pytest.raises(NoClass, match="Close the game first"):
        class_.do("start_game", rewards=[KIND, WORDS])
    class_.do("close")
    assert class_.desk().takes == "some 40 seconds on two processor cores"
    class_.do("leave_out_game", reward=WORDS, out=True)
    assert class_.desk().takes == "some 20 seconds on two processor cores"
    with pytest.raises(NoClass, match="changed since you read"):
        class_.do("start_game", rewards=[KIND, WORDS])
    name = class_.do("start_game", rewards=[KIND])["made"]
    sweep = sweep_record.find(class_.outputs, name)
    assert [sweep.config(run_id) for run_id in sweep.runs] == game.configs([KIND])
    assert [run.title for run in history.list_runs(class_.outputs)] == ["Game 1"]
    assert (class_.phone(0).mine, class_.phone(1).mine) == (None, 1)
    with pytest.raises(NoClass, match="in training already"):
        class_.do("start_game", rewards=[KIND])
    with pytest.raises(RunBusy, match="not ended"):
        class_.do("delete_game")


@pytest.mark.usefixtures("workers")
@pytest.mark.parametrize("late", ["leave_out_game", "start_game"])
def test_a_game_that_another_device_of_the_host_starts_meanwhile_is_trained_once(class_, monkeypatch, late):
    class_.write(0, WORDS)
    class_.do("close")
    behind = class_.step
    name = class_.do("start_game", rewards=[WORDS])["made"]
    monkeypatch.setattr(class_.room, "find", lambda number: behind)  # what this device has read before
    with pytest.raises(NoClass, match="in training already"):
        class_.do(late, rewards=[WORDS], reward=WORDS, out=True)
    assert (class_.step.data["sweep"], len(history.list_runs(class_.outputs))) == (name, 1)


@pytest.mark.usefixtures("workers")
def test_a_game_whose_start_failed_can_be_started_again(class_, monkeypatch):
    class_.do("close")
    with pytest.raises(NoClass, match="no reward to train"):
        class_.do("start_game", rewards=[])
    class_.do("begin_game")
    class_.write(0, WORDS)
    class_.do("close")
    for error in (OSError("No space left on device"), SystemExit("killed")):
        with monkeypatch.context() as patched, pytest.raises(type(error), match=str(error)):
            patched.setattr(sweep_making, "create", Mock(side_effect=error))
            class_.do("start_game", rewards=[WORDS])
        assert not class_.phone(0).started
    assert class_.do("start_game", rewards=[WORDS])["made"]


def test_what_came_of_all_rewards_is_shown_with_the_best_hack_and_ones_own_marked_on_ones_phone(class_):
    class_.write(0, WORDS)
    class_.write(1, KIND)
    class_.trained()
    class_.do("show")  # as a question is: there is nothing to show yet
    assert class_.phone(0).results.runs == []
    class_.do("show_game")
    assert (class_.phone(0).mine, class_.phone(1).mine) == (2, 1)
    shown = class_.screen().step.game
    assert (shown.results.best, shown.mine, shown.results.going) == (2, None, False)
    assert not class_.desk().fresh
    assert [(run.paid, run.wanted, run.trend) for run in shown.results.runs] == [
        ("0 \u2192 1.9", "4 \u2192 18 of 20", "rose"),
        ("0 \u2192 1.9", "12 \u2192 4 of 20", "fell"),
    ]


def test_a_game_that_is_shown_before_its_end_says_so_and_the_desk_hears_when_there_is_more(class_):
    sweep = game.sweep_of("game-1", [KIND, WORDS], 1.0)
    write_run(class_.outputs, sweep, 1, RISING, (4, 18))
    waiting = RunDirectory.create(class_.outputs, sweep.config("game-1-02"), "game-1-02")
    requests.record(waiting, sweep.request("game-1-02"), "cpu")
    class_.room.set_state(class_.step, "closed", {**class_.step.data, "sweep": "game-1"})
    assert class_.desk().fresh
    class_.do("show_game")
    shown = class_.screen().step.game
    assert (shown.results.going, shown.results.best) == (True, None)
    assert not class_.desk().fresh
    RunWriter(waiting, num_updates=20).finish("stopped")
    assert class_.desk().fresh


def test_a_desk_that_is_behind_does_nothing_to_another_step(class_):
    behind = class_.step.id
    class_.do("begin_game")
    for command in ("leave_out_game", "start_game", "stop_game", "show_game", "delete_game"):
        with pytest.raises(PlaygroundError, match="another step"):
            class_.views.act(DeskCommand(do=command, step=behind), HOST)
