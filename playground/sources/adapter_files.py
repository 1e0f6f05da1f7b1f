"""The gate before peft sees an adapter folder: plain LoRA in safetensors, without anything that runs or computes.

peft imports modules that a configuration names, reads its target names as regular expressions, and falls back to a
pickle where there is no safetensors file; so only settings that are known to be data are let through. Knows the headers
of weight files; no torch. `catalog` calls it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playground.errors import ModelNotFound
from playground.sources import weight_files

CONFIG = "adapter_config.json"  # a folder that has it holds what LoRA learned, and names its base
WEIGHTS = "adapter_model.safetensors"
MOST_RANK = 1024
MOST_NAMES = 1000
TASKS = (None, "CAUSAL_LM", "SEQ_CLS")
NAME = re.compile(r"[A-Za-z0-9_.]{1,200}")
EMPTY = tuple(
    "auto_mapping megatron_config loftq_config eva_config corda_config lora_ga_config arrow_config velora_config "
    "monteclora_config kasa_config use_bdlora layer_replication trainable_token_indices target_parameters "
    "layers_pattern alora_invocation_tokens auto_map trust_remote_code".split()
)
NAME_LISTS = ("target_modules", "modules_to_save", "exclude_modules")
NAME_TABLES = ("rank_pattern", "alpha_pattern")


def check(folder: Path) -> dict[str, Any]:
    """The settings of an adapter folder that may be loaded.

    Raises:
        ModelNotFound: with the file, the setting and what to do.
    """
    path = folder / CONFIG
    facts = weight_files.read_json(path)
    if weight_files.is_there(folder / "config.json"):
        raise ModelNotFound(
            f"The folder {folder} holds a whole model and an adapter (config.json and {CONFIG}), so it does not say "
            "which is meant: move one of them to a folder of its own."
        )
    if facts.get("peft_type") != "LORA":
        raise ModelNotFound(f"{path} is not a LoRA adapter (peft_type {_short(facts.get('peft_type'))}): use one.")
    if facts.get("task_type") not in TASKS:
        raise ModelNotFound(f"{path} has task_type {_short(facts['task_type'])}: use an adapter of a language model.")
    for name in EMPTY:
        if facts.get(name):
            raise ModelNotFound(f"{path} sets {name}, which is not supported: use a plain LoRA adapter.")
    if facts.get("init_lora_weights", True) not in (True, False, "gaussian"):
        raise ModelNotFound(
            f"{path} sets init_lora_weights to {_short(facts['init_lora_weights'])}, which changes the base model: "
            "convert it to a plain LoRA adapter."
        )
    _check_names(path, facts)
    _check_ranks(path, facts)
    if not weight_files.is_there(folder / WEIGHTS):
        pickles = sorted(item.name for item in folder.glob("*") if item.suffix.lower() in weight_files.PICKLES)
        if pickles:
            raise ModelNotFound(
                f"The adapter in {folder} has its weights in a pickle file only ({pickles[0][:80]}), which can run "
                f"code when it is opened: save it with peft on a machine you trust, which writes {WEIGHTS}."
            )
        raise ModelNotFound(f"The adapter in {folder} has no {WEIGHTS}: copy or save it again.")
    weight_files.headers(folder / WEIGHTS)
    return facts


def _check_names(path: Path, facts: Mapping[str, Any]) -> None:
    """Lists of plain names only: peft takes a text for a regular expression."""
    for field in NAME_LISTS:
        names = facts.get(field)
        if names is None or (field == "target_modules" and names == "all-linear"):
            continue
        if not isinstance(names, list) or len(names) > MOST_NAMES or not all(_is_name(name) for name in names):
            raise ModelNotFound(f"{path} has {field}: {_short(names)}, which is not a list of layer names: mend it.")


def _check_ranks(path: Path, facts: Mapping[str, Any]) -> None:
    ranks: list[Any] = [facts.get("r", 8)]
    for field in NAME_TABLES:
        table = facts.get(field) or {}
        if not isinstance(table, dict) or len(table) > MOST_NAMES or not all(_is_name(name) for name in table):
            raise ModelNotFound(f"{path} has {field}: {_short(table)}, which does not list layer names: mend it.")
        ranks += table.values() if field == "rank_pattern" else ()
    for rank in ranks:
        if type(rank) is not int or not 1 <= rank <= MOST_RANK:
            raise ModelNotFound(f"{path} has r: {_short(rank)}: a rank is a whole number from 1 to {MOST_RANK}.")


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and NAME.fullmatch(value) is not None


def _short(value: Any) -> str:
    return repr(value)[:60]
