"""What a Python script or notebook says of a training, read from its syntax tree. Nothing is imported or run."""

from __future__ import annotations

import ast
import contextlib
import re
from typing import Any

from playground import plain_files
from playground.errors import InvalidConfig, Problem
from playground.imports.constants import Constants, assigned, defaults_of, name_of
from playground.imports.found import Call, ForeignSetting, ForeignSource, NotConstant, Owner, Unknown
from playground.imports.translation import TABLES, refused

CONFIGS = ("PPOConfig", "PPOv2Config", "RLOOConfig", "GRPOConfig", "DPOConfig")
TRAINERS = ("PPOTrainer", "PPOv2Trainer", "RLOOTrainer", "GRPOTrainer", "DPOTrainer")
OWNERS: dict[str, Owner] = {
    "LoraConfig": "lora",
    "ModelConfig": "model",
    "ScriptArguments": "script",
    "get_peft_model": "lora",
    "generate": "generate",
    "GenerationConfig": "generate",
}
OF_INTEREST = (
    *TRAINERS,
    *("BitsAndBytesConfig", "from_pretrained", "pipeline", "load_dataset", "generate", "Scale", "apply_chat_template"),
)
GENERATION = re.compile(r"gen(eration|erate)?_(kwargs|config|args)|generation_params|sampling_(kwargs|params)")
OLD_DICTIONARY = {"ppo_epochs", "init_kl_coef", "forward_batch_size", "steps", "cliprange", "horizon"}
CONTROLLER = re.compile("kl.*(control|ctl|adapt|schedul)|(control|ctl|adapt).*kl", re.IGNORECASE)
MOST_NUMBER = 10**4000
LEAST_OF_A_LOOP = 4  # names of a training loop, for a group of values to be its settings
LOOP = {name for name, line in TABLES["loop"].items() if "no" not in line}
LOOP -= {"seed", "batch_size", "model_name"}
OWN = ("MODEL", "PROMPTS", "REWARDS", "SCORE_CLIP", "SCORE_SCALE")  # constants of a script that this project exports
OTHER_LIBRARIES = {"trlx": "trlX", "axolotl": "Axolotl", "openrlhf": "OpenRLHF", "verl": "verl", "unsloth": "Unsloth"}
CELL_MAGIC = re.compile(r"\s*%%(\w+)")
MAGICS_OF_PYTHON = ("time", "timeit", "capture", "prun", "python", "python3")
NOT_PYTHON = (
    re.compile(  # a line of the notebook itself: `!ls`, `%cd x`, `files = !ls`, `?help`, `help?`, `pip install x`
        r"\s*(?:[!%?]|[\w., ]+=\s*[!%]|[\w.]+\?{1,2}\s*$|(?:pip|conda) install\b|cd \S)"
    )
)


def read(text: str) -> ForeignSource:
    """Raises: InvalidConfig: not Python, or for a library or trainer that is not imported."""
    try:
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value > MOST_NUMBER:
                raise _not_python(f"line {node.lineno} has a number of thousands of digits")  # Python would not show it
        return _Reader(tree).source()
    except SyntaxError as error:
        raise _not_python(f"line {error.lineno or 1} is not Python ({error.msg})") from None
    except (ValueError, RecursionError, MemoryError):
        raise _not_python("it is nested too deeply, or not all text") from None


