"""The page's own routes, asked without a server, and what strangers ask in vain."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from starlette.applications import Starlette
from starlette.testclient import TestClient

from playground.ui import routes
from playground.ui.feed.feed import Hub

REFUSED = Path(__file__).with_name("refused.yaml").read_text(encoding="utf-8").replace("LONG", "1" * 5000)


def refused(kind: str) -> list[Any]:
    """Cases of refused.yaml."""
    return yaml.safe_load(REFUSED)[kind]


@contextlib.contextmanager
def client_of(hub: Hub, *arguments: Any, **options: Any) -> Iterator[TestClient]:
    """A client of a hub, which is closed afterwards. `arguments` and `options` are those of `routes.routes`."""
    with TestClient(Starlette(routes=routes.routes(hub, *arguments, **options))) as client:
        yield client
        client.portal.call(hub.close)
