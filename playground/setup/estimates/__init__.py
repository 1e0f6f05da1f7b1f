"""What a run will need before it starts: memory by role against what the device has, time, and what would make it fit.

Reads the measures of the models (from their folder, from the catalog's suggestions or from the hub) and the
configuration; loads no model and no torch. The page, `python -m playground estimate` and the worker's out-of-memory
ending call it. memory.py and timing.py do the arithmetic.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from playground.config import ModelReward, PromptsConfig, RunConfig
from playground.errors import InvalidConfig, ModelNotFound, ModelNotHere
from playground.safety import plain_files
from playground.setup import catalog, checks, devices
from playground.setup.devices import Device
from playground.setup.estimates import memory, trl_moments
from playground.setup.estimates.memory import Form, Lengths, Scorer
from playground.setup.estimates.remedies import GB, UNSURE, mildest
from playground.setup.estimates.timing import Finished, Pace, pace
from playground.sources import curated, hub
from playground.sources.architectures import SEVEN_BILLION, Architecture
from playground.texts import claim_files
from playground.texts.row_files import TableUnusable

Verdict = Literal["fits", "tight", "does not fit"]

UNSURE_WHEN_MEASURED = 1.1  # what a trial held; a run holds a little more in the long run
POCKET_PROMPT_TOKENS = {"pocket/claims": 54, "pocket/mixed": 54}  # the others have at most 21
SHORT_POCKET_PROMPT_TOKENS = 21
UNKNOWN_PROMPT_TOKENS = 256  # of a dataset, before anybody has looked into it
CHARACTERS_A_TOKEN, CHAT_TOKENS = 3.5, 40
MOST_FILE_BYTES = 200_000


@dataclass(frozen=True)
class Row:
    """One role: its bytes by kind, and their sum."""

    role: str
    kinds: dict[str, float]

    @property
    def total(self) -> float:
        """Bytes of the role."""
        return sum(self.kinds.values())


@dataclass(frozen=True)
class Estimate:
    """What a run needs on a device. Bytes, seconds. `advice` is empty where it fits.

    Where several processes compute it: `places` are their devices by rank, `device` is the one of them with the least
    room, `rows` and `libraries` are of one process, and `total` of all on that device.
    """

    device: Device
    places: tuple[str, ...]
    rows: tuple[Row, ...]
    libraries: float
    moment: str
    total: float
    verdict: Verdict
    advice: str
    pace: Pace
    lengths: Lengths
    download: Download | None
    larger: Larger
    measured: bool = False  # the total is what a trial of the same settings held

    def to_json(self) -> dict[str, Any]:
        """For `estimate --json` and for the page."""
        return {
            "device": {"name": self.device.name, "label": self.device.label,
                       "total_gb": self.device.total_bytes / GB, "free_gb": self.device.free_bytes / GB},
            "places": list(self.places),
            "roles": [{"role": row.role, "total_gb": row.total / GB,
                       "kinds_gb": {kind: size / GB for kind, size in row.kinds.items()}} for row in self.rows],
            "libraries_gb": self.libraries / GB,
            "total_gb": self.total / GB,
            "larger": {"parameters": SEVEN_BILLION.parameters, "total_gb": self.larger.total / GB,
                       "fullest_moment": self.larger.moment,
                       "roles_gb": {row.role: row.total / GB for row in self.larger.rows}},
            "measured": self.measured,
            "fullest_moment": self.moment,
            "verdict": self.verdict,
            "advice": self.advice,
            "seconds_per_update": [self.pace.update_low, self.pace.update_high],
            "seconds": [self.pace.run_low, self.pace.run_high],
            "as_last_runs": self.pace.as_last_runs,
            "prompt_tokens": self.lengths.prompt,
            "completion_tokens": self.lengths.completion,
            "download": None if self.download is None else self.download.to_json(),
        }  # fmt: skip


@dataclass(frozen=True)
class Larger:
    """What the same settings would need with a model of seven billion weights; the total has the libraries in it."""

    rows: tuple[Row, ...]
    moment: str
    total: float


@dataclass(frozen=True)
class Download:
    """A model that a run would fetch first."""

    source: str
    megabytes: float
    licence: str
    gated: bool

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {"source": self.source, "mb": self.megabytes, "licence": self.licence, "gated": self.gated}


@dataclass(frozen=True)
class Measures:
    """The measures of the models of a run, however they were found."""

    policy: Architecture
    scorers: tuple[Scorer, ...]
    chat_template: bool
    download: Download | None


def estimate(
    config: RunConfig,
    outputs: Path | None = None,
    *,
    device: Device | None = None,
    prompt_tokens: int | None = None,
    ask_hub: bool = False,
    finished: Sequence[Finished] = (),
) -> Estimate:
    """What a run needs, and whether it fits.

    Args:
        device: instead of the one that the configuration names. prompt_tokens: of the longest prompt, where known.
        ask_hub: may the hub be asked for a model that is neither here nor among the suggestions?
        finished: runs of this machine, the newest first; of those like this one comes the time.

    Raises:
        ModelNotFound: nothing is known of a model, with what to do. InvalidConfig: there is no such device.
    """
    found = measures(config, outputs, ask_hub=ask_hub)
    place, places = (device, (device.name,)) if device else _places(config)
    here = places.count(place.name)
    longest = Lengths(
        prompt_tokens or longest_prompt(config, found.chat_template, found.policy.context_length),
        config.sampling.max_new_tokens,
    )
    form = Form.of(config, place.kind == "cuda")
    share = share_of(config, len(places))
    peak, libraries = _peak(share, found, longest, place), memory.library_bytes(form, place.kind)
    reckoned = here * (peak.size + libraries)
    measured = next((run.memory for run in finished if run.memory and _holds_the_same(run.config, config)), None)
    total = here * measured if measured else reckoned
    peak_of_larger = _peak(share, replace(found, policy=SEVEN_BILLION), longest, place)

    def needs(changed: RunConfig) -> float:
        return here * _needed(share_of(changed, len(places)), found, longest, place) * total / reckoned

    verdict = verdict_of(total, place, UNSURE_WHEN_MEASURED if measured else UNSURE)
    return Estimate(
        device=place,
        places=places,
        rows=_rows(peak),
        libraries=libraries,
        moment=peak.moment,
        total=total,
        verdict=verdict,
        advice="" if verdict == "fits" else mildest(config, needs, place.free_bytes)[0],
        pace=pace(
            config if here > 1 else share,
            form,
            found.policy,
            longest,
            place,
            _like(config, finished, found, longest, place),
        ),
        lengths=longest,
        download=found.download,
        larger=Larger(_rows(peak_of_larger), peak_of_larger.moment, peak_of_larger.size + libraries),
        measured=measured is not None,
    )


def _holds_the_same(one: RunConfig, other: RunConfig) -> bool:
    """True where two runs hold the same in memory: at most what is learned, how fast and for how long differs."""

    def held(config: RunConfig) -> tuple[Any, ...]:
        ppo = config.ppo
        return (
            config.method, config.engine, config.model, config.reference, config.prompts,
            config.sampling.max_new_tokens, config.scorers, _place(config.device), config.ranks,
            ppo.batch_size, ppo.minibatch_size, ppo.micro_batch_size, ppo.samples_per_prompt, ppo.baseline,
            bool(ppo.entropy_coef), config.kl.estimator == "full",
        )  # fmt: skip

    return held(one) == held(other)


def _place(device: str) -> str:
    found = devices.chosen(device)
    return found.name if found else device


def _like(
    config: RunConfig, finished: Sequence[Finished], found: Measures, longest: Lengths, place: Device
) -> list[tuple[Finished, Lengths]]:
    """The runs that did what this one will, in whatever amount, and their lengths."""

    def kind(other: RunConfig) -> tuple[Any, ...]:
        model, learned = other.model, [reward for reward in other.rewards if isinstance(reward, ModelReward)]
        return (
            other.method, other.engine, other.separate_critic, other.ranks, other.may_be_shared and other.device,
            model.source, model.revision, model.precision, model.adapter, model.quantization,
            [(reward.source, reward.precision, reward.quantization) for reward in learned],
        )  # fmt: skip

    like, places = [], devices.members(config.device, config.ranks) if config.may_be_shared else []
    for run in finished:
        there = devices.chosen(run.config.device)
        elsewhere = there is None or (there.name != place.name and not config.may_be_shared)
        if elsewhere or kind(run.config) != kind(config):
            continue
        same = run.config.prompts == config.prompts
        prompt = (
            longest.prompt if same else longest_prompt(run.config, found.chat_template, found.policy.context_length)
        )
        apart = len(set(places))
        done = run._replace(config=share_of(run.config, apart)) if apart > 1 else run
        like.append((done, Lengths(prompt, run.config.sampling.max_new_tokens)))
    return like


def share_of(config: RunConfig, ranks: int) -> RunConfig:
    """What one of several processes does of every batch, as a configuration of its own."""
    if ranks == 1:
        return config
    ppo = config.ppo
    sizes = {name: -(-getattr(ppo, name) // ranks) for name in ("batch_size", "minibatch_size")}
    sizes["micro_batch_size"] = min(ppo.micro_batch_size, sizes["minibatch_size"])
    return config.model_copy(update={"ppo": ppo.model_copy(update=sizes)})


def _places(config: RunConfig) -> tuple[Device, tuple[str, ...]]:
    """The device with the least room of those that compute a run, and all of them by rank. Raises: InvalidConfig."""
    names = devices.members(config.device, config.ranks)
    return min((one for one in devices.available() if one.name in names), key=lambda one: one.free_bytes), tuple(names)


def advice(config: RunConfig, outputs: Path | None = None) -> str:
    """What to change after a run has run out of memory, in a sentence; see `remedy`."""
    return remedy(config, outputs)[0]


def remedy(config: RunConfig, outputs: Path | None = None) -> tuple[str, RunConfig | None]:
    """What to change after a run has run out of memory: the one change that the estimate says is enough, in a sentence
    and as a configuration (None where no setting helps).

    The machine's memory is taken for what the run needed at most, because it has just been too little.
    """
    try:
        found = measures(config, outputs)
        place, places = _places(config)
        longest = Lengths(longest_prompt(config, found.chat_template, found.policy.context_length),
                          config.sampling.max_new_tokens)  # fmt: skip

        def needs(changed: RunConfig) -> float:
            return places.count(place.name) * _needed(share_of(changed, len(places)), found, longest, place)

        return mildest(config, needs, min(float(place.free_bytes), needs(config)))
    except (ModelNotFound, InvalidConfig):
        return "Halve ppo.micro_batch_size, or choose a smaller model.", None


def verdict_of(total: float, device: Device, unsure: float = UNSURE) -> Verdict:
    """Fits with room for an error of the estimate; tight without; does not fit."""
    if total * unsure <= device.free_bytes:
        return "fits"
    return "tight" if total <= device.free_bytes else "does not fit"


def measures(config: RunConfig, outputs: Path | None = None, *, ask_hub: bool = False) -> Measures:
    """The measures of every model of a run, without loading one.

    Raises:
        ModelNotFound: if nothing is known of one.
    """
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
            scorers.append(Scorer(need.reward, found, need.reward.precision == "bf16"))
    assert policy is not None
    return Measures(policy, tuple(scorers), chat, download)


def longest_prompt(config: RunConfig, chat_template: bool, context: int) -> int:
    """About how many tokens the longest prompt has, without a tokenizer."""
    prompts = config.prompts
    if prompts.source.startswith("pocket/"):
        return POCKET_PROMPT_TOKENS.get(prompts.source, SHORT_POCKET_PROMPT_TOKENS)
    extra = CHAT_TOKENS if prompts.template == "chat" or (prompts.template == "auto" and chat_template) else 0
    extra += int(len(prompts.system or "") / CHARACTERS_A_TOKEN) if extra else 0
    texts: Sequence[str] = prompts.typed
    characters = _longest_claim(prompts)
    if prompts.source != "typed" and not characters:
        texts = _lines(Path(os.path.expanduser(prompts.source)))
    characters = characters or max(map(len, texts), default=0)
    tokens = int(characters / CHARACTERS_A_TOKEN) + 1 + extra if characters else UNKNOWN_PROMPT_TOKENS
    return max(1, min(tokens, context - config.sampling.max_new_tokens))


def _longest_claim(prompts: PromptsConfig) -> int:
    """Characters of the longest prompt that is made of a file of claims; 0 where the source is no such."""
    try:
        known = claim_files.is_source(prompts.source, prompts.column)
        return claim_files.longest(claim_files.read(claim_files.path_of(prompts.source))) if known else 0
    except TableUnusable:
        return 0


def _lines(path: Path) -> list[str]:
    """The beginning of a prompt file, line by line; nothing where it cannot be read."""
    try:
        with plain_files.open_plain(path, links=True) as file:
            return file.read(MOST_FILE_BYTES).decode(errors="replace").splitlines()
    except (OSError, ValueError):
        return []


def _from_afar(need: checks.Need, ask_hub: bool) -> tuple[Architecture, bool, Download]:
    """A model of the hub that is not here: from the suggestions, or from the hub itself."""
    name = hub.repository(need.source) or need.source
    known = curated.BY_NAME.get(name)
    if known is not None and need.revision is None:
        told = Download(name, known.download_mb, known.licence, gated=False)
        return known.architecture, known.chat_template, told
    if not ask_hub:
        raise ModelNotHere(f"{name} is not on this machine, so nothing is known of it yet.")
    facts = hub.facts_kept(need.source, need.revision, need.use)
    if facts.architecture is None:
        raise ModelNotFound(f"The hub does not say how large {name} is.")
    told = Download(name, facts.download_bytes / 1e6, facts.licence, facts.gated)
    return facts.architecture, facts.chat_template, told


def _peak(config: RunConfig, found: Measures, longest: Lengths, device: Device) -> memory.Peak:
    gpu = device.kind == "cuda"
    form = Form.of(config, gpu)
    scorers = [
        scorer._replace(bf16=True) if gpu and scorer.reward.precision == "auto" else scorer for scorer in found.scorers
    ]
    held = list(memory.lasting(config, form, found.policy, scorers))
    moments_of = trl_moments.moments if form.trl else memory.moments
    moments = moments_of(config, form, found.policy, longest, scorers)
    return memory.peak(held, moments, memory.heap_limit(found.policy, device.kind))


def _needed(config: RunConfig, found: Measures, longest: Lengths, device: Device) -> float:
    libraries = memory.library_bytes(Form.of(config, device.kind == "cuda"), device.kind)
    return _peak(config, found, longest, device).size + libraries


def _rows(peak: memory.Peak) -> tuple[Row, ...]:
    kinds: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for part in peak.parts:
        if part.size:
            kinds[part.role][part.kind] += part.size
    rows = [Row(role, dict(kinds[role])) for role in ("policy", "value", "reference", "reward", "rollout")
            if role in kinds or role == "reference"]  # fmt: skip
    kept = peak.size - sum(row.total for row in rows)
    return (*rows, Row("kept for reuse", {"freed blocks": kept})) if kept > 1e6 else tuple(rows)
