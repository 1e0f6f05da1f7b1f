"""The page's own routes, asked without a server, and what strangers ask in vain."""

import contextlib
from pathlib import Path

import yaml
from starlette.applications import Starlette
from starlette.testclient import TestClient

from playground.ui import routes

REFUSED = Path(__file__).with_name("refused.yaml").read_text(encoding="utf-8").replace("LONG", "1" * 5000)


def refused(kind):
    return yaml.safe_load(REFUSED)[kind]


@contextlib.contextmanager
def client_of(hub, *arguments, **options):
    """A client of a hub, which is closed afterwards. `arguments` and `options` are those of `routes.routes`."""
    with TestClient(Starlette(routes=routes.routes(hub, *arguments, **options))) as client:
        yield client
        client.portal.call(hub.close)
