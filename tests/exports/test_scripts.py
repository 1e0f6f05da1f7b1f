"""The script for TRL: complete, and text from a configuration is data in it. nightly/test_scripts.py starts it."""

import ast
import contextlib
from pathlib import Path

from playground import exports
from playground.config import yaml_io
from playground.runs.folder.records import Event

SMALL = yaml_io.parse_yaml(Path(__file__).with_name("small.yaml").read_text(encoding="utf-8"))


def small(**changes):
    return yaml_io.from_dict(SMALL | changes)


def literals(pairs):
    """Those that are plain data, by name."""
    values = {}
    for name, value in pairs:
        with contextlib.suppress(ValueError):
            values[name] = ast.literal_eval(value)
    return values


def test_the_script_carries_the_settings_of_the_run():
    changed = {"learning_rate": 3e-5, "clip_range": 0.1, "gamma": 0.9, "value_coef": 0.7, "num_epochs": 3}
    script = exports.trl_script(small(ppo={**SMALL["ppo"], **changed}, kl={"coef": 0.5}, seed=7))
    calls = [node for node in ast.walk(ast.parse(script)) if isinstance(node, ast.Call)]
    (call,) = [node for node in calls if ast.unparse(node.func) == "PPOConfig"]
    theirs = literals((item.arg, item.value) for item in call.keywords)
    same = {"learning_rate": 3e-5, "cliprange": 0.1, "gamma": 0.9, "vf_coef": 0.7, "num_ppo_epochs": 3, "kl_coef": 0.5}
    same |= {"total_episodes": 8, "gradient_accumulation_steps": 2, "seed": 7, "response_length": 8, "bf16": False}
    same |= {"stop_token": "eos", "missing_eos_penalty": 0.5}
    assert {name: theirs[name] for name in same} == same
    prompts = {"template_options": {"enable_thinking": False}, "template_file": "mine.jinja"}
    script = exports.trl_script(small(prompts=SMALL.get("prompts", {}) | prompts))
    assert 'tokenizer.chat_template = Path(PROMPTS["template_file"])' in script
    assert "return_dict=False, **options)" in script


def test_the_script_says_what_trl_does_otherwise():
    script = exports.trl_script(small(kl={"controller": "adaptive", "target": 3}))
    for words in ("# - kl.controller: ", "  # the run adapted it towards a KL of 3", "# - TRL does not clip gradients"):
        assert words in script
    assert "adaptive" not in exports.trl_script(small())
    other = exports.trl_script(small(method="rloo", ppo={**SMALL["ppo"], "samples_per_prompt": 4}))
    assert "# - The run took another method (rloo, RLOO)" in other


def test_the_script_says_what_was_changed_while_the_run_trained():
    edit = Event(seq=1, time=0, kind="edit", update=12, message="", data={"field": "kl.coef", "old": 0.2, "value": 0.5})
    script = exports.trl_script(small(), None, [edit])
    assert "# - While the run trained, kl.coef was set to 0.5 after update 12; this script keeps what it " in script
    assert "While the run trained" not in exports.trl_script(small())


def test_text_of_a_configuration_is_data_in_the_script_whatever_it_is():
    name = 'it\'s """ {braces} \\ \n\nraise SystemExit(1)'
    words = ['"""', "{x}", "\\", "'); raise SystemExit", "größer"]
    config = small(
        name=name, rewards=[{"kind": "keyword", "words": words}, {"kind": "pattern", "pattern": r"\d{2}\n#"}]
    )
    script = exports.trl_script(config)
    assignments = [node for node in ast.parse(script).body if isinstance(node, ast.Assign)]
    names = literals((ast.unparse(node.targets[0]), node.value) for node in assignments)
    assert [reward.get("words", reward.get("pattern")) for reward in names["REWARDS"]] == [words, r"\d{2}\n#"]
    assert yaml_io.from_dict({"rewards": names["REWARDS"]}).rewards == config.rewards
    assert not [node for node in ast.walk(ast.parse(script)) if isinstance(node, ast.Raise)]
    assert "default" not in names
    assert names["PROMPTS"] == config.prompts.model_dump(mode="json")
