"""Texts that want to be markup, a template, a link, a command of a terminal or a formula; and a folder full of them.

What runs sets `window.hacked`; a template that is filled in shows 8461 = 91 * 93 - 2.
"""

import json

from playground.config.yaml_io import from_dict
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Sample
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog
from tests.reward_tools import card_of, finished
from tests.security import DATA
from tests.ui import fake_run

RUN = "window.hacked=1"
SHOWN = "8461"
PAYLOADS = [text.replace("RUN", RUN) for text in json.loads((DATA / "payloads.json").read_text(encoding="utf-8"))]
SHORT = [text for text in PAYLOADS if len(text) <= 60 and text.isprintable()]


def write(outputs):
    """Runs whose every text is a payload; returns their ids. One has finished, one failed, one keeps a long log."""
    names = []
    for number, state in enumerate(("finished", "failed", "stopped")):
        config = configuration(number)
        run = RunDirectory.create(outputs, config, f"payloads-{number}")
        run.log_path.write_text("\n".join(PAYLOADS), encoding="utf-8")
        writer = RunWriter(run, config.ppo.num_updates)
        writer.set_status(state="running")
        for update in (0, 1, 2, 3):
            writer.samples(samples(update))
            if update:
                metrics = fake_run.metrics(update, config, float(update))
                terms = {SHORT[0]: 1.0, SHORT[1]: 2.0}
                writer.metrics(metrics.model_copy(update={"terms": terms, "contributions": terms}))
        for text in PAYLOADS:
            writer.event("warning", text, evidence=text)
        writer.event("edit", PAYLOADS[2], field="kl.coef", old=PAYLOADS[0], value=0.5)
        writer.set_status(update=3, phase=PAYLOADS[1])
        writer.finish(state, "bug" if state == "failed" else "", " ".join(PAYLOADS[:20]))
        names.append(run.id)
    training = finished(outputs, "judge", base=SHORT[0])
    card = card_of(training.config()) | {"base": SHORT[1], "template": SHORT[2]}
    card["pairs"] = {"source": SHORT[3], "kept": 300, "in_words": " ".join(PAYLOADS[:12])}
    training.card_path.write_text(json.dumps(card), encoding="utf-8")
    return names


def configuration(number):
    """Every text that a configuration has is a payload."""
    base = catalog.preset(catalog.DEFAULT_PRESET).model_dump(mode="json")
    base |= {
        "name": SHORT[number],
        "about": {
            "title": SHORT[number + 3],
            "story": " ".join(SHORT[:6])[:300],
            "expect": " ".join(SHORT[6:12])[:500],
        },
        "prompts": {**base["prompts"], "source": "typed", "typed": [text for text in PAYLOADS if text.strip()]},
        "rewards": [{"kind": "keyword", "words": SHORT[:5]}, {"kind": "model", "source": "judge"}],
        "judges": [{"kind": "keyword", "words": SHORT[5:9]}],
        "ppo": {**base["ppo"], "num_updates": 3},
    }
    return from_dict(base)


def samples(update):
    """The fixed prompts: each payload as a prompt and as a completion, and for names of rewards and judges."""
    stage = "before" if update == 0 else "after" if update == 3 else "during"
    known = {"update": update, "stage": stage, "seed": 0, "score": 0.5 + update, "kl": 0.1 * update, "tokens": 5}
    known |= {"scores": {SHORT[0]: 1.0, SHORT[1]: 0.5}, "judges": {SHORT[2]: 1.0}, "ended": True}
    return [
        Sample.model_validate({**known, "prompt_id": number, "prompt": text, "completion": f"{text} {update}"})
        for number, text in enumerate(PAYLOADS)
    ]
