"""How far the owner of a public page raises its caps, for themselves or for everybody: PLAYGROUND_SPACE_CAPS.

By itself a public page is made for a machine that computes for strangers (`limits`): pocket models, for the owner too.
A Space with a GPU can do more, so its owner may say `host`: whoever has the host's token may train what fits on the
device, from the hub; or `all`: visitors too may use the GPU, with the suggested models only, so that the disk can fill
no further than these, and within the numbers and minutes of a public page. Files of the machine, Python and patterns
stay forbidden. Knows the environment; `ui.door.access` asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from playground.errors import InvalidConfig, Problem
from playground.setup.limits import LIMITS, Limits

VARIABLE = "PLAYGROUND_SPACE_CAPS"
CHOICES = {
    "pocket": "the pocket models, for everybody",
    "host": "what fits on the device, for the host",
    "all": "what fits on the device, for the host; the suggested models that fit, for visitors",
}


class PageLimits(NamedTuple):
    """What visitors of a page may do, and what its host."""

    visitors: Limits
    host: Limits


SPACE = LIMITS["space"]
FOR_HOST = LIMITS["classroom"]._replace(
    mode="space", where="on this Space", pocket_only=True, more="hub", must_fit=True,
    refused_rewards=SPACE.refused_rewards,
)  # fmt: skip
FOR_VISITORS = SPACE._replace(more="suggested", must_fit=True, devices=None, parameters=None)


def of_page(mode: str, environment: Mapping[str, str], has_host: bool) -> PageLimits:
    """The limits of a page in a mode.

    Args:
        has_host: whether there is a token that makes somebody the host.

    Raises:
        InvalidConfig: a word that is none of `CHOICES`; caps for a host where nobody can be it.
    """
    chosen = environment.get(VARIABLE) or "pocket"
    if chosen not in CHOICES:
        raise InvalidConfig([Problem(VARIABLE, f"must be one of {', '.join(CHOICES)} (got {chosen[:40]!r}).")])
    if mode != "space" or chosen == "pocket":
        return PageLimits(LIMITS[mode], LIMITS[mode])
    if chosen == "host" and not has_host:
        sentence = "is `host`, and nobody can be the host: set the secret PLAYGROUND_HOST_TOKEN too."
        raise InvalidConfig([Problem(VARIABLE, sentence)])
    return PageLimits(FOR_VISITORS if chosen == "all" else SPACE, FOR_HOST)
