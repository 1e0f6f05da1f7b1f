"""The record of one completion token by token: a line of tokens.jsonl, and what the model service says of one.

Knows the other records and nothing of files, models or pages. The worker and the service write these, the page reads
them. Old runs have none.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from playground.runs.folder.records import Count, Maybe, Record, Stage

Share = Annotated[float, Field(ge=0, le=1)] | None
Choice = tuple[str, Share, Share]  # a token's text, its probability under the reference and under the policy


class TokenFigures(Record):
    """One completion under the microscope. The lists have an entry for each token, the end token included.

    `pieces` are the texts of the tokens; of a token that is a part of a character, its bytes as `\\xe2`. `log_probs`
    and `kl` are of the distribution that the token was drawn from (see top k and top p), at the sampling temperature,
    against the whole reference. `kl` is exact and adds up to that of the sample. `leash` is -beta times the KL of the
    token by the run's estimator, `rewards` the same with the score on the last token: what training would pay for this
    text, and `advantages` what it would make of it before whitening. None: the method has no such thing. `choices`: of
    each position the drawn token first, then what else is among the likeliest of reference and policy.
    """

    attempt: Count = 1
    update: Count
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

    @model_validator(mode="after")
    def _all_of_the_same_tokens(self) -> Self:
        lengths = {len(value) for _, value in self if isinstance(value, list)}
        if lengths != {len(self.pieces)} or not all(self.choices):
            raise ValueError("each list has an entry for each token")
        return self
