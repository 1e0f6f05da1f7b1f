"""What a run will need before it starts: memory by role against what the device has, time, and what would make it fit.

Reads the configuration and the shapes of its models (from their folder, the suggestions or the hub); loads no model.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from playground import plain_files
from playground.config import RunConfig
from playground.config.source_settings import SMALL_MODEL
from playground.errors import LESS_MEMORY, InvalidConfig, ModelNotFound, ModelNotHere, Problem
from playground.models import hub
from playground.models.architectures import BY_NAME, SEVEN_BILLION, Architecture
from playground.setup import catalog, checks, devices
from playground.setup.describe import two_digits
from playground.setup.devices import Device
from playground.setup.estimates import gpu_calls, timing
from playground.setup.estimates.memory import GB, UNSURE, Memory, Needs, RewardShape, mildest
from playground.setup.estimates.timing import Finished, Range
from playground.setup.limits import Limits

Verdict = Literal["fits", "tight", "does not fit"]

UNSURE_WHEN_MEASURED = 1.1  # what a trial held; a run holds a little more in the long run
PROMPT_TOKENS = {"pocket/claims": 54, "pocket/mixed": 54, "general/claims": 100}  # at most
SHORT_PROMPT_TOKENS = 21  # of the other prompts of the pocket world
UNKNOWN_PROMPT_TOKENS = 256  # of a dataset, before anyone has looked into it
CHARACTERS_A_TOKEN, CHAT_TOKENS = 3.5, 40
USABLE = 0.9  # of a device's memory; the system and its driver take some
MOST_FILE_BYTES = 200_000


class Download(NamedTuple):
    """A model that a run would fetch first."""

    source: str
    mb: float
    licence: str
    gated: bool


class Measures(NamedTuple):
    """The shapes of the models of a run, however they were found."""

    policy: Architecture
    scorers: tuple[RewardShape, ...]
    chat_template: bool
    download: Download | None


@dataclass(frozen=True)
class Estimate:
    """What a run needs on a device, in bytes and seconds.

    Attributes:
        places: devices of its processes, by rank; `device` is the one with the least room, `total` of all on that one.
        needs, larger: of one process; with a model of seven billion weights. measured: the total is of a trial.
        advice, better: what would help, as a sentence and as a configuration; empty where it fits.
        seconds_per_update, seconds: a range each; None before there was a run or a trial of this kind here.
    """

    device: Device
    places: tuple[str, ...]
    needs: Needs
    larger: Needs
    total: float
    measured: bool
    verdict: Verdict
    advice: str
    better: RunConfig | None
    seconds_per_update: Range | None
    seconds: Range | None
    prompt_tokens: int
    completion_tokens: int
    download: Download | None

    def to_json(self) -> dict[str, Any]:
        """For `train --estimate --json` and for the page."""

        def gigabytes(sizes: dict[str, int]) -> dict[str, float]:
            return {name: size / GB for name, size in sizes.items()}

        there, needs, larger = self.device, self.needs, self.larger
        plain = ("places", "measured", "verdict", "advice", "seconds_per_update", "seconds", "prompt_tokens")
        return {name: getattr(self, name) for name in (*plain, "completion_tokens")} | {
            "device": {"name": there.name, "label": there.label}
            | gigabytes({"total_gb": there.total_bytes, "free_gb": there.free_bytes}),
            "roles": [
                {"role": role, "total_gb": needs.of(role) / GB, "kinds_gb": gigabytes(kinds)}
                for role, kinds in needs.roles.items()
            ],
            "libraries_gb": needs.libraries / GB,
            "total_gb": self.total / GB,
            "fullest_moment": needs.moment,
            "larger": {
                "parameters": SEVEN_BILLION.parameters,
                "total_gb": larger.total / GB,
                "fullest_moment": larger.moment,
                "roles_gb": gigabytes({role: larger.of(role) for role in larger.roles}),
            },
            "as_last_runs": self.seconds is not None,
            "download": self.download and self.download._asdict(),
        }


def estimate(
    config: RunConfig,
    outputs: Path | None = None,
    *,
    device: Device | None = None,
    room: float | None = None,
    prompt_tokens: int | None = None,
    ask_hub: bool = False,
    finished: Sequence[Finished] = (),
) -> Estimate:
    """What a run needs, and whether it fits.

    Args:
        device: instead of the one that the configuration names. room: bytes, instead of what is free there.
        prompt_tokens: of the longest prompt, where known. ask_hub: for a model that is neither here nor suggested.
        finished: runs and trials of this machine, the newest first; of those like this one comes the time.

    Raises:
        ModelNotFound: nothing is known of a model, with what to do. InvalidConfig: there is no such device.
    """
    found = measures(config, outputs, ask_hub=ask_hub)
    names = [device.name] if device else devices.members(config.device, config.ranks)
    fullest = device or min((one for one in devices.available() if one.name in names), key=lambda one: one.free_bytes)
    prompt, free = prompt_tokens or longest_prompt(config, found), fullest.free_bytes if room is None else room

    def needs(changed: RunConfig, policy: Architecture = found.policy) -> Needs:
        shared = share_of(changed, len(names))
        return Memory(shared, policy, found.scorers, prompt, fullest.kind, len(names)).needs()

    own, here = needs(config), names.count(fullest.name)
    held = next((run.memory for run in finished if run.memory and timing.holds(run.config) == timing.holds(config)), 0)
    total, unsure = here * (held or own.total), UNSURE_WHEN_MEASURED if held else UNSURE
    verdict: Verdict = "fits" if total * unsure <= free else "tight" if total <= free else "does not fit"
    advice, better = "", None
    if verdict != "fits":
        advice, better = mildest(config, lambda changed: needs(changed).total * total / own.total, free)
    is_small = found.policy.parameters < SMALL_MODEL
    took = timing.seconds(config, finished, lambda other: longest_prompt(other, found), is_small)
    return Estimate(
        device=fullest,
        places=tuple(names),
        needs=own,
        larger=needs(config, SEVEN_BILLION),
        total=total,
        measured=bool(held),
        verdict=verdict,
        advice=advice,
        better=better,
        seconds_per_update=took and took[0],
        seconds=took and took[1],
        prompt_tokens=prompt,
        completion_tokens=config.sampling.max_new_tokens,
        download=found.download,
    )


def remedy(config: RunConfig, outputs: Path | None = None) -> tuple[str, RunConfig | None]:
    """What to change after a run has run out of memory, in a sentence and as a configuration (None where no setting
    helps). No more than the estimate is taken to be free, for that was too little."""
    try:
        found = estimate(config, outputs)
        found = estimate(config, outputs, room=min(found.device.free_bytes, found.total))
    except (ModelNotFound, InvalidConfig):
        return LESS_MEMORY, None
    return found.advice, found.better


def require_fit(config: RunConfig, limits: Limits, outputs: Path | None = None) -> None:
    """Does a run fit what its device has, where the limits want that? Raises: InvalidConfig."""
    if not limits.must_fit:
        return
    calls = gpu_calls.asked(config, limits.calls, outputs)
    device = calls.device if calls else devices.chosen(config.device)
    whole = device and replace(device, free_bytes=max(device.free_bytes, int(USABLE * device.total_bytes)))
    try:
        found = estimate(config, outputs, device=whole, ask_hub=limits.more == "hub")
    except ModelNotFound as error:
        raise InvalidConfig([Problem("model.source", str(error))]) from error
    if found.verdict == "does not fit":
        needs, has = (two_digits(size / GB) for size in (found.total, found.device.total_bytes))
        sentence = f"does not fit: about {needs} GB of the {has} GB of {found.device.name}. {found.advice}"
        raise InvalidConfig([Problem("model.source", sentence)])


def share_of(config: RunConfig, ranks: int) -> RunConfig:
    """What one of several processes does of every batch, as a configuration of its own."""
    sizes = {name: -(-getattr(config.ppo, name) // ranks) for name in ("batch_size", "minibatch_size")}
    sizes["micro_batch_size"] = min(config.ppo.micro_batch_size, sizes["minibatch_size"])
    return config.model_copy(update={"ppo": config.ppo.model_copy(update=sizes)})


def measures(config: RunConfig, outputs: Path | None = None, *, ask_hub: bool = False) -> Measures:
    """The shapes of the models of a run, without loading one. Raises: ModelNotFound, if nothing is known of one."""
    policy: Architecture | None = None
    chat, download = False, None
    scorers = []
    for need in checks.needs(config, outputs):
        if need.field == "reference.source":
            continue  # of the same family as the policy, so of about its size
        try:
            files = catalog.files(need.folder(), need.use)
            found, chat_template = files.architecture, files.chat_template
        except ModelNotHere:
            found, chat_template, fetched = _from_afar(need, ask_hub)
            download = download or fetched
        if need.field == "model.source":
            policy, chat = found, chat_template
        elif need.reward is not None:
            scorers.append(RewardShape(need.reward, found))
    assert policy is not None
    return Measures(policy, tuple(scorers), chat, download)


def longest_prompt(config: RunConfig, found: Measures) -> int:
    """About how many tokens the longest prompt has, without a tokenizer."""
    prompts, lines = config.prompts, list(config.prompts.typed)
    known = PROMPT_TOKENS.get(prompts.source, SHORT_PROMPT_TOKENS if prompts.source.startswith("pocket/") else 0)
    if known:
        return known
    if prompts.source != "typed":
        path = os.path.expanduser(prompts.source)
        with contextlib.suppress(OSError, ValueError), plain_files.open_plain(path, links=True) as file:
            lines = file.read(MOST_FILE_BYTES).decode(errors="replace").splitlines()
    characters, tokens = max(map(len, lines), default=0), UNKNOWN_PROMPT_TOKENS
    if characters:
        chat = prompts.template == "chat" or (prompts.template == "auto" and found.chat_template)
        around = CHAT_TOKENS + int(len(prompts.system or "") / CHARACTERS_A_TOKEN) if chat else 0
        tokens = int(characters / CHARACTERS_A_TOKEN) + 1 + around
    return max(1, min(tokens, found.policy.context_length - config.sampling.max_new_tokens))


def _from_afar(need: checks.Need, ask_hub: bool) -> tuple[Architecture, bool, Download]:
    """A model of the hub that is not here: from the suggestions, or from the hub itself."""
    name = hub.repository(need.source) or need.source
    known = BY_NAME.get(name)
    if known is not None and need.revision is None:
        return known.architecture, known.chat_template, Download(name, known.download_mb, known.licence, gated=False)
    if not ask_hub:
        raise ModelNotHere(f"{name} is not on this machine, so its needs are not known yet.")
    facts = hub.facts_kept(need.source, need.revision, need.use)
    fetched = Download(name, facts.download_bytes / 1e6, facts.licence, facts.gated)
    return facts.architecture, facts.chat_template, fetched
