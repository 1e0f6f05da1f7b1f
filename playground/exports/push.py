"""Pushing a saved policy to the Hugging Face hub. The token of this machine goes into the hub's client, nowhere else:
it is not printed, not stored, not passed on. Only the command line calls this: the server's token must not serve
visitors."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from playground.config import RunConfig
from playground.errors import InvalidConfig, PlaygroundError, Problem
from playground.exports import card
from playground.setup import catalog, describe

T = TypeVar("T")
OFFLINE = "The hub is switched off here by HF_HUB_OFFLINE=1. Unset it to push."
NO_TOKEN = "There is no token for the hub. Set HF_TOKEN, or log in once with `hf auth login`."
MAY_NOT = "The token may not write to {}. Use one with write access, or another owner in --to."
ANSWERS = {
    401: "The hub does not accept this token. Make a new one at https://huggingface.co/settings/tokens.",
    403: MAY_NOT,
    404: MAY_NOT,
}
REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


class PushRefused(PlaygroundError):
    """The hub cannot be reached, or does not let us."""


class Connection(NamedTuple):
    """The hub's client with the token of this machine, for one repository; `user` is whose token it is."""

    api: Any
    repository: str
    user: str


class PushPlan(NamedTuple):
    """What a push would do. `exists`: the repository is there already, and keeps its own visibility."""

    repository: str
    private: bool
    exists: bool
    user: str
    folder: Path
    bytes: int
    licence: str | None


def connect(repository: str, config: RunConfig, kind: str) -> Connection:
    """All that can be checked before the weights are merged, which takes longer. Raises: PushRefused, InvalidConfig."""
    from huggingface_hub import HfApi, get_token
    from huggingface_hub.constants import is_offline_mode

    if not REPOSITORY.fullmatch(repository):
        what = f"`{repository[:100]}` is not a repository of the hub. Write it as owner/name."
        raise InvalidConfig([Problem("--to", what)])
    if kind == "adapter" and not catalog.is_hub_id(base := config.model.source):
        raise PushRefused(
            f"The adapter's base, {base}, is not on the hub: so others could not load it. Push --as merged."
        )
    if is_offline_mode():
        raise PushRefused(OFFLINE)
    if not (token := get_token()):
        raise PushRefused(NO_TOKEN)
    api = HfApi(token=token)
    return Connection(api, repository, str(_asked(api.whoami, repository).get("name", "")))


def plan(hub: Connection, private: bool, folder: Path, config: RunConfig) -> PushPlan:
    """Ask the hub what is there. Changes nothing. Raises: PushRefused: see `_asked`."""
    from huggingface_hub.errors import RepositoryNotFoundError

    def is_private() -> bool | None:
        try:
            return bool(hub.api.model_info(hub.repository).private)
        except RepositoryNotFoundError:
            return None

    visibility = _asked(is_private, hub.repository)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if visibility is not None:
        private = visibility
    return PushPlan(hub.repository, private, visibility is not None, hub.user, folder, size, card.licence_of(config))


def in_words(planned: PushPlan, config: RunConfig) -> list[str]:
    """What the person is asked to confirm, a line each."""
    seen = "private: you and those you invite" if planned.private else "public: everybody"
    sentence = "exists already; files of the same name are replaced" if planned.exists else "is created"
    licence = planned.licence or "unknown; check that you may share it"
    wrong = describe.wrong_on_purpose(config)
    lines = [f"Careful     {wrong} The card says so too."] if wrong else []
    return [
        *lines,
        f"Repository  {planned.repository} ({sentence}), as user {planned.user}",
        f"Seen by     {seen}",
        f"Size        {planned.bytes / 1e6:,.1f} MB from {planned.folder}",
        f"Licence     of the base model {config.model.source}: {licence}",
        f"Goes along  the weights; README.md with {card.SHOWN_PAIRS} of your prompts and what both models answered; "
        f"{card.CONFIGURATION} with every setting, paths of this machine included.",
    ]


def push(api: Any, planned: PushPlan) -> str:
    """Upload the folder and return the address of the repository. Raises: PushRefused: see `_asked`."""
    repository, message = planned.repository, "Trained in the RLHF Playground"
    if not planned.exists:
        _asked(lambda: api.create_repo(repository, private=planned.private, exist_ok=True), repository)
    _asked(
        lambda: api.upload_folder(repo_id=repository, folder_path=planned.folder, commit_message=message), repository
    )
    return f"{os.environ.get('HF_ENDPOINT', 'https://huggingface.co').rstrip('/')}/{repository}"


def _asked(call: Callable[[], T], repository: str) -> T:
    """What the hub answers. Raises: PushRefused: for whatever its client raises, whose messages may quote requests."""
    from huggingface_hub.errors import HfHubHTTPError, HTTPError

    try:
        return call()
    except HfHubHTTPError as error:
        code = getattr(error.response, "status_code", 0)
        other = f"The hub answered with error {code}. The cause is probably not here; try again later."
        sentence = ANSWERS.get(code, other).format(repository)
    except (HTTPError, OSError, ValueError) as error:  # no answer, or one that its client does not understand
        sentence = (
            f"The hub cannot be reached, or gives an unexpected answer ({type(error).__name__}). Try again later."
        )
    raise PushRefused(sentence)
