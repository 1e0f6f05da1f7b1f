"""The import law: who may import whom, by reading every import, and by looking at what is loaded afterwards."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support import PROJECT

# Each package may import those before it, and of its own sub-packages those before them.
ORDER = """
    playground errors plain_files process_identity redaction config data models pocket rewards setup runs analysis
    lessons classroom exports imports ppo training worker ui cli notebook __main__ app
""".split()
INNER_ORDER = {
    "runs": ("folder", "", "cluster", "sweeps"),  # "" stands for the modules of the package itself
    "training": ("models", "data", "loop", "rewards", "process", "service"),
    "setup": ("", "estimates"),
    "ui": ("payloads", "auth", "train", "feed", "runs", "rewards", "classroom", "api"),
}
NOT_EVEN_SO = {  # of what the order would allow; a folder of a package with a dot
    "ppo": {*ORDER},
    "pocket": {"config", "data", "models", "plain_files", "process_identity", "redaction"},
    "data": {"config"},
    "models": {"config", "data"},
    "training": {"runs.cluster", "analysis", "exports", "imports"},
    "worker": {"runs.cluster", "runs.sweeps", "analysis", "exports", "imports"},
    "ui": {"ppo", "training", "worker"},
    "cli": {"ppo", "training", "worker"},
    "notebook": {"ppo", "training", "worker"},
    "__main__": {"training", "worker", "ui", "runs"},
    "app": {"training", "worker", "ppo"},
}
# One module of the page loads the training: on ZeroGPU it is forked together with it (its docstring says why).
# `playground.train` is in a module above all others, which the package imports when it is asked for.
EXCEPTIONS = {
    "playground": {
        f"playground.notebook{name}" for name in ("", ".PlaygroundError", ".Run", ".RunFailed", ".open_run", ".train")
    },
    "playground.ui.zero_gpu": {"playground.worker", "playground.training.process.session"},
}
HEAVY = {"torch", "transformers", "trl", "peft", "accelerate", "bitsandbytes", "datasets"}
MAY_BE_HEAVY = {"ppo", "training", "worker"}
HEAVY_MODULES_OF_POCKET = tuple(f"playground.pocket.{name}" for name in ("pretrain", "acceptance"))
MAY_PRETRAIN = ("playground.cli", *HEAVY_MODULES_OF_POCKET)  # the command line only when asked to
GRADIO = {"gradio", "gradio_client"}
MAY_IMPORT_GRADIO = {"ui"}


def component(module: str) -> str:
    """playground.runs.folder.writer -> runs; app -> app; playground -> playground."""
    return [*module.split("."), ""][1] or module


def inner(module: str) -> str:
    """playground.runs.folder.writer -> folder; playground.runs.supervisor -> ""."""
    parts = module.split(".")[2:]
    return parts[0] if parts and (PROJECT / "playground" / component(module) / parts[0]).is_dir() else ""


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


def is_below(mine: str, theirs: str, order: Sequence[str]) -> bool:
    """True if `mine` may import `theirs`; what the order does not name it leaves to the rule against circles."""
    return mine not in order or theirs not in order or order.index(theirs) <= order.index(mine)


def violations(module: str, source: str, is_package: bool = False) -> list[str]:
    mine, found = component(module), []
    for name in imports(module, source, is_package):
        if name in EXCEPTIONS.get(module, ()):
            continue
        top = name.split(".")[0]
        if top == "playground":
            theirs = component(name)
            if theirs not in ORDER:  # a name in playground/__init__.py
                theirs = "playground"
            refused = {theirs, f"{theirs}.{inner(name)}"} & NOT_EVEN_SO.get(mine, set()) if theirs != mine else set()
            allowed = is_below(mine, theirs, ORDER) and not refused
            if mine == theirs and not is_below(inner(module), inner(name), INNER_ORDER.get(mine, ())):
                allowed = False
            if not allowed or (name.startswith(HEAVY_MODULES_OF_POCKET) and module not in MAY_PRETRAIN):
                found.append(name)
        heavy_here = mine in MAY_BE_HEAVY or module in HEAVY_MODULES_OF_POCKET
        if (top in HEAVY and not heavy_here) or (top in GRADIO and mine not in MAY_IMPORT_GRADIO):
            found.append(name)
    return found


def circles(sources: dict[str, tuple[str, bool]]) -> list[list[str]]:
    """Groups of modules that import each other, wherever the imports stand. The sources are (text, is a package)."""

    def module_of(name: str) -> str:
        while name and name not in sources:
            name = name.rpartition(".")[0]
        return name

    graph = {
        module: {module_of(name) for name in imports(module, source, is_package)} - {module, "", "playground"}
        for module, (source, is_package) in sources.items()
    }

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        ahead = [start]
        while ahead:
            new = graph[ahead.pop()] - found
            found |= new
            ahead += new
        return found

    reach = {module: reached(module) for module in graph}
    groups = {frozenset(other for other in reach[module] if module in reach[other]) for module in graph}
    return sorted(sorted(group) for group in groups if group)


def test_a_module_imports_only_what_its_layer_may() -> None:
    assert {component(module) for module in MODULES} <= {*ORDER}, "a new package needs its place in ORDER"
    found = {
        module: violations(module, path.read_text(encoding="utf-8"), path.name == "__init__.py")
        for module, path in MODULES.items()
    }
    assert {module: names for module, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("module", "source", "is_package"),
    [
        ("playground.ui.page", "from playground.training import worker", False),
        ("playground.worker", "import playground.ui", False),
        ("playground.training.process.session", "import gradio", False),
        ("playground.ui.page", "def f():\n    import torch", False),
        ("playground.runs.folder.directory", "from transformers import AutoModel", False),
        ("playground.runs.folder.directory", "from playground.runs import queue", False),
        ("playground.training.loop.trainer", "from playground.training.process import session", False),
        ("playground.ppo.kl", "from playground import config", False),
        ("playground.ppo.kl", "from playground.config import RunConfig", False),
        ("playground.pocket.words", "from .. import config", False),
        ("playground.pocket", "from ..config import RunConfig", True),
        ("playground.pocket.words", "import torch.nn", False),
        ("playground.rewards.rules", "from playground.pocket import pretrain", False),
        ("playground.pocket.words", "from playground.pocket.pretrain import pretrain", False),
        ("playground.analysis.x", "from playground.ui import form", False),
        ("playground.config", "from playground.runs import records", False),
        ("playground.training.loop.trainer", "from playground.runs.cluster import node", False),
        ("app", "from playground.training import worker", False),
        ("playground.ui.zero_gpu", "from playground.training.process import watch", False),
        ("playground.ui.server", "from playground import worker", False),
    ],
)
def test_the_check_sees_a_breach(module: str, source: str, is_package: bool) -> None:
    assert len(violations(module, source, is_package)) == 1


def test_no_modules_import_each_other() -> None:
    sources = {name: (path.read_text(encoding="utf-8"), path.name == "__init__.py") for name, path in MODULES.items()}
    assert circles(sources) == []


def test_a_circle_is_seen_wherever_its_imports_stand() -> None:
    hidden = "if TYPE_CHECKING:\n    from playground.c import x"
    sources = {"a": ("def f():\n    import playground.b", False), "playground.b": (hidden, False)}
    assert circles({**sources, "playground.c": ("import a", False), "d": ("import a", False)}) == [
        ["a", "playground.b", "playground.c"]
    ]


def test_what_is_allowed_is_not_reported() -> None:
    assert violations("playground.training.process.session", "import torch\nfrom playground.ppo import kl") == []
    assert violations("playground.pocket.pretrain", "import torch\nfrom .words import WORDS") == []
    assert (
        violations(
            "playground.ui.page",
            "import gradio as gr\nfrom playground import runs\nfrom playground.setup import catalog",
        )
        == []
    )


def loaded_after_importing(names: list[str]) -> set[str]:
    code = (
        "import importlib, json, sys\n"
        f"[importlib.import_module(name) for name in {names!r}]\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, timeout=180)
    assert answer.returncode == 0, answer.stderr
    return set(json.loads(answer.stdout.splitlines()[-1]))


def of(*components: str) -> list[str]:
    return [name for name in MODULES if component(name) in components]


def test_the_light_half_loads_neither_models_nor_the_page() -> None:
    light = (
        "errors plain_files process_identity redaction config data models rewards setup runs analysis lessons exports "
        "imports"
    )
    names = of(*light.split(), "cli")
    assert len(names) > 10
    loaded = loaded_after_importing(names)
    assert set(names) <= loaded
    assert loaded & (HEAVY | {"gradio"}) == set()


def test_the_page_loads_no_models_where_no_gpu_is_lent() -> None:
    loaded = loaded_after_importing([*of("ui"), "app"])
    assert {"gradio", "playground.ui.zero_gpu"} <= loaded
    assert {name for name in loaded if name.startswith("playground.training")} == set()
    assert loaded & {*HEAVY, "spaces"} == set()


def test_the_command_line_starts_without_tables_of_data() -> None:
    loaded = loaded_after_importing(["playground.cli"])
    assert loaded & (HEAVY | {"gradio", "pandas", "matplotlib", "tensorboardX"}) == set()


def test_the_algorithm_loads_nothing_else_of_the_project() -> None:
    loaded = {name for name in loaded_after_importing(of("ppo")) if name.startswith("playground")}
    assert loaded == {"playground", *of("ppo")}
