// What examples/minimal_rlhf.py has for each step of slow motion; made by `make exercise`.
/* eslint max-len: off */

export const MINIMAL = {
  "write": {
    "function": "generate_with_logprobs",
    "lines": [
      "hidden = features(policy, new_ids, real, cache)[:, -1]",
      "distribution = next_token(policy, hidden, settings)",
      "drawn = distribution.sample()",
      "log_probs.append(distribution.log_prob(drawn) * going)"
    ]
  },
  "score": {
    "function": "compute_advantages",
    "lines": [
      "rewards[torch.arange(len(scores)), mask.sum(1) - 1] += scores"
    ]
  },
  "leash": {
    "function": "compute_kl",
    "lines": [
      "mask, tokens = episodes.mask, episodes.completions[episodes.mask]",
      "before = features(reference, episodes.ids, episodes.real)[:, -mask.shape[1] - 1 : -1][mask]",
      "log_ratios = episodes.log_probs[mask] - next_token(reference, before, settings).log_prob(tokens)",
      "return torch.zeros_like(episodes.log_probs).masked_scatter(mask, log_ratios)"
    ]
  },
  "value": {
    "function": "compute_advantages",
    "lines": [
      "delta = rewards[:, t] + settings.gamma * next_value - values[:, t]"
    ]
  },
  "advantage": {
    "function": "compute_advantages",
    "lines": [
      "for t in reversed(range(values.shape[1])):",
      "    delta = rewards[:, t] + settings.gamma * next_value - values[:, t]",
      "    advantages[:, t] = next_advantage = mask[:, t] * (delta + settings.gamma * settings.gae_lambda * next_advantage)",
      "    next_value = values[:, t]",
      "variance, mean = torch.var_mean(advantages[mask], correction=0)",
      "return mask * (advantages - mean) * torch.rsqrt(variance + 1e-8), advantages + values"
    ]
  },
  "clip": {
    "function": "ppo_step",
    "lines": [
      "mask, tokens, clip = episodes.mask, episodes.completions[episodes.mask], settings.clip_range",
      "before = features(policy, episodes.ids, episodes.real)[:, -mask.shape[1] - 1 : -1][mask]",
      "log_probs = next_token(policy, before, settings).log_prob(tokens)",
      "ratio, advantages = (log_probs - episodes.log_probs[mask]).exp(), advantages[mask]",
      "free, clipped = ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages",
      "policy_loss = -torch.min(free, clipped).mean()"
    ]
  },
  "step": {
    "function": "ppo_step",
    "lines": [
      "values = value_head(before.detach()).squeeze(1)",
      "value_loss = 0.5 * (values - returns[mask]).square().mean()",
      "optimizer.zero_grad()",
      "(policy_loss + settings.value_coef * value_loss).backward()",
      "for group in optimizer.param_groups:",
      "    nn.utils.clip_grad_norm_(group[\"params\"], settings.max_grad_norm)",
      "optimizer.step()"
    ]
  }
};
