"""A process that loads hostile folders as a worker does, and tells of everything that it opened, connected or started.

`python -m tests.security.load_hostile FOLDER...` prints one JSON object: for each folder the sentence, the seconds and
what an audit hook saw.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch

from playground.config import ModelReward
from playground.errors import PlaygroundError
from playground.models.weight_files import PICKLES
from playground.training.models import loading
from playground.training.rewards import score_models

SUSPECT = ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn")
SUSPECT += ("pickle.find_class",)


def main(folders: list[str]) -> None:
    seen: list[str] = []

    def hook(event: str, arguments: Any) -> None:
        if event in SUSPECT:
            seen.append(f"{event} {str(arguments)[:200]}")
        elif event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
            path = os.fsdecode(arguments[0])
            if path.endswith((*PICKLES, ".canary")) and not path.startswith(sys.prefix):
                seen.append(f"open {path}")
        elif event == "import" and arguments[0] in ("evil", "antigravity", "this"):
            seen.append(f"import {arguments[0]}")

    sys.addaudithook(hook)
    cpu, answers = torch.device("cpu"), {}
    for folder in folders:
        for kind in ("policy", "reward"):
            seen.clear()
            clock, sentence = time.process_time(), ""
            try:
                if kind == "policy":
                    loading.load(Path(folder), cpu)
                else:
                    score_models.load(ModelReward(source=folder), cpu)
            except PlaygroundError as error:
                sentence = str(error)
            seconds = time.process_time() - clock
            answers[f"{kind} {folder}"] = {"sentence": sentence, "seconds": seconds, "seen": list(seen)}
    print(json.dumps(answers))


if __name__ == "__main__":
    main(sys.argv[1:])
