"""The web app: `python app.py`, or what a Hugging Face Space runs. Arguments -> `playground.ui.server.serve`.

`from app import demo` is the page as a `gr.Blocks`, for `demo.launch()` and `demo.mount(app, path)` (docs/serving.md).
"""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import signal
import sys
from pathlib import Path
from typing import Any

from playground import missing, uncollected

try:
    from playground.errors import PlaygroundError
    from playground.runs import lifeline
except ModuleNotFoundError as error:
    sys.exit(missing(error))


DEFAULT_OUTPUTS = Path(os.environ.get("PLAYGROUND_OUTPUTS") or "outputs")


def __getattr__(name: str) -> Any:
    """`demo`, made when it is asked for: importing gradio takes seconds."""
    if name != "demo":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with uncollected():
        from playground.ui.server import new_demo

    globals()[name] = new_demo(DEFAULT_OUTPUTS, os.environ.get("PLAYGROUND_MODE") or None)
    return globals()[name]


def main() -> int:
    """Parse arguments and serve; 2 for anything the person can mend."""
    parser = argparse.ArgumentParser(
        description="RLHF Playground: train a small language model with PPO and watch it change."
    )
    parser.add_argument("--host", help="address to listen on (default: 127.0.0.1, this machine only; all in a class)")
    parser.add_argument("--port", type=int, default=7860)
    parser.add_argument(
        "--outputs",
        type=Path,
        default=DEFAULT_OUTPUTS,
        help="folder for runs (default: outputs, or what PLAYGROUND_OUTPUTS says)",
    )
    parser.add_argument("--mode", help="local, classroom or space (default: local, and space on Hugging Face Spaces)")
    parser.add_argument(
        "--share", action="store_true", help="make a public address through Gradio's servers: who has it can watch"
    )
    parser.add_argument("--mcp", action="store_true", help="let agents use it too, through MCP (docs/api.md)")
    parser.add_argument(
        "--lessons", type=Path, help="folder of your own lessons (default: what PLAYGROUND_LESSONS says)", metavar="DIR"
    )
    parser.add_argument(
        "--on-server-death",
        choices=lifeline.POLICIES,
        help=f"whether runs go on when this server ends (default: survive, or what {lifeline.POLICY_VARIABLE} says)",
    )
    arguments = parser.parse_args()
    if arguments.lessons:
        os.environ["PLAYGROUND_LESSONS"] = str(arguments.lessons)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until `serve` takes it: Ctrl-C leaves without a traceback
    try:
        with uncollected():
            from playground.ui.server import serve  # after --help: importing gradio takes seconds

        lifeline.choose(arguments.on_server_death or lifeline.policy())
        serve(arguments.host, arguments.port, arguments.outputs, arguments.mode, arguments.share, arguments.mcp)
    except ModuleNotFoundError as error:
        sys.exit(missing(error))
    except PlaygroundError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(error.strerror or error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    atexit.register(gc.freeze)  # see playground/__main__.py
    sys.exit(main())
