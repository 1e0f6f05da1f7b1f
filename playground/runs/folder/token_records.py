"""The record of one completion token by token: a line of tokens.jsonl, and what the model service says of one."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from playground.runs.folder.records import Count, Maybe, OfAnUpdate, Stage

Share = Annotated[float, Field(ge=0, le=1)] | None
Choice = tuple[str, Share, Share]  # a token's text, its probability under the reference and under the policy


class TokenFigures(OfAnUpdate):
    """One completion under the microscope. The lists have an entry for each token, the end token included.

    `pieces`: texts, a part of a character as `\\xe2`. `kl`: exact, of what the token was drawn from to the whole
    reference, in nats. `leash`: -beta times the KL by the run's estimator; `rewards`: that, with the score on the last
    token; `advantages`: before whitening. `choices`: the drawn token, then the likeliest of reference and policy.
    """

    stage: Stage
    prompt_id: Count
    seed: int
    pieces: list[str]
    log_probs: list[Maybe]
    reference_log_probs: list[Maybe]
    kl: list[Maybe]
    entropies: list[Maybe]
    values: list[Maybe] | None = None
    leash: list[Maybe] | None = None
    rewards: list[Maybe] | None = None
    advantages: list[Maybe] | None = None
    kl_coef: Maybe = None
    choices: list[list[Choice]]
