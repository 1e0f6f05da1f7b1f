"""Tokens and passwords: a process gets the variables that it needs and no others, for no list of secrets' names is
complete; and as an error can still quote a token, texts that leave a process go through `redact`."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

HUB_TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH")
NO_IMPLICIT_TOKEN = "HF_HUB_DISABLE_IMPLICIT_TOKEN"  # the hub's library then leaves its own login alone
_SECRET_NAME = re.compile(
    r"(^|_)(TOKEN|SECRET|SECRETS|PASS|PASSWD|PASSPHRASE|CREDENTIALS?|DSN)(_|$)|PASSWORD|KEY(_|$)|(DATABASE|DB|REDIS)_URL"
    r"|^(AWS_|WANDB_|GITHUB_TOKEN|HUGGING_FACE_HUB_TOKEN|HF_TOKEN)",
    re.IGNORECASE,
)
# What Python, PyTorch, its libraries and the system's own look at, and what this project hands down.
_NEEDED_NAME = re.compile(
    "PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|TZ|TMPDIR|TEMP|TMP|VIRTUAL_ENV|CONDA_PREFIX|CC|CXX|LD_PRELOAD|HUGGINGFACE_HUB_CACHE"
    "|(LD|DYLD)_LIBRARY_PATH"
    "|(PLAYGROUND|LC|XDG|MALLOC|OMP|GOMP|KMP|MKL|OPENBLAS|BLIS|NUMEXPR|VECLIB|ATEN|TORCHINDUCTOR|PYTORCH|CUDA|CUBLAS|NVIDIA"
    "|NCCL|GLOO|TORCHELASTIC|RAY|SLURM|SBATCH|HIP|ROCR|HSA|TRITON|BNB|TRL|ACCELERATE|TRANSFORMERS|TOKENIZERS|SAFETENSORS|ARROW|HF)_.+"
    "|(PYTHON|TORCH|CUDNN).*"
)
# For a process that downloads: ways out, and whom to believe there.
_HUB_NAME = re.compile("(https?|all|no)_proxy|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE", re.IGNORECASE)
# what a terminal obeys (line ends and tabs apart), turns the direction of writing, or cannot be written at all
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
LINE_CHARACTERS = 2000  # of a line for a terminal
LINES = 400  # of one thing that is printed; a traceback has fewer
CUT = " [cut]"
_FOLDERS = re.compile(r"(?<![\w/.~])/(?:[\w.~@+-]+/)+")  # of an absolute path
LEAST_CHARACTERS = 8  # of a value that is taken for a secret; shorter ones would blank out ordinary words
HIDDEN = "[hidden]"
_HEADERS = r"(authorization|proxy-authorization|x-api-key|cookie|set-cookie)(['\"]?\s*[:=]\s*['\"]?)"
_PARAMETERS = r"(?:access_|auth_|api_)?(?:token|key|secret|password|signature|sig|x-amz-[a-z-]+)"
_PATTERNS = [  # what looks like a secret, and what stands in its place
    (re.compile(pattern), instead)
    for pattern, instead in (
        (rf"(?i)\b{_HEADERS}[^\r\n'\"]+", rf"\1\2{HIDDEN}"),
        (r"(?i)\bbearer\s+[\w.~+/=-]{8,}", f"Bearer {HIDDEN}"),
        (r"\b(?:hf_|api_org_|hf_oauth_|github_pat_|gh[pousr]_|sk-|xox[abprs]-)[A-Za-z0-9_-]{10,}", HIDDEN),
        (r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", HIDDEN),
        (r"(?i)([a-z][a-z0-9+.-]{0,20}://)[^/\s:@'\"]*:[^/\s@'\"]+@", rf"\1{HIDDEN}@"),
        (rf"(?i)([?&;]{_PARAMETERS}=)[^&\s'\"]+", rf"\1{HIDDEN}"),
    )
]


def is_secret(name: str) -> bool:
    """True for names of environment variables that hold tokens, keys and passwords."""
    return name != NO_IMPLICIT_TOKEN and _SECRET_NAME.search(name) is not None


def needed_variables(environment: Mapping[str, str], *, hub: bool = False) -> dict[str, str]:
    """The environment for a process of ours, without what it has no use for. `hub`: it downloads, and so gets the hub's
    token; without it, not even the login that the hub's library keeps in a file is used."""

    def is_needed(name: str) -> bool:
        if hub and (name in HUB_TOKENS or _HUB_NAME.fullmatch(name)):
            return True
        return _NEEDED_NAME.fullmatch(name) is not None and not is_secret(name)

    needed = {name: value for name, value in environment.items() if is_needed(name)}
    return needed if hub else {**needed, NO_IMPLICIT_TOKEN: "1"}


def redact(text: str) -> str:
    """The text without the secrets of this process, and without what looks like one."""
    for value in _values():
        text = text.replace(value, HIDDEN)
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    return text


def without_folders(text: str) -> str:
    """The text with each path of this machine as its last part."""
    return _FOLDERS.sub("", text)


def cover_streams() -> None:
    """From now on, what this process prints is redacted, line by line. As libraries print what strangers send, no line
    is endless, and none holds what a terminal takes for a command."""
    print_anything()
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, _Covered):
            setattr(sys, name, _Covered(stream))


def print_anything() -> None:
    """From now on, what a terminal or a log has no letter for is written as its code, in the place of an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


class _Covered:
    """A text stream that redacts whole lines before it passes them on; the rest of a line waits for its end."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream, self._begun = stream, ""

    def write(self, text: str) -> int:
        *whole, self._begun = (self._begun + text).split("\n")
        if whole:
            self._stream.write(_safe(whole) + "\n")
        self._begun = self._begun[: 2 * LINE_CHARACTERS]
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        self._pass_on()
        self._stream.flush()

    def isatty(self) -> bool:
        """Never: libraries would colour what they print with control characters."""
        return False

    def _pass_on(self) -> None:
        line_begun, self._begun = self._begun, ""
        if line_begun:
            self._stream.write(_safe([line_begun]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _safe(lines: list[str]) -> str:
    """Lines for a terminal, cut after they are redacted, so that no secret is cut in two, and before, to be quick."""
    if len(lines) > LINES:
        lines = [*lines[: LINES // 2], CUT, *lines[-LINES // 2 :]]
    text = redact("\n".join(line[: 2 * LINE_CHARACTERS] for line in lines))
    cut = (line if len(line) <= LINE_CHARACTERS else line[:LINE_CHARACTERS] + CUT for line in text.split("\n"))
    return _CONTROL.sub(" ", "\n".join(cut))


def _values() -> list[str]:
    """The secrets that this process knows, the longest first."""
    secrets = {value for name, value in os.environ.items() if is_secret(name) and len(value) >= LEAST_CHARACTERS}
    home = os.environ.get("HF_HOME") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "huggingface"
    )
    path = Path(os.environ.get("HF_TOKEN_PATH") or os.path.join(home, "token"))
    secrets.discard(str(path))
    try:
        if path.stat().st_size < 1000:
            token = path.read_text(encoding="utf-8").strip()
            secrets |= {token} if len(token) >= LEAST_CHARACTERS else set()
    except (OSError, ValueError):
        pass
    return sorted(secrets, key=len, reverse=True)
