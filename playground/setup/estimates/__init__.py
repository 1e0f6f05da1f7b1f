"""What a run will need before it starts: memory by role against what the device has, time, and what would make it fit.

Reads the configuration and the shapes of its models (from their folder, the suggestions or the hub); loads no model.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from playground import plain_files
from playground.config import RunConfig
from playground.config.source_settings import SMALL_MODEL
from playground.errors import LESS_MEMORY, InvalidConfig, ModelNotFound, ModelNotHere
from playground.models import hub
from playground.models.architectures import BY_NAME, SEVEN_BILLION, Architecture
from playground.setup import catalog, checks, devices
from playground.setup.devices import Device
from playground.setup.estimates import timing
from playground.setup.estimates.memory import GB, UNSURE, Memory, Needs, RewardShape, mildest
from playground.setup.estimates.timing import Finished, Range

Verdict = Literal["fits", "tight", "does not fit"]

UNSURE_WHEN_MEASURED = 1.1  # what a trial held; a run holds a little more in the long run
PROMPT_TOKENS = {"pocket/claims": 54, "pocket/mixed": 54, "general/claims": 100, "general/sums": 110}  # at most
SHORT_PROMPT_TOKENS = 21  # of the other prompts of the pocket world
UNKNOWN_PROMPT_TOKENS = 256  # of a dataset, before anyone has looked into it
CHARACTERS_A_TOKEN, CHAT_TOKENS = 3.5, 40
MOST_FILE_BYTES = 200_000


@dataclass(frozen=True)
class Download:
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
class DeviceNeeds:
    """Where it would run: of several devices the one with the least room."""

    name: str
    label: str
    total_gb: float
    free_gb: float


@dataclass(frozen=True)
class RoleNeeds:
    """Memory of one role of one process, by kind."""

    role: str
    total_gb: float
    kinds_gb: dict[str, float]


@dataclass(frozen=True)
class LargerNeeds:
    """The same settings with seven billion weights."""

    parameters: int
    total_gb: float
    fullest_moment: str
    roles_gb: dict[str, float]


@dataclass(frozen=True)
class Estimate:
    """What a run needs: `total_gb` of all its processes on `device` (`measured`: by a trial), seconds from the likely
    least to the likely most, and what would help, as a sentence and as a configuration (`better`), where it does not
    fit. The page, `train --estimate --json` and the API have it as it is."""

    places: list[str]
    measured: bool
    verdict: Verdict
    advice: str
    better: dict[str, Any] | None
    seconds_per_update: Range | None
    seconds: Range | None
    as_last_runs: bool
    prompt_tokens: int
    completion_tokens: int
    device: DeviceNeeds
    roles: list[RoleNeeds]
    libraries_gb: float
    total_gb: float
    fullest_moment: str
    larger: LargerNeeds
    download: Download | None


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
    shapes = measures(config, outputs, ask_hub=ask_hub)
    places = [device.name] if device else devices.members(config.device, config.ranks)
    device = device or _fullest(places)
    prompt = prompt_tokens or longest_prompt(config, shapes)
    free = device.free_bytes if room is None else room

    def needs(changed: RunConfig, policy: Architecture = shapes.policy) -> Needs:
        return Memory(share_of(changed, len(places)), policy, shapes.scorers, prompt, device.kind, len(places)).needs()

    own, unsure = needs(config), UNSURE
    per_process: float = own.total
    alike = (run.memory for run in finished if timing.holds(run.config) == timing.holds(config))
    if measured := next(filter(None, alike), None):
        per_process, unsure = measured, UNSURE_WHEN_MEASURED
    total = per_process * places.count(device.name)
    verdict = _verdict(total, unsure, free)
    advice, better = "", None
    if verdict != "fits":
        advice, better = mildest(config, lambda changed: needs(changed).total * total / own.total, free)
    is_small = shapes.policy.parameters < SMALL_MODEL
    times = timing.seconds(config, finished, lambda other: longest_prompt(other, shapes), is_small)
    return Estimate(
        places=places,
        measured=bool(measured),
        verdict=verdict,
        advice=advice,
        better=better.model_dump(mode="json") if better else None,
        seconds_per_update=times and times[0],
        seconds=times and times[1],
        as_last_runs=times is not None,
        prompt_tokens=prompt,
        completion_tokens=config.sampling.max_new_tokens,
        device=DeviceNeeds(device.name, device.label, device.total_bytes / GB, device.free_bytes / GB),
        roles=_roles(own),
        libraries_gb=own.libraries / GB,
        total_gb=total / GB,
        fullest_moment=own.moment,
        larger=_larger(needs(config, SEVEN_BILLION)),
        download=shapes.download,
    )


def _verdict(needed: float, unsure: float, free: float) -> Verdict:
    """Whether so many bytes fit, which may be `unsure` times as many."""
    if needed * unsure <= free:
        return "fits"
    if needed <= free:
        return "tight"
    return "does not fit"


def _fullest(places: Sequence[str]) -> Device:
    named = [device for device in devices.available() if device.name in places]
    return min(named, key=lambda device: device.free_bytes)


def _roles(needs: Needs) -> list[RoleNeeds]:
    return [
        RoleNeeds(role, needs.of(role) / GB, {kind: size / GB for kind, size in kinds.items()})
        for role, kinds in needs.roles.items()
    ]


def _larger(needs: Needs) -> LargerNeeds:
    roles_gb = {role: needs.of(role) / GB for role in needs.roles}
    return LargerNeeds(SEVEN_BILLION.parameters, needs.total / GB, needs.moment, roles_gb)


def remedy(config: RunConfig, outputs: Path | None = None) -> tuple[str, dict[str, Any] | None]:
    """What to change after a run has run out of memory, in a sentence and as a configuration (None where no setting
    helps). No more than the estimate is taken to be free, for that was too little."""
    try:
        estimated = estimate(config, outputs)
        estimated = estimate(config, outputs, room=GB * min(estimated.device.free_gb, estimated.total_gb))
    except (ModelNotFound, InvalidConfig):
        return LESS_MEMORY, None
    return estimated.advice, estimated.better


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
            architecture, chat_template = files.architecture, files.chat_template
        except ModelNotHere:
            architecture, chat_template, fetched = _from_afar(need, ask_hub)
            download = download or fetched
        if need.field == "model.source":
            policy, chat = architecture, chat_template
        elif need.reward is not None:
            scorers.append(RewardShape(need.reward, architecture))
    assert policy is not None
    return Measures(policy, tuple(scorers), chat, download)


def longest_prompt(config: RunConfig, shapes: Measures) -> int:
    """About how many tokens the longest prompt has, without a tokenizer."""
    prompts, lines = config.prompts, list(config.prompts.typed)
    usual_tokens = PROMPT_TOKENS.get(prompts.source, SHORT_PROMPT_TOKENS if prompts.source.startswith("pocket/") else 0)
    longest = shapes.policy.context_length - config.sampling.max_new_tokens
    if prompts.max_tokens:
        longest = min(longest, prompts.max_tokens)
    if usual_tokens:
        return max(1, min(usual_tokens, longest))
    if prompts.source != "typed":
        path = os.path.expanduser(prompts.source)
        with contextlib.suppress(OSError, ValueError), plain_files.open_plain(path, links=True) as file:
            lines = file.read(MOST_FILE_BYTES).decode(errors="replace").splitlines()
    characters, tokens = max(map(len, lines), default=0), UNKNOWN_PROMPT_TOKENS
    if characters:
        around = 0
        if prompts.template == "chat" or (prompts.template == "auto" and shapes.chat_template):
            around = CHAT_TOKENS + int(len(prompts.system or "") / CHARACTERS_A_TOKEN)
        tokens = int(characters / CHARACTERS_A_TOKEN) + 1 + around
    return max(1, min(tokens, longest))


def _from_afar(need: checks.Need, ask_hub: bool) -> tuple[Architecture, bool, Download]:
    """A model of the hub that is not here: from the suggestions, or from the hub itself."""
    name = hub.repository(need.source) or need.source
    suggested = BY_NAME.get(name)
    if suggested is not None and need.revision is None:
        download = Download(name, suggested.download_mb, suggested.licence, gated=False)
        return suggested.architecture, suggested.chat_template, download
    if not ask_hub:
        raise ModelNotHere(f"{name} is not on this machine, so its needs are not known yet.")
    facts = hub.facts_kept(need.source, need.revision, need.use)
    download = Download(name, facts.download_bytes / 1e6, facts.licence, facts.gated)
    return facts.architecture, facts.chat_template, download
