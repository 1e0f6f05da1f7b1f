"""Files as people write them for other trainers, written anew here. Those of the two chapters are the first."""

CHAPTER_ON_PPO = """
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import PPOConfig, PPOTrainer

model = AutoModelForCausalLM.from_pretrained("my-sft-model")
reward_model = AutoModelForCausalLM.from_pretrained(
    "my-reward-model", load_in_8bit=True, llm_int8_threshold=6.0, device_map="auto"
)
config = PPOConfig(
    learning_rate=1e-6,
    ppo_epochs=4,
    mini_batch_size=4,
    batch_size=16,
    gradient_accumulation_steps=1,
    kl_penalty="kl",
    adalambda_lr=0.01,
)
trainer = PPOTrainer(config=config, model=model, tokenizer=tokenizer, reward_model=reward_model)
responses = trainer.generate(queries, return_prompt=False, max_new_tokens=128)
"""

CHAPTER_ON_RLHF = """
from trl import AutoModelForCausalLMWithValueHead, PPOConfig, PPOTrainer

config = PPOConfig(
    model_name="gpt2",
    learning_rate=1.41e-5,
    batch_size=128,
    mini_batch_size=32,
    ppo_epochs=4,
    init_kl_coef=0.2,
    target_kl=6.0,
    cliprange=0.2,
    cliprange_value=0.2,
    gamma=1.0,
    lam=0.95,
)
model = AutoModelForCausalLMWithValueHead.from_pretrained(config.model_name)
ppo_trainer = PPOTrainer(config=config, model=model, tokenizer=tokenizer)
for batch in ppo_trainer.dataloader:
    response = ppo_trainer.generate(batch["input_ids"], do_sample=True, temperature=0.7, max_new_tokens=128)
"""

CHAPTERS_OWN_LOOP = """
import torch

class RLHFConfig:
    learning_rate = 1e-5
    epochs = 3
    batch_size = 8
    max_response_length = 64
    beta = 0.1
    gamma = 1.0
    lam = 0.95
    ppo_epochs = 4
    eps = 0.2
    vf_coef = 0.5
    max_grad_norm = 1.0

def train_rlhf(policy, value_head, ref_model, reward_model, prompts, config=RLHFConfig()):
    optimizer = torch.optim.AdamW(policy.parameters(), lr=config.learning_rate)
"""

SENTIMENT_NOTEBOOK = [
    "%pip install trl\n",
    "config = PPOConfig(model_name='lvwerra/gpt2-imdb', learning_rate=1.41e-5, log_with='wandb')\n",
    'dataset = load_dataset("imdb", split="train")\n',
    "model = AutoModelForCausalLMWithValueHead.from_pretrained(config.model_name)\n"
    "ref_model = AutoModelForCausalLMWithValueHead.from_pretrained(config.model_name)\n",
    'sentiment_pipe = pipeline("sentiment-analysis", model="lvwerra/distilbert-imdb", device=device)\n',
    'gen_kwargs = {"min_length": -1, "top_k": 0.0, "top_p": 1.0, "do_sample": True}\n',
]

OLDEST = """
from trl.ppo import PPOTrainer
config = {
    "model_name": "distilgpt2", "steps": 20000, "batch_size": 256, "forward_batch_size": 16, "ppo_epochs": 4,
    "txt_in_min_len": 2, "txt_in_max_len": 8, "txt_out_max_len": 16, "lr": 1.41e-5, "init_kl_coef": 0.2, "target": 6,
    "horizon": 10000, "gamma": 1, "lam": 0.95, "cliprange": .2, "cliprange_value": .2, "vf_coef": .1,
}
trainer = PPOTrainer(model, ref_model, tokenizer, **config)
sentiment = pipeline("sentiment-analysis", "lvwerra/distilbert-imdb")
"""

