"""What the tests of the shipped models share."""

import json

from playground.setup.catalog import POCKET_MODELS


def card_of(name):
    return json.loads((POCKET_MODELS / name / "card.json").read_text(encoding="utf-8"))
