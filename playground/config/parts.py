"""What every part of a configuration is made of: frozen records, and fields that carry their own help."""

from __future__ import annotations

import re
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

SEVERAL = r"|all|cuda:\d{1,2}(,\d{1,2}){1,15}"
RUN_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")  # what the folder of a run, or of a reward model, may be called


def _share(value: str) -> str:
    low, _, high = value.partition("-")
    if not (low.isdecimal() and high.isdecimal() and int(low) < int(high) <= 100):
        raise ValueError("must be two whole percentages, the smaller one first, such as 0-60")
    return value


Share = Annotated[str, Field(max_length=7), AfterValidator(_share)]  # of the dialogues, see `dialogues.is_in_share`


def knob(
    default: Any,
    label: str,
    unit: str = "",
    *,
    slider: tuple[float, float, float] | None = None,
    basic: bool = False,
    live: bool = False,
    log: bool = False,
    **rest: Any,
) -> Any:
    """A field that a person sets. The text under it in its class is its help: what it does, and where that teaches
    something, two points behind it: what happens when it is too low, and when it is too high.

    Args:
        label: the name a student can say aloud. unit: for example "nats" or "tokens".
        slider: (minimum, maximum, step) offered on the page; the hard limits are in `rest` (ge, le, ...).
        basic: shown at once; otherwise under "More settings". live: may change in a running run.
        log: the slider moves in powers of ten.
    """
    extra: dict[str, Any] = {"label": label, "unit": unit, "basic": basic, "live": live, "log": log}
    return Field(default, json_schema_extra={**extra, "slider": list(slider) if slider else None}, **rest)


class Part(BaseModel):
    """Base of every part: immutable, and a misspelt key is an error instead of being ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)

    def as_data(self) -> dict[str, Any]:
        """All of it as plain data."""
        return self.model_dump(mode="json")

    def to_yaml(self) -> str:
        """The same as YAML; `config.yaml_io` reads it back to an equal value."""
        return yaml.safe_dump(self.as_data(), sort_keys=False, allow_unicode=True, width=120)


def knobs_of(part: type[BaseModel]) -> dict[str, dict[str, Any]]:
    """Dotted field of a configuration -> its words and limits, for every field that has words. See `config.knobs`."""
    found: dict[str, dict[str, Any]] = {}

    def add(prefix: str, group: type[BaseModel]) -> None:
        for name, field in group.model_fields.items():
            if isinstance(field.json_schema_extra, dict):
                limits = ("ge", "gt", "le", "lt")
                bounds = {key: getattr(item, key) for item in field.metadata for key in limits if hasattr(item, key)}
                found[prefix + name] = {
                    **field.json_schema_extra,
                    **words_of(field.description or ""),
                    "default": field.default,
                    "minimum": bounds.get("ge", bounds.get("gt")),
                    "maximum": bounds.get("le", bounds.get("lt")),
                }
            elif isinstance(field.annotation, type) and issubclass(field.annotation, Part):
                add(f"{prefix}{name}.", field.annotation)

    add("", part)
    return found


def words_of(text: str) -> dict[str, str]:
    """The text under a field: {help, low, high}, each on one line."""
    help, low, high = (" ".join(part.split()) for part in [*re.split(r"\n- ", text), "", ""][:3])
    return {"help": help, "low": low, "high": high}


def device_knob(*, several: bool = False) -> Any:
    """Where something is computed; `train.models.loading.device_of` reads it. `several`: it may be many GPUs."""
    return knob(
        "auto",
        "Device",
        description="Where it is computed: `cpu`, `cuda:0` (the first GPU), `mps` (Apple). `auto` takes the first GPU "
        "if there is one" + (", `cuda:0,1` these two GPUs together, `all` every GPU." if several else "."),
        pattern=rf"^(auto|cpu|mps|cuda(:\d{{1,2}})?{SEVERAL if several else ''})$",
    )
