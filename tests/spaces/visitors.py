"""A visitor who opens a page that runs elsewhere: waits until it answers, presses Start, follows the run to its end."""

import contextlib
import secrets

import httpx

from playground.ui.auth import visitors
from tests.security import pages
from tests.support import wait_until

SIZES = dict.fromkeys(["ppo__batch_size", "ppo__minibatch_size", "ppo__micro_batch_size"], 4)
PASSES = {"ppo__num_updates": 1, "ppo__num_epochs": 1, "evaluation__num_prompts": 2, "prompts__limit": 8}
SMALL = {"model__source": "pocket-1m", **SIZES, **PASSES}


def opened(url, alive):
    """A visitor with a cookie of their own, and a browser that says where it comes from, once the page answers.
    `alive` says whether the page's process is still there."""
    cookies, page = {visitors.VISITOR_COOKIE: secrets.token_urlsafe(24)}, {"Origin": url.rstrip("/")}
    once = httpx.Limits(max_keepalive_connections=0)  # the server closes those that are idle, while one is sent again
    client = httpx.Client(base_url=url, timeout=300, cookies=cookies, headers=page, limits=once)

    def answers():
        assert alive(), "the page has ended"
        with contextlib.suppress(httpx.TransportError):
            return client.get("live/_home").status_code == 200
        return False

    wait_until(answers, 300)
    return client


def start(client, **changes):
    """Press Start with a small run: its name, and the problems that the page has with it."""
    config = client.get("config").json()
    (button,) = [part["id"] for part in config["components"] if part["props"].get("elem_id") == "start"]
    (handler,) = [item["id"] for item in config["dependencies"] if [button, "click"] in item["targets"]]
    return pages.started(pages.call(client, handler, pages.form_values(**{**SMALL, **changes})))
