"""Settings from elsewhere: what they become, what has no equal and why, and that nothing of a file is run."""

from __future__ import annotations

import ast
import importlib.util
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from playground.config import RunConfig, flatten, yaml_io
from playground.errors import InvalidConfig
from playground.exports.scripts import trl_script
from playground.imports import importing
from playground.imports.importing import Imported
from playground.imports.translation import ASIDE, DIALECTS, TABLES, ReportLine
from playground.setup import catalog
from tests.imports import forms

Imports = Callable[..., Imported]
OWN_DEFAULTS = flatten(RunConfig(rewards=({"kind": "sentiment"},)))  # type: ignore[arg-type]


@pytest.fixture
def imports(tmp_path: Path) -> Imports:
    """A text as a file of that name, imported; and again by `train`'s own reading of the YAML that came out."""

    def of(text: str, name: str = "script.py") -> Imported:
        path = tmp_path / name
        path.write_text(text)
        found = importing.read(path)
        written = tmp_path / "out.yaml"
        written.write_text(found.yaml_text(name))
        assert yaml_io.load(written) == found.config
        assert unsaid(found) == []
        return found

    return of


def unsaid(found: Imported) -> list[str]:
    """The settings of a file that its report says nothing of."""
    said = [line.theirs for _, lines in found.report() for line in lines]
    known = [item for item in found.work.named.values() if item.name not in found.work.aside]
    return [str(item) for item in known if not any(str(item) in text for text in said)]


def changed(found: Imported) -> dict[str, Any]:
    """What differs from our defaults, by dotted name."""
    flat = flatten(found.config)
    return {name: value for name, value in flat.items() if value != OWN_DEFAULTS.get(name) and name != "name"}


def has(found: Imported, expected: dict[str, Any]) -> None:
    flat = flatten(found.config)
    assert {name: flat[name] for name in expected} == expected


def why(lines: Sequence[ReportLine], of: str) -> str:
    """What the report says of a setting; it says it once."""
    found = [line.why for line in lines if line.theirs.startswith(of)]
    assert len(found) == 1, (of, lines)
    return found[0]


def test_the_snippet_of_the_chapter_on_ppo(imports: Imports) -> None:
    found = imports(forms.CHAPTER_ON_PPO)
    assert found.work.dialect == "trl-old"
    assert changed(found) == {
        "model.source": "my-sft-model",
        "rewards": [found.config.rewards[0].model_dump(mode="json")],
        "score.normalise": "none",  # beta is in the reward's own unit, as it was there
        "sampling.max_new_tokens": 128,
        "ppo.batch_size": 16,
        "ppo.minibatch_size": 4,
        "ppo.micro_batch_size": 4,
        "ppo.num_epochs": 4,
        "ppo.learning_rate": 1e-6,
        "ppo.schedule": "constant",
        "ppo.value_clip_range": 0.2,
        "kl.controller": "ziegler",
        "kl.coef": 0.2,
        "kl.target": 6.0,
        "kl.horizon": 10_000,
    }
    reward = found.data["rewards"][0]
    assert reward == {"kind": "model", "source": "my-reward-model", "quantization": "int8", "int8_threshold": 6.0}
    assert "k1" in next(line.ours for line in found.work.became if line.theirs.startswith("kl_penalty = 'kl'"))
    assert "no version of TRL ever had" in why(found.work.no_equal, "adalambda_lr")
    assert "sequence classifier" in why(found.work.no_equal, "AutoModelForCausalLM(... 'my-reward-model'")
    assert "takes no reward_model" in why(found.work.no_equal, "PPOTrainer(reward_model")
    assert any("WithValueHead" in remark for remark in found.work.source.remarks)
    assert not any("return_prompt" in remark for remark in found.work.source.remarks)