def texts(text: str) -> list[str]:
    """The texts that stand for themselves in a script that `read` has read: docstrings, strings as comments."""
    parts = [node.value for node in ast.parse(text).body if isinstance(node, ast.Expr)]
    return [node.value for node in parts if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def read_notebook(text: str) -> ForeignSource:
    """A notebook's code as one script. What is the notebook's own (shell lines, magics, help) is skipped; a cell that
    is no Python is left out, and told of. Raises: InvalidConfig: it is no notebook."""
    try:
        cells = [cell for cell in plain_files.parse_json(text)["cells"] if cell]
        sources = {at: cell["source"] for at, cell in enumerate(cells, 1) if cell.get("cell_type") == "code"}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _not_python("it is no Jupyter notebook") from None
    kept: list[str] = []
    left_out: list[str] = []
    for number, source in sources.items():
        lines = "".join(map(str, source)) if isinstance(source, list) else str(source)
        code = without_magics(lines)
        if code is None:
            left_out.append(f"Cell {number} of the notebook is no Python and was left out: {lines.strip()[:60]!r}.")
        kept.append("\n" * lines.count("\n") if code is None else code)  # lines keep their numbers
    found = read("\n".join(kept))
    found.remarks += left_out
    return found


def without_magics(text: str) -> str | None:
    """A cell of a notebook as Python; None where it is none."""
    magic = CELL_MAGIC.match(text)
    if magic and magic.group(1) not in MAGICS_OF_PYTHON:
        return None
    plain: list[str] = []
    goes_on = False
    for line in text.split("\n"):
        skipped = goes_on or NOT_PYTHON.match(line)
        plain.append(f"{line[: len(line) - len(line.lstrip())]}{'' if goes_on else 'pass'}" if skipped else line)
        goes_on = bool(skipped) and line.rstrip().endswith("\\")
    for code in (text, "\n".join(plain)):
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            ast.parse(code)
            return code
    return None


def _not_python(why: str) -> InvalidConfig:
    return InvalidConfig([Problem("", f"This cannot be read as a script: {why}.")])


def _asks_for_main(node: ast.If) -> bool:
    return any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test))


