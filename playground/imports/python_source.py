"""What a Python script or notebook says of a training, read from its syntax tree. Nothing is imported or run."""

from __future__ import annotations

import ast
import contextlib
import re
from collections import defaultdict
from collections.abc import Iterator

from playground import plain_files
from playground.imports.constants import Constants, assigned, assignments, given, last_name, name_of
from playground.imports.found import ForeignSetting, ForeignSource, Unknown
from playground.imports.tables import FILE, OWNERS, TABLES, refusal, refused

CONFIGS = ("PPOConfig", "PPOv2Config", "RLOOConfig", "GRPOConfig", "DPOConfig")
POSITIONAL = {  # what the arguments of a call are called that stand there without a name
    "from_pretrained": ["pretrained_model_name_or_path", "model_id"],
    "pipeline": ["task", "model"],
    "load_dataset": ["path", "name"],
    "GRPOTrainer": ["model", "reward_funcs", "args"],
    "RLOOTrainer": ["model", "reward_funcs", "args"],
    "DPOTrainer": ["model", "ref_model", "args"],
}
BEFORE_DPO_CONFIG = (0, 8)  # of TRL
OF_OLD_DPO = ("beta", "label_smoothing", "loss_type", "max_length", "max_prompt_length")  # once of the trainer itself
CLASSIFYING = ("sentiment-analysis", "text-classification")  # tasks
POLICY_CLASS = re.compile("CausalLM|LanguageModel|LMHead|HeadWithValue")
REWARD_NAME = re.compile(r"reward|(^|_)rm($|_)|scorer|judge|sentiment")
CRITIC_NAME = re.compile(r"value|critic")
REFERENCE_NAME = re.compile(r"(^|_)ref(erence)?($|_)")
DICTIONARIES = ("**", "model_kwargs", "quantization_config")  # arguments whose items are arguments too
CONTROLLER = re.compile("kl.*(control|ctl|adapt|schedul)|(control|ctl|adapt).*kl", re.IGNORECASE)
LEAST_OF_A_LOOP = 4  # names of a training loop, for a group of values to be its settings
LOOP = {name for name, line in TABLES["loop"].items() if "no" not in line}
LOOP -= {"seed", "batch_size", "model_name", "model_name_or_path", "sft_model_path", "reward_model_path"}
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
        return _Reader(ast.parse(text)).source()
    except SyntaxError as error:
        raise refusal("not-python", f"line {error.lineno or 1} is not Python ({error.msg})") from None
    except (ValueError, RecursionError, MemoryError):
        raise refusal("not-python", "it is nested too deeply, or not all text") from None


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
        raise refusal("not-python", "it is no Jupyter notebook") from None
    cell_texts: list[str] = []
    left_out: list[str] = []
    for number, source in sources.items():
        lines = "".join(map(str, source)) if isinstance(source, list) else str(source)
        code = without_magics(lines)
        if code is None:
            left_out.append(f"Cell {number} of the notebook is no Python and was left out: {lines.strip()[:60]!r}.")
        cell_texts.append("\n" * lines.count("\n") if code is None else code)  # lines keep their numbers
    notebook = read("\n".join(cell_texts))
    notebook.remarks += left_out
    return notebook


def without_magics(text: str) -> str | None:
    """A cell of a notebook as Python; None where it is none."""
    magic = CELL_MAGIC.match(text)
    if magic and magic.group(1) not in MAGICS_OF_PYTHON:
        return None
    plain: list[str] = []
    goes_on = False
    for line in text.split("\n"):
        indentation = line[: len(line) - len(line.lstrip())]
        if goes_on:
            plain.append("")
        elif NOT_PYTHON.match(line):
            plain.append(f"{indentation}pass")
            goes_on = True
        else:
            plain.append(line)
        goes_on = goes_on and line.rstrip().endswith("\\")
    for code in (text, "\n".join(plain)):
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            ast.parse(code)
            return code
    return None


