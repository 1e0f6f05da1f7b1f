"""RLHF with PPO in one file: a small language model learns to write kinder reviews. Takes a minute or two on a laptop.

    python examples/minimal_rlhf.py     # needs torch and transformers; the model lies in this repository

Reads from top to bottom: settings, reward, model, then the algorithm in five functions, in the order in which an update
calls them. Shapes: B episodes, P prompt tokens, C completion tokens, T = P + C, H features. An episode is a prompt,
padded on the left, and its completion, padded on the right. In a mask True is a real token, False is padding.
"""

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.nn import Module
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache

MODEL = Path(__file__).resolve().parent.parent / "playground" / "pocket" / "models" / "pocket-2m"


@dataclass(frozen=True)
class Settings:
    seed: int = 0
    num_updates: int = 40
    batch_size: int = 48  # episodes of an update
    minibatch_size: int = 16  # episodes of an optimizer step
    num_epochs: int = 2  # passes over a batch
    learning_rate: float = 2e-4
    value_learning_rate: float = 6e-3  # of the value head: one linear map, which has to keep up with the policy
    kl_coef: float = 0.25  # beta: the price of one nat of KL, in standard deviations of the score
    gamma: float = 1.0  # a text is short: its end counts as much as its beginning
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    value_coef: float = 0.1
    max_grad_norm: float = 1.0
    temperature: float = 1.0
    max_new_tokens: int = 32


@dataclass
class Episodes:  # prompts with their completions, and what was known when these were written
    ids: Tensor  # [B, T] token ids: padding, prompt, completion, padding
    real: Tensor  # [B, T] their mask
    log_probs: Tensor  # [B, C] of each completion token, from the policy that drew it; 0 where masked
    values: Tensor  # [B, C] what the value head expected before each completion token; 0 where masked

    def __post_init__(self) -> None:
        length = self.log_probs.shape[1]
        self.completions, self.mask = self.ids[:, -length:], self.real[:, -length:]  # [B, C]

    def rows(self, rows: Tensor) -> "Episodes":
        return Episodes(self.ids[rows], self.real[rows], self.log_probs[rows], self.values[rows])


THINGS = ("film", "book", "phone", "cafe", "game")
OPENINGS = ("", " The", " It had", " At first it was", " I thought the", " What a")
PROMPTS = [f"Review of the {thing}:{opening}" for thing in THINGS for opening in OPENINGS]
PRAISE = """wonderful brilliant superb excellent amazing perfect fantastic delightful splendid marvellous beautiful good
    nice pleasant enjoyable charming clever lovely neat fresh loved adored liked enjoyed""".split()
BLAME = """terrible awful horrible dreadful hopeless worthless pathetic miserable useless disgusting ugly rotten poor
    weak dull boring slow clumsy bland messy flat stale bad hated despised disliked regretted""".split()


def reward(text: str) -> float:
    """Words of praise less words of blame. Any other function of a text would do."""
    words = re.findall("[a-z]+", text.lower())
    return float(sum(word in PRAISE for word in words) - sum(word in BLAME for word in words))


def completion_texts(tokenizer, episodes: Episodes) -> list[str]:
    """For reading and scoring only: training goes on with the ids that were drawn, never with text tokenized again."""
    real_ids = [ids[mask] for ids, mask in zip(episodes.completions, episodes.mask, strict=True)]
    return tokenizer.batch_decode(real_ids, skip_special_tokens=True)


