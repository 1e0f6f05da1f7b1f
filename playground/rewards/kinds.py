"""From an entry of `rewards` to its function, for every kind that needs no model.

`training.rewards.learned_rewards` adds those that do.
"""

from __future__ import annotations

from playground import config
from playground.config import local_only
from playground.errors import RewardFailed
from playground.rewards import expressions, rules
from playground.rewards.rules import Reward


def build(spec: config.RewardConfig) -> Reward:
    """The reward function that a configuration entry names.

    Raises: RewardFailed, if this process serves others, and the kind is for a person's own machine only.
    """
    refusal = local_only.refusal(spec.kind)
    if refusal:
        raise RewardFailed(refusal)
    if isinstance(spec, config.ExpressionReward):
        return expressions.reward_of(spec.expression)
    if isinstance(spec, config.PythonReward):
        from playground.rewards.python_function import PythonFunction  # processes and pipes, only where they are needed

        return PythonFunction(spec.code, spec.time_limit)
    return rules.rule(spec)