def test_the_snippet_of_the_chapter_on_rlhf(imports: Imports) -> None:
    found = imports(forms.CHAPTER_ON_RLHF)
    has(
        found,
        {
            "model.source": "openai-community/gpt2",
            "sampling.temperature": 0.7,
            "ppo.batch_size": 128,
            "ppo.minibatch_size": 32,
            "kl.target": 6.0,  # TRL's default, not the snippet's target_kl
        },
    )
    assert "update_kl_stop" not in str(found.data)
    said = why(found.work.no_equal, "target_kl = 6.0")
    assert said.startswith("it did nothing")
    assert "early_stopping=True" in said
    assert "`target`" in said
    assert "does not carry over" in why(found.work.no_equal, "init_kl_coef")
    assert found.config.kl.coef == 0.25  # ours: their reward is not in the file
    assert "hardly moves" in why(found.work.assumed, "horizon = 10000")
    assert any("scores the prompt twice" in remark for remark in found.work.source.remarks)
    assert any(line.startswith("rewards: ") for line in found.work.fill_in)


def test_the_loop_that_a_chapter_writes_by_hand(imports: Imports) -> None:
    found = imports(forms.CHAPTERS_OWN_LOOP)
    assert found.work.dialect == "loop"
    has(found, {"ppo.learning_rate": 1e-5, "ppo.num_epochs": 4, "ppo.clip_range": 0.2, "ppo.value_coef": 0.5})
    has(found, {"ppo.batch_size": 8, "ppo.minibatch_size": 8, "sampling.max_new_tokens": 64, "ppo.schedule": "linear"})
    assert "does not carry over" in why(found.work.no_equal, "beta = 0.1")
    assert found.config.kl.coef == 0.25
    assert "depends on the number of prompts" in why(found.work.no_equal, "epochs = 3")
    as_parameters = (
        "def train(model, *, lr=3e-5, beta=0.0, clip_eps=0.1, gae_lambda=1, ppo_epochs=2, num_steps=70): ..."
    )
    found = imports(as_parameters)
    has(found, {"ppo.learning_rate": 3e-5, "kl.coef": 0.0, "ppo.clip_range": 0.1, "ppo.gae_lambda": 1.0})
    assert any(line.startswith("ppo.batch_size") for line in found.work.fill_in)


def test_the_notebook_on_sentiment(imports: Imports) -> None:
    cells = [{"cell_type": "code", "source": [text]} for text in forms.SENTIMENT_NOTEBOOK]
    found = imports(json.dumps({"cells": [{"cell_type": "markdown", "source": "x ("}, *cells]}), "sentiment.ipynb")
    assert found.data["rewards"] == [{"kind": "model", "source": "lvwerra/distilbert-imdb", "label": "POSITIVE"}]
    assert found.data["prompts"] == {"source": "stanfordnlp/imdb", "split": "train"}
    has(found, {"model.source": "lvwerra/gpt2-imdb", "kl.coef": 0.2, "score.normalise": "none"})
    assert "reference" not in found.data
    assert "log_with" in found.work.aside


def test_a_dictionary_of_any_name_that_generate_is_given(imports: Imports) -> None:
    script = "from trl import PPOConfig\nconfig = PPOConfig(ppo_epochs=4)\n{0} = dict(max_new_tokens=16, top_k=0)\n"
    calls = "trainer.generate(queries, **{0})\nreference.generate(queries, **{0})\n"
    for name in ("gen", "generation_kwargs"):
        found = imports((script + calls).format(name))
        has(found, {"sampling.max_new_tokens": 16})
        assert sum("max_new_tokens = 16" in str(line) for line in found.work.became) == 1


def test_the_dictionary_of_the_oldest_versions(imports: Imports) -> None:
    found = imports(forms.OLDEST)
    has(
        found,
        {
            "model.source": "distilbert/distilgpt2",
            "ppo.num_updates": 79,  # 20,000 episodes in batches of 256, rounded up
            "ppo.batch_size": 256,
            "ppo.micro_batch_size": 16,
            "ppo.learning_rate": 1.41e-5,
            "sampling.max_new_tokens": 16,
        },
    )
    assert found.data["rewards"][0]["source"] == "lvwerra/distilbert-imdb"


