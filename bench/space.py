"""Write the folder of a ZeroGPU Space, and with a token of the hub create and upload it: `make space SPACE=owner/name`.

ZeroGPU, because that is what a free account may host (docs/spaces.md). The folder can be pushed with git as it is. The
token is the one that huggingface_hub finds (HF_TOKEN, or `hf auth login`); without one nothing leaves the machine.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import httpx2
import yaml
from huggingface_hub import HfApi, constants, get_token
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled
from huggingface_hub.utils import validate_repo_id

from bench.experiments import PROJECT
from bench.tables import page
from playground.setup import catalog, limits

FILES = ("app.py", "LICENSE", "playground", "presets", "lessons")  # what runs; all else is written here
PYTHON = "3.12.12"  # of the two that ZeroGPU has, the one that the playground runs on
HARDWARE = "zero-a10g"  # the hub's name for ZeroGPU, whatever GPU that is
TAGS = ["rlhf", "ppo", "reinforcement-learning", "language-model", "education"]
THUMBNAIL = "thumbnail.png"
REMOVED = ["playground/*", "presets/*", "lessons/*"]  # on the hub, where an upload does not have them any more
REMEDIES = {
    401: " Is the token still valid?",
    402: " A free account hosts two ZeroGPU Spaces, PRO ten (docs/spaces.md).",
    403: " The token has to be allowed to write, and the account to host ZeroGPU (docs/spaces.md).",
}
NO_TOKEN = (
    "Nothing was uploaded: there is no token of the hub (HF_TOKEN, or `hf auth login`) that could write. "
    "How to push the folder yourself: docs/spaces.md."
)


def main() -> int:
    """Write, say what will be done, do it; 1 where the hub refuses, 2 for a name or a folder that cannot be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("space", help="owner/name on the hub")
    parser.add_argument("--folder", type=Path, default=PROJECT / "build" / "space")
    parser.add_argument("--caps", choices=("pocket", "all"), help=f"what visitors may train ({limits.CAPS_VARIABLE})")
    arguments = parser.parse_args()
    folder, space = arguments.folder, arguments.space
    try:
        validate_repo_id(space)
        if "/" not in space:
            raise HFValidationError("it has no owner")
    except HFValidationError as error:
        print(f"SPACE: {space!r} is no owner/name of the hub: {error}", file=sys.stderr)
        return 2
    if folder.exists() and not (folder / THUMBNAIL).is_file():  # all of it would be removed
        print(f"{folder} is there, and was not made by this. Name another folder.", file=sys.stderr)
        return 2
    files = write(folder, space)
    print(f"{folder}: {len(files)} files, {sum(path.stat().st_size for path in files) / 1e6:.0f} MB.")
    token = get_token()
    if not token:
        print(NO_TOKEN)
        return 0
    try:
        upload(folder, space, token, arguments.caps)
    except OfflineModeIsEnabled:
        print("Nothing was uploaded: HF_HUB_OFFLINE is set.", file=sys.stderr)
        return 1
    except (httpx2.HTTPError, ValueError) as error:  # ValueError: what the hub says of a header
        print(f"{constants.ENDPOINT} refused: {reason(error)}", file=sys.stderr)
        return 1
    return 0


def write(folder: Path, space: str) -> list[Path]:
    """The whole folder, made anew; its files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in FILES:
        if (PROJECT / name).is_dir():
            shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        else:
            shutil.copy(PROJECT / name, folder / name)
    shutil.copy(PROJECT / "requirements-zerogpu.lock", folder / "requirements.txt")
    shutil.copy(PROJECT / "docs" / "images" / "train.png", folder / THUMBNAIL)
    head = yaml.safe_dump(header(space), sort_keys=False, allow_unicode=True)
    text = page("space", caps=limits.CAPS_VARIABLE)
    (folder / "README.md").write_text(f"---\n{head}---\n\n{text}", encoding="utf-8")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    kinds = sorted({path.suffix for path in files if is_binary(path.read_bytes())})
    lines = "".join(f"*{kind} filter=lfs diff=lfs merge=lfs -text\n" for kind in kinds)
    (folder / ".gitattributes").write_text(lines, encoding="ascii")
    return [*files, folder / ".gitattributes"]


def header(space: str) -> dict[str, object]:
    """What the hub reads at the top of the README: that of this repository, as a Gradio Space."""
    own = yaml.safe_load((PROJECT / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    return {
        **{name: own[name] for name in ("title", "emoji", "colorFrom", "colorTo")},
        "sdk": "gradio",
        "sdk_version": pins(PROJECT / "requirements.txt")["gradio"],
        "python_version": PYTHON,
        "app_file": "app.py",
        "hardware": HARDWARE,
        "license": own["license"],
        "short_description": own["short_description"],
        "tags": TAGS,
        "models": [model.name for model in catalog.CURATED],
        "thumbnail": f"{constants.ENDPOINT}/spaces/{space}/resolve/main/{THUMBNAIL}",
    }


def pins(path: Path) -> dict[str, str]:
    """The versions that a file of requirements names."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))


def is_binary(data: bytes) -> bool:
    """As the hub sees it, which takes such files through LFS or Xet only."""
    try:
        return "\0" in data.decode("utf-8")
    except UnicodeDecodeError:
        return True


def upload(folder: Path, space: str, token: str, caps: str | None) -> None:
    """Create the Space, if it does not exist, and make the folder its next commit. Raises: whatever the hub answers."""
    api = HfApi(endpoint=constants.ENDPOINT, token=token, library_name="rlhf-playground")
    account, exists = api.whoami()["name"], api.repo_exists(space, repo_type="space")
    deed = "Replaces the files of the Space" if exists else "Creates the public ZeroGPU Space"
    print(f"{deed} {space} on {constants.ENDPOINT}, as {account}.", flush=True)
    # With no hardware named it would be the free processor, which a free account does not get.
    api.create_repo(space, repo_type="space", space_sdk="gradio", space_hardware=HARDWARE, exist_ok=True)  # type: ignore[arg-type]
    if caps:
        api.add_space_variable(space, limits.CAPS_VARIABLE, caps)
    api.upload_folder(
        repo_id=space,
        repo_type="space",
        folder_path=folder,
        delete_patterns=REMOVED,
        commit_message="RLHF Playground",
    )
    print(f"{constants.ENDPOINT}/spaces/{space} is being built; its log is at the top of that page.")


def reason(error: Exception) -> str:
    """What the hub says, and for an account that may not, what it may do."""
    status = error.response.status_code if isinstance(error, HfHubHTTPError) else 0
    words = getattr(error, "server_message", None) or str(error)
    return words.strip() + REMEDIES.get(status, "")


if __name__ == "__main__":
    sys.exit(main())
