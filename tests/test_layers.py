"""The import law (layers.yaml): by reading every import, and by looking at what is loaded afterwards."""

import ast
import functools
import graphlib
import json
import subprocess
import sys

import pytest

from tests.support import PROJECT, data_beside

LAW = data_beside(__file__, "layers.yaml")
ORDER, INNER_ORDER = LAW["order"].split(), LAW["inner_order"]
NOT_EVEN_SO = {package: {*names} for package, names in LAW["not_even_so"].items()} | {"ppo": {*ORDER}}
LIBRARIES = {name: {*users} for names, users in LAW["libraries"].items() for name in names.split()}
HEAVY = {name for name, users in LIBRARIES.items() if "training" in users}


def component(module):
    """playground.runs.folder.writer -> runs; app -> app; playground -> playground."""
    return [*module.split("."), ""][1] or module


def inner(module):
    """playground.runs.folder.writer -> folder; playground.runs.supervisor -> ""."""
    parts = module.split(".")[2:]
    return parts[0] if parts and (PROJECT / "playground" / component(module) / parts[0]).is_dir() else ""


def modules():
    paths = {"app": PROJECT / "app.py"}
    for path in sorted((PROJECT / "playground").rglob("*.py")):
        parts = path.relative_to(PROJECT).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


MODULES = modules()


def imports(module, source, is_package=False):
    """Every module a source imports, wherever in it, by its full name; `from a import b` gives a.b."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{stem}.{alias.name}" for alias in node.names)


@functools.cache
def imports_of_all():
    """What each module of the project imports."""
    return {
        module: [*imports(module, path.read_text(encoding="utf-8"), path.name == "__init__.py")]
        for module, path in MODULES.items()
    }


def is_below(mine, theirs, order):
    """True if `mine` may import `theirs`; what the order does not name it leaves to the rule against circles."""
    return mine not in order or theirs not in order or order.index(theirs) <= order.index(mine)


def is_allowed(module, name):
    """True if the law lets a module import what has that name."""
    if name in LAW["exceptions"].get(module, ()):
        return True
    mine = component(module)
    for library, users in LIBRARIES.items():
        if name == library or name.startswith(f"{library}."):
            return bool({mine, module} & users)
    if name.split(".")[0] != "playground":
        return True
    theirs = component(name) if component(name) in ORDER else "playground"  # a name in playground/__init__.py
    if mine == theirs:
        return is_below(inner(module), inner(name), INNER_ORDER.get(mine, ()))
    return is_below(mine, theirs, ORDER) and not {theirs, f"{theirs}.{inner(name)}"} & NOT_EVEN_SO.get(mine, set())


def violations(module, names):
    """Those of the names that a module may not import."""
    return [name for name in names if not is_allowed(module, name)]


def circle(imported):
    """Modules that import each other in a circle, wherever the imports stand; empty if none do."""

    def module_of(name):
        while name and name not in imported:
            name = name.rpartition(".")[0]
        return name

    graph = {module: {*map(module_of, names)} - {module, "", "playground"} for module, names in imported.items()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return {*error.args[1]}
    return set()


def test_a_module_imports_only_what_its_layer_may():
    assert {component(module) for module in MODULES} <= {*ORDER}, "a new package needs its place in the order"
    broken = {module: violations(module, names) for module, names in imports_of_all().items()}
    assert {module: names for module, names in broken.items() if names} == {}


@pytest.mark.parametrize(("module", "source"), LAW["breaches"])
def test_a_breach_of_the_law_is_seen(module, source):
    assert len(violations(module, imports(module, source))) == 1


@pytest.mark.parametrize(("module", "source"), LAW["allowed"])
def test_what_is_allowed_is_no_breach(module, source):
    assert violations(module, imports(module, source)) == []


def test_no_modules_import_each_other():
    assert circle(imports_of_all()) == set()


def test_what_the_tests_of_the_night_take_from_others_is_there():
    """By day nobody imports them."""
    missing = []
    for path in sorted(PROJECT.glob("tests/**/nightly/*.py")):
        for imported in imports("", path.read_text("utf-8")):
            if imported.startswith("tests."):
                module, _, name = imported.rpartition(".")
                place = PROJECT.joinpath(*module.split("."))
                sources = [place.with_suffix(".py"), place / "__init__.py"]
                text = "".join(source.read_text("utf-8") for source in sources if source.is_file())
                if name not in text + str([*place.glob("*.py")]):
                    missing.append(f"{path.name}: {name}")
    assert missing == []


def test_imports_are_read_from_the_folder_of_a_package_and_a_circle_is_seen_wherever_they_stand():
    assert [*imports("playground.pocket", "from . import words", is_package=True)] == ["playground.pocket.words"]
    assert [*imports("playground.pocket.words", "from . import world")] == ["playground.pocket.world"]
    sources = {"a": "def f():\n    import playground.b", "playground.c": "import a", "d": "import a"}
    sources["playground.b"] = "if TYPE_CHECKING:\n    from playground.c import x"
    imported = {name: [*imports(name, source)] for name, source in sources.items()}
    assert circle(imported) == {"a", "playground.b", "playground.c"}


def of(*components):
    return [name for name in MODULES if component(name) in components]


def test_the_command_line_and_the_light_half_load_no_more_than_they_need():
    """Looked at in a new Python, after the command line's first module and after the whole light half (with the page:
    tests/ui/test_server.py)."""
    light = "errors plain_files process_identity redaction config data models rewards setup runs analysis lessons"
    stages = [["playground.cli"], of(*light.split(), "exports", "imports", "cli")]
    code = "import importlib, json, sys\nfor names in json.load(sys.stdin):\n"
    code += "    [importlib.import_module(name) for name in names]\n    print(json.dumps([*sys.modules]))"
    answer = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(stages), cwd=PROJECT, capture_output=True, text=True, timeout=600
    )
    assert answer.returncode == 0, answer.stderr
    first, whole = (set(json.loads(line)) for line in answer.stdout.splitlines())
    assert "playground.cli" in first
    assert first & {"pandas", "matplotlib", "tensorboardX"} == set()
    assert {"playground.exports.saving", "playground.imports.importing", "playground.runs.supervisor"} <= whole
    assert whole & (HEAVY | {"gradio"}) == set()