def test_a_script_whose_options_have_defaults(imports: Imports) -> None:
    found = imports(forms.STACK)
    has(
        found,
        {
            "model.source": "huggyllama/llama-7b",
            "model.adapter.kind": "lora",
            "model.quantization": "int8",
            "ppo.num_updates": 625,
            "ppo.batch_size": 32,
            "ppo.minibatch_size": 8,
            "ppo.micro_batch_size": 1,
            "ppo.update_kl_stop": 0.15,
            "kl.estimator": "abs",
            "kl.coef": 0.1,  # set after the class was made
            "score.clip": 0.5,
        },
    )
    assert found.config.kl.controller == "fixed"
    assert found.config.score.normalise == "reference"
    assert "not known" in why(found.work.not_understood, "seed") or "SEEDS" in why(found.work.not_understood, "seed")
    assert why(found.work.not_understood, "horizon") == "it is set under a condition"


def test_ppo_of_the_second_kind_counts_its_batch_in_minibatches(imports: Imports) -> None:
    found = imports(forms.PPO_V2)
    has(
        found,
        {
            "ppo.batch_size": 64,
            "ppo.minibatch_size": 16,
            "ppo.micro_batch_size": 8,
            "ppo.num_updates": 100,
            "ppo.num_epochs": 1,
            "kl.coef": 0.07,
            "sampling.temperature": 0.7,
            "ppo.learning_rate": 3e-6,
        },
    )
    assert found.data["rewards"] == [{"kind": "model", "source": "org/tldr-reward"}]
    assert "number" in why(found.work.no_equal, "non_eos_penalty")


def test_ppo_as_it_is_now(imports: Imports) -> None:
    found = imports(forms.PPO_NOW)
    has(
        found,
        {
            "model.source": "Qwen/Qwen2.5-0.5B-Instruct",
            "reference.source": "Qwen/Qwen2.5-0.5B",
            "ppo.batch_size": 16,
            "ppo.minibatch_size": 8,
            "ppo.micro_batch_size": 4,
            "ppo.num_updates": 100,
            "ppo.warmup_updates": 10,
            "kl.estimator": "k3",
            "kl.coef": 0.03,
            "score.normalise": "none",
            "sampling.missing_eos_penalty": 1.0,
        },
    )
    assert found.config.ppo.value_clip_range is None
    assert found.config.kl.controller == "fixed"
    assert found.data["rewards"] == [{"kind": "model", "source": "org/reward"}]  # not the value model
    assert "not whitened" in why(found.work.no_equal, "whiten_rewards")
    assert "one optimizer step for each epoch" in why(found.work.became, "per_device_train_batch_size")


def test_a_shell_script(imports: Imports) -> None:
    found = imports(forms.PPO_SHELL, "run.sh")
    assert found.data["prompts"] == {"split": "validation", "source": "trl-lib/tldr"}
    assert found.data["rewards"] == [{"kind": "model", "source": "org/tldr-reward"}]
    has(
        found,
        {
            "model.source": "EleutherAI/pythia-160m",
            "model.adapter.kind": "lora",
            "ppo.batch_size": 64,
            "ppo.num_updates": 469,
            "ppo.learning_rate": 1e-6,
            "kl.coef": 0.05,
        },
    )
    assert any("8 processes" in remark for remark in found.work.source.remarks)
    assert "config_file" not in str(found.report())
    assert "output_dir" in found.work.aside


