"""The hub in small, for `huggingface_hub` itself to talk to: accounts, Spaces, commits, and what it refuses.

What it knows are the facts of docs/spaces.md. Files come as the library sends them: text in the commit, the rest
through LFS (with HF_HUB_DISABLE_XET, for Xet is another protocol to another server).
"""

from __future__ import annotations

import base64
import codecs
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from bench import space as made

TOKEN = "hf_of_the_tests"
PYTHONS = ("3.10.13", "3.12.12")
TORCH = ((2, 8), (2, 11))
PLATFORM = {"gradio", "spaces", "huggingface_hub", "huggingface-hub"}
COLOURS = ("red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray")
ZERO_SPACES = {"free": 2, "pro": 10}


class Refused(Exception):
    """An answer other than 200: status, sentence, and where what is there already is."""

    def __init__(self, status: int, sentence: str, url: str = "") -> None:
        super().__init__(sentence)
        self.status, self.url = status, url


@dataclass
class Space:
    """One repository."""

    sdk: str
    hardware: str
    files: dict[str, bytes] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    commits: int = 0


class Post(NamedTuple):
    """A file of a commit, and whether its bytes came through LFS."""

    data: bytes
    stored_apart: bool


class Hub:
    """Serves on a port of its own. `account`: free or pro, of the user `me`."""

    def __init__(self, account: str = "free") -> None:
        self.account, self.spaces, self.objects = account, dict[str, Space](), dict[str, bytes]()
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def _answered(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                data = self.rfile.read(length)
                try:
                    status, answer = 200, hub.answer(self.command, self.path.partition("?")[0], data, self.headers)
                except Refused as error:
                    status = error.status
                    answer = {"error": str(error), "errors": [{"message": str(error)}], "url": error.url}
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                if status == 404:
                    self.send_header("X-Error-Code", "RepoNotFound")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = _answered

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, path: str, data: bytes, headers: Any) -> Any:
        """One request. Raises: Refused."""
        if path.startswith("/lfs/"):  # signed addresses, without a token
            self.objects[path.removeprefix("/lfs/")] = data
            return {}
        if headers.get("Authorization") != f"Bearer {TOKEN}":
            raise Refused(401, "Invalid username or password.")
        sent = json.loads(data) if data and "ndjson" not in headers.get("Content-Type", "") else {}
        if path == "/api/whoami-v2":
            return {"name": "me", "type": "user", "isPro": self.account == "pro"}
        if path == "/api/validate-yaml":
            return self._validated(sent["content"])
        if path == "/api/repos/create":
            return self._created(sent)
        if path.endswith("/info/lfs/objects/batch"):
            return {"objects": [self._place(item) for item in sent["objects"]]}
        owner, space, *rest = path.removeprefix("/api/spaces/").split("/", 2)
        name = f"{owner}/{space}"
        if name not in self.spaces:
            raise Refused(404, "Repository not found")
        return self._of(self.spaces[name], name, rest[0] if rest else "", sent, data)

    def _of(self, space: Space, name: str, rest: str, sent: Any, data: bytes) -> Any:
        if rest == "variables":
            space.variables[sent["key"]] = sent["value"]
            return {}
        if rest.startswith("tree/"):
            return [
                {"type": "file", "path": path, "oid": "0" * 40, "size": len(space.files[path])} for path in space.files
            ]
        if rest.startswith("preupload/"):
            return {"files": [self._mode(item) for item in sent["files"]]}
        if rest.startswith("commit/"):
            return self._committed(space, name, [json.loads(line) for line in data.splitlines()])
        return {
            "id": name,
            "sha": f"{space.commits:040}",
            "private": False,
            "tags": [],
            "sdk": space.sdk,
            "siblings": [],
        }

    def _created(self, sent: dict[str, Any]) -> dict[str, str]:
        name, hardware = f"{sent['organization'] or 'me'}/{sent['name']}", sent.get("hardware", "cpu-basic")
        if sent["organization"] not in (None, "me"):
            raise Refused(
                403, f'You don\'t have the rights to create a space under the namespace "{sent["organization"]}".'
            )
        if name in self.spaces:
            raise Refused(409, "You already created this space repo", f"{self.url}/spaces/{name}")
        zero = hardware == "zero-a10g"
        if zero and sent["sdk"] != "gradio":
            raise Refused(400, "ZeroGPU is only available for Gradio Spaces")
        if not zero and sent["sdk"] != "static" and self.account == "free":
            raise Refused(402, "Creating a Gradio or Docker Space on cpu-basic requires a PRO subscription")
        if zero and sum(one.hardware == hardware for one in self.spaces.values()) >= ZERO_SPACES[self.account]:
            raise Refused(402, "You have reached the number of ZeroGPU Spaces of your account")
        self.spaces[name] = Space(sent["sdk"], hardware)
        return {"url": f"{self.url}/spaces/{name}"}

    def _validated(self, content: str) -> dict[str, Any]:
        found = header_of(content)
        wrong = [name for name in ("colorFrom", "colorTo") if found.get(name) not in COLOURS]
        wrong += ["short_description"] if len(found.get("short_description", "")) > 60 else []
        wrong += ["sdk"] if found.get("sdk") not in ("gradio", "docker", "static") else []
        if wrong:
            raise Refused(400, f"{', '.join(wrong)} is not valid")
        return {"warnings": []}

    def _mode(self, item: dict[str, Any]) -> dict[str, Any]:
        sample = base64.b64decode(item["sample"])
        try:
            apart = "\0" in codecs.getincrementaldecoder("utf-8")().decode(sample)  # which may end within a letter
        except UnicodeDecodeError:
            apart = True
        return {"path": item["path"], "uploadMode": "lfs" if apart else "regular", "shouldIgnore": False, "oid": None}

    def _place(self, item: dict[str, Any]) -> dict[str, Any]:
        upload = {"href": f"{self.url}/lfs/{item['oid']}", "header": {}}
        return {**item, "actions": {"upload": upload}}

    def _committed(self, space: Space, name: str, lines: list[dict[str, Any]]) -> dict[str, Any]:
        posts, deleted = {}, []
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                posts[value["path"]] = Post(base64.b64decode(value["content"]), False)
            elif line["key"] == "lfsFile":
                posts[value["path"]] = Post(self.objects[value["oid"]], True)
            elif line["key"] == "deletedFile":
                deleted.append(value["path"])
        pushed(posts)
        space.files = {path: data for path, data in space.files.items() if path not in deleted}
        space.files.update({path: post.data for path, post in posts.items()})
        space.commits += 1
        oid = f"{space.commits:040}"
        return {"commitUrl": f"{self.url}/spaces/{name}/commit/{oid}", "commitOid": oid, "hookOutput": ""}


