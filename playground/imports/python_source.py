"""What a Python script or notebook says of a training, read from its syntax tree. Nothing is imported or run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from playground import plain_files
from playground.errors import InvalidConfig, Problem
from playground.imports.constants import Constants, defaults_of, fields_of, name_of
from playground.imports.found import Call, ForeignSetting, ForeignSource, NotConstant, Owner
from playground.imports.translation import NOT_TRL, TABLES

CONFIGS = ("PPOConfig", "PPOv2Config", "RLOOConfig", "GRPOConfig", "DPOConfig")
TRAINERS = ("PPOTrainer", "PPOv2Trainer", "RLOOTrainer", "GRPOTrainer", "DPOTrainer")
OWNERS: dict[str, Owner] = {
    "LoraConfig": "lora",
    "ModelConfig": "model",
    "ScriptArguments": "script",
    "get_peft_model": "lora",
}
OF_INTEREST = {*TRAINERS, "BitsAndBytesConfig", "from_pretrained", "pipeline", "load_dataset", "generate", "Scale"}
GENERATION = re.compile(r"gen(eration|erate)?_(kwargs|config|args)|generation_params|sampling_(kwargs|params)")
OLD_DICTIONARY = {"ppo_epochs", "init_kl_coef", "forward_batch_size", "steps", "cliprange", "horizon"}
CONTROLLER = re.compile("kl.*(control|ctl|adapt|schedul)|(control|ctl|adapt).*kl", re.IGNORECASE)
MOST_TEXTS = 100
MOST_NUMBER = 10**4000
LEAST_OF_A_LOOP = 4  # names of a training loop, for a group of values to be its settings
LOOP = TABLES["loop"].keys() - {"seed", "device", "epochs", "batch_size", "model_name"}
OWN = ("MODEL", "PROMPTS", "REWARDS", "SCORE_CLIP", "SCORE_SCALE")  # constants of a script that this project exports
CELL_MAGIC = re.compile(r"\s*%%(\w+)")
OF_PYTHON = ("time", "timeit", "capture", "prun", "python", "python3")
NOT_PYTHON = (
    re.compile(  # a line of the notebook itself: `!ls`, `%cd x`, `files = !ls`, `?help`, `help?`, `pip install x`
        r"\s*(?:[!%?]|[\w., ]+=\s*[!%]|[\w.]+\?{1,2}\s*$|(?:pip|conda) install\b|cd \S)"
    )
)
OTHER_LIBRARIES = {"trlx": "trlX", "axolotl": "Axolotl", "openrlhf": "OpenRLHF", "verl": "verl"}


def read(text: str) -> ForeignSource:
    """Raises: InvalidConfig: not Python."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise _not_python(f"line {error.lineno or 1} is not Python ({error.msg})") from None
    except (ValueError, RecursionError, MemoryError):
        raise _not_python("it is nested too deeply, or not all text") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value > MOST_NUMBER:
            raise _not_python(f"line {node.lineno} has a number of thousands of digits")  # Python would not show it
    try:
        reader = _Reader(tree)
        roots = {name.split(".")[0] for name in reader.imports()}
        if "trl" not in roots and (other := roots & OTHER_LIBRARIES.keys()):
            raise InvalidConfig([Problem("", NOT_TRL.format(OTHER_LIBRARIES[min(other)]))])
        return reader.source()
    except RecursionError:
        raise _not_python("it is nested too deeply") from None


def texts(text: str) -> list[str]:
    """The first texts that stand for themselves in a script that `read` has read: docstrings, strings as comments."""
    parts = [node.value for node in ast.parse(text).body if isinstance(node, ast.Expr)]
    found = [node.value for node in parts if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return found[:MOST_TEXTS]


def _starts(node: ast.If) -> bool:
    """Whether it asks if the file is run as a script."""
    return any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test))