def test_rloo_of_both_ages(imports: Imports) -> None:
    old, new = imports(forms.RLOO_OLD), imports(forms.RLOO_NOW)
    assert (old.work.dialect, new.work.dialect) == ("trl-rloo-old", "trl-rloo")
    has(old, {"method": "rloo", "ppo.samples_per_prompt": 4, "ppo.batch_size": 64})
    assert old.config.ppo.num_updates == 157
    assert old.config.score.normalise == "reference"
    assert old.config.kl.coef == 0.03
    has(
        new,
        {
            "method": "rloo",
            "ppo.samples_per_prompt": 4,
            "ppo.batch_size": 32,
            "ppo.num_epochs": 2,
            "ppo.num_updates": 100,  # 200 optimizer steps, two for each batch
            "score.clip": 3.0,
            "kl.coef": 0.05,
            "score.normalise": "none",
            "prompts.source": "trl-lib/ultrafeedback-prompt",
        },
    )


def test_grpo(imports: Imports) -> None:
    found = imports(forms.GRPO)
    has(
        found,
        {
            "method": "grpo",
            "model.source": "Qwen/Qwen2-0.5B-Instruct",
            "ppo.learning_rate": 2e-5,
            "ppo.batch_size": 16,
            "ppo.samples_per_prompt": 8,
            "ppo.clip_range": 0.1,
            "kl.coef": 0.04,
            "sampling.max_new_tokens": 256,
        },
    )
    assert found.data["rewards"] == [{"kind": "model", "source": "org/reward-a"}]
    assert "code is not taken over" in why(found.work.no_equal, "reward_funcs (line 10): reward_len")
    assert "method rloo does not" in why(found.work.no_equal, "scale_rewards = False")
    assert "not all recognised" in why(found.work.no_equal, "reward_weights")


def test_a_function_whose_parameters_have_defaults(imports: Imports) -> None:
    found = imports(forms.UNSLOTH)
    has(found, {"model.source": "unsloth/Qwen2.5-3B-Instruct", "model.quantization": "nf4", "model.adapter.r": 32})
    has(found, {"model.adapter.kind": "lora", "model.adapter.alpha": 64.0, "ppo.learning_rate": 5e-6})
    has(found, {"ppo.batch_size": 8, "ppo.samples_per_prompt": 8, "ppo.num_updates": 250, "kl.coef": 0.0})
    assert not found.work.not_understood


def test_a_yaml_of_trl(imports: Imports) -> None:
    found = imports(forms.GRPO_YAML, "grpo.yaml")
    assert found.work.dialect == "trl-grpo"
    assert found.config.kl.coef == 0.0
    has(
        found,
        {
            "ppo.batch_size": 64,
            "ppo.samples_per_prompt": 16,
            "ppo.schedule": "constant",
            "ppo.warmup_updates": 3,
            "prompts.source": "AI-MO/NuminaMath-TIR",
        },
    )
    assert found.work.not_understood == [
        ReportLine("colour = 'blue' (line 14)", why="no setting of this name is known")
    ]


def test_dpo(imports: Imports) -> None:
    found = imports(forms.DPO)
    has(
        found,
        {
            "method": "dpo",
            "model.precision": "bf16",
            "ppo.batch_size": 64,  # texts, two for each of 32 pairs
            "ppo.samples_per_prompt": 2,
            "kl.coef": 0.1,
        },
    )
    assert any("reward-train" in line for line in found.work.fill_in)


def test_a_yaml_of_llama_factory(imports: Imports) -> None:
    found = imports(forms.LLAMA_FACTORY, "ppo.yaml")
    has(
        found,
        {
            "model.adapter.r": 8,
            "model.adapter.target_modules": ["q_proj", "v_proj"],
            "ppo.batch_size": 64,
            "ppo.minibatch_size": 16,
            "ppo.micro_batch_size": 2,
            "ppo.num_updates": 50,
            "ppo.warmup_updates": 5,
            "ppo.num_epochs": 2,
            "kl.controller": "ziegler",
            "kl.coef": 0.2,
            "kl.target": 3.0,
            "sampling.temperature": 0.95,
            "sampling.top_p": 0.9,
            "prompts.limit": 1000,
        },
    )
    assert found.config.score.normalise == "reference"  # ppo_score_norm
    assert "stage ppo does not read it" in why(found.work.no_equal, "pref_beta")
    assert "dataset_info.json" in why(found.work.no_equal, "dataset =")
    assert "linear" in why(found.work.no_equal, "lr_scheduler_type = 'cosine'")