STACK = """
@dataclass
class ScriptArguments:
    model_name: Optional[str] = field(default="huggyllama/llama-7b", metadata={"help": "the model"})
    reward_model_name: Optional[str] = field(default="", metadata={"help": "the reward model"})
    learning_rate: Optional[float] = field(default=1.41e-5)
    batch_size: Optional[int] = field(default=32)
    mini_batch_size: Optional[int] = field(default=1)
    gradient_accumulation_steps: Optional[int] = field(default=8)
    early_stopping: Optional[bool] = field(default=True)
    target_kl: Optional[float] = field(default=0.1)
    steps: Optional[int] = field(default=2 * 10**4)

script_args = parser.parse_args_into_dataclasses()[0]
config = PPOConfig(
    steps=script_args.steps, model_name=script_args.model_name, learning_rate=script_args.learning_rate,
    batch_size=script_args.batch_size, mini_batch_size=script_args.mini_batch_size,
    gradient_accumulation_steps=script_args.gradient_accumulation_steps, optimize_cuda_cache=True,
    early_stopping=script_args.early_stopping, target_kl=script_args.target_kl, adap_kl_ctrl=False,
    kl_penalty="abs", use_score_scaling=True, use_score_norm=True, score_clip=0.5, seed=SEEDS[0],
)
lora_config = LoraConfig(r=16, lora_alpha=32, lora_dropout=0.05, bias="none", task_type="CAUSAL_LM")
model = AutoModelForCausalLMWithValueHead.from_pretrained(config.model_name, load_in_8bit=True, peft_config=lora_config)
sentiment_pipe = pipeline("sentiment-analysis", model=reward_model_name)
config.init_kl_coef = 0.1
if script_args.long:
    config.horizon = 5
"""

PPO_V2 = """
from trl.trainer.ppov2_trainer import PPOv2Config, PPOv2Trainer
config = PPOv2Config(
    output_dir="out", num_ppo_epochs=1, num_mini_batches=4, per_device_train_batch_size=8,
    gradient_accumulation_steps=2, total_episodes=6400, kl_coef=0.07, non_eos_penalty=True, penalty_reward_value=-1.0,
    sft_model_path="EleutherAI/pythia-1b-deduped", reward_model_path="org/tldr-reward", response_length=64,
)
"""

PPO_NOW = """
from trl.experimental.ppo import PPOConfig, PPOTrainer
policy = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B-Instruct")
ref_policy = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
reward_model = AutoModelForSequenceClassification.from_pretrained("org/reward", num_labels=1)
value_model = AutoModelForSequenceClassification.from_pretrained("org/reward", num_labels=1)
args = PPOConfig(
    output_dir="out", learning_rate=3e-6, per_device_train_batch_size=4, gradient_accumulation_steps=4,
    total_episodes=1600, num_ppo_epochs=2, num_mini_batches=2, kl_coef=0.03, kl_estimator="k3", missing_eos_penalty=1.0,
    stop_token="eos", whiten_rewards=True, warmup_ratio=0.1, bf16=True, cliprange_value=1e9,
)
"""

PPO_SHELL = """#!/bin/bash
# a run of the example script
LR=1e-6
MODEL=EleutherAI/pythia-160m
accelerate launch --config_file zero2.yaml --num_processes 8 \\
    examples/scripts/ppo/ppo_tldr.py \\
    --dataset_name trl-lib/tldr \\
    --dataset_train_split=validation \\
    --learning_rate $LR \\
    --num_ppo_epochs 1 --num_mini_batches 1 \\
    --per_device_train_batch_size 16 --gradient_accumulation_steps 4 \\
    --total_episodes 30000 \\
    --model_name_or_path "${MODEL}" --sft_model_path ${MODEL} \\
    --reward_model_path ${REWARD:-org/tldr-reward} \\
    --missing_eos_penalty 1.0 --stop_token eos --kl_coef 0.05 --output_dir $OUT --use_peft
"""

EXAMPLE_SCRIPT = '''# /// script
# dependencies = ["trl"]
# ///
"""
# Full training:
python examples/scripts/dpo.py \\
    --dataset_name trl-lib/ultrafeedback_binarized \\
    --model_name_or_path Qwen/Qwen2-0.5B-Instruct \\
    --learning_rate 5.0e-7 --num_train_epochs 1 --per_device_train_batch_size 2 --gradient_accumulation_steps 8 \\
    --output_dir Qwen2-0.5B-DPO --no_remove_unused_columns
"""
from trl import DPOConfig, DPOTrainer, ModelConfig, ScriptArguments, TrlParser
parser = TrlParser((ScriptArguments, DPOConfig, ModelConfig))
script_args, training_args, model_args = parser.parse_args_and_config()
'''

SENTIMENT_SCRIPT = """
@dataclass
class ScriptArguments:
    ppo_config: PPOConfig = field(
        default_factory=lambda: PPOConfig(
            model_name="lvwerra/gpt2-imdb", query_dataset="imdb", log_with=None, learning_rate=1.41e-5, batch_size=128,
            reward_model="sentiment-analysis:lvwerra/distilbert-imdb", mini_batch_size=128, target_kl=6.0,
            gradient_accumulation_steps=1, early_stopping=False, kl_penalty="kl", seed=0, use_score_scaling=False,
        )
    )
"""

