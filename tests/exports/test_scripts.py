"""The script for TRL: complete, and text from a configuration is data in it. nightly/test_scripts.py starts it."""

import ast
import contextlib
import dataclasses
import math
from pathlib import Path

import pytest

from playground import exports
from playground.config import yaml_io
from playground.exports import reward_source
from playground.ppo import kl as kl_module
from playground.rewards import mixture
from playground.runs.folder.records import Event
from tests.support import data_beside

SMALL = yaml_io.parse_yaml(Path(__file__).with_name("small.yaml").read_text(encoding="utf-8"))

REWARDS, TEXTS = (data_beside(__file__, "tables.yaml")[name] for name in ("rewards", "completions"))


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
    arguments = literals((item.arg, item.value) for item in call.keywords)
    same = {"learning_rate": 3e-5, "cliprange": 0.1, "gamma": 0.9, "vf_coef": 0.7, "num_ppo_epochs": 3, "kl_coef": 0.5}
    same |= {"total_episodes": 8, "gradient_accumulation_steps": 2, "seed": 7, "response_length": 8, "bf16": False}
    same |= {"stop_token": "eos", "missing_eos_penalty": 0.5}
    assert {name: arguments[name] for name in same} == same
    prompts = {"template_options": {"enable_thinking": False}, "template_file": "mine.jinja"}
    script = exports.trl_script(small(prompts=SMALL.get("prompts", {}) | prompts))
    assert 'tokenizer.chat_template = Path(PROMPTS["template_file"])' in script
    assert "return_dict=False, **options)" in script


def test_the_script_says_what_trl_does_otherwise():
    script = exports.trl_script(small(kl={"controller": "adaptive", "target": 3}))
    for words in ("# - Beta moves by the KL of the sampled tokens", "# - TRL does not clip gradients"):
        assert words in script
    assert "Beta moves" not in exports.trl_script(small())
    other = exports.trl_script(small(method="rloo", ppo={**SMALL["ppo"], "samples_per_prompt": 4}))
    assert "# - The run took another method (rloo, RLOO)" in other


@pytest.mark.parametrize("spec", REWARDS, ids=str)
def test_a_reward_that_is_written_down_gives_the_values_of_the_run_without_the_playground(spec):
    (reward,) = small(rewards=[spec]).rewards
    source = f"from __future__ import annotations\n{reward_source.maker(0, reward)}"
    assert "playground" not in source
    names = {}
    exec(compile(source, "script", "exec", dont_inherit=True), names)
    score = names["reward_0"]()
    for prompt in ("User: 5 plus 4 is 11. Bot:", "Review of the film: The plot was"):
        scores = mixture.build(reward)([prompt] * len(TEXTS), TEXTS)
        assert [score(prompt, text) for text in TEXTS] == list(scores)


def test_a_script_is_announced_with_what_it_needs_and_leaves_out():
    alone = exports.trl_script(small(rewards=[{"kind": "length"}]))
    assert "It needs no playground: pip install trl==1.12.0 peft\n" in alone
    assert "import playground" not in alone
    assert "from playground" not in alone
    learned = small(rewards=[{"kind": "model", "source": "thumbs"}], reference={"source": "pocket-1m"})
    assert "Run it in the playground's folder" in exports.trl_script(learned)
    sentences = exports.trl_plan(learned).in_words()
    assert sentences[0] == "It needs the playground: The reward `thumbs` is a model, which the playground loads."
    assert any("here it is from the model as it begins" in sentence for sentence in sentences)
    claims = exports.trl_plan(small(prompts={"source": "general/claims"}))
    assert not exports.trl_plan(small(prompts={"source": "gone.csv"})).needs
    assert claims.needs == ["The prompts are claims, which it makes of the rows."]


@pytest.mark.parametrize("controller", ["adaptive", "ziegler"])
def test_lora_and_a_beta_that_moves_are_in_the_script(controller):
    lora = {"kind": "lora", "r": 4, "alpha": 9, "target_modules": ["q_proj"]}
    kl = {"controller": controller, "target": 3, "horizon": 500, "coef": 0.5}
    script = exports.trl_script(small(model={"source": "pocket-1m", "adapter": lora}, kl=kl))
    calls = {ast.unparse(node.func): node for node in ast.walk(ast.parse(script)) if isinstance(node, ast.Call)}
    of = literals((item.arg, item.value) for item in calls["LoraConfig"].keywords)
    assert of == {"r": 4, "lora_alpha": 9.0, "target_modules": ["q_proj"], "task_type": "CAUSAL_LM"}
    assert {"peft_config", "callbacks"} <= {item.arg for item in calls["PPOTrainer"].keywords}
    start, end = script.index("LOWEST, HIGHEST = "), script.index("\nbeta = ")
    names = {"math": math, "dataclass": dataclasses.dataclass}
    exec(compile(f"from __future__ import annotations\n{script[start:end]}", "s", "exec", dont_inherit=True), names)
    trl_form, ours = (
        {"adaptive": where["AdaptiveKL"], "ziegler": where["ZieglerKL"]}[controller]
        for where in (names, vars(kl_module))
    )
    settings = {"coef": 0.5, "target": 3.0, **({"horizon": 500} if controller == "ziegler" else {})}
    betas = trl_form(**settings), ours(**settings)
    for seen in (0.1, 9.0, 4.0, 2.0, 5.0, 1.0, 1.0, 7.0):
        for beta in betas:
            beta.observe(seen, seen, 64)
    assert betas[0].coef == betas[1].coef != 0.5


def test_the_script_says_what_was_changed_while_the_run_trained():
    edit = Event(seq=1, time=0, kind="edit", update=12, message="", data={"field": "kl.coef", "old": 0.2, "value": 0.5})
    script = exports.trl_script(small(), [edit])
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
