"""`sweep PRESET --vary field=value,value`, and `sweep list | show | stop | resume` on existing sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from playground.analysis import over_seeds
from playground.analysis.over_seeds import NO_INTERVAL, SettingRow, in_words, share_in_words
from playground.cli import following
from playground.cli.arguments import (
    DEFAULT_OUTPUTS,
    ClusterOptions,
    Json,
    On,
    Outputs,
    Rewards,
    Weights,
    folder_of_runs,
    preset_data,
)
from playground.cli.outgoing import write_figures
from playground.cli.settings_command import by_path, setting
from playground.cli.terminal import complain, print_json, print_table, say, time_range
from playground.errors import InvalidConfig, ModelNotFound
from playground.exports.figures import RunGroup
from playground.runs import history
from playground.runs.folder.records import by_name
from playground.runs.supervisor import Supervisor
from playground.runs.sweeps import grid, sweep_making, sweep_record
from playground.runs.sweeps.sweep_making import SweepRequest
from playground.runs.sweeps.sweep_progress import SweepProgress, progress_of
from playground.runs.sweeps.sweep_record import Sweep
from playground.setup import admission, describe
from playground.setup.estimates import disk

MOST_BEHAVIOURS = 2  # columns; --json has all
SweepArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of a sweep; `sweep list` shows them.")]
Wait = Annotated[
    bool, typer.Option("--wait/--no-wait", help="Follow the sweep to its end, or start it and return at once.")
]
JsonLines = Annotated[
    bool, typer.Option("--json", help="Print one JSON line whenever something changes, and a last one with the table.")
]


class _Group(TyperGroup):
    """`sweep kinder-reviews ...` is `sweep start kinder-reviews ...`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["start", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_Group,
    help="Train many runs that differ in a few settings: sweep PRESET --vary kl.coef=0.1,0.25 --vary seed=0,1,2.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def start(
    preset: Annotated[
        str,
        typer.Argument(metavar="PRESET", help="What all runs share: what `train` takes."),
    ],
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="path=value,value",
            callback=lambda changes: by_path(changes),
            help="A setting and its values, for example kl.coef=0.1,0.25,0.5; "
            "`seed` is one too. Repeatable: every value of one is combined with every value of the others.",
        ),
    ] = None,
    set_: Annotated[list[str] | None, setting("ppo.num_updates=20")] = None,
    reward: Rewards = None,
    reward_weight: Weights = None,
    name: Annotated[str | None, typer.Option(help="What to call it. Generated if not given.")] = None,
    on: On = "here",
    option: ClusterOptions = None,
    outputs: Outputs = DEFAULT_OUTPUTS,
    json: JsonLines = False,
    wait: Wait = True,
) -> None:
    """Make and train all runs, and show what became of each setting. The last line on stdout is the sweep's name.

    They are ordinary runs and wait in the same queue. Ctrl-C asks all of them to stop; a second Ctrl-C leaves them to
    themselves. The same command with the same --name goes on with the sweep that is there. Exit codes: 0 all finished,
    1 some failed, 2 invalid (every error is listed, and nothing is made), 3 stopped.
    """
    base = preset_data(preset, reward, reward_weight)
    sweep = begin(outputs, SweepRequest(preset, base, set_ or [], vary or [], name, on, option or []))
    _follow(sweep, outputs, json, wait)


def begin(outputs: Path, request: SweepRequest) -> Sweep:
    """Make a sweep, or go on with the one that is there. Raises: InvalidConfig, with every problem."""
    planned = sweep_making.plan(outputs, request, partial(admission.admit, outputs=outputs, here=request.on == "here"))
    is_there = bool(sweep_record.runs_of(outputs, planned.sweep))
    if not is_there:
        disk.check(planned.configs, outputs)
    complain(_plan_in_words(planned, outputs))
    Supervisor(outputs).look()
    sweep = sweep_making.create(outputs, planned.sweep)
    if is_there:
        _resume(sweep, outputs)
    return sweep


@app.command("list")
def list_command(outputs: Outputs = DEFAULT_OUTPUTS, json: Json = False) -> None:
    """List the sweeps of the outputs folder, the newest first."""
    folder_of_runs(outputs)
    Supervisor(outputs).end_the_dead()
    sweep_making.forget_gone(outputs)
    _print_list(outputs, sweep_record.every(outputs), as_json=json)


@app.command()
def show(name: SweepArgument, outputs: Outputs = DEFAULT_OUTPUTS, json: Json = False) -> None:
    """Show how far a sweep is, and what has become of each setting: the mean over its seeds, with a 95 % interval."""
    Supervisor(outputs).end_the_dead()
    _print_sweep(outputs, sweep_record.find(outputs, name), as_json=json)


