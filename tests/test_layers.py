"""The import law: who may import whom, by reading every import, and by looking at what is loaded afterwards."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import PROJECT

BASE = {"errors", "config", "config_io", "engines", "plain_files", "redaction", "texts"}
SOURCES = {"sources", "devices"}  # what to load, and where to
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "config": {"config", "errors"},
    "config_io": {"config", "errors", "plain_files"},
    "plain_files": set(),
    "redaction": set(),
    "texts": {"texts", "errors", "plain_files"},
    "engines": {"config", "errors"},
    "sources": {"sources", "errors", "plain_files"},
    "devices": set(),
    "estimates": {"estimates", "catalog", "checks", *SOURCES, *BASE},
    "exports": {"exports", "insight", "runs", "catalog", "__init__", *BASE},
    "pocket": {"pocket", "errors"},
    "rewards": {"rewards", "pocket", *BASE},
    "catalog": {"pocket", "sources", *BASE},
    "checks": {"catalog", "rewards", *SOURCES, *BASE},
    "limits": {"catalog", "checks", *SOURCES, *BASE},
    "runs": {"runs", "catalog", "checks", "devices", *BASE},
    "insight": {"insight", "runs", "rewards", "catalog", *BASE},
    "ppo": {"ppo"},
    "training": {
        "training",
        "ppo",
        "rewards",
        "pocket",
        "runs",
        "catalog",
        "checks",
        "limits",
        "estimates",
        *SOURCES,
        *BASE,
    },
    "ui": {"ui", "exports", "insight", "rewards", "runs", "catalog", "checks", "limits", "estimates", *SOURCES, *BASE},
    "cli": {
        "cli",
        "ui",
        "exports",
        "insight",
        "rewards",
        "runs",
        "catalog",
        "checks",
        "limits",
        "estimates",
        "pocket",
        *SOURCES,
        *BASE,
    },
    "__init__": set(),
    "__main__": {"cli"},
    "app": {"ui", "cli", "runs", *BASE},
}
HEAVY = {"torch", "transformers", "trl", "peft", "accelerate", "bitsandbytes", "datasets"}
MAY_BE_HEAVY = {"ppo", "training"}
HEAVY_MODULES_OF_POCKET = tuple(
    f"playground.pocket.{name}" for name in ("pretrain", "acceptance", "sampling", "tokenizer")
)
MAY_PRETRAIN = ("playground.cli", *HEAVY_MODULES_OF_POCKET)  # the command line only when asked to
GRADIO = {"gradio", "gradio_client"}
MAY_IMPORT_GRADIO = {"ui"}


def component(module: str) -> str:
    """playground.runs.writer -> runs; app -> app; playground -> __init__."""
    return "app" if module == "app" else [*module.split("."), "__init__"][1]


def modules() -> dict[str, Path]:
    found = {"app": PROJECT / "app.py"} if (PROJECT / "app.py").exists() else {}
    for path in sorted((PROJECT / "playground").rglob("*.py")):
        parts = path.relative_to(PROJECT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(module: str, source: str, is_package: bool) -> Iterator[str]:
    """Every module a source imports, wherever in it, by its full name; `from a import b` gives a.b."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def violations(module: str, source: str, is_package: bool = False) -> list[str]:
    mine, found = component(module), []
    for name in imports(module, source, is_package):
        top = name.split(".")[0]
        if top == "playground":
            theirs = component(name)
            if theirs in MAY_IMPORT and theirs not in MAY_IMPORT[mine]:
                found.append(name)
            if name.startswith(HEAVY_MODULES_OF_POCKET) and module not in MAY_PRETRAIN:
                found.append(name)
        heavy_here = mine in MAY_BE_HEAVY or module in HEAVY_MODULES_OF_POCKET
        if (top in HEAVY and not heavy_here) or (top in GRADIO and mine not in MAY_IMPORT_GRADIO):
            found.append(name)
    return found


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_what_its_layer_may(module: str) -> None:
    path = MODULES[module]
    assert component(module) in MAY_IMPORT, "a new package needs its line in MAY_IMPORT"
    assert violations(module, path.read_text(encoding="utf-8"), path.name == "__init__.py") == []


@pytest.mark.parametrize(
    ("module", "source", "is_package"),
    [
        ("playground.ui.page", "from playground.training import worker", False),
        ("playground.training.worker", "import playground.ui", False),
        ("playground.training.worker", "import gradio", False),
        ("playground.ui.page", "def f():\n    import torch", False),
        ("playground.runs.directory", "from transformers import AutoModel", False),
        ("playground.ppo.kl", "from playground import config", False),
        ("playground.ppo.kl", "from playground.config import RunConfig", False),
        ("playground.pocket.words", "from .. import config", False),
        ("playground.pocket", "from ..config import RunConfig", True),
        ("playground.pocket.words", "import torch.nn", False),
        ("playground.rewards.rules", "from playground.pocket import pretrain", False),
        ("playground.pocket.words", "from playground.pocket.tokenizer import train", False),
        ("playground.insight.x", "from playground.ui import form", False),
        ("playground.config", "from playground.runs import records", False),
        ("app", "from playground.training import worker", False),
    ],
)
def test_the_check_sees_a_breach(module: str, source: str, is_package: bool) -> None:
    assert len(violations(module, source, is_package)) == 1


def test_what_is_allowed_is_not_reported() -> None:
    assert violations("playground.training.worker", "import torch\nfrom playground.ppo import kl") == []
    assert violations("playground.pocket.pretrain", "import torch\nfrom .words import WORDS") == []
    assert violations("playground.ui.page", "import gradio as gr\nfrom playground import catalog, runs") == []


def loaded_after_importing(names: list[str]) -> set[str]:
    code = (
        "import importlib, json, sys\n"
        f"[importlib.import_module(name) for name in {names!r}]\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, timeout=60)
    assert answer.returncode == 0, answer.stderr
    return set(json.loads(answer.stdout.splitlines()[-1]))


def of(*components: str) -> list[str]:
    return [name for name in MODULES if component(name) in components]


def test_the_light_half_loads_neither_models_nor_the_page() -> None:
    names = of(
        "errors",
        "config",
        "config_io",
        "engines",
        "exports",
        "catalog",
        "limits",
        "estimates",
        "sources",
        "texts",
        "rewards",
        "runs",
        "insight",
        "cli",
    )
    assert len(names) > 10
    loaded = loaded_after_importing(names)
    assert set(names) <= loaded
    assert loaded & (HEAVY | {"gradio"}) == set()


@pytest.mark.skipif(not of("ui"), reason="there is no page yet")
def test_the_page_loads_no_model_library() -> None:
    loaded = loaded_after_importing(of("ui"))
    assert loaded & HEAVY == set()
    assert not [name for name in loaded if name.startswith("playground.training")]


def test_the_command_line_starts_without_tables_of_data() -> None:
    loaded = loaded_after_importing(["playground.cli"])
    assert loaded & (HEAVY | {"gradio", "pandas", "datasets"}) == set()


def test_the_algorithm_loads_nothing_else_of_the_project() -> None:
    loaded = {name for name in loaded_after_importing(of("ppo")) if name.startswith("playground")}
    assert loaded == {"playground", *of("ppo")}
