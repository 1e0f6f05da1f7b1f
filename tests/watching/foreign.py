"""A script as another program has it: a trainer of TRL's on a pocket model, watched."""

import sys

from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer
from trl.experimental.ppo import PPOConfig, PPOTrainer

from playground import Watch
from playground.setup import catalog

PROMPTS = ["The film was", "I think the food is", "The hotel in the town", "My day at the lake"] * 4
USUAL = {"max_steps": 4, "per_device_train_batch_size": 4, "logging_steps": 1, "learning_rate": 1e-3, "seed": 5}
USUAL |= {"save_strategy": "no", "report_to": "none", "use_cpu": True, "bf16": False, "gradient_checkpointing": False}
OF_GRPO = {"num_generations": 4, "max_completion_length": 8, "beta": 0.04}
OF_PPO = {"total_episodes": 16, "response_length": 8, "num_mini_batches": 1, "kl_coef": 0.07, "num_ppo_epochs": 1}


def made(name, folder):
    source, usual = str(catalog.model_folder("pocket-1m")), {**USUAL, "output_dir": folder}
    tokenizer, model = AutoTokenizer.from_pretrained(source), AutoModelForCausalLM.from_pretrained(source)
    if name == "grpo":
        args, data = GRPOConfig(**usual, **OF_GRPO), Dataset.from_dict({"prompt": PROMPTS})
        return GRPOTrainer(model, lambda completions, **_: [*map(len, completions)], args, data)
    if name == "dpo":
        data = Dataset.from_dict({"prompt": PROMPTS, "chosen": [" good"] * 16, "rejected": [" so bad"] * 16})
        return DPOTrainer(model, None, DPOConfig(**usual, beta=0.2), train_dataset=data, processing_class=tokenizer)
    judge = AutoModelForSequenceClassification.from_pretrained(source, num_labels=1)
    data = Dataset.from_dict({"input_ids": [tokenizer(text).input_ids for text in PROMPTS]})
    roles = {"reward_model": judge, "value_model": judge, "ref_model": None}
    args = PPOConfig(**usual | {"max_steps": -1}, **OF_PPO, num_sample_generations=0)
    return PPOTrainer(args, tokenizer, model, train_dataset=data, eval_dataset=data, **roles)


if __name__ == "__main__":
    trainer = made(sys.argv[1], sys.argv[3])
    trainer.add_callback(Watch(sys.argv[2], prompts=PROMPTS[:2], every=2, max_new_tokens=6))
    trainer.train()
