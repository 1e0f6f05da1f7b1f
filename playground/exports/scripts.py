"""A run written down for use elsewhere: as a script for TRL 1.12, or as YAML for our own `train` command.

Text only: imports neither torch nor trl, starts nothing, writes no file. The command line and the page call it.
"""

from __future__ import annotations

import pprint
import shlex
from typing import Any

from playground.config import RunConfig, engines, methods
from playground.runs.folder.records import ScoreScale
from playground.setup import telling

WIDTH = 110
OWN_REWARDS = {
    "expression": "The expression in REWARDS is computed by the playground's own evaluator and never run as Python.",
    "python": "The code in REWARDS runs in a process of its own, as it did in the run. Read it before you start this.",
}  # what a reader of the script should know about rewards that somebody has written


def command(config: RunConfig, path: str) -> str:
    """The command that repeats a run from its YAML at `path`."""
    return f"python -m playground train {shlex.quote(path)}"


def yaml_text(config: RunConfig, path: str = "run.yaml") -> str:
    """The configuration as YAML for our own `train`, with the command on top."""
    wrong = telling.wrong_on_purpose(config)
    marked = f"# {wrong}\n" if wrong else ""
    return f"# Run it in the playground's folder:  {command(config, path)}\n{marked}{config.to_yaml()}"


def trl_script(config: RunConfig, scale: ScoreScale | None = None) -> str:
    """A complete script that does this run with TRL 1.12's `PPOTrainer`, as that library is used without us.

    It takes from this project what TRL does not have: the rewards, the prompts, the shipped model. Text from the
    configuration appears as Python literals only.

    Args:
        scale: as the run recorded it; without one the script measures it at its start.
    """
    differences = [str(problem) for problem in engines.unsupported(config)] + engines.notes(config)
    if wrong := telling.wrong_on_purpose(config):
        differences.insert(0, f"{wrong} That is of the run: TRL has its own trainer, which makes no such mistake.")
    if config.method != "ppo":
        label = methods.METHODS[config.method].label
        differences.insert(0, f"The run took another road (method {config.method}, {label}); this script does PPO.")
    return _SCRIPT.format(
        name=repr(config.name),
        differences="\n".join(f"# - {ascii(sentence)[1:-1]}" for sentence in differences),
        version=engines.TRL_VERSION,
        model=repr(config.model.source),
        prompts=_literal(config.prompts.model_dump(mode="json")),
        num_evaluation=config.evaluation.num_prompts,
        rewards=_literal([reward.model_dump(mode="json") for reward in config.rewards]),
        clip=config.score.clip,
        own_rewards="".join(f"# {OWN_REWARDS[kind]}\n" for kind in OWN_REWARDS if kind in _kinds(config)),
        scale=_scale(config, scale),
        settings=_settings(config),
        folder=repr(f"{config.name}-trl"),
    )


def _scale(config: RunConfig, scale: ScoreScale | None) -> str:
    """The lines that make `scale`, and give the mixture the scales of its terms: as recorded, else measured."""
    per_term = any(reward.normalise for reward in config.rewards)
    recorded = scale is not None and (bool(scale.terms) or not per_term)
    lines = [] if recorded else [_MEASURED]
    if scale is not None and recorded and per_term:
        lines.append(f"mixture.restore({_literal(scale.terms)})")
    if config.score.normalise == "none":
        lines = [*(lines if per_term else []), "scale = Scale(mean=0.0, sd=1.0, clip=SCORE_CLIP)"]
    elif scale is not None and recorded:
        lines.append(f"scale = Scale(mean={scale.mean!r}, sd={scale.sd!r}, clip=SCORE_CLIP)")
    return "\n".join(lines)


def _kinds(config: RunConfig) -> set[str]:
    return {reward.kind for reward in config.rewards}


def _literal(value: Any) -> str:
    return pprint.pformat(value, width=WIDTH, sort_dicts=False)


