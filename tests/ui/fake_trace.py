"""An update in slow motion that was never trained: two short episodes whose figures follow from each other.

What is made up are tokens, log-probs, values, scores and ratios; the rest the playground computes from them.
"""

import math
import time
from itertools import chain

from playground.runs.folder import traces
from playground.runs.folder.records import TRACE, Event, to_json_line
from playground.runs.folder.traces import Trace
from playground.training.service import what_if
from tests.support import data_beside

PIECES = [[" The", " film", " was", " <b>lovely</b>", ".", "<eos>"], [" It", " was", " dull", "<eos>"]]
SCORES = [2.0, -1.0]
RATIOS = [[[1.0] * 6, [1.05, 0.97, 1.5, 1.3, 1.0, 0.5]], [[1.0] * 4, [0.9, 0.7, 0.6, 1.1]]]
CLIPPED = 4  # in the second epoch: 1.5 and 1.3 of the first text, which was good; 0.7 and 0.6 of the second


MADE_UP = data_beside(__file__, "fake_trace.json")
COMPUTED = ("leash", "rewards", "deltas", "advantages", "whitened", "returns")


def trace(update=12, kl_coef=0.25, **settings):
    """Two epochs of one minibatch each."""
    token_kl = [[0.1 * place - 0.1 for place in range(len(row))] for row in PIECES]
    values = [[0.2 * place for place in range(len(row))] for row in PIECES]
    batch = {"episodes": 2, "tokens": 10, "mean": 0.0, "sd": 1.0, "scores": SCORES, "whitened": [0.0] * 10}
    batch |= {"lengths": list(map(len, PIECES)), "token_kl": [*chain(*token_kl)], "values": [*chain(*values)]}
    ratios = [[math.log(ratio) for row in RATIOS for ratio in row[epoch]] for epoch in range(2)]
    steps = [{**MADE_UP["step"], "epoch": epoch + 1, "log_ratios": ratios[epoch]} for epoch in range(2)]
    known = {**MADE_UP["settings"], "kl_coef": kl_coef, **settings}
    episodes = [_episode(row, token_kl, values) for row in (0, 1)]
    if known["baseline"] != "value":
        episodes = [{**item, "values": [], "deltas": []} for item in episodes]
    data = {"update": update, "settings": known, "steps": steps, "episodes": episodes, "batch": batch}
    raw = Trace.model_validate(data)
    full = what_if.recomputed(raw, {})
    clipped = [sum(sum(item.passes[epoch].clipped) for item in full.episodes) for epoch in range(2)]
    counted = [{"clipped": count, "clip_fraction": count / 10} for count in clipped]
    counted_steps = [step.model_copy(update=one) for step, one in zip(full.steps, counted, strict=True)]
    return full.model_copy(update={"steps": counted_steps})


def _episode(row, token_kl, values):
    pieces, nothing, prompt = PIECES[row], [0.0] * len(PIECES[row]), "Review: <i>film</i>"
    reference = [-2.0 - place for place in range(len(pieces))]
    texts = {"why": ["the highest score", "the lowest score"][row], "prompt": prompt, "pieces": pieces}
    figures = {"score": SCORES[row], "raw_score": 2 * SCORES[row], "token_kl": token_kl[row], "values": values[row]}
    log_probs = [kl + other for kl, other in zip(token_kl[row], reference, strict=True)]
    one = {"clipped": [False] * len(pieces), "policy_losses": nothing, "value_losses": nothing}
    one |= {"values": [number + 0.1 for number in values[row]]}
    return {
        **{"row": row, "ended": True, "prompt_pieces": ["<bos>", prompt], "log_probs": log_probs},
        **texts,
        **figures,
        **{"reference_log_probs": reference, "entropies": [1.5] * len(pieces)},
        **dict.fromkeys(COMPUTED, [0.1] * len(pieces)),
        "passes": [{**one, "step": step, "ratios": ratios} for step, ratios in enumerate(RATIOS[row])],
    }


def write_trace(run, update=12, **settings):
    """Into a run that has ended, with the event that says so."""
    made = trace(update, **settings)
    name = traces.write(run, made)
    event = Event(seq=900 + update, time=time.time(), kind=TRACE, update=update, data={"file": name})
    with open(run.events_path, "a", encoding="utf-8") as file:
        file.write(to_json_line(event))
    return made
