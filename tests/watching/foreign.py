"""A script as another program has it: a trainer of TRL's on a pocket model, watched. `python -m ... TRAINER FOLDER`."""

import sys
import tempfile

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

from playground import Watch
from playground.setup import catalog

PROMPTS = ["The film was", "I think the food is", "The hotel in the town", "My day at the lake"]
STEPS = 4


def made(name, model, tokenizer, folder):
    """The trainer, which does `STEPS` updates."""
    usual = {
        "output_dir": folder,
        "max_steps": STEPS,
        "per_device_train_batch_size": 4,
        "logging_steps": 1,
        "learning_rate": 1e-3,
        "seed": 5,
        "save_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
    }
    prompts = Dataset.from_dict({"prompt": PROMPTS * 8})
    pairs = Dataset.from_dict({"prompt": PROMPTS * 4, "chosen": [" good"] * 16, "rejected": [" bad and bad"] * 16})
    if name == "grpo":
        from trl import GRPOConfig, GRPOTrainer

        usual |= {"num_generations": 4, "max_completion_length": 8, "beta": 0.04}
        args = GRPOConfig(**usual)
        reward = lambda completions, **_: [float(len(set(text))) for text in completions]  # noqa: E731
        return GRPOTrainer(model, reward, args, prompts, processing_class=tokenizer)
    if name == "dpo":
        from trl import DPOConfig, DPOTrainer

        return DPOTrainer(model, args=DPOConfig(**usual, beta=0.2), train_dataset=pairs, processing_class=tokenizer)
    if name == "sft":
        from trl import SFTConfig, SFTTrainer

        texts = Dataset.from_dict({"text": [f"{text} good." for text in PROMPTS * 4]})
        return SFTTrainer(model, args=SFTConfig(**usual), train_dataset=texts, processing_class=tokenizer)
    classifier = AutoModelForSequenceClassification.from_pretrained(model.config._name_or_path, num_labels=1)
    classifier.config.pad_token_id = tokenizer.pad_token_id
    if name == "reward":
        from trl import RewardConfig, RewardTrainer

        return RewardTrainer(classifier, args=RewardConfig(**usual), train_dataset=pairs, processing_class=tokenizer)
    from trl.experimental.ppo import PPOConfig, PPOTrainer

    usual |= {"total_episodes": 16, "response_length": 8, "num_mini_batches": 1, "kl_coef": 0.07, "max_steps": -1}
    usual |= {"num_sample_generations": 0, "num_ppo_epochs": 1}
    ids = Dataset.from_dict({"input_ids": [tokenizer(text).input_ids for text in PROMPTS * 8]})
    roles = {"reward_model": classifier, "value_model": classifier, "ref_model": None}
    return PPOTrainer(PPOConfig(**usual), tokenizer, model, train_dataset=ids, eval_dataset=ids, **roles)


def main(name, folder):
    torch.set_num_threads(1)
    source = str(catalog.model_folder("pocket-1m"))
    tokenizer = AutoTokenizer.from_pretrained(source)
    model = AutoModelForCausalLM.from_pretrained(source)
    with tempfile.TemporaryDirectory() as elsewhere:
        trainer = made(name, model, tokenizer, elsewhere)
        trainer.add_callback(Watch(folder, prompts=PROMPTS[:2], every=2, max_new_tokens=6))
        trainer.train()


if __name__ == "__main__":
    main(*sys.argv[1:])