def _settings(config: RunConfig) -> str:
    remarks = {
        "num_mini_batches": "no more optimizer steps: TRL takes one for each epoch",
        "max_grad_norm": "never used by PPOTrainer: it does not clip",
        "bf16": "True by default, and ignored",
    }
    if config.ppo.value_clip_range is None:
        remarks["cliprange_value"] = "off; TRL has no other way to say so"
    if config.kl.moves:
        remarks["kl_coef"] = f"the run adapted it towards a KL of {config.kl.target:g}; TRL keeps it"
    lines = []
    for name, value in engines.trl_settings(config).items():
        remark = f"  # {remarks[name]}" if name in remarks else ""
        lines.append(f"    {name}={value!r},{remark}")
    return "\n".join(lines)


STEER = "steer.py"  # beside the weights of a steered run
STEERING = '''\
"""Add the steering vector that lies in this folder to its model, in plain transformers: python steer.py "PROMPT"."""

import sys
from pathlib import Path

import torch
from safetensors import safe_open
from transformers import AutoModelForCausalLM, AutoTokenizer


def steer(model, folder):
    """From now on what the model writes has the vector in it: behind one layer, from the last prompt token on."""
    with safe_open(str(Path(folder) / "steering.safetensors"), framework="pt") as file:
        facts, vector = file.metadata(), file.get_tensor("vector")
    depth = model.config.num_hidden_layers
    lists = (module for module in model.modules() if isinstance(module, torch.nn.ModuleList))
    layers = next(found for found in lists if len(found) == depth)
    shift = float(facts["strength"]) * vector.to(model.device)

    def add(module, inputs, output):
        residual = (output[0] if isinstance(output, tuple) else output).clone()
        residual[:, -1] += shift.to(residual.dtype)
        return (residual, *output[1:]) if isinstance(output, tuple) else residual

    return layers[int(facts["layer"]) - 1].register_forward_hook(add)  # .remove() takes it out again


if __name__ == "__main__":
    folder = Path(__file__).resolve().parent
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    steer(model, folder)
    asked = tokenizer(sys.argv[1], return_tensors="pt")
    print(tokenizer.decode(model.generate(**asked, use_cache=True)[0], skip_special_tokens=True))
'''

_MEASURED = """\
texts, asked = [], [training[number % len(training)] for number in range(256)]
for start in range(0, 256, 64):
    batch = collate([{"input_ids": prompt.ids} for prompt in asked[start : start + 64]]).to(device)
    answers = policy.generate(
        **batch, do_sample=True, top_k=0, top_p=1.0, temperature=args.temperature, max_new_tokens=args.response_length
    )
    texts += tokenizer.batch_decode(answers[:, WIDTH:], skip_special_tokens=True)
measured = mixture.measure([prompt.text for prompt in asked], texts)
mixture.fit(measured)
scale = Scale.of(mixture.combine(measured).totals, SCORE_CLIP)"""

