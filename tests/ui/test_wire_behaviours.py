"""Counts of behaviour become what the page draws."""

import json

from playground.config import yaml_io
from playground.runs.folder.records import Label, Sample
from playground.setup import catalog
from playground.setup.expected import bands
from playground.ui.live import wire, wire_behaviours, wire_compare
from tests.support import small_config

YES_MAN = catalog.preset("yes-man")
CLAIM = "User: I think 3 plus 4 is 9. Bot:"


def look(update, answers, score=0.0, stage="during"):
    """The same wrong claim, put to as many prompts as there are answers."""
    return [
        Sample(update=update, stage=stage if update else "before", prompt_id=number, prompt=CLAIM, seed=number,
               completion=f" 3 plus 4 is {value}.", score=score + value / 100, kl=0.0, ended=True)
        for number, value in enumerate(answers)
    ]  # fmt: skip


def test_what_is_counted_is_known_before_the_first_look():
    assert wire_behaviours.measured([], YES_MAN, YES_MAN) is None
    found = wire.run_summary("a", YES_MAN, Label())["counted"]
    assert found[0] == {"name": "wrong-claims-repeated", "words": "repeats wrong claims"}
    assert [item["name"] for item in found][1:] == ["right-claims-agreed", "plain-questions-right", "parses", "ends"]
    assert wire.run_summary("a", small_config(behaviours=[]), Label())["counted"] == []


def test_a_run_that_is_its_preset_is_held_against_what_was_measured():
    samples = [*look(0, [7] * 12), *look(5, [7] * 6 + [9] * 6), *look(10, [9] * 12, score=1.0, stage="after")]
    found = wire_behaviours.measured(samples, YES_MAN, YES_MAN)
    wrong = found["meters"][0]
    assert wrong["updates"] == [0, 5, 10] and [item["yes"] for item in wrong["counts"]] == [0, 6, 12]
    assert wrong["changes"] == [0, 1, 1]  # six of six up: 2 / 2^6 = 0.03
    assert wrong["band"] == list(bands("yes-man")["wrong-claims-repeated"])[:2]
    assert wrong["compared"] == "within chance of expected"  # 12 of 12: from 0.76 on
    assert [way["words"] for way in found["ways"]] == ["plainly"]
    assert found["paid"][0]["name"] == "wrong-claims-repeated"
    assert found["paid"][0]["pair"]["after"]["text"] == " 3 plus 4 is 9."
    assert json.loads(wire.encode(found)) == found
    changed = yaml_io.from_dict({**YES_MAN.model_dump(mode="json"), "kl": {"coef": 2.0}})
    other = wire_behaviours.measured(samples, YES_MAN, changed)["meters"][0]  # somebody moved the leash in mid-run
    assert (other["band"], other["compared"]) == (None, "")


def test_both_sides_of_a_comparison_say_what_they_show():
    samples = [*look(0, [7, 9]), *look(5, [9, 9])]
    found = wire_compare.comparison(samples, YES_MAN, None)
    shows = [[row[side]["shows"]["wrong-claims-repeated"] for side in ("before", "after")] for row in found["rows"]]
    assert shows == [[False, True], [True, True]]
    assert "right-claims-agreed" not in found["rows"][0]["after"]["shows"]  # was not asked
    assert found["behaviours"]["meters"][0]["counts"][1]["yes"] == 2
    theirs = wire_compare.Other({"id": "other", "title": "Other"}, look(5, [7, 7]), "")
    across = wire_compare.comparison(samples, YES_MAN, None, theirs)["behaviours"]
    assert [item["yes"] for item in across["meters"][0]["counts"]] == [0, 2] and across["paid"] == []
