"""Settings from elsewhere: what they become, what has no equal and why, and that nothing of a file is run.

Files as people write them lie in `forms/`, with what comes of each in `forms/expected.yaml`."""

import ast
import importlib.util
import json
import re
import time
from pathlib import Path

import pytest

from playground.config import ModelReward, RunConfig, flatten, yaml_io
from playground.errors import InvalidConfig
from playground.exports.scripts import trl_plan, trl_script
from playground.imports import importing
from playground.imports.constants import Constants
from playground.imports.tables import TABLES, WORDS, is_aside
from playground.setup import catalog
from tests.support import data_beside

SCRIPTS = data_beside(__file__, "scripts.yaml")
EXPECTED = data_beside(__file__, "forms/expected.yaml") | SCRIPTS
REFUSED = data_beside(__file__, "forms/refused.yaml")
OWN_DEFAULTS = flatten(RunConfig(rewards=({"kind": "sentiment"},)))  # type: ignore[arg-type]

OF_A_REWARD = [f"rewards.0.{name}" for name in ModelReward.model_fields]


@pytest.fixture
def imports(tmp_path):
    """A text as a file of that name, imported; and again by `train`'s own reading of the YAML that came out."""

    def of(text, name="script.py"):
        path = tmp_path / name
        path.write_text(text)
        imported = importing.read(path)
        written = tmp_path / "out.yaml"
        written.write_text(imported.yaml_text(name))
        assert (yaml_io.load(written), unsaid(imported)) == (imported.config, [])
        return imported

    return of


def form(name):
    """The text of a file, and its name; one of `forms/` that would be taken for ours ends in .txt there."""
    if name in SCRIPTS:
        return SCRIPTS[name]["text"], SCRIPTS[name].get("name", "script.py")
    return (Path(__file__).with_name("forms") / name).read_text(encoding="utf-8"), name.removesuffix(".txt")


def unsaid(imported):
    """The settings of a file that its report says nothing of."""
    known_names = [line.theirs for _, lines in imported.report() for line in lines]
    named = [item for item in imported.work.named.values() if item.name not in imported.work.aside]
    return [str(item) for item in named if not any(str(item) in text for text in known_names)]


def why(lines, beginning):
    """What the report says of a setting; it says it once."""
    (line,) = [line for line in lines if line.theirs.startswith(beginning)]
    return f"{line.ours} {line.why}".strip()


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_for_another_trainer_becomes_these_settings_and_its_report_says_what_did_not_and_why(imports, name):
    imported, expected = imports(*form(name)), EXPECTED[name]
    assert name in SCRIPTS or imported.work.dialect == expected["dialect"]
    flat, settings = flatten(imported.config), expected.get("settings", {})
    assert {key: flat[key] for key in settings} == settings
    data = expected.get("data", {})
    assert {part: imported.data.get(part) for part in data} == data
    if "complete" in expected:
        changed = {key for key, value in flat.items() if value != OWN_DEFAULTS.get(key)}
        assert changed == settings.keys() | {"name", "rewards"}
    for section in ("became", "assumed", "no_equal", "not_understood"):
        for beginning, words in expected.get(section, {}).items():
            assert words in why(getattr(imported.work, section), beginning)
    if "not_understood" in expected:
        assert len(imported.work.not_understood) == len(expected["not_understood"])
    remarks, to_fill_in = " ".join(imported.work.source.remarks), "\n".join(imported.work.fill_in)
    assert [words for words in expected.get("remarks", ()) if words not in remarks] == []
    assert [words for words in expected.get("fill_in", ()) if words not in to_fill_in] == []
    assert [words for words in expected.get("unsaid", ()) if words in str(imported.report())] == []
    assert {*expected.get("aside", ())} <= {*imported.work.aside}


IN_LOSS = ["kl.where=loss", "kl.estimator=k3"]
OF_GROUPS = {  # and what TRL's GRPOTrainer has not, which the script says
    "grpo": ([*IN_LOSS, "ppo.overlong=mask", "ppo.advantage_scale=group"], ()),
    "dr_grpo": ([*IN_LOSS, "ppo.entropy_coef=0.01"], ()),
    "dapo": (["kl.where=loss", "kl.estimator=k3_corrected"], ("ppo.drop_alike_groups", "ppo.overlong")),
    "gspo": ([*IN_LOSS, "ppo.clip_range=0.02", "ppo.num_epochs=1"], ()),
}


@pytest.mark.parametrize("method", OF_GROUPS)
def test_our_own_script_of_a_run_with_groups_is_for_the_grpo_trainer_and_comes_back(imports, method):
    changes, without = OF_GROUPS[method]
    config = yaml_io.load(catalog.preset_path("kinder-reviews"), [f"method={method}", *changes])
    script = trl_script(config)
    assert "trainer = GRPOTrainer(" in script
    assert ("get_soft_overlong_punishment(32, 6)" in script) == (method == "dapo")  # the last fifth
    back = flatten(imports(script).config)
    switches = [name for name in flatten(config) if name.startswith(("ppo.", "kl.")) and name not in without]
    critic = {"ppo.gae_lambda", "ppo.value_coef"}  # which groups have not
    assert {name for name in switches if back[name] != flatten(config)[name]} <= critic
    said = " ".join(trl_plan(config).in_words())
    assert ("stay, with advantages of 0" in said) == (method == "dapo")
    assert "this script does PPO" not in said


