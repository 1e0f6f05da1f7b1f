"""The gate before peft sees an adapter folder: plain LoRA in safetensors, without anything that runs or computes.

peft imports modules that a configuration names, reads its target names as regular expressions, and falls back to a
pickle where there is no safetensors file; so only settings that are known to be data are let through. Knows the headers
of weight files; no torch. `catalog` calls it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError

from playground.errors import ModelNotFound
from playground.models import weight_files

CONFIG = "adapter_config.json"  # a folder that has it holds what LoRA learned, and names its base
WEIGHTS = "adapter_model.safetensors"
EMPTY = tuple(
    "auto_mapping megatron_config loftq_config eva_config corda_config lora_ga_config arrow_config velora_config "
    "monteclora_config kasa_config use_bdlora layer_replication trainable_token_indices target_parameters "
    "layers_pattern alora_invocation_tokens auto_map trust_remote_code".split()
)
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.]{1,200}$")]  # peft takes any other text for a regular expression
Names = Annotated[list[Name], Field(max_length=1000)]
Rank = Annotated[int, Field(ge=1, le=1024)]


class _Plain(BaseModel):
    """The settings of a plain LoRA adapter that peft would otherwise run, compute with, or look for elsewhere."""

    model_config = ConfigDict(strict=True)

    peft_type: Literal["LORA"]
    task_type: Literal["CAUSAL_LM", "SEQ_CLS"] | None = None
    init_lora_weights: StrictBool | Literal["gaussian"] = True  # other kinds change the base model
    r: Rank = 8
    rank_pattern: Annotated[dict[Name, Rank], Field(max_length=1000)] | None = None
    alpha_pattern: Annotated[dict[Name, float], Field(max_length=1000)] | None = None
    target_modules: Names | Literal["all-linear"] | None = None
    modules_to_save: Names | None = None
    exclude_modules: Names | None = None


def check(folder: Path) -> dict[str, Any]:
    """The settings of an adapter folder that may be loaded. Raises: ModelNotFound, with the file, the setting and what
    to do."""
    path = folder / CONFIG
    facts = weight_files.read_json(path)
    if weight_files.is_there(folder / "config.json"):
        raise ModelNotFound(
            f"The folder {folder} holds a whole model and an adapter (config.json and {CONFIG}), so it does not say "
            "which is meant: move one of them to a folder of its own."
        )
    if unknown := next((name for name in EMPTY if facts.get(name)), ""):
        raise ModelNotFound(f"{path} sets {unknown}, which is not supported: use a plain LoRA adapter.")
    try:
        _Plain.model_validate(facts)
    except ValidationError as error:
        field = str(error.errors()[0]["loc"][0])
        raise ModelNotFound(
            f"{path} has {field}: {repr(facts.get(field))[:60]}, which a plain LoRA adapter of a language "
            "model cannot have: names of layers are lists of plain names, ranks whole numbers from 1 to 1024."
        ) from None
    weight_files.headers(weight_files.the_safetensors(folder, WEIGHTS))
    return facts
