"""Problems with every completion listed, for the real trainer: a transformer or a table as policy, any reward."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM

from playground.rewards.mixture import Mixture
from playground.training.data.prompts import Prompt
from playground.training.loop.scoring import Scorer
from playground.training.models.language_model import LanguageModel, Tokens
from playground.training.process.equipment import trainer_of
from tests.training import snapshots, tiny
from tests.training.enumerable import NO_TOKEN, CompletionSpace, kl, optimum

LETTERS = "abcdefgh"


@dataclass
class Letters:
    """Token 0 is "a", 1 is "b", ...; the end-of-sequence token is written "." so that text says all."""

    eos_id: int | None

    def __call__(self, text):
        return SimpleNamespace(input_ids=[LETTERS.index(letter) for letter in text if letter in LETTERS])

    def decode(self, ids, **options):
        return "".join("." if token == self.eos_id else LETTERS[token] for token in ids)


@dataclass
class Problem:
    """Prompts, a reward for each completion of each, and beta."""

    space: CompletionSpace
    prompts: list[str]
    rewards: np.ndarray  # [prompts, N], in the order of `space.completions()`
    beta: float
    temperature: float = 1.0

    @property
    def tokens(self):
        """Padding is the letter "a": masks come from lengths, so any token may serve."""
        end = self.space.eos_id
        return Tokens(Letters(end), pad_id=0, eos_id=-1 if end is None else end)

    @property
    def encoded(self):
        return [Prompt(text, self.tokens.encode(text)) for text in self.prompts]

    def mixture(self):
        """The rewards by looking them up from text, as any reward of the playground is called."""
        completions = self.space.completions().tolist()
        decode = Letters(self.space.eos_id).decode
        texts = [decode([token for token in row if token != NO_TOKEN]) for row in completions]
        pairs = [(prompt, text) for prompt in self.prompts for text in texts]
        table = dict(zip(pairs, self.rewards.ravel().tolist(), strict=True))

        def reward(prompts, completions, **_):
            return [table[pair] for pair in zip(prompts, completions, strict=True)]

        return Mixture({"table": (1.0, reward)})

    @torch.no_grad()
    def steps(self, model):
        """Exact next-token log-probs at the temperature, depth t: [prompts, K^t, V], by plain unpadded forwards."""
        depths = range(self.space.max_length)
        steps = [[] for _ in depths]
        longest = torch.as_tensor(self.space.prefixes(self.space.max_length - 1))
        for prompt in self.encoded:
            ids = torch.cat([torch.tensor([prompt.ids]).expand(len(longest), -1), longest], dim=1)
            logits = model.model(input_ids=ids).logits[:, len(prompt.ids) - 1 :].double()
            log_probs = (logits / self.temperature).log_softmax(-1)
            for depth in depths:
                every = len(longest) // len(self.space.prefixes(depth))
                steps[depth].append(log_probs[::every, depth].numpy())
        return [np.stack(rows) for rows in steps]

    def log_probs(self, model):
        """Exact log-probs of every completion, [prompts, N]."""
        return self.space.sequence_log_probs(self.steps(model))

    def distance(self, trainer):
        """KL(pi || pi*) of the trained policy in nats, averaged over prompts."""
        best = optimum(self.log_probs(trainer.reference), self.rewards, self.beta)
        return float(kl(self.log_probs(trainer.policy), best).mean())

    def drift(self, trainer):
        """Exact KL(pi || pi_ref) in nats per completion, averaged over prompts."""
        return float(kl(self.log_probs(trainer.policy), self.log_probs(trainer.reference)).mean())


def trainer(problem, policy, reference=None, /, **changes):
    """The trainer that runs use for the method of `changes` (as in `tiny.config`), on such a problem."""
    sampling = {"temperature": problem.temperature, "max_new_tokens": problem.space.max_length}
    config = tiny.config(**{"score__normalise": "none", "kl__coef": problem.beta, "sampling": sampling, **changes})
    scorer = Scorer(config, problem.mixture())
    kind = trainer_of(config)
    return kind(config, policy, reference or policy.frozen_copy(), problem.tokens, problem.encoded, scorer)


def structured_rewards(space, num_prompts, seed, first=1.0, token=0.5, pair=0.5):
    """Random grades for the first token, for each token and for each pair in a row, of each prompt; [prompts, N]."""
    generator = np.random.default_rng(seed)
    rewards = []
    for _ in range(num_prompts):
        firsts, grades = generator.normal(size=(2, space.num_tokens))
        pairs = generator.normal(size=(space.num_tokens, space.num_tokens))
        for y in (row[row != NO_TOKEN] for row in space.completions()):
            rewards.append(first * firsts[y[0]] + token * grades[y].sum() + pair * pairs[y[:-1], y[1:]].sum())
    return np.array(rewards).reshape(num_prompts, -1)


def transformer(space, seed, hidden_size=64):
    """A random 2-layer Llama over the letters whose distributions are not uniform."""
    torch.manual_seed(seed)
    shape = {"hidden_size": hidden_size, "intermediate_size": 2 * hidden_size, "num_hidden_layers": 2}
    shape |= {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 16}
    special = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"))
    model = LlamaForCausalLM(LlamaConfig(vocab_size=space.num_tokens, **shape, **special))
    return LanguageModel(snapshots.spread_out(model.eval(), 2.0))


class TableTrunk(nn.Module):
    """A trunk that says which prompt and prefix it is reading, one-hot: with a linear head on it, any policy. State 0 =
    nothing read, then one for each prompt and unfinished prefix, the last = elsewhere."""

    def __init__(self, problem):
        super().__init__()
        space = problem.space
        states = {(): 0}
        for prompt in problem.encoded:
            for end in range(1, len(prompt.ids)):
                states.setdefault(tuple(prompt.ids[:end]), len(states))
        for prompt in problem.encoded:
            for depth in range(space.max_length):
                for prefix in space.prefixes(depth).tolist():
                    states[tuple(prompt.ids + prefix)] = len(states)
        number = len(states) + 1
        following = torch.full((number, space.num_tokens), number - 1)
        for string, state in states.items():
            if string:
                following[states[string[:-1]], string[-1]] = state
        self.register_buffer("following", following)
        self.num_states = number

    def forward(self, input_ids, attention_mask=None, past_key_values=None, **_):
        cache = past_key_values or TableCache(torch.zeros(len(input_ids), dtype=torch.long))
        real = torch.ones_like(input_ids) if attention_mask is None else attention_mask[:, -input_ids.shape[1] :]
        visited = []
        for column in range(input_ids.shape[1]):
            moved = self.following[cache.state, input_ids[:, column]]
            cache.state = torch.where(real[:, column].bool(), moved, cache.state)
            visited.append(cache.state)
        hidden = nn.functional.one_hot(torch.stack(visited, dim=1), self.num_states).float()
        return SimpleNamespace(last_hidden_state=hidden, past_key_values=cache)


@dataclass
class TableCache:
    """Where each row's automaton is."""

    state: Tensor

    def batch_select_indices(self, rows):
        self.state = self.state[rows]


class TableHead(nn.Linear):
    """Logits = 30 x weight: the trainer moves value weights 30 times as fast, and a table wants both at one speed."""

    def forward(self, hidden):
        return 30 * super().forward(hidden)


class Table(nn.Module):
    """What `LanguageModel` expects of a transformers model, with a free choice of logits for each prompt and prefix."""

    def __init__(self, problem, seed):
        super().__init__()
        self.base_model = TableTrunk(problem)
        size = self.base_model.num_states
        self.config = SimpleNamespace(hidden_size=size, max_position_embeddings=64)
        self.head = TableHead(size, problem.space.num_tokens, bias=False)
        torch.nn.init.normal_(self.head.weight, std=1 / 30, generator=torch.Generator().manual_seed(seed))

    def get_output_embeddings(self):
        return self.head

    def forward(self, input_ids):
        return SimpleNamespace(logits=self.head(self.base_model(input_ids).last_hidden_state))


def table(problem, seed):
    """A tabular policy with random starting logits of standard deviation 1."""
    return LanguageModel(Table(problem, seed))