def pushed(posts: dict[str, Post]) -> None:
    """What a push has to pass, whichever way it comes. Raises: Refused."""
    binaries = [path for path, post in posts.items() if made.is_binary(post.data) and not post.stored_apart]
    if binaries:
        raise Refused(400, f"Your push was rejected because it contains binary files: {', '.join(binaries)}")
    large = [path for path, post in posts.items() if len(post.data) > 10 * 2**20 and not post.stored_apart]
    if large:
        raise Refused(400, f"Your push was rejected because it contains files larger than 10 MiB: {', '.join(large)}")


def build_problems(folder: Path, hardware: str) -> list[str]:
    """Why the hub would not build what has been pushed."""
    found, requirements = header_of((folder / "README.md").read_text("utf-8")), made.pins(folder / "requirements.txt")
    problems = []
    if hardware == "zero-a10g":
        torch = tuple(map(int, requirements["torch"].split(".")[:2]))
        checks = {
            f"sdk {found['sdk']}": found["sdk"] == "gradio",
            f"python_version {found['python_version']}": found["python_version"] in PYTHONS,
            f"torch {torch}": TORCH[0] <= torch <= TORCH[1],
            f"pinned {PLATFORM & requirements.keys()}": not PLATFORM & requirements.keys(),
            f"app_file {found['app_file']}": (folder / found["app_file"]).is_file(),
        }
        problems = [name for name, fine in checks.items() if not fine]
    return problems


def header_of(readme: str) -> dict[str, Any]:
    """What the hub reads at its top."""
    _, head, _ = readme.split("---\n", 2)
    found: dict[str, Any] = yaml.safe_load(head)
    return found