def read_notebook(data: bytes) -> ForeignSource:
    """A notebook's code as one script. What is the notebook's own (shell lines, magics, help) is skipped; a cell that
    is no Python is left out, and told of. Raises: InvalidConfig: it is no notebook."""
    try:
        cells = [cell for cell in plain_files.parse_json(data.removeprefix(b"\xef\xbb\xbf"))["cells"] if cell]
        sources = [(at, cell["source"]) for at, cell in enumerate(cells, 1) if cell.get("cell_type") == "code"]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _not_python("it is no Jupyter notebook") from None
    kept: list[str] = []
    left_out: list[str] = []
    for number, source in sources:
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        code = _without_magics(text)
        if code is None:
            left_out.append(f"Cell {number} of the notebook is no Python and was left out: {text.strip()[:60]!r}.")
        kept.append("\n" * text.count("\n") if code is None else code)  # lines keep their numbers
    found = read("\n".join(kept))
    found.remarks += left_out
    return found


def _without_magics(text: str) -> str | None:
    """A cell as Python; None where it is none."""
    magic = CELL_MAGIC.match(text)
    if magic and magic.group(1) not in OF_PYTHON:
        return None
    lines = text.split("\n")
    plain: list[str] = []
    goes_on = False
    for line in lines:
        if goes_on or NOT_PYTHON.match(line):
            indent = line[: len(line) - len(line.lstrip())]
            plain.append("" if goes_on else f"{indent}pass")
            goes_on = line.rstrip().endswith("\\")
        else:
            plain.append(line)
    for code in (text, "\n".join(plain)):
        try:
            ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        return code
    return None


def _not_python(why: str) -> InvalidConfig:
    return InvalidConfig([Problem("", f"This cannot be read as a script: {why}.")])