@app.command()
def export(
    name: SweepArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder to write.", metavar="FOLDER")
    ] = None,
    outputs: Outputs = DEFAULT_OUTPUTS,
) -> None:
    """Write a sweep as figures for a paper: a table of its runs, their curves, and charts as SVG and PDF."""
    print(write_figures(RunGroup.of_sweep(outputs, sweep_record.find(outputs, name)), output, outputs))


@app.command()
def stop(
    name: SweepArgument,
    outputs: Outputs = DEFAULT_OUTPUTS,
    timeout: Annotated[float, typer.Option(help="How many seconds to wait for its runs to end.", min=0)] = 120,
) -> None:
    """Stop all runs of a sweep and wait until they have stopped; those that wait in the queue are taken out."""
    sweep = sweep_record.find(outputs, name)
    sweep_making.stop_all(outputs, sweep)
    too_late = f"Not all runs of {name} have stopped within {timeout:g} s. `stop RUN --now` ends one by force."
    following.wait_until(lambda: _how_far(outputs, sweep).ended, timeout, outputs, too_late)
    Supervisor(outputs).end_the_dead()
    print(f"{name}: {_how_far(outputs, sweep).words}.")


@app.command()
def resume(name: SweepArgument, outputs: Outputs = DEFAULT_OUTPUTS, json: JsonLines = False, wait: Wait = True) -> None:
    """Take up all runs of a sweep that have ended early, make those that were not made yet, and follow it as `sweep`
    does."""
    sweep = sweep_record.find(outputs, name)
    Supervisor(outputs).look()
    _resume(sweep, outputs)
    _follow(sweep_record.find(outputs, name), outputs, json, wait)


@app.command("add-seeds")
def add_seeds(
    name: SweepArgument,
    count: Annotated[int, typer.Argument(metavar="COUNT", help="How many seeds more; they follow the largest.")],
    outputs: Outputs = DEFAULT_OUTPUTS,
    json: JsonLines = False,
    wait: Wait = True,
) -> None:
    """Queue every setting of a sweep with further seeds, and follow it as `sweep` does. Its means take them in."""
    Supervisor(outputs).look()
    runs = sweep_making.add_seeds(outputs, name, count)
    complain(f"{len(runs)} more runs.")
    _follow(sweep_record.find(outputs, name), outputs, json, wait)


def _resume(sweep: Sweep, outputs: Path) -> None:
    """Take up what has ended early, and say what goes on."""
    resumed = sweep_making.resume_all(outputs, sweep)
    for run_id, why in resumed.refused.items():
        complain(f"{run_id} cannot be resumed: {why}")
    complain(f"{len(resumed.going)} of {len(sweep.runs)} runs go on.")


def _follow(sweep: Sweep, outputs: Path, as_json: bool, wait: bool) -> None:
    """Follow a sweep to its end and leave with its exit code, or leave it to itself."""
    if not wait:
        _print_started(outputs, sweep, as_json=as_json)
        return
    state = following.follow_sweep(sweep, outputs, as_json)
    _print_end(outputs, sweep, as_json=as_json)
    raise typer.Exit(following.EXIT_CODES.get(state, following.STOPPED))


def _plan_in_words(planned: sweep_making.SweepPlan, outputs: Path) -> str:
    """How many runs, and how long they may take."""
    statuses = sweep_record.statuses(outputs, planned.sweep)
    done = [name for name, status in statuses.items() if status.state == "finished"]
    pairs = zip(planned.sweep.runs, planned.configs, strict=True)
    left = [config for name, config in pairs if name not in done]
    runs = f"{planned.sweep.name}: {len(planned.configs)} runs"
    if planned.sweep.on != sweep_making.HERE:
        return f"{runs} on {planned.sweep.on}."
    if not left:
        return f"{runs}, all finished."
    if done:
        runs += f", {len(left)} left"
    try:
        seconds = grid.seconds(left, outputs, history.finished_runs(outputs))
    except (ModelNotFound, InvalidConfig):  # a model that is still to be fetched
        seconds = None
    time = ""
    if seconds:
        time = f", {time_range(*seconds)} one after the other"
    return f"{runs}{time}."


def _print_list(outputs: Path, sweeps: Sequence[Sweep], *, as_json: bool) -> None:
    """A line for each sweep."""
    if as_json:
        print_json([_facts(outputs, sweep) for sweep in sweeps])
    elif not sweeps:
        complain(f"There are no sweeps in {outputs}. `sweep PRESET --vary kl.coef=0.1,0.25` starts one.")
    else:
        rows = [(sweep.name, sweep.preset, _varies(sweep), _how_far(outputs, sweep).words) for sweep in sweeps]
        print_table(rows, "Sweep", "Of", "Varies", "How far")


