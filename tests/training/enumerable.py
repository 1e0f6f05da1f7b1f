"""Problems small enough to list every completion, so that the best policy is known exactly and PPO can be held to it.

For J(pi) = E_pi[r] - beta KL(pi || pi_ref) the optimum is pi*(y) = pi_ref(y) exp(r(y) / beta) / Z, and every policy
falls short of it by exactly beta KL(pi || pi*) (Ziegler et al. 2019, section 2): how far from right it is, in nats.

A policy over the completions of a prompt is a list over depth t = 0 .. T-1 of next-token log-probs [..., K^t, V], a row
for each unfinished prefix (`steps`), or an array [..., N] of log-probs of whole completions. V tokens, T at most
of a completion, K tokens that do not end it. Leading axes (prompts) broadcast. KL in nats per completion.
"""

from dataclasses import dataclass

import numpy as np

NO_TOKEN = -1  # fills the rows of completions that ended early


@dataclass(frozen=True)
class CompletionSpace:
    """Every completion of at most T tokens out of V, each ended by an end-of-sequence token or by its length.
    Order: the depth of the last token, then the prefix as counted (first token slowest), then the last token."""

    num_tokens: int  # V
    max_length: int  # T
    eos_id: int | None = None  # the token that ends a completion and is its last; None = none does

    @property
    def going_on(self):
        """The K tokens that do not end a completion."""
        return np.array([token for token in range(self.num_tokens) if token != self.eos_id])

    def prefixes(self, depth):
        """Every unfinished prefix of `depth` tokens, [K^depth, depth]."""
        count = len(self.going_on)
        grid = np.indices((count,) * depth).reshape(depth, count**depth).T
        return self.going_on[grid]

    def ends(self, depth):
        """For each token, [V]: does a completion end with it when it follows a prefix of `depth` tokens?"""
        last = depth == self.max_length - 1
        return np.array([last or token == self.eos_id for token in range(self.num_tokens)])

    def completions(self):
        """Every completion, its end-of-sequence token included, [N, T]; `NO_TOKEN` behind the last token."""
        blocks = []
        for depth in range(self.max_length):
            prefixes, last = self.prefixes(depth), np.flatnonzero(self.ends(depth))
            block = np.full((len(prefixes), len(last), self.max_length), NO_TOKEN, dtype=np.int64)
            block[:, :, :depth] = prefixes[:, None]
            block[:, :, depth] = last
            blocks.append(block.reshape(-1, self.max_length))
        return np.concatenate(blocks)

    def sequence_log_probs(self, steps):
        """Next-token log-probs (see the module) -> log-probs of whole completions, [..., N]."""
        prefix = np.zeros(steps[0].shape[:-1])  # log-prob of each prefix, [..., K^t]
        finished = []
        for depth, step in enumerate(steps):
            joint = prefix[..., None] + step
            ended = joint[..., self.ends(depth)]
            finished.append(ended.reshape(*ended.shape[:-2], -1))
            prefix = joint[..., self.going_on]
            prefix = prefix.reshape(*prefix.shape[:-2], -1)
        return np.concatenate(finished, axis=-1)

    def expected_returns(self, steps, reference_steps, rewards, beta, gamma=1.0):
        """What a perfect value head says: the expected return of a policy from each unfinished prefix on.

        V(x) = sum_a pi(a | x) [-beta log pi(a | x) / pi_ref(a | x) + (r(xa) if xa is complete, else gamma V(xa))];
        a list over depth t of [..., K^t].
        """
        depths = range(self.max_length)
        ended = [len(self.going_on) ** depth * int(self.ends(depth).sum()) for depth in depths]
        parts = np.split(rewards, np.cumsum(ended)[:-1], axis=-1)
        returns = []
        for depth in reversed(depths):
            step, ends = steps[depth], self.ends(depth)
            following = np.zeros(np.broadcast_shapes(step.shape, (*rewards.shape[:-1], 1, 1)))
            following[..., ends] = parts[depth].reshape(*rewards.shape[:-1], step.shape[-2], -1)
            if not ends.all():
                later = returns[0]
                following[..., self.going_on] = gamma * later.reshape(*later.shape[:-1], step.shape[-2], -1)
            following = following - beta * (step - reference_steps[depth])
            returns.insert(0, (np.exp(step) * following).sum(-1))
        return returns


def optimum(reference, rewards, beta):
    """log pi*(y) = log pi_ref(y) + r(y) / beta - log Z of every completion, [..., N]; beta > 0."""
    return reference + rewards / beta - log_partition(reference, rewards, beta)[..., None]


def expectation(log_probs, values):
    """E_pi of a number for each completion, [..., N] and [..., N] -> [...]."""
    return (np.exp(log_probs) * values).sum(-1)


def kl(log_probs, other):
    """KL(pi || other) in nats per completion, [...]; a completion that pi never writes counts 0."""
    probs = np.exp(log_probs)
    with np.errstate(invalid="ignore"):
        return np.where(probs > 0, probs * (log_probs - other), 0.0).sum(-1)


def frontier(reference, rewards, betas):
    """E[r] and KL to the reference of the optimum for each beta, averaged over leading axes (prompts)."""
    best = [optimum(reference, rewards, beta) for beta in betas]
    rewarded = np.array([expectation(policy, rewards).mean() for policy in best])
    return rewarded, np.array([kl(policy, reference).mean() for policy in best])


def log_partition(reference, rewards, beta):
    """log Z = log sum_y pi_ref(y) exp(r(y) / beta), [...]."""
    return np.logaddexp.reduce(reference + rewards / beta, axis=-1)