class _Reader:
    def __init__(self, tree: ast.Module) -> None:
        self.tree, self.constants, self.found = tree, Constants(tree), ForeignSource()
        self.targets: dict[int, str] = {}  # id of a call -> the name that its value is assigned to
        self.conditional: set[int] = set()  # ids of the statements under an `if`
        self.seen: set[tuple[int, Owner]] = set()  # ids of the values that are settings, and whose
        for node in ast.walk(tree):
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                for call in ast.walk(node.value):
                    if isinstance(call, ast.Call):
                        self.targets.setdefault(id(call), name_of(target))
            elif isinstance(node, ast.If) and id(node) not in self.conditional and not _starts(node):
                self.conditional |= {id(inner) for part in (*node.body, *node.orelse) for inner in ast.walk(part)}

    def source(self) -> ForeignSource:
        calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        calls.sort(key=lambda node: (node.lineno, node.col_offset))
        self._config(calls)
        for call in calls:
            self._call(call)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                self._assignment(node)
        self._controllers(calls)
        self._own()
        if not self.found.kind and not any(name.startswith("trl.") for name in self.imports()):
            self._loop()
        if not self.found.kind and any(name.startswith("trl.") for name in self.imports()):
            self.found.kind = next((name for name in TRAINERS if self.found.named(name)), "")
        return self.found

    def _controllers(self, calls: list[ast.Call]) -> None:
        """What is written by hand to move beta: a class, or a function of none, and the call that makes or uses it."""
        written = [node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef | ast.FunctionDef)]
        for node in written:
            if CONTROLLER.search(node.name):
                call = next((one for one in calls if name_of(one.func) == node.name), None)
                parts = [one.args for one in ast.walk(node) if isinstance(one, ast.FunctionDef)]
                defaults = [f"{name.arg}={ast.unparse(value)}" for part in parts for name, value in defaults_of(part)]
                said = ast.unparse(call) if call else f"{node.name}({', '.join(defaults)})"
                self.found.controllers.append(f"{said[:200]} (line {node.lineno})")

    def _config(self, calls: list[ast.Call]) -> None:
        """The first call of a class of settings; what a later one says is left out."""
        of = {name: [call for call in calls if name_of(call.func).split(".")[-1] == name] for name in CONFIGS}
        found = sorted((call for many in of.values() for call in many), key=lambda call: call.lineno)
        if not found:
            return
        first = next(many[0] for many in of.values() if many)
        self.found.kind = name_of(first.func).split(".")[-1]
        self.config_target = self.targets.get(id(first), "")
        self._settings(first, "config")
        for other in found:
            if other is not first:
                name = name_of(other.func).split(".")[-1]
                self.found.remarks.append(f"Line {other.lineno}: a second set of settings ({name}) was left out.")

    config_target = ""

    def _call(self, node: ast.Call) -> None:
        full = name_of(node.func)
        name = full.split(".")[-1]
        if name in OWNERS:
            self._settings(node, OWNERS[name])
        if name in ("generate", "GenerationConfig"):
            self._settings(node, "generate")
        if name not in OF_INTEREST:
            return
        arguments = [self._value(item) for item in node.args if not isinstance(item, ast.Starred)]
        keywords = {item.arg: self._value(item.value) for item in node.keywords if item.arg}
        self.found.calls.append(Call(full, self.targets.get(id(node), ""), arguments, keywords, node.lineno))

    def _settings(self, node: ast.Call, owner: Owner) -> None:
        for item in node.keywords:
            if item.arg:
                self._setting(item.arg, item.value, owner)
            elif owner != "generate" or not GENERATION.fullmatch(name_of(item.value).lower()):  # else as it is assigned
                for name, value in self.constants.mapping(item.value):
                    self._setting(name, value, owner)

    def _setting(self, name: str, node: ast.expr, owner: Owner, problem: str = "") -> None:
        try:
            value = self.constants.value(node)
        except NotConstant as why:
            value, problem = ast.unparse(node)[:200], str(why)
        if (id(node), owner) not in self.seen:  # two calls may be given one dictionary
            self.seen.add((id(node), owner))
            self.found.settings.append(ForeignSetting(name, value, node.lineno, owner, problem))

    def _assignment(self, node: ast.Assign) -> None:
        """`generation_kwargs = {...}`, `config = {...}` of the oldest TRL, and `config.learning_rate = 1e-5`."""
        target = node.targets[0]
        name = name_of(target)
        if isinstance(target, ast.Name):
            items = list(self.constants.mapping(node.value))
            if GENERATION.fullmatch(name.lower()):
                for key, value in items:
                    self._setting(key, value, "generate")
            elif len(OLD_DICTIONARY & {key for key, _ in items}) >= 3 and not self.found.kind:
                self.found.kind = "PPOConfig"
                for key, value in items:
                    self._setting(key, value, "config")
        elif isinstance(target, ast.Attribute) and self.config_target and name_of(target.value) == self.config_target:
            condition = "it is set under a condition" if id(node) in self.conditional else ""
            if condition:
                text = ast.unparse(node.value)[:200]
                self.found.settings.append(ForeignSetting(target.attr, text, node.lineno, "config", condition))
            else:
                self._setting(target.attr, node.value, "config")

    def _loop(self) -> None:
        """The settings of a loop that is written by hand: of a class, a dictionary or the parameters of a function
        those with the most names that are known."""
        groups: list[list[tuple[str, ast.expr]]] = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ClassDef):
                groups.append(list(fields_of(node)))
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                groups.append([(parameter.arg, default) for parameter, default in defaults_of(node.args)])
            elif isinstance(node, ast.Assign):
                groups.append(list(self.constants.mapping(node.value)))
        best = max(groups, key=lambda group: len({name for name, _ in group} & LOOP), default=[])
        if len({name for name, _ in best} & LOOP) >= LEAST_OF_A_LOOP:
            self.found.kind = "loop"
            for name, value in best:
                self._setting(name, value, "config")

    def _value(self, node: ast.expr) -> Any:
        """The value of an argument; of what is no constant its text, marked as such."""
        try:
            return self.constants.value(node)
        except NotConstant:
            if isinstance(node, (ast.List, ast.Tuple)):
                return [self._value(item) for item in node.elts]
            return Unknown(ast.unparse(node)[:200])

    def imports(self) -> Iterator[str]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (f"{item.name}." for item in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield f"{node.module}."

    def _own(self) -> None:
        """What stands in a script that `export --as trl` has written, which has these constants."""
        assigned = [node for node in self.tree.body if isinstance(node, ast.Assign)]
        named = {node.targets[0].id: node.value for node in assigned if isinstance(node.targets[0], ast.Name)}
        if {"MODEL", "PROMPTS", "NUM_HELD_OUT", "REWARDS"} <= named.keys():
            self.found.own = {name: self._value(value) for name, value in named.items() if name in OWN}


class Unknown(str):
    """The text of an argument that is no constant."""
