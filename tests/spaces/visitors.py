"""A visitor who opens a page that runs elsewhere: waits until it answers, presses Start, follows the run to its end."""

from __future__ import annotations

import contextlib
import secrets
from typing import Any

import httpx

from playground.ui.auth import visitors
from tests.security import pages
from tests.support import wait_until

SIZES = dict.fromkeys(["ppo__batch_size", "ppo__minibatch_size", "ppo__micro_batch_size"], 4)
PASSES = {"ppo__num_updates": 1, "ppo__num_epochs": 1, "evaluation__num_prompts": 2, "prompts__limit": 8}
SMALL = {"model__source": "pocket-1m", **SIZES, **PASSES}


def opened(url: str, alive: Any, seconds: float = 120) -> httpx.Client:
    """A visitor with a cookie of their own, and a browser that says where it comes from, once the page answers.

    Args:
        alive: says whether the page's process is still there; asked while it does not answer.
    """
    cookies, page = {visitors.VISITOR_COOKIE: secrets.token_urlsafe(24)}, {"Origin": url.rstrip("/")}
    once = httpx.Limits(max_keepalive_connections=0)  # the server closes those that are idle, while one is sent again
    client = httpx.Client(base_url=url, timeout=60, cookies=cookies, headers=page, limits=once)

    def answers() -> bool:
        assert alive(), "the page has ended"
        with contextlib.suppress(httpx.TransportError):
            return client.get("live/_home").status_code == 200
        return False

    wait_until(answers, seconds)
    return client


def start(client: httpx.Client, **changes: Any) -> tuple[str | None, list[dict[str, str]]]:
    """Press Start with a small run: its name, and the problems that the page has with it."""
    config = client.get("config").json()
    (button,) = [part["id"] for part in config["components"] if part["props"].get("elem_id") == "start"]
    (handler,) = [item["id"] for item in config["dependencies"] if [button, "click"] in item["targets"]]
    message = pages.call(client, handler, pages.form_values(**{**SMALL, **changes}))
    view, notes, _ = message["output"]["data"]
    return (view.get("run") if "__type__" not in view else None), notes["problems"]


def states(client: httpx.Client) -> dict[str, str]:
    """The state of every run, as the page lists them."""
    return {run["id"]: run["state"] for run in client.get("live/_runs").json()["runs"]}


def finished(client: httpx.Client, run: str, seconds: float = 240) -> str:
    """The state in which the run ends."""
    return wait_until(
        lambda: (state := states(client).get(run, "")) in ("finished", "failed", "interrupted", "stopped") and state,
        seconds,
    )