def features(model: Module, ids: Tensor, real: Tensor, cache: DynamicCache | None = None) -> Tensor:
    """The last hidden states [B, T, H] of `ids` [B, T]. With a cache, `real` covers the tokens in it as well."""
    # Positions count real tokens only: otherwise a model of absolute positions (GPT-2) sees a padded prompt begin late.
    positions = (real.long().cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
    inputs = {"input_ids": ids, "attention_mask": real.long(), "position_ids": positions}
    return model.base_model(**inputs, past_key_values=cache, use_cache=cache is not None).last_hidden_state


def next_token(model: Module, hidden: Tensor, settings: Settings) -> Categorical:
    """What may follow after features [..., H]. Sampling, ratio and KL share one temperature: otherwise the KL is
    that of two different distributions, falls below 0, and the policy is paid for it."""
    return Categorical(logits=model.lm_head(hidden) / settings.temperature, validate_args=False)


@torch.no_grad()
def generate_with_logprobs(
    policy: Module, value_head: Module, prompts: list[list[int]], settings: Settings
) -> Episodes:
    """Complete each prompt (a list of token ids) by drawing tokens from softmax(logits / temperature).

    A completion ends with the end-of-sequence token, which belongs to it, or after `max_new_tokens`. C is the length of
    the longest. `log_probs` are those of the distribution drawn from; `values` are value_head(features) of the position
    before each token. Masks come from lengths, never from `ids != pad`: the padding id may be a real token too.
    """
    pad, end = policy.config.pad_token_id, policy.config.eos_token_id
    width = max(len(prompt) for prompt in prompts)
    ids = torch.tensor([[pad] * (width - len(prompt)) + prompt for prompt in prompts])  # left: all end side by side
    real = torch.tensor([[False] * (width - len(prompt)) + [True] * len(prompt) for prompt in prompts])
    going = torch.ones(len(prompts), dtype=torch.bool)
    log_probs, values, cache, new_ids = [], [], DynamicCache(), ids
    for _ in range(settings.max_new_tokens):
        hidden = features(policy, new_ids, real, cache)[:, -1]
        distribution = next_token(policy, hidden, settings)
        drawn = distribution.sample()
        log_probs.append(distribution.log_prob(drawn) * going)
        values.append(value_head(hidden).squeeze(1) * going)
        new_ids = torch.where(going, drawn, pad).unsqueeze(1)
        ids, real = torch.cat([ids, new_ids], dim=1), torch.cat([real, going.unsqueeze(1)], dim=1)
        going = going & (drawn != end)  # after `real`: the end itself is a token to be learned
        if not going.any():
            break
    return Episodes(ids, real, torch.stack(log_probs, dim=1), torch.stack(values, dim=1))


@torch.no_grad()
def compute_kl(reference: Module, episodes: Episodes, settings: Settings) -> Tensor:
    """log pi(token) - log pi_ref(token) of each completion token, [B, C]; 0 where masked.

    pi is the policy that wrote them (`episodes.log_probs`); the reference reads the same ids at the same temperature.
    Each token is predicted by the position before it. This is one sample of each position's KL: it may be negative,
    its mean over samples is KL(pi || pi_ref), and as a reward it has that KL's gradient (k1; k2 and k3 have not).
    """
    mask, tokens = episodes.mask, episodes.completions[episodes.mask]  # [B, C], [N]
    before = features(reference, episodes.ids, episodes.real)[:, -mask.shape[1] - 1 : -1][mask]  # [N, H]
    log_ratios = episodes.log_probs[mask] - next_token(reference, before, settings).log_prob(tokens)
    return torch.zeros_like(episodes.log_probs).masked_scatter(mask, log_ratios)


def compute_advantages(
    scores: Tensor, kl: Tensor, values: Tensor, mask: Tensor, settings: Settings
) -> tuple[Tensor, Tensor]:
    """From scores [B] and kl, values, mask [B, C] to whitened advantages and returns, both [B, C], 0 where masked.

    1. Token rewards: r_t = -kl_coef * kl_t, and the score on top at the last real token (Ziegler et al. 2019).
    2. GAE, backwards over real tokens, with value and advantage 0 after the last (Schulman et al. 2016, eq. 16):
       delta_t = r_t + gamma V_{t+1} - V_t,   A_t = delta_t + gamma gae_lambda A_{t+1}
    3. returns = A + V: what the value head is to predict.
    4. Whiten A: mean 0 and variance 1 (divide by n, not n - 1) over the real tokens of the batch.
    """
    # Every token pays for its own drift, and a text has one score, which is known when its last token is there.
    rewards, values = torch.where(mask, -settings.kl_coef * kl, 0.0), torch.where(mask, values, 0.0)
    rewards[torch.arange(len(scores)), mask.sum(1) - 1] += scores  # masks begin at the left, and none is empty
    advantages, next_advantage, next_value = torch.zeros_like(values), 0.0, 0.0
    for t in reversed(range(values.shape[1])):
        delta = rewards[:, t] + settings.gamma * next_value - values[:, t]
        advantages[:, t] = next_advantage = mask[:, t] * (delta + settings.gamma * settings.gae_lambda * next_advantage)
        next_value = values[:, t]
    variance, mean = torch.var_mean(advantages[mask], correction=0)  # with padding's zeros it would depend on lengths
    return mask * (advantages - mean) * torch.rsqrt(variance + 1e-8), advantages + values


def ppo_step(
    policy: Module,
    value_head: Module,
    optimizer: torch.optim.Optimizer,
    episodes: Episodes,
    advantages: Tensor,
    returns: Tensor,
    settings: Settings,
) -> dict[str, float]:
    """One optimizer step on a minibatch; returns policy_loss, value_loss and clip_fraction as numbers.

    Means over real tokens, with the ratio r = pi / pi_old, where log pi_old is `episodes.log_probs`:
    policy_loss = mean of -min(r A, clip(r, 1 - clip_range, 1 + clip_range) A)  (Schulman et al. 2017, eq. 7);
    value_loss = mean of (V - return)^2 / 2, no gradient of which reaches the policy. Minimised is policy_loss +
    value_coef * value_loss; the gradient norm of each of the optimizer's groups is cut to max_grad_norm.
    clip_fraction: the share of tokens whose policy loss is flat, as r is past the clip on the side that A wants.
    """
    mask, tokens, clip = episodes.mask, episodes.completions[episodes.mask], settings.clip_range
    before = features(policy, episodes.ids, episodes.real)[:, -mask.shape[1] - 1 : -1][mask]  # [N, H], real tokens only
    log_probs = next_token(policy, before, settings).log_prob(tokens)
    ratio, advantages = (log_probs - episodes.log_probs[mask]).exp(), advantages[mask]
    free, clipped = ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages
    policy_loss = -torch.min(free, clipped).mean()  # min: the pessimistic one, so going too far never pays
    values = value_head(before.detach()).squeeze(1)  # detach: through a shared trunk this loss wrecks the policy
    value_loss = 0.5 * (values - returns[mask]).square().mean()
    optimizer.zero_grad()
    (policy_loss + settings.value_coef * value_loss).backward()
    for group in optimizer.param_groups:  # each by itself: a bad value estimate must not shorten the policy's step
        nn.utils.clip_grad_norm_(group["params"], settings.max_grad_norm)
    optimizer.step()
    flat = (clipped < free).float().mean()
    return {"policy_loss": policy_loss.item(), "value_loss": value_loss.item(), "clip_fraction": flat.item()}


def train(
    policy: Module, reference: Module, value_head: Module, prompts: list[list[int]], score: Callable, settings: Settings
) -> list[dict[str, float]]:
    """Train the policy; returns of each update the mean `score`, the mean `kl` (nats per completion: summed over its
    tokens) and the means of what ppo_step returns. score(episodes) gives one number for each of them, [B].

    An update: draw batch_size prompts, write, score, KL, advantages; then num_epochs passes over the batch, each
    shuffled anew and cut into minibatches. Log-probs, values and advantages stay those of when it was written. One
    AdamW (eps 1e-5, no weight decay) trains the policy at learning_rate, and the value head at value_learning_rate.
    """
    groups = [{"params": policy.parameters()}, {"params": value_head.parameters(), "lr": settings.value_learning_rate}]
    optimizer = torch.optim.AdamW(groups, lr=settings.learning_rate, eps=1e-5, weight_decay=0.0)
    history = []
    for update in range(settings.num_updates):
        batch = [prompts[i] for i in torch.randint(len(prompts), (settings.batch_size,)).tolist()]
        episodes = generate_with_logprobs(policy, value_head, batch, settings)
        scores, kl = score(episodes), compute_kl(reference, episodes, settings)
        advantages, returns = compute_advantages(scores, kl, episodes.values, episodes.mask, settings)
        steps = []
        for _ in range(settings.num_epochs):
            for rows in torch.randperm(settings.batch_size).split(settings.minibatch_size):
                minibatch = episodes.rows(rows), advantages[rows], returns[rows]
                steps.append(ppo_step(policy, value_head, optimizer, *minibatch, settings))
        means = {name: sum(step[name] for step in steps) / len(steps) for name in steps[0]}
        history.append({"score": float(scores.mean()), "kl": float(kl.sum(1).mean()), **means})
        print(f"update {update + 1:3}   score {history[-1]['score']:+.2f} sd   KL {history[-1]['kl']:6.2f} nats")
    return history


def main(settings: Settings) -> list[dict[str, float]]:
    """Load the model, put the reward on a scale, train, and show what has changed."""
    torch.manual_seed(settings.seed)
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    policy = AutoModelForCausalLM.from_pretrained(MODEL).eval()  # no dropout: a ratio must begin at 1
    reference = copy.deepcopy(policy).requires_grad_(False)  # a copy; the policy itself would be trained along
    value_head = nn.Linear(policy.config.hidden_size, 1)
    nn.init.zeros_(value_head.weight)  # at first it expects nothing, so the first advantages are the rewards themselves
    nn.init.zeros_(value_head.bias)
    prompts = [tokenizer(prompt).input_ids for prompt in PROMPTS]

    def rewards(episodes: Episodes) -> Tensor:
        return torch.tensor([reward(text) for text in completion_texts(tokenizer, episodes)])

    untrained = generate_with_logprobs(reference, value_head, prompts * 8, settings)
    sd, mean = torch.std_mean(rewards(untrained))  # so +1 is one standard deviation of what the reference writes
    history = train(policy, reference, value_head, prompts, lambda episodes: (rewards(episodes) - mean) / sd, settings)
    for prompt in PROMPTS[1::10]:
        for name, model in (("before", reference), ("after", policy)):
            torch.manual_seed(settings.seed)
            written = generate_with_logprobs(model, value_head, [tokenizer(prompt).input_ids], settings)
            print(f"{name:>6}: {prompt}{completion_texts(tokenizer, written)[0]}")
    return history


if __name__ == "__main__":
    main(Settings())
