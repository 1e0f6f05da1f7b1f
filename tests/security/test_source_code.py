"""What may not stand in the source: opening pickles, running text as code, shells, archives, markup made of data.

Read by syntax tree, so that a comment, a text or a file of weights named `.bin` is no finding. Each rule is shown to
bite on a sample.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.figures import Figure
from tests.support import PROJECT

FORBIDDEN_MODULES = set(
    """
    pickle cPickle _pickle cloudpickle dill joblib marshal shelve tarfile zipfile jsonpickle kernels imp code pty
    """.split()
)
FORBIDDEN_CALLS = set(
    """
    torch.load torch.jit.load torch.hub.load torch.compile numpy.load np.load pandas.read_pickle pd.read_pickle
    yaml.unsafe_load yaml.full_load yaml.load_all os.system os.popen os.execv os.execve os.spawnl
    shutil.unpack_archive importlib.import_module types.FunctionType gr.load builtins.eval builtins.exec mimetypes.init
    subprocess.getoutput subprocess.getstatusoutput
    """.split()
)
FORBIDDEN_NAMES = {"eval", "exec", "compile", "__import__"}
ALLOWED = {  # (file, what): why
    ("playground/rewards/python_runner.py", "exec"): "a person's own reward, in a process of its own (docs/rewards.md)",
    ("playground/rewards/python_runner.py", "compile"): "the same",
    ("playground/training/exercise/runner.py", "exec"): "a student's own file, likewise (docs/security.md)",
    ("playground/training/exercise/runner.py", "compile"): "the same",
    ("playground/training/exercise/runner.py", "importlib.import_module"): "a name that stands in the file",
    ("playground/training/exercise/mistakes.py", "exec"): "our own example, with a mistake put into it",
    ("playground/exports/trackers.py", "importlib.import_module"): "one of two names that stand in the file",
    ("playground/runs/real_model.py", "zipfile"): "one file of one wheel, whose size and SHA-256 are known",
    ("tests/runs/test_real_model.py", "zipfile"): "makes such a wheel",
    ("playground/config/yaml_io.py", "yaml.load"): "with the loader of that file, which is a SafeLoader",
    ("tests/security/hostile_models.py", "pickle"): "makes what must never be opened",
    ("tests/test_layers.py", "importlib.import_module"): "imports every module of the project",
    ("bench/payloads.py", "importlib.import_module"): "the modules of one folder of ours",
}
SKIPPED = ("tests/security/test_source_code.py",)  # its samples
SCRIPTS = sorted((PROJECT / "playground" / "ui" / "static").rglob("*.js"))
MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\s*\.\s*write|createContextualFragment|DOMParser|srcdoc"
    r"|\beval\s*\(|new\s+Function|setTimeout\s*\(\s*['\"`]|\.setAttribute\(\s*['\"]on|javascript:|\bon\w+\s*=\s*['\"`]"
)


def spaced(block: str) -> list[str]:
    """The samples of a block, which stand on lines or three spaces apart."""
    return re.split(r"\s{3,}|\n", block.strip())


def python_files() -> list[Path]:
    folders = (PROJECT / name for name in ("playground", "bench", "tests"))
    found = [PROJECT / "app.py", *(path for folder in folders for path in sorted(folder.rglob("*.py")))]
    return [path for path in found if path.relative_to(PROJECT).as_posix() not in SKIPPED]


def findings(source: str) -> Iterator[str]:
    """Everything in a source that only a named exception may have."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.split(".")[0] in FORBIDDEN_MODULES)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            if node.module.split(".")[0] in FORBIDDEN_MODULES:
                yield node.module
            yield from (full for name in node.names if (full := f"{node.module}.{name.name}") in FORBIDDEN_CALLS)
        elif isinstance(node, ast.Call):
            yield from _of_call(node)


def _of_call(node: ast.Call) -> Iterator[str]:
    name = ast.unparse(node.func)
    if name in FORBIDDEN_CALLS or name in FORBIDDEN_NAMES:
        yield name
    if name == "yaml.load" and not (len(node.args) > 1 and ast.unparse(node.args[1]) == "yaml.SafeLoader"):
        yield name
    for keyword in node.keywords:
        value = keyword.value
        constant = value.value if isinstance(value, ast.Constant) else "not a constant"
        if keyword.arg == "trust_remote_code" and constant is not False:
            yield "trust_remote_code"
        if keyword.arg in ("shell", "allow_pickle") and constant is not False:
            yield keyword.arg
        if keyword.arg in ("use_safetensors", "sanitize_html") and constant is not True:
            yield keyword.arg
    if name.endswith(".from_pretrained") and name.split(".")[0].startswith("Auto"):
        given = {keyword.arg for keyword in node.keywords}
        if not {"trust_remote_code", None} & given:
            yield "from_pretrained without trust_remote_code=False"
        model = not name.startswith(("AutoConfig", "AutoTokenizer"))
        if model and "use_safetensors" not in given:
            yield "from_pretrained without use_safetensors=True"


