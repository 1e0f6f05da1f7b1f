"""A run written down as a ready command file for OpenRLHF or verl, which train models that are too large for here.

Its hyperparameters under the argument names that those publish; what does not carry over is said in comments. Text from
the configuration stands in it as Python literals or quoted for the shell. Text only; the command line calls it.
"""

from __future__ import annotations

import shlex
from typing import Any

from playground.config import RunConfig
from playground.exports.launch_settings import (
    MODEL,
    TITLES,
    VERSIONS,
    Engine,
    Setting,
    not_carried,
    openrlhf_settings,
    verl_settings,
)
from playground.exports.scripts import literal
from playground.runs.folder.records import ScoreScale

_COMMANDS: dict[Engine, str] = {"openrlhf": "openrlhf.cli.train_ppo_ray", "verl": "verl.trainer.main_ppo"}
_END = "END_OF_REWARDS"


def launch_file(config: RunConfig, engine: Engine, scale: ScoreScale | None = None) -> str:
    """A shell script that writes the rewards and the prompts of a run beside it, and starts its training.

    Args:
        scale: as the run recorded it; without one the score is the raw reward.
    """
    settings = openrlhf_settings(config) if engine == "openrlhf" else verl_settings(config)
    return _SCRIPT.format(
        name=ascii(config.name)[1:-1],
        title=TITLES[engine],
        package=f"{engine}=={VERSIONS[engine]}",
        differences="\n".join(f"# - {ascii(sentence)[1:-1]}" for sentence in not_carried(config, engine, scale)),
        rewards=_rewards(config, scale),
        end=_END,
        prompts="prompts.jsonl" if engine == "openrlhf" else "prompts.parquet",
        remarks="".join(f"#   {item.name}: {item.remark}\n" for item in settings if item.remark),
        command=" \\\n    ".join([f"python -m {_COMMANDS[engine]}", *(_argument(item, engine) for item in settings)]),
    )


def _argument(setting: Setting, engine: Engine) -> str:
    """One argument, quoted for the shell: `--name value ...`, or Hydra's `name=value`."""
    value = setting.value
    if value is MODEL:
        return f'--{setting.name} "$MODEL"' if engine == "openrlhf" else f'{setting.name}="$MODEL"'
    if engine == "openrlhf":
        values = value if isinstance(value, (tuple, list)) else (value,)
        return shlex.join([f"--{setting.name}", *map(str, values)])
    return shlex.quote(f"{setting.name}={_hydra(value)}")


def _hydra(value: Any) -> str:
    """A value in Hydra's grammar for overrides; text that is not a plain word is quoted there."""
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(_hydra, value))}]"
    if isinstance(value, str) and not all(letter.isalnum() or letter in "_-./" for letter in value):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    return str(value)


def _rewards(config: RunConfig, scale: ScoreScale | None) -> str:
    measured = scale if config.score.normalise != "none" else None
    return _REWARDS.format(
        rewards=literal([reward.model_dump(mode="json") for reward in config.rewards]),
        prompts=literal(config.prompts.model_dump(mode="json")),
        num_evaluation=config.evaluation.num_prompts,
        num_prompts=config.ppo.num_updates * config.ppo.batch_size // config.ppo.samples_per_prompt,
        seed=config.seed,
        model=ascii(config.model.source),
        scale=repr((measured.mean, measured.sd, config.score.clip) if measured else (0.0, 1.0, config.score.clip)),
        terms=literal(scale.terms if scale else {}),
    )


_REWARDS = '''\
"""The rewards of the run. python rewards.py model prints where its model is; with a .jsonl or .parquet file in that
place it writes the prompts of the run there."""

import os
import sys
from pathlib import Path

sys.path.insert(0, os.environ["PLAYGROUND"])

import torch
from transformers import AutoTokenizer

from playground.config import PromptsConfig
from playground.config.yaml_io import from_dict
from playground.rewards.mixture import Mixture, Scale
from playground.setup import catalog
from playground.training.data import prompts
from playground.training.models.language_model import Tokens
from playground.training.rewards import learned_rewards

MODEL = {model}
REWARDS = {rewards}
PROMPTS = {prompts}
SCALE = {scale}  # mean and sd of the raw reward on the reference's samples, and the clip
TERMS = {terms}

outputs = Path(os.environ.get("PLAYGROUND_OUTPUTS", "outputs"))
build = learned_rewards.builder(torch.device("cpu"), outputs)
mixture = Mixture.from_config(from_dict({{"rewards": REWARDS}}).rewards, build)
if TERMS:
    mixture.restore(TERMS)
scale = Scale(*SCALE)
tokenizer = AutoTokenizer.from_pretrained(catalog.model_folder(MODEL))


def score(prompt, completion):
    for token in tokenizer.all_special_tokens:
        completion = completion.replace(token, "")
    return scale(mixture([prompt], [completion]).totals)[0]


def reward_func(queries, prompts, labels):
    """What OpenRLHF calls; a query is a prompt with its completion."""
    scores = torch.tensor([score(prompt, query[len(prompt) :]) for query, prompt in zip(queries, prompts)])
    return {{"rewards": scores, "scores": scores, "extra_logs": {{}}}}


def compute_score(data_source, solution_str, ground_truth, extra_info=None, **unused):
    """What verl calls."""
    return score(extra_info["prompt"], solution_str)


def write_prompts(path):
    import pandas

    tokens = Tokens(tokenizer, tokenizer.pad_token_id or tokenizer.eos_token_id, tokenizer.eos_token_id)
    found = prompts.load(PromptsConfig(**PROMPTS), {num_evaluation}, room=100_000, tokens=tokens, seed={seed})
    texts = [found.training[number % len(found.training)].text for number in range({num_prompts})]
    if path.endswith(".jsonl"):
        pandas.DataFrame({{"prompt": texts}}).to_json(path, orient="records", lines=True)
        return
    rows = [
        {{
            "data_source": "playground",
            "prompt": [{{"role": "user", "content": text}}],
            "reward_model": {{"style": "rule", "ground_truth": ""}},
            "extra_info": {{"prompt": text}},
        }}
        for text in texts
    ]
    pandas.DataFrame(rows).to_parquet(path)


if __name__ == "__main__":
    if sys.argv[1] == "model":
        print(catalog.model_folder(MODEL))
    else:
        write_prompts(sys.argv[1])
'''

_SCRIPT = """\
#!/usr/bin/env bash
# The run {name}, for {title} (pip install {package}): PLAYGROUND=FOLDER OF THE PLAYGROUND bash SCRIPT
# It needs GPUs, and the playground's folder and packages for the rewards and the prompts.
#
# Of this run, {title} does otherwise:
{differences}
set -euo pipefail
: "${{PLAYGROUND:?Set PLAYGROUND to the folder of the playground.}}"

cat > rewards.py <<'{end}'
{rewards}{end}
MODEL=$(python rewards.py model)
python rewards.py {prompts}

# Of the arguments:
{remarks}{command}
"""
