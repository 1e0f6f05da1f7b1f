"""What a ZeroGPU Space has around it, in small: the hub's address for GPUs, and the GPU that is not here.

The address answers as `spaces.zero.api` expects it and writes down what it was asked. The device is what the package
does with CUDA in a fork: to be initialised, and to be given the weights; without one, nothing. All else of the package
is its own.
"""

from __future__ import annotations

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

REFUSED = "no-gpu"  # a file beside the list of calls: while it is there, every quota is used up


class Api:
    """Serves on a port of its own. `asked` gets one line of JSON for each request."""

    def __init__(self, asked: Path) -> None:
        tokens: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                parts = urlsplit(self.path)
                call = {"what": parts.path.strip("/"), **dict(parse_qsl(parts.query))}
                with open(asked, "a", encoding="utf-8") as file:
                    file.write(json.dumps(call) + "\n")
                if call["what"] != "schedule":
                    self._answer(200, {})
                elif asked.with_name(REFUSED).exists():
                    self._answer(429, {"left": 0, "wait": 3600})
                else:
                    tokens.append(f"token-{len(tokens)}")
                    device = {"idle": True, "nvidiaIndex": 0, "nvidiaUUID": "GPU-none", "allowToken": tokens[-1]}
                    self._answer(200, device)

            def _answer(self, status: int, answer: dict[str, object]) -> None:
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Its lines are in `asked`."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._server.server_port}"


def nothing(*_: object) -> None:
    """In the place of what only a build for CUDA has."""


def be_a_zerogpu_space(asked: Path) -> None:
    """Make this process what the hub starts on ZeroGPU, before `spaces` is imported in it, and give it the device."""
    os.environ.update(SPACE_ID="owner/space", SPACES_ZERO_GPU="true", CUDA_VISIBLE_DEVICES="")
    os.environ["SPACES_ZERO_DEVICE_API_URL"] = Api(asked).url
    import torch

    if torch.version.cuda is None:  # a CPU build has no part of what `spaces` puts its own in the place of
        torch.version.cuda = "13.0"
        torch._C._cuda_init = nothing
        torch.cuda._is_in_bad_fork = nothing
    import gradio  # noqa: F401 - which `spaces` wants to be whole
    import spaces.zero.torch

    spaces.zero.torch.init = nothing
    spaces.zero.torch.move = lambda callback=None: None