def unsafe_markup(source: str) -> Iterator[str]:
    """Values and templates of Gradio's HTML and Markdown that are not written down in the source."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("gr.HTML", "gr.Markdown", "gr.HTML.update"):
            values = [*node.args[:1], *(item.value for item in node.keywords if item.arg in ("value", "html_template"))]
            yield from (ast.unparse(value)[:60] for value in values if not isinstance(value, ast.Constant))


def test_nothing_opens_pickles_runs_text_or_unpacks_archives(figure: Figure) -> None:
    files = python_files()
    found = {
        (path.relative_to(PROJECT).as_posix(), what)
        for path in files
        for what in findings(path.read_text(encoding="utf-8"))
    }
    in_product = {item for item in found if not item[0].startswith("tests/")}
    # tests build small models of their own and compile scripts to see that they are Python
    forbidden = FORBIDDEN_MODULES | {"shell", "allow_pickle", "trust_remote_code", "torch", "os"}
    in_tests = {item for item in found - in_product if item[1].split(".")[0] in forbidden}
    assert (in_product | in_tests) - ALLOWED.keys() == set()
    figure("source files without pickles, shells, archives or text run as code", len(files), len(files))


BITES = """
import pickle   from joblib import load   from dill import x   import torch; torch.load('x')   from torch import load
np.load('x', allow_pickle=True)   yaml.load(text, yaml.Loader)   yaml.load(text, Loader=yaml.SafeLoader)
yaml.unsafe_load(text)   eval(text)   compile(a, 'b', 'exec')   __import__(name)   os.system('ls')
subprocess.run('ls', shell=flag)   from zipfile import ZipFile
AutoModel.from_pretrained(x, trust_remote_code=wish, use_safetensors=True)
AutoModel.from_pretrained(x, use_safetensors=True)   AutoTokenizer.from_pretrained(x)
AutoModel.from_pretrained(x, trust_remote_code=False)
AutoModel.from_pretrained(x, trust_remote_code=False, use_safetensors=False)   gr.Chatbot(sanitize_html=False)
importlib.import_module(name)   import marshal, shelve
"""
ALLOWED_TO_ALL = """
re.compile('a')   model.eval()   yaml.load(text, yaml.SafeLoader)   'torch.load(x)'
AutoModel.from_pretrained(x, trust_remote_code=False, use_safetensors=True)   subprocess.run(['ls'])
"""
BITES_IN_SCRIPTS = """
node.innerHTML = text   node.insertAdjacentHTML('x', text)   document.write(text)   eval(text)   new Function(text)
node.setAttribute('onclick', text)   frame.srcdoc = text   link.href = 'javascript:x'   setTimeout('alert(1)')
new DOMParser()
"""


def test_each_rule_bites_and_what_is_allowed_is_no_finding() -> None:
    assert [source for source in spaced(BITES) if not list(findings(source))] == []
    assert [source for source in spaced(ALLOWED_TO_ALL) if list(findings(source))] == []
    assert [line for line in spaced(BITES_IN_SCRIPTS) if not MARKUP.search(line)] == []
    for call in ("HTML(text)", "HTML(value=f'<b>{name}</b>')", "HTML('', html_template=text)"):
        assert list(unsafe_markup(f"gr.{call}"))


def test_no_script_makes_markup_or_code_of_text(figure: Figure) -> None:
    bad = [
        f"{path.name}: {line.strip()}"
        for path in SCRIPTS
        for line in path.read_text(encoding="utf-8").splitlines()
        if MARKUP.search(re.sub(r"//.*", "", line))
    ]
    assert bad == []
    assert len(SCRIPTS) > 30
    figure("scripts of the page without markup or code made of text", len(SCRIPTS), len(SCRIPTS) - len(bad))


def test_gradio_gets_no_markup_that_is_not_written_down_in_the_source() -> None:
    found = {
        path.name: list(unsafe_markup(path.read_text(encoding="utf-8")))
        for path in sorted((PROJECT / "playground" / "ui").rglob("*.py"))
    }
    # `components.widget` hands data to a script as props, under an empty template
    assert {name: what for name, what in found.items() if what} == {"components.py": ["value"]}
    assert 'html_template=""' in (PROJECT / "playground" / "ui" / "components.py").read_text(encoding="utf-8")
