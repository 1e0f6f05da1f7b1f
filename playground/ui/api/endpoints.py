"""The functions that programs call by name, each behind the same guard as what the page does with it.

Gradio makes the description of each from its name, types and docstring: for its clients, and for agents (MCP), to whom
they are tools. They start, steer and read runs with what the page's own handlers use. `page` registers them.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import gradio as gr

from playground.errors import InvalidConfig, PlaygroundError, Problem, RunNotFound, TooManyCalls
from playground.runs import history
from playground.runs.model_service import ModelService
from playground.runs.spawning import Workers
from playground.setup import catalog
from playground.ui.api import answers, arguments
from playground.ui.auth.access import Access, Action, Caller
from playground.ui.auth.calls import Endpoint
from playground.ui.feed.feed import Channel, Hub
from playground.ui.feed.run_serializer import plain
from playground.ui.runs import compare_page, history_data
from playground.ui.train import filling, form_parts, run_actions

READERS = 2  # threads that read whole runs, as in `routes`
MOST_RUNS = 50
MOST_WAIT_SECONDS = 50.0  # most programs give up on an answer after a minute
MANY_FOLLOW = "Too many programs follow runs here. Ask for the status now and then instead."
NEEDS = "verdict advice device total_gb seconds seconds_per_update download as_last_runs quota".split()
STREAM = "stream"  # no tool: a tool answers once
T = TypeVar("T")


def register(hub: Hub, access: Access, service: ModelService, spawn: Workers | None) -> None:
    """Offer them all, in the Blocks that is being made. Before any other event, for their names have to be free."""
    ask = Endpoints(hub, access, service, spawn)
    table: dict[Action, list[Callable[..., Any]]] = {
        Action.WATCH: [
            ask.presets,
            ask.runs,
            ask.status,
            ask.follow,
            ask.metrics,
            ask.samples,
            ask.compare,
            ask.outcome,
        ],
        Action.FORM: [ask.estimate],
        Action.START: [ask.start],
        Action.STEER: [ask.change, ask.stop],
        Action.ASK: [ask.generate],
    }
    for action, handlers in table.items():
        for handler in handlers:
            dependency = gr.api(offered(access, action, handler), queue=False, concurrency_limit=None)
            parameters = arguments.parameters(handler)
            names = tuple(parameter.name for parameter in parameters)
            required = tuple(parameter.name for parameter in parameters if parameter.default is inspect.Parameter.empty)
            access.endpoints[handler.__name__] = Endpoint(dependency["id"], names, required)


def offered(access: Access, action: Action, handler: Callable[..., Any]) -> Any:
    """A guarded handler with the types of the plain one: from these Gradio makes its description. The request comes
    first, which Gradio hands over and does not describe."""
    guarded = access.guard(action, handler, read=arguments.reader(handler), kind="programs")
    parameters = [inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=gr.Request)]
    parameters += arguments.parameters(handler)
    guarded.__signature__ = inspect.Signature(parameters, return_annotation=dict[str, Any])
    guarded.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    if inspect.isasyncgenfunction(handler):
        guarded._mcp_type = STREAM
    return guarded


class Endpoints:
    """The functions, unguarded. `spawn` makes the worker of a run that is started."""

    def __init__(self, hub: Hub, access: Access, service: ModelService, spawn: Workers | None) -> None:
        self._hub, self._access, self._service, self._spawn = hub, access, service, spawn
        self._outputs = hub.outputs
        self._actions = run_actions.RunActions(hub.outputs, access, spawn)
        self._readers = ThreadPoolExecutor(READERS, "api-reader")

    def presets(self, preset: str = "") -> dict[str, Any]:
        """The experiments that can be started, with what each came to; of one, all its settings too.

        Args:
            preset: The name of one, for its settings by their dotted names and the help and range of each.
        """
        if not preset:
            names = catalog.every_preset_name()
            return {"default": catalog.DEFAULT_PRESET, "presets": [answers.preset(name) for name in names]}
        filling.base_of(preset, self._outputs)
        if filling.named_run(preset, self._outputs):
            raise InvalidConfig([Problem("preset", "is a run; `status` and `compare` tell of those.")])
        return {**answers.preset(preset), **answers.settings(catalog.preset(preset))}

    async def runs(self) -> dict[str, Any]:
        """The newest runs, each with its gain in score (in its `unit`, mostly standard deviations) and KL in nats."""

        def read() -> dict[str, Any]:
            listed: Sequence[Mapping[str, Any]] = history_data.history_data(self._outputs)["runs"]
            runs = [answers.listed(run) for run in listed[:MOST_RUNS]]
            return {"count": len(listed), "runs": runs, "recorded": list(self._hub.recorded)}

        return await self._read(read)

    def estimate(
        self, preset: str = catalog.DEFAULT_PRESET, settings: dict[str, Any] | None = None, *, caller: Caller
    ) -> dict[str, Any]:
        """What a run would need: whether it fits, memory in GB, time in seconds (from the likely least to the most).

        Args:
            preset: The name of a preset (`presets` lists them), or `run:ID` for the settings of a run.
            settings: What to change of it, by dotted names: {"kl.coef": 0.2, "ppo.num_updates": 20}.
        """
        capped = self._access.limits_of(caller)
        base, config = arguments.configured(preset, settings, self._outputs, capped, caller)
        needs: Mapping[str, Any] = form_parts.needs(config, base, self._outputs, capped.calls, caller.visitor)
        if needs["problem"]:
            raise PlaygroundError(needs["problem"])
        return plain({name: needs[name] for name in NEEDS})

    def start(
        self,
        preset: str = catalog.DEFAULT_PRESET,
        settings: dict[str, Any] | None = None,
        key: str = "",
        *,
        caller: Caller,
    ) -> dict[str, Any]:
        """Start a training run, or queue it while its device is busy; `status` with `wait` follows it. `kl.coef` is the
        leash (beta). Settings that are not valid are refused, each with its name and what to do.

        Args:
            preset: The name of a preset (`presets` lists them), or `run:ID` for the settings of a run.
            settings: What to change of it, by dotted names: {"kl.coef": 0.2, "ppo.num_updates": 20}.
            key: A name of yours for this start (8 to 40 letters, digits, hyphens): the same settings get the same run.
        """
        capped = self._access.limits_of(caller)
        _, config = arguments.configured(preset, settings, self._outputs, capped, caller)
        run = run_actions.start(config, arguments.key(key), self._outputs, self._spawn, self._access, caller)
        return {"run": run.id, "state": run.status().state, "page": f"?run={run.id}"}

    async def status(self, run: str, wait: float = 0.0, *, caller: Caller) -> dict[str, Any]:
        """Where a run is: its state, the update that is done, its newest figures, the checks that are lit, what can be
        changed while it trains. KL is in nats per completion, scores in standard deviations, times in seconds.

        Args:
            run: The id of a run.
            wait: Seconds to wait for its end, at most 50; the answer comes earlier if it ends.
        """
        channel = await self._hub.channel(run)
        until = asyncio.get_running_loop().time() + min(wait, MOST_WAIT_SECONDS)
        with self._following(caller) as fits, _viewing(channel):
            while fits and not channel.feed.ended and (left := until - asyncio.get_running_loop().time()) > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(channel.wait(channel.cursor(channel.seq)), left)
                if channel.gone or channel.closing:
                    break
        return await channel.read(answers.status)

    async def follow(self, run: str, *, caller: Caller) -> AsyncIterator[dict[str, Any]]:
        """The status of a run again and again until it has ended: whenever something is new, and every 15 seconds.

        Args:
            run: The id of a run.
        """
        channel = await self._hub.channel(run)
        with self._following(caller) as fits, _viewing(channel):
            if not fits:
                raise TooManyCalls(MANY_FOLLOW)
            while not channel.closing:
                if channel.gone:
                    raise RunNotFound(f"The run `{run}` has been deleted.")
                cursor, ended = channel.cursor(channel.seq), channel.feed.ended
                yield await channel.read(answers.status)
                if ended:
                    return
                await channel.wait(cursor)  # not for ever: between two answers Gradio sees that a program has gone

    async def metrics(self, run: str, since: int = 0, figures: list[str] | None = None) -> dict[str, Any]:
        """The figures of a run's updates as columns, thinned to 200 rows; with the unit of each.

        Args:
            run: The id of a run.
            since: Only of the updates after this one.
            figures: Names of the figures, instead of the most important ones. A wrong one is answered with all names.
        """
        channel = await self._hub.channel(run)
        return await channel.read(lambda feed: answers.metrics(feed, since, figures or []))

    async def samples(self, run: str, update: int = -1) -> dict[str, Any]:
        """The answers to the fixed prompts at one evaluation: text, score and KL of each, at most 64.

        Args:
            run: The id of a run.
            update: The update after which it was made; 0 is before training, -1 the newest.
        """
        channel = await self._hub.channel(run)
        return await channel.read(lambda feed: answers.samples(feed, update))

    async def compare(self, run: str, pairs: int = 12) -> dict[str, Any]:
        """Before and after training on the same prompts with the same random numbers: the gain with its uncertainty,
        what was counted in the texts, and pairs of them.

        Args:
            run: The id of a run.
            pairs: How many pairs of texts to give, at most 64.
        """
        directory = self._hub.find(run)
        return await self._read(lambda: answers.comparison(run, directory.config(), directory.samples(), pairs))

    async def outcome(self, run: str) -> dict[str, Any]:
        """What a run came to, in sentences: the gain, until when training paid, whether it forgot, what it computed.

        Args:
            run: The id of a run.
        """
        directory, channel = self._hub.find(run), await self._hub.channel(run)
        status = await channel.read(lambda feed: feed.status_now())
        facts = {name: status[name] for name in ("state", "end", "outcome")}
        return {"run": run, **facts, **await self._read(lambda: answers.outcome(directory))}

    def generate(self, run: str, prompt: str, n: int = 2, seed: int = 0, *, caller: Caller) -> dict[str, Any]:
        """Completions of a prompt of your own before training and as the run's model is now, with the same random
        numbers. Score in standard deviations, KL in nats.

        Args:
            run: The id of a run; a recorded one has no weights to ask.
            prompt: The text to be continued, in the manner of the run's prompts.
            n: How many completions each, from 1 to 32; for visitors of a page to 4.
            seed: Of the random numbers.
        """
        answer: Mapping[str, Any] = {"samples": []}
        capped = self._access.limits_of(caller)
        for answer in compare_page.answered(self._service, self._outputs, run, prompt, n, seed, capped):
            if answer["state"] == "error":
                raise PlaygroundError(answer["message"])
        return {"run": run, **answers.generated(prompt, answer["samples"])}

    def change(self, run: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Change settings of a run while it trains, all or none, from its next update on.

        Args:
            run: The id of a run.
            settings: Those that the status lists as `can_change`: {"kl.coef": 0.5}.
        """
        answer = self._actions.change_settings({"run": run, "changes": settings})
        if answer["error"]:
            raise PlaygroundError(answer["error"])
        if problems := answer.get("problems"):
            raise InvalidConfig([Problem(problem["field"], problem["message"]) for problem in problems])
        return {"run": run, "changed": answer["edits"]}

    def stop(self, run: str) -> dict[str, Any]:
        """Ask a run to stop; its weights so far are kept. One that waits in the queue is taken out of it.

        Args:
            run: The id of a run.
        """
        self._actions.stop_run(run)
        return {"run": run, "state": history.find_run(self._outputs, run).status().state}

    async def _read(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, function)

    @contextlib.contextmanager
    def _following(self, caller: Caller) -> Iterator[bool]:
        """Whether one more may wait for a run, which it then does."""
        limiter, address = self._access.limiter, caller.visitor.address
        with limiter.holding(address, "followers") as own, limiter.holding("", "all followers") as all_together:
            yield own and all_together


@contextlib.contextmanager
def _viewing(channel: Channel) -> Iterator[None]:
    """While a program waits for what is new in a run, it is read on, as for a page."""
    channel.viewers += 1
    try:
        yield
    finally:
        channel.viewers -= 1