class _Reader:
    """`calls`: in the order of the text; `targets`: by the id of a call, the name that its value is assigned to;
    `modules`: the packages that are imported, each with the names that are taken from it."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree, self.nodes = tree, list(ast.walk(tree))
        self.constants = Constants(self.nodes)
        calls = [node for node in self.nodes if isinstance(node, ast.Call)]
        self.calls = sorted(calls, key=lambda node: (node.lineno, node.col_offset))
        self.seen: set[tuple[int, str]] = set()  # ids of the values that are settings, and whose
        self.targets: dict[int, str] = {}
        self.modules: dict[str, set[str]] = defaultdict(set)
        for node in self.nodes:
            for target, value in assignments(node):
                self.targets |= {id(inner): name_of(target) for inner in ast.walk(value)}
            if isinstance(node, ast.ImportFrom) and node.module:
                self.modules[node.module.partition(".")[0]] |= {item.name for item in node.names}
            elif isinstance(node, ast.Import):
                for item in node.names:
                    self.modules[item.name.partition(".")[0]] |= set()
        self.found = ForeignSource(unsloth="unsloth" in self.modules)

    def source(self) -> ForeignSource:
        if "trl" not in self.modules:
            for other in sorted(self.modules.keys() & FILE["libraries"]):
                raise refused(FILE["libraries"][other])
        self._config()
        if not self.found.kind:
            self._without_config()
        top = dict(pair for item in self.tree.body for pair in assigned(item))
        own = {name: self.constants.value(top[name]) for name in FILE["own"] if name in top}
        if "'kind':" in repr(own.get("REWARDS")):
            self.found.own = own
        else:
            self._calls()
        self._controllers()
        return self.found

    def _config(self) -> None:
        """The first call of a class of settings, and what is set in it afterwards; a later call is left out."""
        config_calls = [call for call in self.calls if last_name(call) in CONFIGS]
        if config_calls:
            first = min(config_calls, key=lambda call: CONFIGS.index(last_name(call)))
            self.found.kind = last_name(first)
        else:
            config_calls = self._before_dpo_config()
            if not config_calls:
                return
            first, self.found.kind, self.found.version = config_calls[0], "DPOConfig", BEFORE_DPO_CONFIG
        self._settings(first, "")
        for call in config_calls:
            if call is not first:
                remark = f"Line {call.lineno}: a second set of settings ({last_name(call)}) was left out."
                self.found.remarks.append(remark)
        config = self.targets.get(id(first), "")
        conditional: set[int] = set()  # ids of the statements under an `if`
        for node in self.nodes:
            if isinstance(node, ast.If) and id(node) not in conditional and "__name__" not in ast.unparse(node.test):
                conditional |= {id(inner) for part in (*node.body, *node.orelse) for inner in ast.walk(part)}
            for target, value in assignments(node):
                if config and isinstance(target, ast.Attribute) and name_of(target.value) == config:
                    problem = "it is set under a condition" if id(node) in conditional else ""
                    self._setting(target.attr, value, "", problem)

    def _before_dpo_config(self) -> list[ast.Call]:
        """The settings of a DPOTrainer of those days: those of transformers' trainer."""
        if "DPOTrainer" in map(last_name, self.calls):
            return [call for call in self.calls if last_name(call) == "TrainingArguments"]
        return []

    def _without_config(self) -> None:
        """A script without a class of settings: one that takes them from elsewhere, another trainer, a loop that is
        written by hand, or the oldest TRL, whose settings are a dictionary."""
        if "trl" not in self.modules:
            self._group(LOOP, "loop", (ast.Assign, ast.ClassDef, ast.arguments))
            return
        names = {last_name(call) for call in self.calls} | self.modules["trl"]
        trainers = [name for name, owner in OWNERS.items() if owner == "trainer" and name in names]
        others = sorted(name for name in names if name.endswith("Trainer"))
        if others and not trainers:
            raise refused(f"{others[0]} of TRL")
        self.found.kind = [*trainers, ""][0]
        self._group(set(TABLES["trl-old"]), "PPOConfig", (ast.Assign,))
        if trainers and self._takes_defaults(trainers[0]):
            self.found.default_kind = trainers[0].replace("Trainer", "Config")

    def _takes_defaults(self, trainer: str) -> bool:
        """Whether a trainer of TRL is made without settings, as in TRL's own quick start: then its defaults hold."""
        made = [call for call in self.calls if last_name(call) == trainer]
        names = {name for call in made for name, _ in self._arguments(call)}
        return trainer in POSITIONAL and bool(made) and names.isdisjoint(("args", "config", "**"))

    def _group(self, known: set[str], kind: str, kinds: tuple[type[ast.AST], ...]) -> None:
        """Takes as settings what has the most known names: a dictionary, a class, or the parameters of a function."""
        best: dict[str, ast.expr] = {}
        for node in self.nodes:
            group: dict[str, ast.expr] = {}
            if isinstance(node, ast.Assign):
                group = self.constants.mapping(node.value)
            elif isinstance(node, kinds):
                group = {name.lstrip("."): value for name, value in given(node)}
            if len(group.keys() & known) > len(best.keys() & known):
                best = group
        if len(best.keys() & known) >= LEAST_OF_A_LOOP:
            self.found.kind = kind
            for name, value in best.items():
                self._setting(name, value, "")

    def _calls(self) -> None:
        """The calls that make or use a part of the training."""
        for call in self.calls:
            name = last_name(call)
            owner = OWNERS.get(name, "")
            if name == "from_pretrained":
                owner = _part(name_of(call.func), self.targets.get(id(call), ""))
            elif name == "pipeline":
                tasks = [self.constants.value(value) for argument, value in self._arguments(call) if argument == "task"]
                owner = "classifier" if [*tasks, ""][0] in CLASSIFYING else "other part"
            if owner:
                self.found.called.add(name_of(call.func))
                self._settings(call, owner)
            if name == "DPOTrainer":
                self._settings_of_old_dpo()

    def _settings_of_old_dpo(self) -> None:
        """What was given to the trainer itself and not to its settings, as until TRL 0.11."""
        named = {item.name for item in self.found.settings if not item.owner}
        for at, item in enumerate(self.found.settings):
            if item.owner == "trainer" and item.name in OF_OLD_DPO and item.name not in named:
                self.found.settings[at] = item._replace(owner="")

    def _settings(self, call: ast.Call, owner: str) -> None:
        for name, value in self._arguments(call):
            self._setting(name, value, owner)

    def _arguments(self, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
        """The arguments of a call, those behind `**` and in dictionaries that say how a model is held among them."""
        positional = zip(POSITIONAL.get(last_name(call), ()), call.args, strict=False)
        named = [(item.arg or "**", item.value) for item in call.keywords]
        for name, value in [*positional, *named]:
            inner: list[tuple[str, ast.expr]] = []
            if name in DICTIONARIES:
                inner = [*self.constants.mapping(value).items()]
            if name == "reward_funcs" and isinstance(value, ast.List | ast.Tuple):
                inner = [(name, item) for item in value.elts]
            yield from inner or [(name, value)]

    def _setting(self, name: str, node: ast.expr, owner: str, problem: str = "") -> None:
        value = self.constants.value(node)
        if problem:
            value = Unknown(ast.unparse(node)[:200], problem)
        if self.seen.isdisjoint({(id(node), owner), (id(node), "")}):  # two calls may be given one dictionary
            self.seen.add((id(node), owner))
            self.found.settings.append(ForeignSetting(name, value, node.lineno, owner))

    def _controllers(self) -> None:
        """What is written by hand to move beta: a class, or a function of none, and the call that makes or uses it."""
        for node in self.nodes:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and CONTROLLER.search(node.name):
                calls = [ast.unparse(call) for call in self.calls if name_of(call.func) == node.name]
                signature = [*calls, node.name][0][:200]
                self.found.controllers.append(f"{signature} (line {node.lineno})")


def _part(call: str, target: str) -> str:
    """What a loaded model is for, by its class and the name that it is given."""
    name = target.rpartition(".")[2].lower()
    if any(other in call for other in ("Tokenizer", "Processor", "AutoConfig")):
        return "other part"
    if CRITIC_NAME.search(name):
        return "critic"
    if "SequenceClassification" in call or REWARD_NAME.search(name):
        return "reward, a language model" if "CausalLM" in call else "reward"
    if REFERENCE_NAME.search(name):
        return "reference"
    return "policy" if POLICY_CLASS.search(call) else "other part"