RLOO_OLD = """
args = RLOOConfig(
    rloo_k=4, num_ppo_epochs=1, num_mini_batches=1, per_device_train_batch_size=8, gradient_accumulation_steps=8,
    total_episodes=10_000, kl_coef=0.03, response_length=100, normalize_reward=True, output_dir="o",
    sft_model_path="EleutherAI/pythia-1b-deduped", reward_model_path="org/rm",
)
"""

RLOO_NOW = """
from trl import RLOOConfig, RLOOTrainer
training_args = RLOOConfig(
    beta=0.05, num_generations=4, per_device_train_batch_size=16, gradient_accumulation_steps=2, num_iterations=2,
    max_steps=200, max_completion_length=128, reward_clip_range=(-3.0, 3.0), temperature=0.9,
)
trainer = RLOOTrainer(
    model="Qwen/Qwen2-0.5B-Instruct", reward_funcs="org/reward-a", args=training_args,
    train_dataset=load_dataset("trl-lib/ultrafeedback-prompt", split="train"),
)
"""

GRPO = """
def reward_len(completions, **kwargs):
    return [-abs(20 - len(completion)) for completion in completions]

training_args = GRPOConfig(
    output_dir="Qwen2-0.5B-GRPO", learning_rate=1e-5 * 2, num_generations=8, per_device_train_batch_size=16,
    beta=0.04, epsilon=0.1, loss_type="dr_grpo", scale_rewards=False, use_vllm=True, logging_steps=10,
    reward_weights=[1.0, 0.5],
)
trainer = GRPOTrainer(
    model="Qwen/Qwen2-0.5B-Instruct", reward_funcs=["org/reward-a", reward_len], args=training_args
)
"""

GRPO_YAML = """
model_name_or_path: Qwen/Qwen2.5-1.5B-Instruct
dataset_name: AI-MO/NuminaMath-TIR
learning_rate: 1.0e-05
num_generations: 16
per_device_train_batch_size: 16
gradient_accumulation_steps: 4
max_completion_length: 1024
lr_scheduler_type: constant_with_warmup
warmup_steps: 3
beta: 0.0
scale_rewards: group
bf16: true
colour: blue
"""

DPO = """
training_args = DPOConfig(
    beta=0.1, learning_rate=5e-7, per_device_train_batch_size=4, gradient_accumulation_steps=8, num_train_epochs=1,
    loss_type="sigmoid", max_length=1024, output_dir="dpo",
)
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2-0.5B-Instruct", torch_dtype=torch.bfloat16)
trainer = DPOTrainer(model=model, args=training_args, train_dataset=load_dataset("trl-lib/ultrafeedback_binarized"))
"""

LLAMA_FACTORY = """### model
model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct
reward_model: saves/llama3-8b/full/reward
reward_model_type: full

### method
stage: ppo
do_train: true
finetuning_type: lora
lora_rank: 8
lora_target: q_proj,v_proj
pref_beta: 0.1
ppo_buffer_size: 4
ppo_epochs: 2
ppo_target: 3.0
ppo_score_norm: true

### dataset
dataset: identity,alpaca_en_demo
template: llama3
cutoff_len: 2048
max_samples: 1000

### train
per_device_train_batch_size: 2
gradient_accumulation_steps: 8
learning_rate: 1.0e-5
max_steps: 50
lr_scheduler_type: cosine
warmup_ratio: 0.1

### generate
max_new_tokens: 512
top_k: 0
top_p: 0.9
"""

UNSLOTH = """
BASE = "unsloth/Qwen2.5-3B-Instruct"

def train(base_model: str = BASE, *, rank: int = 2 ** 5, rate=5e-6):
    model, tokenizer = FastLanguageModel.from_pretrained(
        model_name=base_model, max_seq_length=1024, load_in_4bit=True, fast_inference=True, gpu_memory_utilization=0.5
    )
    model = FastLanguageModel.get_peft_model(
        model, r=rank, target_modules=["q_proj", "k_proj"], lora_alpha=64, use_gradient_checkpointing="unsloth",
        random_state=3407,
    )
    training_args = GRPOConfig(
        learning_rate=rate, per_device_train_batch_size=1, gradient_accumulation_steps=8, num_generations=8,
        max_steps=250, optim="paged_adamw_8bit", max_prompt_length=256, max_completion_length=200, weight_decay=0.1,
    )
    GRPOTrainer(model=model, processing_class=tokenizer, reward_funcs=[correct], args=training_args).train()
"""