class _Reader:
    def __init__(self, tree: ast.Module) -> None:
        self.constants, self.found = Constants(tree), ForeignSource()
        self.nodes, self.body = list(ast.walk(tree)), tree.body
        calls = [node for node in self.nodes if isinstance(node, ast.Call)]
        self.calls = sorted(calls, key=lambda node: (node.lineno, node.col_offset))
        self.targets: dict[int, str] = {}  # id of a call -> the name that its value is assigned to
        self.conditional: set[int] = set()  # ids of the statements under an `if`
        self.seen: set[tuple[int, Owner]] = set()  # ids of the values that are settings, and whose
        self.config_target = ""
        for node in self.nodes:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                self.targets |= {id(inner): name_of(target) for inner in ast.walk(node.value)}
            elif isinstance(node, ast.If) and id(node) not in self.conditional and not _asks_for_main(node):
                self.conditional |= {id(inner) for part in (*node.body, *node.orelse) for inner in ast.walk(part)}

    def source(self) -> ForeignSource:
        self._first_config()
        for call in self.calls:
            self._call(call)
        for node in self.nodes:
            if isinstance(node, ast.Assign):
                self._assignment(node)
        self._controllers()
        modules = self._imports()
        constants = dict(pair for item in self.body for pair in assigned(item))
        own = {name: self._value(value) for name, value in constants.items() if name in OWN}
        if own.keys() >= {"MODEL", "PROMPTS", "REWARDS", "NUM_HELD_OUT"} or "'kind':" in repr(own.get("REWARDS")):
            self.found.own = own
        if "trl" not in modules and (other := modules.keys() & OTHER_LIBRARIES):
            raise refused(OTHER_LIBRARIES[min(other)])
        if not self.found.kind:
            self._without_config(modules)
        return self.found

    def _imports(self) -> dict[str, set[str]]:
        """The packages that are imported, each with the names that are taken from it."""
        found: dict[str, set[str]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for item in node.names:
                    found.setdefault(item.name.partition(".")[0], set())
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.setdefault(node.module.partition(".")[0], set()).update(item.name for item in node.names)
        return found

    def _without_config(self, modules: dict[str, set[str]]) -> None:
        """A script without a class of settings: one that takes them from elsewhere, another trainer, or a loop."""
        if "trl" not in modules:
            self._loop()
            return
        names = {name_of(call.func).rpartition(".")[2] for call in self.calls} | modules["trl"]
        trainers = [name for name in TRAINERS if name in names]
        others = sorted(name for name in names if name.endswith("Trainer"))
        if others and not trainers:
            raise refused(f"{others[0]} of TRL")
        self.found.kind = [*trainers, ""][0]

    def _first_config(self) -> None:
        """The first call of a class of settings; what a later one says is left out."""
        found = [(name_of(call.func).rpartition(".")[2], call) for call in self.calls]
        found = [(name, call) for name, call in found if name in CONFIGS]
        if not found:
            return
        kind, first = min(found, key=lambda item: CONFIGS.index(item[0]))
        self.found.kind, self.config_target = kind, self.targets.get(id(first), "")
        self._settings(first, "config")
        for name, other in found:
            if other is not first:
                self.found.remarks.append(f"Line {other.lineno}: a second set of settings ({name}) was left out.")

    def _call(self, node: ast.Call) -> None:
        name = name_of(node.func).rpartition(".")[2]
        if name in OWNERS:
            self._settings(node, OWNERS[name])
        if name in OF_INTEREST:
            arguments = [self._value(item) for item in node.args if not isinstance(item, ast.Starred)]
            keywords = {item.arg: self._value(item.value) for item in node.keywords if item.arg}
            target = self.targets.get(id(node), "")
            self.found.calls.append(Call(name_of(node.func), target, arguments, keywords, node.lineno))

    def _settings(self, node: ast.Call, owner: Owner) -> None:
        for item in node.keywords:
            if item.arg:
                self._setting(item.arg, item.value, owner)
            elif owner != "generate" or not GENERATION.fullmatch(name_of(item.value).lower()):  # else as it is assigned
                for name, value in self.constants.mapping(item.value):
                    self._setting(name, value, owner)

    def _setting(self, name: str, node: ast.expr, owner: Owner, problem: str = "") -> None:
        value: Any = ast.unparse(node)[:200]
        try:
            value = value if problem else self.constants.value(node)
        except NotConstant as why:
            problem = str(why)
        if (id(node), owner) not in self.seen:  # two calls may be given one dictionary
            self.seen.add((id(node), owner))
            self.found.settings.append(ForeignSetting(name, value, node.lineno, owner, problem))

    def _assignment(self, node: ast.Assign) -> None:
        """`generation_kwargs = {...}`, `config = {...}` of the oldest TRL, and `config.learning_rate = 1e-5`."""
        for name, value in assigned(node):
            items = list(self.constants.mapping(value))
            oldest = len(OLD_DICTIONARY & {key for key, _ in items}) >= 3 and not self.found.kind
            if oldest:
                self.found.kind = "PPOConfig"
            for key, item in items if oldest or GENERATION.fullmatch(name.lower()) else ():
                self._setting(key, item, "config" if oldest else "generate")
        target = node.targets[0]
        if isinstance(target, ast.Attribute) and self.config_target and name_of(target.value) == self.config_target:
            condition = "it is set under a condition" if id(node) in self.conditional else ""
            self._setting(target.attr, node.value, "config", condition)

    def _controllers(self) -> None:
        """What is written by hand to move beta: a class, or a function of none, and the call that makes or uses it."""
        for node in self.nodes:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and CONTROLLER.search(node.name):
                call = next((one for one in self.calls if name_of(one.func) == node.name), None)
                parts = [one.args for one in ast.walk(node) if isinstance(one, ast.FunctionDef)]
                defaults = [f"{name}={ast.unparse(value)}" for part in parts for name, value in defaults_of(part)]
                said = ast.unparse(call) if call else f"{node.name}({', '.join(defaults)})"
                self.found.controllers.append(f"{said[:200]} (line {node.lineno})")

    def _loop(self) -> None:
        """The settings of a loop that is written by hand: of a class, a dictionary or the parameters of a function
        those with the most names that are known."""
        groups: list[list[tuple[str, ast.expr]]] = [[]]
        for node in self.nodes:
            if isinstance(node, ast.ClassDef):
                groups.append([pair for item in node.body for pair in assigned(item)])
            elif isinstance(node, ast.arguments):
                groups.append(list(defaults_of(node)))
            elif isinstance(node, ast.Assign):
                groups.append(list(self.constants.mapping(node.value)))
        best = max(groups, key=lambda group: len({name for name, _ in group} & LOOP))
        if len({name for name, _ in best} & LOOP) >= LEAST_OF_A_LOOP:
            self.found.kind = "loop"
            for name, value in best:
                self._setting(name, value, "config")

    def _value(self, node: ast.expr) -> Any:
        """The value of an argument; of what is no constant its text, marked as such."""
        try:
            return self.constants.value(node)
        except NotConstant:
            if isinstance(node, ast.List | ast.Tuple):
                return [self._value(item) for item in node.elts]
            return Unknown(ast.unparse(node)[:200])
