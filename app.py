"""The web app: `python app.py`, or what a Hugging Face Space runs. Arguments -> `playground.ui.server.serve`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from playground import missing

try:
    from playground.errors import PlaygroundError
    from playground.runs import lifeline
except ModuleNotFoundError as error:
    sys.exit(missing(error))


def main() -> int:
    """Parse arguments and serve; 2 for anything the person can mend."""
    parser = argparse.ArgumentParser(
        description="RLHF Playground: train a small language model with PPO and watch it change."
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=7860)
    parser.add_argument(
        "--outputs",
        type=Path,
        default=Path(os.environ.get("PLAYGROUND_OUTPUTS") or "outputs"),
        help="folder for runs (default: outputs, or what PLAYGROUND_OUTPUTS says)",
    )
    parser.add_argument("--mode", help="local, classroom or space (default: local, and space on Hugging Face Spaces)")
    parser.add_argument("--mcp", action="store_true", help="let agents use it too, through MCP (docs/api.md)")
    parser.add_argument(
        "--on-server-death",
        choices=lifeline.POLICIES,
        help=f"whether runs go on when this server ends (default: survive, or what {lifeline.POLICY_VARIABLE} says)",
    )
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until `serve` takes it: Ctrl-C leaves without a traceback
    try:
        from playground.ui.server import serve  # after --help: importing gradio takes seconds
    except ModuleNotFoundError as error:
        sys.exit(missing(error))
    try:
        lifeline.choose(arguments.on_server_death or lifeline.policy())
        serve(arguments.host, arguments.port, arguments.outputs, arguments.mode, arguments.mcp)
    except PlaygroundError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
