#!/bin/bash
# a run of the example script
LR=1e-6
MODEL=EleutherAI/pythia-160m
accelerate launch --config_file zero2.yaml --num_processes 8 \
    examples/scripts/ppo/ppo_tldr.py \
    --dataset_name trl-lib/tldr \
    --dataset_train_split=validation \
    --learning_rate $LR \
    --num_ppo_epochs 1 --num_mini_batches 1 \
    --per_device_train_batch_size 16 --gradient_accumulation_steps 4 \
    --total_episodes 30000 \
    --model_name_or_path "${MODEL}" --sft_model_path ${MODEL} \
    --reward_model_path ${REWARD:-org/tldr-reward} \
    --missing_eos_penalty 1.0 --stop_token eos --kl_coef 0.05 --output_dir $OUT --use_peft