@pytest.mark.parametrize("preset", ["kinder-reviews", "short-leash"])
def test_our_own_script_for_trl_comes_back_as_it_was(imports, preset):
    config = yaml_io.load(catalog.preset_path(preset))
    back = flatten(imports(trl_script(config)).config)
    lost = {name for name, value in flatten(config).items() if back[name] != value}
    untold = {"about", "evaluation", "checkpoint", "behaviours", "name", "judges"}  # by a script
    assert {name for name in lost if name.split(".")[0] not in untold} <= {"model.critic", "model.precision"}


def test_every_setting_of_the_installed_trl_is_in_the_tables():
    trl, transformers = (Path(importlib.util.find_spec(name).origin).parent for name in ("trl", "transformers"))
    shared = fields(transformers / "training_args.py", "TrainingArguments")
    shared |= fields(trl / "trainer" / "model_config.py", "ModelConfig")
    for dialect, file in data_beside(__file__, "tables.yaml")["declared"].items():
        asked = shared | fields(trl / file, "Config")
        own = {name: line["default"] for name, line in TABLES[dialect].items() if "default" in line}
        assert len(asked) > 90
        assert {name: value for name, value in own.items() if asked[name] != value} == {}
        assert {name for name in asked if name not in TABLES[dialect] and not is_aside(name)} == set()


def fields(path, of):
    """The fields of the classes of a file whose name ends like that, each with what it is where nothing is given."""
    classes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    lines = [item for node in classes if node.name.endswith(of) for item in node.body]
    given = [item for item in lines if isinstance(item, ast.AnnAssign)]
    defaults = {item.target.id: Constants([]).value(item.value or item.target) for item in given}
    return {name: value for name, value in defaults.items() if not name.startswith("_")}


def test_the_tables_name_fields_and_rules_that_are_there():
    for name, table in TABLES.items():
        for setting, line in table.items():
            assert ("to" in line) + ("no" in line) + ("rule" in line) == 1, (name, setting)
            assert line.get("to") in {None, *OWN_DEFAULTS, *OF_A_REWARD}, (name, setting)
            assert line.get("rule") in {None, "sizes", "beta", "early", "warmup", "dialect", "roles"}, (name, setting)


def test_the_sentences_that_the_modules_ask_for_are_those_of_the_table():
    text = "".join(path.read_text(encoding="utf-8") for path in Path(importing.__file__).parent.glob("*.py"))
    asked = set(re.findall(r'(?:WORDS\[|refusal\()"([\w-]+)"', text)) | {"ours"}  # `ours`: by the table of files
    assert asked == set(WORDS)


@pytest.mark.parametrize(
    ("name", "text", "said"), [*REFUSED, ("a.py", "x = " + "(" * 5000 + ")" * 5000, "cannot be read as a script")]
)
def test_what_cannot_be_imported_is_said_in_a_sentence(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidConfig) as refused:
        importing.read(tmp_path / name)
    assert len(refused.value.problems) == 1
    assert said in str(refused.value)


def test_nothing_of_a_script_is_run_or_computed_at_length(imports, tmp_path):
    text = f"""
open({str(tmp_path / "ran")!r}, "w")
from trl import PPOConfig
A = B
B = A
config = PPOConfig(
    ppo_epochs=10**10**10, learning_rate="x" * 10**9, steps=[0] * 10**9, gamma=A, lam=__import__("os").getpid(),
    batch_size=open("x").read(), cliprange=1 / 0, seed=(lambda: 1)(), vf_coef=-(-0.3), init_kl_coef=0.2 / 4,
)
"""
    started = time.thread_time()
    lists = "".join(f"L{at} = [{f'L{at + 1}, ' * 900}]\n" for at in range(12))
    text += f"config.kl_penalty = L0\n{lists}L12 = 1\n"
    imported = imports(text)
    assert time.thread_time() - started < 2
    assert not (tmp_path / "ran").exists()
    unknown = {line.theirs.partition(" ")[0] for line in imported.work.not_understood}
    assert unknown >= {"ppo_epochs", "learning_rate", "gamma", "lam", "batch_size", "cliprange", "seed"}
    assert imported.config.ppo.value_coef == 0.3


def test_hostile_text_stays_in_its_comment(imports):
    imported = imports(form("grpo.py.txt")[0], 'a: b\n "x".py')
    assert imported.config.method == "grpo"


def test_a_notebook_as_people_have_it(imports):
    cells = [
        "if 1:\n    # why?\n    !pip install a \\\n        b\nelse:\n    %pip install c\nfiles = !ls\nos.walk?",
        "%%writefile a.txt\nnot Python",
        "%%time\nfrom trl import GRPOConfig\nGRPOConfig(learning_rate=2e-6, max_steps=30, num_generations=4)",
        "this is no Python",
    ]
    book = {"cells": [{"cell_type": "code", "source": text.splitlines(keepends=True)} for text in cells]}
    imported = imports("\ufeff" + json.dumps(book), "a.ipynb")
    assert (imported.config.ppo.learning_rate, imported.config.ppo.num_updates) == (2e-6, 30)
    assert [remark.partition(" of")[0] for remark in imported.work.source.remarks] == ["Cell 2", "Cell 4"]
