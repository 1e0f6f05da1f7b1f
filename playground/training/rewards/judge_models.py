"""Judge models: a causal language model that is asked about each completion, and whose yes against no is the value.

Nothing is generated: the value is read off the next token after the question. Knows language models and their prompt
form; `learned_rewards` builds one where an entry of kind `model` has a `question`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import torch

from playground.config import ModelConfig, ModelReward, PromptsConfig
from playground.errors import RewardModelUnusable, RewardNotFinite
from playground.rewards import claims
from playground.setup import catalog
from playground.training.models import loading
from playground.training.models.chat import PromptForm
from playground.training.models.language_model import LanguageModel, Tokens

ANSWERS = {"yes": ("yes", "Yes", " yes", " Yes"), "no": ("no", "No", " no", " No")}
PLAIN_ENDING = "\nAnswer:"  # behind the question, where there is no chat template
BATCH_EXAMPLES = 16
FIELD = re.compile(r"\{(prompt|completion|right|claimed)\}")


def load(spec: ModelReward, device: torch.device) -> tuple[LanguageModel, Tokens]:
    """The model that is asked. Raises: ModelNotFound."""
    config = ModelConfig.model_construct(precision=spec.precision, quantization=spec.quantization)
    return loading.load(catalog.model_folder(spec.source, spec.revision), device, config)


class JudgeModel:
    """A model that answers yes or no to the `question` of `spec`: the log-odds of yes, or its probability.
    Where the question asks for {right} or {claimed} and the prompt is no claim, there is no opinion. `own`: see
    `claims`.

    Raises:
        RewardModelUnusable: its tokens do not tell yes from no. PromptsUnusable: its chat template cannot be used.
    """

    def __init__(
        self, model: LanguageModel, tokens: Tokens, spec: ModelReward, own: claims.Questions | None = None
    ) -> None:
        self._name, self._model, self._own = spec.source, model, own
        self._question, self._output = str(spec.question), spec.output
        self._form = PromptForm(tokens, PromptsConfig())
        encode = tokens.tokenizer.encode
        with tokens.limited():
            first = {key: {encode(word, add_special_tokens=False)[0] for word in ANSWERS[key]} for key in ANSWERS}
        self._yes, self._no = (sorted(first[key] - first[other]) for key, other in (("yes", "no"), ("no", "yes")))
        if not self._yes or not self._no:
            raise RewardModelUnusable(
                f"source: the tokens of {spec.source} do not tell yes from no. Choose another model."
            )

    def __call__(self, prompts: Sequence[str], completions: Sequence[str], **columns: Any) -> list[float | None]:
        """A value for each completion. Raises: RewardNotFinite."""
        questions = [self.asked(prompt, completion) for prompt, completion in zip(prompts, completions, strict=True)]
        texts = [text for text in questions if text is not None]
        scores = [
            1 / (1 + math.exp(-value)) if self._output == "probability" else value
            for start in range(0, len(texts), BATCH_EXAMPLES)
            for value in self._log_odds(texts[start : start + BATCH_EXAMPLES])
        ]
        values = iter(scores)
        return [None if text is None else next(values) for text in questions]

    def asked(self, prompt: str, completion: str) -> str | None:
        """The question about one completion; None where it asks for what the prompt has not."""
        claim = claims.of(prompt, self._own)
        right, claimed = (claim.right, claim.claimed) if claim else (None, None)
        fields = {"prompt": prompt.strip(), "completion": completion.strip(), "right": right, "claimed": claimed}
        if any(fields[name] is None for name in FIELD.findall(self._question)):
            return None
        return FIELD.sub(lambda match: str(fields[match[1]]), self._question)

    @torch.inference_mode()
    def _log_odds(self, texts: Sequence[str]) -> list[float]:
        """log p(yes) - log p(no) behind each text. Right padding does not reach back to what stands before it."""
        ending = PLAIN_ENDING if self._form.name == "plain" else ""
        model = self._model
        rows = [self._form.ids(text + ending)[-model.context_length :] for text in texts]
        lengths = torch.tensor([len(row) for row in rows], device=model.device)
        longest = int(lengths.max())
        padded = [row + [row[-1]] * (longest - len(row)) for row in rows]
        hidden = model.hidden(torch.tensor(padded, device=model.device))
        lasts = hidden[torch.arange(len(rows), device=model.device), lengths - 1]
        logits = model.logits(lasts).float()
        yes = logits[:, self._yes].logsumexp(1)
        no = logits[:, self._no].logsumexp(1)
        odds: list[float] = (yes - no).tolist()
        if not all(map(math.isfinite, odds)):
            raise RewardNotFinite(f"The judge model {self._name} gave a value that is not finite. Try precision fp32.")
        return odds