def _print_sweep(outputs: Path, sweep: Sweep, *, as_json: bool) -> None:
    """How far it is, and the table: setting x outcome."""
    if as_json:
        print_json({**_facts(outputs, sweep), "table": by_name(table_data(outputs, sweep))})
        return
    say(f"{sweep.name}: {sweep.preset}, {_varies(sweep)}. {_how_far(outputs, sweep).words}.")
    _print_outcomes(outputs, sweep)
    for run in sweep_record.runs_of(outputs, sweep):
        status = run.status()
        if status.state in ("failed", "interrupted"):
            say(f"{run.id} {status.state}: {status.message}")


def _print_started(outputs: Path, sweep: Sweep, *, as_json: bool) -> None:
    """A sweep that is left to itself. The last line on stdout is its name."""
    if as_json:
        print_json({"type": "started", **_facts(outputs, sweep)})
        return
    complain(f"{_how_far(outputs, sweep).words}. The page, or any `train` that goes on here, starts those that wait.")
    print(sweep.name)


def _print_end(outputs: Path, sweep: Sweep, *, as_json: bool) -> None:
    """How a sweep ended. The last line on stdout is its name, or with JSON an object that names it."""
    if as_json:
        print_json({"type": "end", **_facts(outputs, sweep), "table": by_name(table_data(outputs, sweep))})
        return
    _print_sweep(outputs, sweep, as_json=False)
    print(sweep.name)


def _print_outcomes(outputs: Path, sweep: Sweep) -> None:
    """What became of each setting, as means over seeds, and how to read that."""
    rows = _rows(outputs, sweep)
    configs = sweep.setting_configs([row.setting.runs[0] for row in rows])
    unit = next((config.score_unit for config in configs), "sd")
    shares = list(dict.fromkeys(words for row in rows for words in row.shares))[:MOST_BEHAVIOURS]
    monitors = list(dict.fromkeys(name for row in rows for name in row.monitors))
    headings = [*(sweep.settings or ["setting"]), "Finished", f"Score, {unit}", "KL, nats"]
    cells = [
        [
            *([describe.in_words(field, value) for field, value in row.setting.values.items()] or ["all"]),
            f"{row.finished} of {len(row.setting.runs)}",
            in_words(row.gain, sign=True),
            in_words(row.kl),
            *(in_words(row.monitors.get(name), sign=True) for name in monitors),
            *(share_in_words(row.shares.get(words)) for words in shares),
        ]
        for row in rows
    ]
    headings += [f"{name} (monitor), points" for name in monitors]
    print_table(cells, *headings, *(f"{words}, %" for words in shares))
    means = "Score: gain on the fixed prompts. Means over finished seeds \u00b1 half the 95 % interval (Student's t)"
    if shares:
        means += ", shares with all of it"
    if any(row.finished == 1 for row in rows):
        means += f"; {NO_INTERVAL}"
    say(f"{means}.")
    if monitors:
        say("Monitor: change since before training, in its own unit; nothing is trained on it.")
    say(describe.scores_differ(configs))


def _varies(sweep: Sweep) -> str:
    """For reading: "kl.coef 0.1, 0.25; seed 0, 1, 2"."""
    return "; ".join(
        f"{field} {', '.join(describe.in_words(field, value) for value in values)}"
        for field, values in sweep.vary.items()
    )


def _how_far(outputs: Path, sweep: Sweep) -> SweepProgress:
    return progress_of(sweep, sweep_record.statuses(outputs, sweep))


def _facts(outputs: Path, sweep: Sweep) -> dict[str, Any]:
    progress = _how_far(outputs, sweep)
    settings = {name: getattr(sweep, name) for name in ("preset", "vary", "on", "created_at")}
    runs = [str(outputs / run_id) for run_id in sweep.runs]
    return {"sweep": sweep.name, **settings, "runs": runs, "state": progress.state, **progress._asdict()}


def _rows(outputs: Path, sweep: Sweep) -> list[SettingRow]:
    finished = [run for run in sweep_record.runs_of(outputs, sweep) if run.status().state == "finished"]
    return over_seeds.rows(sweep, {run.id: end for run in finished if (end := over_seeds.end_of(run))})


def table_data(outputs: Path, sweep: Sweep) -> list[dict[str, Any]]:
    """A row for each setting, as plain data."""
    return [
        {
            "setting": row.setting.values,
            "runs": row.setting.runs,
            "finished": row.finished,
            "score": row.gain,
            "kl": row.kl,
            **{f"share of: {words}": share for words, share in row.shares.items()},
            **{f"monitor: {name}": monitor for name, monitor in row.monitors.items()},
        }
        for row in _rows(outputs, sweep)
    ]