_SCRIPT = '''\
# The run {name}, for TRL {version} (pip install trl=={version}.0): python SCRIPT.py [FOLDER FOR THE MODEL]
# Run it in the playground's folder, from which it takes the rewards, the prompts and the shipped models.
#
# Of this run, TRL does otherwise:
{differences}

import copy
import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
sys.path.insert(0, os.getcwd())
if importlib.util.find_spec("playground") is None:
    sys.exit("Run this in the folder of the RLHF Playground, the one with app.py: cd there, and give this file's path.")

import numpy as np
import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorWithPadding
from trl.experimental.ppo import PPOConfig, PPOTrainer

from playground.config import PromptsConfig
from playground.config.yaml_io import from_dict
from playground.rewards.mixture import Mixture, Scale
from playground.setup import catalog
from playground.training.data import prompts
from playground.training.models.language_model import Tokens
from playground.training.rewards import learned_rewards

FOLDER = sys.argv[1] if len(sys.argv) > 1 else {folder}
MODEL = {model}
PROMPTS = {prompts}
NUM_HELD_OUT = {num_evaluation}  # prompts that the run kept for its before and after
REWARDS = {rewards}
SCORE_CLIP = {clip}

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
args = PPOConfig(
    output_dir=tempfile.mkdtemp(),
    use_cpu=device.type == "cpu",
{settings}
)
torch.manual_seed(args.seed)
np.random.seed(args.seed)  # TRL shuffles with NumPy and does not seed it

# -- models ------------------------------------------------------------------------------------------------------------

source = catalog.model_folder(MODEL)
policy = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32).to(device)
reference = copy.deepcopy(policy)
tokenizer = AutoTokenizer.from_pretrained(source, padding_side="left")
if tokenizer.pad_token is None:
    tokenizer.pad_token = tokenizer.eos_token  # TRL then leaves the end of text out of the loss


class ValueModel(nn.Module):
    """A second full model that predicts the return; its head starts at 0."""

    base_model_prefix = "backbone"

    def __init__(self):
        super().__init__()
        self.backbone = copy.deepcopy(policy.base_model)
        self.score = nn.Linear(policy.config.hidden_size, 1, device=device)
        nn.init.zeros_(self.score.weight)
        nn.init.zeros_(self.score.bias)


# -- prompts -----------------------------------------------------------------------------------------------------------

room = getattr(policy.config, "max_position_embeddings", 1024) - args.response_length
tokens = Tokens(tokenizer, tokenizer.pad_token_id, tokenizer.eos_token_id)
training = prompts.load(PromptsConfig(**PROMPTS), NUM_HELD_OUT, room, tokens, args.seed).training
text_of = {{tuple(prompt.ids): prompt.text for prompt in training}}
WIDTH = max(map(len, text_of))  # every prompt is padded to this, so that the reward knows where completions begin
collate = DataCollatorWithPadding(tokenizer, padding="max_length", max_length=WIDTH)
# Longer than the run: with fewer prompts than a batch TRL never returns, and at the end it takes extra steps.
batch_size = args.per_device_train_batch_size * args.gradient_accumulation_steps
repeats = 1 + (args.total_episodes + batch_size) // len(training)
dataset = [{{"input_ids": prompt.ids}} for prompt in training] * repeats

# -- rewards -----------------------------------------------------------------------------------------------------------

{own_rewards}# It also loads learned rewards.
build = learned_rewards.builder(device, Path(os.environ.get("PLAYGROUND_OUTPUTS", "outputs")))
mixture = Mixture.from_config(from_dict({{"rewards": REWARDS}}).rewards, build)
# The score is the raw reward in standard deviations of the reference's.
{scale}
print("score scale:", scale)


class Scores(nn.Module):
    """TRL wants hidden states [batch, tokens, size]; these are the score of the row, at every position, size 1."""

    def forward(self, input_ids, attention_mask, **unused):
        asked, texts = [], []
        for ids, real in zip(input_ids.tolist(), attention_mask.bool().tolist()):
            prompt = tuple(token for token, keep in zip(ids[:WIDTH], real[:WIDTH]) if keep)
            answer, kept = ids[WIDTH:], real[WIDTH:]
            asked.append(text_of[prompt])
            length = kept.index(False) if False in kept else len(kept)
            texts.append(tokenizer.decode(answer[:length], skip_special_tokens=True))
        scores = torch.tensor(scale(mixture(asked, texts).totals), dtype=torch.float32, device=input_ids.device)
        return SimpleNamespace(hidden_states=(scores[:, None, None].expand(-1, input_ids.shape[1], -1),))


class RewardModel(nn.Module):
    base_model_prefix = "backbone"

    def __init__(self):
        super().__init__()
        self.backbone = Scores()
        self.score = nn.Identity()


# -- training ----------------------------------------------------------------------------------------------------------

trainer = PPOTrainer(
    args=args,
    processing_class=tokenizer,
    model=policy,
    ref_model=reference,
    reward_model=RewardModel(),
    value_model=ValueModel(),
    train_dataset=dataset,
    data_collator=collate,
)
trainer.train()
policy.save_pretrained(FOLDER)
tokenizer.save_pretrained(FOLDER)
print("saved:", FOLDER)
'''