def test_a_script_that_only_says_how_it_is_started(imports: Imports) -> None:
    found = imports(forms.EXAMPLE_SCRIPT)
    expected = {"method": "dpo", "model.source": "Qwen/Qwen2-0.5B-Instruct", "ppo.learning_rate": 5e-7}
    has(found, {**expected, "ppo.batch_size": 32, "kl.coef": 0.1, "prompts.source": "trl-lib/ultrafeedback_binarized"})
    assert any("its example" in remark for remark in found.work.source.remarks)
    assert not found.work.not_understood
    assert "remove_unused_columns" in found.work.aside


def test_a_script_with_its_settings_in_a_default(imports: Imports) -> None:
    found = imports(forms.SENTIMENT_SCRIPT)
    has(found, {"model.source": "lvwerra/gpt2-imdb", "prompts.source": "stanfordnlp/imdb", "ppo.batch_size": 128})
    has(found, {"kl.coef": 0.2, "score.normalise": "none", "ppo.update_kl_stop": None})
    assert found.data["rewards"] == [{"kind": "model", "source": "lvwerra/distilbert-imdb", "label": "POSITIVE"}]
    assert "did nothing" in why(found.work.no_equal, "target_kl")


@pytest.mark.parametrize("preset", ["kinder-reviews", "short-leash"])
def test_our_own_script_for_trl_comes_back_as_it_was(imports: Imports, preset: str) -> None:
    config = yaml_io.load(catalog.preset_path(preset))
    back = flatten(imports(trl_script(config)).config)
    lost = {name for name, value in flatten(config).items() if back[name] != value}
    untold = {"about", "evaluation", "checkpoint", "behaviours", "name", "judges"}  # by a script
    assert {name for name in lost if name.split(".")[0] not in untold} <= {"model.critic", "model.precision"}


def test_every_setting_of_the_installed_trl_is_in_the_tables() -> None:
    found = importlib.util.find_spec("trl")
    assert found is not None
    assert found.origin
    files = {
        "trl-ppo": "experimental/ppo/ppo_config.py",
        "trl-rloo": "trainer/rloo_config.py",
        "trl-grpo": "trainer/grpo_config.py",
        "trl-dpo": "trainer/dpo_config.py",
    }
    transformers = importlib.util.find_spec("transformers")
    assert transformers is not None
    assert transformers.origin
    shared = fields(Path(transformers.origin).with_name("training_args.py"), "TrainingArguments")
    shared |= fields(Path(found.origin).parent / "trainer" / "model_config.py", "ModelConfig")
    for dialect, file in files.items():
        asked = fields(Path(found.origin).parent / file, "Config") | shared
        tables = [TABLES[name] for name in DIALECTS[dialect]["tables"]]
        assert len(asked) > 90
        assert {name for name in asked if name not in ASIDE and not any(name in table for table in tables)} == set()


def fields(path: Path, of: str) -> set[str]:
    """The fields of the classes of a file whose name ends like that."""
    classes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    return {
        item.target.id
        for node in classes
        if node.name.endswith(of)
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and not item.target.id.startswith("_")
    }


