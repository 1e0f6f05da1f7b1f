#!/usr/bin/env bash
set -euo pipefail
MODEL="a/b"; export LR=1e-6
COMMON=(
  --num_ppo_epochs 2   # as in the paper
  --kl_coef 0.1 --total_episodes "640"
)
COMMON+=(--sft_model_path $MODEL --reward_model_path "${REWARD:-c/d}")
MORE="--response_length 64
  --temperature ${TEMPERATURE:-0.9}"
if [ -n "${FAST:-}" ]; then
  SEED=7
  EXTRA=(--gamma 0.9)
fi
for BETA in 0.1 0.2; do
  CUDA_VISIBLE_DEVICES=0 python ppo.py "${COMMON[@]}" $MORE --learning_rate "$LR" --lam=$BETA --seed $SEED "${EXTRA[@]}" "$@" && echo done
done
