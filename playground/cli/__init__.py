"""The command line: runs are made, read and compared without a browser. `python -m playground --help`.

Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 failed, 2 the request cannot be carried out as
written, 3 stopped. Imports no torch, and gradio only for `page`, `replay` and `static`.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from playground import __version__, errors, redaction, uncollected
from playground.cli import (
    exercise_commands,
    following,
    from_elsewhere,
    health,
    lesson_commands,
    model_commands,
    outgoing,
    preflight_commands,
    printing,
    reward_model_commands,
    run_commands,
    scoring_commands,
    settings_command,
    standalone_commands,
    sweep_commands,
)
from playground.cli.arguments import (
    CANNOT,
    DEFAULT_OUTPUTS,
    FAILED,
    ClusterOptions,
    Json,
    JsonLines,
    On,
    Outputs,
    Rewards,
    RunArgument,
    Wait,
    Weights,
    chosen,
    find_run,
    workers_on,
)
from playground.cli.settings_command import setting
from playground.cli.terminal import complain
from playground.errors import PlaygroundError
from playground.lessons.loading import FOLDER_VARIABLE
from playground.runs import fork as fork_run
from playground.runs import history, launcher, lifeline
from playground.runs.folder import changes
from playground.runs.supervisor import Supervisor
from playground.setup import catalog, describe

CALLERS_MISTAKES = (
    errors.ExerciseUnusable,
    errors.InvalidConfig,
    errors.ModelNotFound,
    errors.PairsUnusable,
    errors.PromptsUnusable,
    errors.RunExists,
    errors.RunNotFound,
    errors.RunNotResumable,
    errors.RunNotSteerable,
)

app = typer.Typer(
    help="Train a small language model with PPO, watch it, and compare it with its old self.",
    epilog="Exit codes: 0 done, 1 failed, 2 invalid request, 3 stopped.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def main(arguments: list[str] | None = None) -> None:
    """Run one command, or without any open the page, and exit. Errors meant for a person are printed as they are,
    without a traceback."""
    if arguments is None:
        arguments = sys.argv[1:]
    name = "python -m playground"
    if Path(sys.argv[0]).name == "playground":  # it is installed
        name = "playground"
    redaction.print_anything()
    try:
        app(args=arguments or ["page"], prog_name=name)
    except PlaygroundError as error:
        complain(str(error))
        code = FAILED
        if isinstance(error, CALLERS_MISTAKES):
            code = CANNOT
        sys.exit(code)
    except OSError as error:
        text = str(error.strerror or error)
        if error.filename:
            text += f": {error.filename}"
        complain(text)
        sys.exit(FAILED)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit


@app.command("app", hidden=True)  # its older name
@app.command("page")
def page(
    host: Annotated[
        str | None,
        typer.Option(help="Address to listen on. Default: 127.0.0.1, this machine only; all in a class."),
    ] = None,
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)] = 7860,
    outputs: Outputs = DEFAULT_OUTPUTS,
    mode: Annotated[
        Literal["local", "classroom", "space"] | None,
        typer.Option(
            help="Who uses it: one person (the default), a class with a teacher, or visitors of a Hugging Face Space "
            "(the default there)."
        ),
    ] = None,
    share: Annotated[
        bool, typer.Option("--share", help="Make a public address through Gradio's servers: who has it can watch.")
    ] = False,
    mcp: Annotated[
        bool, typer.Option("--mcp", help="Offer agents what programs may call, as tools (docs/api.md).")
    ] = False,
    lessons: Annotated[
        Path | None, typer.Option(envvar=FOLDER_VARIABLE, help="A folder of your own lessons.", metavar="DIR")
    ] = None,
    on_server_death: Annotated[
        Literal["survive", "die"] | None,
        typer.Option(
            help="Whether runs go on when this server ends. Default: survive, or what PLAYGROUND_ON_SERVER_DEATH says."
        ),
    ] = None,
) -> None:
    """Open the page in which runs are started, watched and compared, as without any command."""
    lifeline.choose(on_server_death or lifeline.policy())
    if lessons:
        os.environ[FOLDER_VARIABLE] = str(lessons)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until `serve` takes it: Ctrl-C leaves without a traceback
    with uncollected():
        from playground.ui.server import serve  # gradio; no other command needs it

    serve(host=host, port=port, outputs=outputs, mode=mode, share=share, mcp=mcp)


@app.command()
def train(
    preset: Annotated[
        str, typer.Argument(metavar="PRESET", help=f"{', '.join(catalog.preset_names())}; a YAML file; a model.")
    ],
    set_: Annotated[list[str] | None, setting("kl.coef=0.2")] = None,
    reward: Rewards = None,
    reward_weight: Weights = None,
    outputs: Outputs = DEFAULT_OUTPUTS,
    run_id: Annotated[str | None, typer.Option(help="Name of the run's folder. Generated if not given.")] = None,
    json: JsonLines = False,
    wait: Wait = True,
    estimate: Annotated[
        bool,
        typer.Option(
            "--estimate", help="Only say what it would need: memory by role, time, what has to be downloaded first."
        ),
    ] = False,
    try_: Annotated[
        bool,
        typer.Option(
            "--try",
            help="Only try it: the model, the prompts as it reads them, what the rewards say of eight of its own "
            "completions, and one real update, for its time and memory. Exit code 1 if one of these fails.",
        ),
    ] = False,
    on: On = "here",
    option: ClusterOptions = None,
) -> None:
    """Train, and show before and after. The last line on stdout is the run folder.

    With --on ray --option workers=4, or --on slurm --option nodes=2, several machines compute it together. Where
    another run has the device, it waits in the queue. Ctrl-C takes a waiting run out of the queue and asks one
    that trains to stop; a second one leaves it to itself. Exit codes: 0 finished, 1 failed, 2 invalid, 3 stopped.
    """
    config = chosen(preset, set_, reward, reward_weight)
    if estimate:
        preflight_commands.estimate(config, outputs, as_json=json)
    if try_:
        preflight_commands.try_out(config, outputs, as_json=json)
    if not estimate and not try_:
        _follow(following.start(config, outputs, run_id, on, option), json, wait)


def _follow(started: launcher.Started, as_json: bool, wait: bool) -> None:
    """Follow a run to its end and leave with its exit code, or say where it is and leave it to itself."""
    run, process = started
    if wait:
        status = following.follow(run, process, following.Display(as_json))
        printing.print_end(run, status, as_json=as_json)
        raise typer.Exit(following.EXIT_CODES.get(status.state, following.STOPPED))
    printing.print_started(run, as_json=as_json)


@app.command()
def resume(
    run_dir: RunArgument,
    outputs: Outputs = DEFAULT_OUTPUTS,
    json: JsonLines = False,
    wait: Wait = True,
    on: On = "here",
    option: ClusterOptions = None,
) -> None:
    """Let a run go on: one that has ended, from its newest valid checkpoint; one that is paused, at once.

    Waiting, Ctrl-C and exit codes are as with `train`.
    """
    run = find_run(run_dir, outputs)
    Supervisor(run.path.parent).look()
    if run.is_at_work():
        changes.request_resume(run)
        print(f"{run.id} goes on.")
        return
    _follow(launcher.resume(run, workers_on(on, option)), json, wait)


@app.command()
def fork(
    run_dir: RunArgument,
    at: Annotated[int, typer.Option("--at", help="The update after which it branches off: one that has a checkpoint.")],
    set_: Annotated[list[str] | None, setting("kl.coef=0.5")] = None,
    outputs: Outputs = DEFAULT_OUTPUTS,
    run_id: Annotated[str | None, typer.Option(help="Name of the fork's folder. Generated if not given.")] = None,
    json: JsonLines = False,
    wait: Wait = True,
) -> None:
    """Let a new run go on from where another one was, with other settings; with none, it repeats what that one did.

    Waiting, Ctrl-C and exit codes are as with `train`.
    """
    run = find_run(run_dir, outputs)
    Supervisor(run.path.parent).look()
    _follow(fork_run.fork(run, at, set_ or [], run_id), json, wait)


app.command()(run_commands.stop)
app.command()(run_commands.runs)
app.command()(run_commands.show)
app.command()(run_commands.generate)
app.command()(preflight_commands.presets)
app.command()(settings_command.settings)
app.command()(outgoing.export)
app.command()(outgoing.save)
app.command()(outgoing.push)
app.command("import")(from_elsewhere.import_command)
app.command()(from_elsewhere.watch)
app.command()(model_commands.convert)
app.command("real-model")(model_commands.real_model)
app.command()(standalone_commands.replay)
app.command()(standalone_commands.static)


@app.command()
def doctor(
    outputs: Outputs = DEFAULT_OUTPUTS,
    empty_bin: Annotated[bool, typer.Option("--empty-bin", help="Delete the runs in the bin for good.")] = False,
    json: Json = False,
) -> None:
    """Check this machine and the outputs folder, and say what to do. Exit code 1 if a run could not be made."""
    if empty_bin:
        gone = history.empty_bin(outputs)
        print(f"Deleted {describe.count_of(gone, 'run')} from the bin.", file=sys.stderr)
    Supervisor(outputs).end_the_dead()
    checks = health.examine(outputs)
    health.print_checks(checks, as_json=json)
    if any(check.level == "fail" for check in checks):
        raise typer.Exit(FAILED)


app.command()(run_commands.diagnose)
app.command()(scoring_commands.score)
app.command()(exercise_commands.check)
app.add_typer(sweep_commands.app, name="sweep")
app.add_typer(lesson_commands.app, name="lessons")
app.command("reward-train")(reward_model_commands.reward_train)
app.command("reward-check")(scoring_commands.reward_check)
