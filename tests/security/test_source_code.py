"""What may not stand in the source (data/source_rules.yaml): opening pickles, running text as code, shells, archives,
markup made of data.

Read by syntax tree, so that a comment, a text or a file of weights named `.bin` is no finding. Each rule is shown to
bite on a sample.
"""

import ast
import re

from tests.support import PROJECT, data_beside

RULES = data_beside(__file__, "data/source_rules.yaml")
MODULES, CALLS = set(RULES["modules"]), {*RULES["calls"], *RULES["names"]}
ALLOWED = {(file, call) for file, reasons in RULES["allowed"].items() for call in reasons}
IN_TESTS = MODULES | {"shell", "allow_pickle", "trust_remote_code", "torch", "os"}  # they compile scripts
SCRIPTS = sorted((PROJECT / "playground" / "ui" / "static").rglob("*.js"))
MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\s*\.\s*write|createContextualFragment|DOMParser|srcdoc"
    r"|\beval\s*\(|new\s+Function|setTimeout\s*\(\s*['\"`]|\.setAttribute\(\s*['\"]on|javascript:|\bon\w+\s*=\s*['\"`]"
)


def dotted(node):
    """The name that is called, as it stands there; empty where something else is called."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def findings(source):
    """Everything in a source that only a named exception may have."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            if node.module.split(".")[0] in MODULES:
                yield node.module
            yield from (full for name in node.names if (full := f"{node.module}.{name.name}") in CALLS)
        elif isinstance(node, ast.Call):
            yield from _of_call(node)


def _of_call(node):
    name = dotted(node.func)
    if name in CALLS:
        yield name
    if name == "yaml.load" and not (len(node.args) > 1 and ast.unparse(node.args[1]) == "yaml.SafeLoader"):
        yield name
    for keyword in node.keywords:
        value = keyword.value
        constant = value.value if isinstance(value, ast.Constant) else "not a constant"
        if keyword.arg in ("trust_remote_code", "shell", "allow_pickle") and constant is not False:
            yield keyword.arg
        if keyword.arg in ("use_safetensors", "sanitize_html") and constant is not True:
            yield keyword.arg
    if name.endswith(".from_pretrained") and name.startswith("Auto"):
        keywords = {keyword.arg for keyword in node.keywords}
        if not {"trust_remote_code", None} & keywords:
            yield "from_pretrained without trust_remote_code=False"
        model = not name.startswith(("AutoConfig", "AutoTokenizer"))
        if model and "use_safetensors" not in keywords:
            yield "from_pretrained without use_safetensors=True"


def unsafe_markup(source):
    """Values and templates of Gradio's HTML and Markdown that are not written down in the source."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and dotted(node.func) in ("gr.HTML", "gr.Markdown", "gr.HTML.update"):
            values = [*node.args[:1], *(item.value for item in node.keywords if item.arg in ("value", "html_template"))]
            yield from (ast.unparse(value)[:60] for value in values if not isinstance(value, ast.Constant))


def test_nothing_opens_pickles_runs_text_or_unpacks_archives(figure):
    folders = (PROJECT / name for name in ("playground", "bench", "tests"))
    files = [PROJECT / "app.py", *(path for folder in folders for path in sorted(folder.rglob("*.py")))]
    standing = {
        (path.relative_to(PROJECT).as_posix(), finding)
        for path in files
        for finding in findings(path.read_text(encoding="utf-8"))
    }
    forbidden = {
        (file, finding)
        for file, finding in standing
        if not file.startswith("tests/") or finding.split(".")[0] in IN_TESTS
    }
    assert forbidden - ALLOWED == set()
    figure("source files without pickles, shells, archives or text run as code", len(files), len(files))


def test_each_rule_bites_and_what_is_allowed_is_no_finding():
    assert [source for source in RULES["bites"] if not list(findings(source))] == []
    assert [source for source in RULES["passes"] if list(findings(source))] == []
    assert [line for line in RULES["bites_in_scripts"] if not MARKUP.search(line)] == []
    for call in ("HTML(text)", "HTML(value=f'<b>{name}</b>')", "HTML('', html_template=text)"):
        assert list(unsafe_markup(f"gr.{call}"))


def test_no_script_makes_markup_or_code_of_text(figure):
    bad = [
        f"{path.name}: {line.strip()}"
        for path in SCRIPTS
        for line in path.read_text(encoding="utf-8").splitlines()
        if MARKUP.search(re.sub(r"//.*", "", line))
    ]
    assert bad == []
    assert len(SCRIPTS) > 30
    figure("scripts of the page without markup or code made of text", len(SCRIPTS), len(SCRIPTS) - len(bad))


def test_gradio_gets_no_markup_that_is_not_written_down_in_the_source():
    values = {
        path.name: list(unsafe_markup(path.read_text(encoding="utf-8")))
        for path in sorted((PROJECT / "playground" / "ui").rglob("*.py"))
    }
    # `components.widget` hands data to a script as props, under an empty template
    assert {name: value for name, value in values.items() if value} == {"components.py": ["value"]}
    assert 'html_template=""' in (PROJECT / "playground" / "ui" / "components.py").read_text(encoding="utf-8")
