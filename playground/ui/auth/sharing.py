"""Which addresses a page is reached by, and what the terminal says when it is up.

The terminal is the one place where the host's token is shown. Knows the machine's network addresses; `server` calls it.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from pathlib import Path

import psutil

from playground.runs import lifeline
from playground.ui.auth.middleware import ANYWHERE

LOCAL_HOST = "127.0.0.1"
OWN_LOOP = (LOCAL_HOST, "localhost", "::1")  # which nobody else reaches
SHARED = (
    "The public address leads here through a server of Gradio's, for a week at most. Who has it watches, as in a "
    "class; who has the token steers, so keep that to yourself."
)
NOT_SHARED = (
    "There is no public address: Gradio's server gave none, see above. The page runs as for a class all the same."
)


def listening_address(host: str | None, mode: str) -> str:
    """A host that was named. Without one: GRADIO_SERVER_NAME (set in the Docker image), or all addresses where only
    that works."""
    if host:
        return host
    if os.environ.get("GRADIO_SERVER_NAME"):
        return os.environ["GRADIO_SERVER_NAME"]
    if mode != "local" or os.environ.get("SPACE_ID"):
        return "0.0.0.0"
    return LOCAL_HOST


def addresses(listening: str, port: int, mode: str) -> list[str]:
    """The addresses to hand out, for a class; none on Spaces, where visitors have it already."""
    if mode != "classroom":
        return []
    if listening in OWN_LOOP:
        return []
    hosts = [listening]
    if ":" in listening:
        hosts = [f"[{listening}]"]
    if listening in ANYWHERE:
        hosts = machine_addresses()
    return [f"http://{host}:{port}/" for host in hosts]


def machine_addresses() -> list[str]:
    """The IPv4 addresses by which others may reach this machine, those of private networks first."""
    addresses = [
        item.address
        for items in psutil.net_if_addrs().values()
        for item in items
        if item.family == socket.AF_INET and not ipaddress.ip_address(item.address).is_loopback
    ]
    return sorted(set(addresses), key=lambda address: (not ipaddress.ip_address(address).is_private, address))


def greeting(url: str, share: list[str], mode: str, token: str, outputs: Path, tunnel: str | None = None) -> str:
    """What is printed once the page answers.

    Args:
        share: addresses for everyone. tunnel: the public one, if one was asked for; "" where there is none.
    """
    ends = "the page, not a training run"
    if lifeline.policy() == "die":
        ends = "the page and its training runs"
    end = f"Runs go to {outputs}. Ctrl+C ends {ends}."
    if mode != "classroom":
        return f"RLHF Playground is ready at {url} ({end[0].lower()}{end[1:-1]})"
    lines = [
        "RLHF Playground is ready for a class.",
        "  You, the host, open this here. It makes your browser the host's; do not show it to others:",
        f"    {url}host?token={token}",
    ]
    if share or tunnel is None:  # else nobody else can come
        lines += [
            f"  Open the class at your desk, {url}class/desk: it shows a code of four letters.",
            "  Everyone else opens this, and enters the code:",
            *(f"    {address}class" for address in share or [url]),
        ]
    if share and share[0] not in url and share[0].rstrip("/") != tunnel:
        lines.insert(3, f"    {share[0]}host?token={token}  (from another machine)")
    if tunnel:
        lines.append(f"  {SHARED}")
    elif tunnel is not None:
        lines.append(f"  {NOT_SHARED}")
    return "\n".join([*lines, f"  {end}"])
