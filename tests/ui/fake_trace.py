"""An update in slow motion that was never trained: two short episodes whose figures follow from each other.

What is made up are tokens, log-probs, values, scores and ratios (fake_trace.json); the rest the playground computes.
"""

import time

from playground.runs.folder import traces
from playground.runs.folder.records import TRACE, Event, to_json_line
from playground.runs.folder.traces import Trace
from playground.training.service import what_if
from tests.support import data_beside

MADE_UP = data_beside(__file__, "fake_trace.json")
PIECES = [episode["pieces"] for episode in MADE_UP["episodes"]]
CLIPPED = 4  # in the second epoch: 1.5 and 1.3 of the first text, which was good; 0.7 and 0.6 of the second


def trace(update=12, **settings):
    """Two epochs of one minibatch each."""
    batch, steps, shown = MADE_UP["batch"], MADE_UP["steps"], MADE_UP["episodes"]
    kept = {"drifts": batch["token_kl"], "log_ratios": steps[1]["log_ratios"], "last_steps": [1, 1]}
    data = {
        **MADE_UP,
        "update": update,
        "settings": {**MADE_UP["settings"], "max_new_tokens": 32, **settings},
        "batch": batch | kept,
        "texts": [{name: one[name] for name in ("row", "prompt", "pieces", "ended")} for one in shown],
    }
    if data["settings"]["baseline"] != "value":
        data["episodes"] = [{**episode, "values": [], "deltas": []} for episode in data["episodes"]]
    return what_if.recomputed(Trace.model_validate(data), {})


def write_trace(run, update=12, **settings):
    """Into a run that has ended, with the event that says so."""
    name = traces.write(run, trace(update, **settings))
    event = Event(seq=900 + update, time=time.time(), kind=TRACE, update=update, data={"file": name})
    with open(run.events_path, "a", encoding="utf-8") as file:
        file.write(to_json_line(event))