def test_the_tables_name_fields_and_rules_that_are_there() -> None:
    known = flatten(RunConfig(rewards=({"kind": "sentiment"},))).keys()  # type: ignore[arg-type]
    for name, table in TABLES.items():
        if name in ("dialects", "aside", "old-names"):
            continue
        for setting, line in table.items():
            assert ("to" in line) + ("no" in line) + ("rule" in line) == 1, (name, setting)
            assert line.get("to") in {None, *known}, (name, setting)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.py", "import os\nos.system('true')\n", "Nothing in this file is recognised"),
        ("a.py", "PPOConfig(learning_rate=", "line 1 is not Python"),
        ("a.py", "x = " + "(" * 5000 + ")" * 5000, "cannot be read as a script"),
        ("a.ipynb", "[]", "no Jupyter notebook"),
        ("a.yaml", "a: &x 1\nb: *x\n", "alias"),
        ("a.yaml", "- 1\n", "no `name: value` lines"),
        ("a.yaml", "stage: sft\nmodel_name_or_path: x\n", "Only the stages ppo and dpo"),
        ("a.yaml", "stage: rm\n", "reward-train"),
        ("a.yaml", "format: 1\nrewards: []\n", "playground's own"),
        ("a.sh", "echo hello\n", "no command with options"),
        ("a.sh", "python other.py --colour blue\n", "Nothing in this file is recognised"),
        ("a.sh", "python -m openrlhf.cli.train_ppo_ray --init_kl_coef 0.1 --gamma 1.0\n", "docs/scale.md"),
        ("a.sh", "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo\n", "docs/scale.md"),
        ("a.yaml", "algorithm: {gamma: 1}\nactor_rollout_ref: {}\n", "docs/scale.md"),
        ("a.sh", "python examples/scripts/dpo_online.py --colour blue\n", "Nothing in this file is recognised"),
        ("a.py", "PPOConfig(total_timesteps=9, num_envs=4, use_lstm=True, learning_rate=1e-3)", "another library's"),
        ("a.bin", "x", "it must be a Python script"),
        ("a.py", "\x00", "cannot be read as a script"),
    ],
)
def test_what_cannot_be_imported_is_said_in_a_sentence(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidConfig) as refused:
        importing.read(tmp_path / name)
    assert len(refused.value.problems) == 1
    assert said in str(refused.value)


def test_nothing_of_a_script_is_run_or_computed_at_length(imports: Imports, tmp_path: Path) -> None:
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
    started = time.monotonic()
    lists = "".join(f"L{at} = [{f'L{at + 1}, ' * 900}]\n" for at in range(12))
    text += f"config.kl_penalty = L0\n{lists}L12 = 1\n"
    found = imports(text)
    assert time.monotonic() - started < 2
    assert not (tmp_path / "ran").exists()
    unknown = {line.theirs.partition(" ")[0] for line in found.work.not_understood}
    assert unknown >= {"ppo_epochs", "learning_rate", "gamma", "lam", "batch_size", "cliprange", "seed"}
    assert found.config.ppo.value_coef == 0.3


def test_what_our_rules_refuse_is_left_out_and_said(imports: Imports) -> None:
    found = imports("PPOConfig(ppo_epochs=1000, learning_rate=5.0, batch_size=100, mini_batch_size=32, cliprange=0.3)")
    assert found.config.ppo.learning_rate == 2e-4
    assert found.config.ppo.clip_range == 0.3
    assert found.config.ppo.batch_size == 48
    assert "refuse ppo.learning_rate 5.0: must be at most" in why(found.work.no_equal, "learning_rate = 5.0")
    assert any("do not divide each other" in line for line in found.work.fill_in)
    quantized = imports(
        "PPOConfig(ppo_epochs=2)\nmodel = AutoModelForCausalLMWithValueHead.from_pretrained('a/b', load_in_8bit=True)\n"
    )
    assert quantized.config.model.quantization == "none"
    assert "cannot be trained themselves" in why(quantized.work.no_equal, "load_in_8bit")


def test_a_second_set_of_settings_and_a_contradiction_are_told_of(imports: Imports) -> None:
    found = imports("PPOConfig(kl_coef=0.1, num_ppo_epochs=2)\nPPOConfig(kl_coef=0.2, num_ppo_epochs=3)\n")
    assert found.config.ppo.num_epochs == 2
    assert any(remark.startswith("Line 2: a second set") for remark in found.work.source.remarks)


def test_hostile_text_stays_in_its_comment(imports: Imports) -> None:
    found = imports(forms.GRPO, 'a: b\\n "x".py'.replace("\\n", "\n"))
    assert found.config.method == "grpo"
