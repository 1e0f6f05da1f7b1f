"""`engine: trl` with `method: rloo` or `grpo`: TRL's own RLOOTrainer and GRPOTrainer, run from our configuration.

They write with transformers' `generate`, several texts for each prompt, score them with the run's own scorer, and learn
in TRL's loop, which is left as it is; docs/trl.md says how it differs from ours. The prompts are those that our loop
would take, as the token ids of our tokenizer. Everything around it (figures, live changes, breaking off) is that of
trl_method.py.
"""

from __future__ import annotations

import time
from typing import Any

from transformers import TrainerCallback

from playground.config import RunConfig
from playground.training.data.prompts import prompt_batch
from playground.training.models.language_model import LanguageModel
from playground.training.trl_method import Reference, TRLMethod, quiet, special_tokens
from playground.training.trl_offline import Feed


class GroupTrainer(TRLMethod):
    """RLOO or GRPO by TRL for one run. Same arguments as `Collector`."""

    def __init__(self, config: RunConfig, policy: LanguageModel, reference: LanguageModel, *others: Any) -> None:
        super().__init__(config, policy, reference, *others)
        self.warnings.append(
            "TRL's loop keeps its texts to itself: the curves show texts that the policy writes after each update, "
            "which are not learned from."
        )

    def build(self, folder: str, listener: TrainerCallback) -> Any:
        """TRL's trainer."""
        return Groups(self).build(folder, listener)

    def set_live(self, config: RunConfig) -> None:
        """See `TRLMethod.set_live`."""
        super().set_live(config)
        self.running.epsilon_low = self.running.epsilon_high = config.ppo.clip_range


class Groups(Feed):
    """Prompts in the order of our loop, each as often as it is answered, and the scores of the answers."""

    def __init__(self, trainer: TRLMethod) -> None:
        super().__init__(trainer, trainer.config.ppo.samples_per_prompt)
        ppo = trainer.config.ppo  # a step may take a part of a prompt's texts: their advantages are known by then
        self.rows, self.step, self.micro = ppo.batch_size, ppo.minibatch_size, ppo.micro_batch_size
        self.ids = {prompt.text: prompt.ids for prompt in trainer.prompts}

    def prompts(self) -> Any:
        """One row for each prompt of each update; TRL repeats a row for its answers and its epochs."""
        from datasets import Dataset

        config = self.trainer.config
        each = config.ppo.batch_size // config.ppo.samples_per_prompt
        batches = (
            prompt_batch(self.trainer.prompts, each, update, config.seed) for update in range(config.ppo.num_updates)
        )
        return Dataset.from_dict({"prompt": [prompt.text for batch in batches for prompt in batch]})

    def score(self, prompts: list[str], completion_ids: list[list[int]], **_: Any) -> list[float]:
        """What TRL calls a reward function."""
        trainer, clock = self.trainer, time.perf_counter()
        trainer.between()
        tokens = trainer.tokens
        texts = [tokens.decode(ids, after=self.ids[text]) for text, ids in zip(prompts, completion_ids, strict=True)]
        ended = [bool(ids) and ids[-1] in tokens.ends for ids in completion_ids]
        scores = trainer.scorer(prompts, texts, ended).scores
        written = sum(map(len, completion_ids))
        trainer.tokens_done += written
        trainer.tokens_trained += written * trainer.config.ppo.num_epochs
        trainer.spent["score"] = time.perf_counter() - clock
        trainer.spent["rollout"] = clock - trainer.update_started
        return scores

    def build(self, folder: str, listener: TrainerCallback) -> Any:
        """TRL's trainer, which takes the prompts' token ids from us."""
        quiet()
        from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer

        trainer, config = self.trainer, self.trainer.config
        ppo, sampling = config.ppo, config.sampling
        rloo = config.method == "rloo"
        base: Any = RLOOTrainer if rloo else GRPOTrainer
        ids = self.ids

        class Fed(base):
            def _tokenize_prompts(self, prompts: list[str]) -> Any:
                found = [ids[text] for text in prompts]
                return found, None, {}

        settings = self.settings(folder) | ({"normalize_advantages": True} if rloo else {})  # as ours are
        settings.pop("max_length")
        made = Fed(
            model=trainer.policy.model,
            reward_funcs=[self.score],
            args=(RLOOConfig if rloo else GRPOConfig)(
                **settings,
                beta=0.0,  # or it would load the reference anew; see below
                epsilon=ppo.clip_range,
                num_iterations=ppo.num_epochs,
                num_generations=ppo.samples_per_prompt,
                steps_per_generation=ppo.batch_size // self.micro,
                max_completion_length=sampling.max_new_tokens,
                temperature=sampling.temperature,
                top_p=1.0,
                top_k=0,
                shuffle_dataset=False,
            ),
            train_dataset=self.prompts(),
            processing_class=special_tokens(trainer.tokens),
            callbacks=[listener],
        )
        made.beta, made.ref_model = config.kl.coef, Reference(trainer.reference)
        return made
