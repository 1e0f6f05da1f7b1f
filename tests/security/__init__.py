"""Tests of what strangers try. Long lists of what they send are data."""

from pathlib import Path

from tests.support import data_beside

DATA = Path(__file__).with_name("data")


def table(name):
    """One of these lists. What stands there as [text, times] is that text so many times, in a list of pieces of one."""
    return spelled(data_beside(__file__, f"data/{name}.yaml"))


def spelled(value):
    if isinstance(value, dict) and value.keys() == {"pieces"}:
        return "".join(piece if isinstance(piece, str) else piece[0] * piece[1] for piece in value["pieces"])
    if isinstance(value, dict):
        return {name: spelled(entry) for name, entry in value.items()}
    return [spelled(entry) for entry in value] if isinstance(value, list) else value
