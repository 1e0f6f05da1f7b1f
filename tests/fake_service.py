"""A model service by script, for tests: `python -m tests.fake_service`.

Speaks the protocol of playground.runs.model_service. The prompt says what it does: count, error, crash, slow, silent,
noise, or `gate PATH` (one sample, then nothing until PATH exists).
"""

import json
import os
import signal
import sys
from pathlib import Path

from tests.fake_worker import wait_for


def say(**message):
    print(json.dumps(message), flush=True)


def completion(question, index):
    return {
        "side": "policy",
        "index": index,
        "completion": f"{question['prompt']} {index} seed {question['seed']} pid {os.getpid()}",
        "score": 0.5,
        "scores": {"length": 3.0},
        "kl": 1.5,
        "tokens": 3,
        "ended": True,
    }


def main():
    for line in sys.stdin:
        question = json.loads(line)
        if question["kind"] == "stop":
            continue
        order, _, argument = question["prompt"].partition(" ")
        if order == "error":
            say(id=question["id"], event="error", message="The prompt is longer than the context.")
            continue
        if order == "crash":
            os._exit(1)
        if order == "slow":
            os.kill(os.getpid(), signal.SIGALRM)
        if order == "silent":
            continue
        if order == "noise":
            print("a library talks\n[1, 2]\n7", flush=True)
            say(id=-1, event="answer", answer=completion(question, 99))
        for index in range(question["num_samples"]):
            say(id=question["id"], event="answer", answer=completion(question, index))
            if order == "gate":
                wait_for(Path(argument).exists)
        say(id=question["id"], event="done")


if __name__ == "__main__":
    main()
