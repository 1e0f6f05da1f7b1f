"""The five functions as a student might write them: right, and in another style than the example."""

RIGHT = {
    "generate_with_logprobs": """
def generate_with_logprobs(policy, value_head, prompts, settings):
    pad, eos = policy.config.pad_token_id, policy.config.eos_token_id
    P = max(len(p) for p in prompts)
    rows = [[pad] * (P - len(p)) + list(p) for p in prompts]
    masks = [[False] * (P - len(p)) + [True] * len(p) for p in prompts]
    log_probs, values = [[] for _ in prompts], [[] for _ in prompts]
    finished = [False] * len(prompts)
    for step in range(settings.max_new_tokens):
        with torch.no_grad():
            real = torch.tensor(masks)
            positions = (real.long().cumsum(1) - 1).clamp(min=0)
            inputs = {"attention_mask": real.long(), "position_ids": positions, "output_hidden_states": True}
            out = policy(torch.tensor(rows), **inputs)
            logits = out.logits[:, -1] / settings.temperature
            expected = value_head(out.hidden_states[-1][:, -1])[:, 0]
            noise = -torch.log(-torch.log(torch.rand_like(logits)))
            chosen = (logits + noise).argmax(-1)
            lp = torch.log_softmax(logits, -1)
        for b in range(len(prompts)):
            alive = not finished[b]
            token = int(chosen[b])
            rows[b].append(token if alive else pad)
            masks[b].append(alive)
            log_probs[b].append(float(lp[b, token]) if alive else 0.0)
            values[b].append(float(expected[b]) if alive else 0.0)
            if token == eos:
                finished[b] = True
        if all(finished):
            break
    return Episodes(torch.tensor(rows), torch.tensor(masks), torch.tensor(log_probs), torch.tensor(values))
""",
    "compute_kl": """
def compute_kl(reference, episodes, settings):
    C = episodes.log_probs.shape[1]
    real = episodes.real.long()
    positions = (real.cumsum(1) - 1).clamp(min=0)
    with torch.no_grad():
        logits = reference(episodes.ids, attention_mask=real, position_ids=positions).logits[:, -C - 1 : -1]
    log_probs = torch.log_softmax(logits / settings.temperature, -1)
    ref = log_probs.gather(2, episodes.completions[..., None])[..., 0]
    kl = episodes.log_probs - ref
    return kl * episodes.mask
""",
    "compute_advantages": """
def compute_advantages(scores, kl, values, mask, settings):
    B, C = mask.shape
    adv, ret = torch.zeros(B, C), torch.zeros(B, C)
    for b in range(B):
        n = int(mask[b].sum())
        r = [-settings.kl_coef * float(kl[b, t]) for t in range(n)] + [0.0] * (C - n)
        r[n - 1] += float(scores[b])
        v = [float(x) for x in values[b, :n]] + [0.0]
        a = 0.0
        for t in range(n - 1, -1, -1):
            delta = r[t] + settings.gamma * v[t + 1] - v[t]
            a = delta + settings.gamma * settings.gae_lambda * a
            adv[b, t] = a
            ret[b, t] = a + v[t]
    real = adv[mask]
    white = (adv - real.mean()) / (real.std(correction=0) + 1e-8)
    return torch.where(mask, white, 0.0), ret
""",
    "ppo_step": """
def ppo_step(policy, value_head, optimizer, episodes, advantages, returns, settings):
    optimizer.zero_grad(set_to_none=False)
    C, m = episodes.log_probs.shape[1], episodes.mask.float()
    real = episodes.real.long()
    positions = (real.cumsum(1) - 1).clamp(min=0)
    out = policy(episodes.ids, attention_mask=real, position_ids=positions, output_hidden_states=True)
    logp = torch.log_softmax(out.logits[:, -C - 1 : -1] / settings.temperature, -1)
    logp = logp.gather(2, episodes.completions[..., None])[..., 0]
    hidden = out.hidden_states[-1][:, -C - 1 : -1].detach()
    v = value_head(hidden)[..., 0]
    r = torch.exp(logp - episodes.log_probs)
    eps = settings.clip_range
    a1, a2 = r * advantages, torch.clamp(r, 1 - eps, 1 + eps) * advantages
    n = m.sum()
    pl = -(torch.minimum(a1, a2) * m).sum() / n
    vl = ((v - returns) ** 2 * m).sum() / n / 2
    (pl + settings.value_coef * vl).backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), settings.max_grad_norm)
    torch.nn.utils.clip_grad_norm_(value_head.parameters(), settings.max_grad_norm)
    optimizer.step()
    flat = ((advantages > 0) & (r > 1 + eps) | (advantages < 0) & (r < 1 - eps)) & episodes.mask
    return {"policy_loss": pl.item(), "value_loss": vl.item(), "clip_fraction": (flat.sum() / n).item()}
""",
    "train": """
def train(policy, reference, value_head, prompts, score, settings):
    import random
    opt = torch.optim.AdamW(policy.parameters(), lr=settings.learning_rate, eps=1e-5, weight_decay=0)
    opt.add_param_group({"params": list(value_head.parameters()), "lr": settings.value_learning_rate})
    history = []
    for update in range(settings.num_updates):
        batch = random.choices(prompts, k=settings.batch_size)
        eps = generate_with_logprobs(policy, value_head, batch, settings)
        s = score(eps)
        kl = compute_kl(reference, eps, settings)
        adv, ret = compute_advantages(s, kl, eps.values, eps.mask, settings)
        stats = []
        for epoch in range(settings.num_epochs):
            order = list(range(settings.batch_size))
            random.shuffle(order)
            for i in range(0, settings.batch_size, settings.minibatch_size):
                idx = torch.tensor(order[i : i + settings.minibatch_size])
                stats.append(ppo_step(policy, value_head, opt, eps.rows(idx), adv[idx], ret[idx], settings))
        entry = {"score": s.mean().item(), "kl": kl.sum(1).mean().item()}
        for key in stats[0]:
            entry[key] = sum(x[key] for x in stats) / len(stats)
        history.append(entry)
    return history
""",
}

# function, what a student has instead of a piece of the above, and a piece of the hint
WRONG = [
    ("generate_with_logprobs", "[pad] * (P - len(p)) + list(p)", "list(p) + [pad] * (P - len(p))", "pad on the left"),
    (
        "generate_with_logprobs",
        "[False] * (P - len(p)) + [True] * len(p)",
        "[t != pad for t in [pad] * (P - len(p)) + p]",
        "comes from the ids",
    ),
    ("generate_with_logprobs", "finished[b] = True", "finished[b] = False", "Tokens after the end"),
    (
        "generate_with_logprobs",
        "masks[b].append(alive)",
        "masks[b].append(alive and token != eos)",
        "end-of-sequence token is left out",
    ),
    (
        "generate_with_logprobs",
        "lp = torch.log_softmax(logits, -1)",
        "lp = torch.log_softmax(out.logits[:, -1], -1)",
        "those of temperature 1",
    ),
    ("generate_with_logprobs", "(logits + noise)", "logits", "likeliest token"),
    ("generate_with_logprobs", "(logits + noise)", "(out.logits[:, -1] + noise)", "drawn at temperature 1"),
    (
        "generate_with_logprobs",
        "lp = torch.log_softmax(logits, -1)",
        "lp = torch.softmax(logits, -1)",
        "take the logarithm",
    ),
    (
        "generate_with_logprobs",
        "float(lp[b, token]) if alive else 0.0",
        "float(lp[b, token])",
        "0 where the mask is False",
    ),
    (
        "generate_with_logprobs",
        '"attention_mask": real.long(), "position_ids": positions, ',
        "",
        "read as if it were text",
    ),
    ("compute_kl", "episodes.log_probs - ref", "ref - episodes.log_probs", "wrong way round"),
    ("compute_kl", "kl * episodes.mask", "kl", "Padding is counted"),
    ("compute_kl", "[:, -C - 1 : -1]", "[:, -C:]", "one position late"),
    ("compute_kl", "logits / settings.temperature", "logits", "those of temperature 1"),
    ("compute_kl", "attention_mask=real, position_ids=positions", "", "reads the padding as if it were text"),
    ("compute_kl", "kl * episodes.mask", "(kl * episodes.mask).sum(1)", "one number for each episode"),
    ("compute_kl", "kl * episodes.mask", "(torch.exp(-kl) - 1 + kl) * episodes.mask", "k3"),
    ("compute_kl", "episodes.log_probs - ref", "abs(episodes.log_probs - ref)", "This is |d|"),
    ("compute_advantages", "-settings.kl_coef *", "settings.kl_coef *", "KL has the wrong sign"),
    ("compute_advantages", "r[n - 1] +=", "r[C - 1] +=", "last position of the row"),
    (
        "compute_advantages",
        "r[n - 1] += float(scores[b])",
        "r = [x + float(scores[b]) for x in r]",
        "paid on every token",
    ),
    ("compute_advantages", "real = adv[mask]", "real = adv", "Whitening counts the padding"),
    ("compute_advantages", "torch.where(mask, white, 0.0)", "white", "not masked after whitening"),
    ("compute_advantages", "torch.where(mask, white, 0.0)", "adv", "not whitened"),
    ("compute_advantages", "correction=0", "correction=1", "n - 1"),
    ("compute_advantages", "ret[b, t] = a + v[t]", "ret[b, t] = r[t]", "token rewards"),
    ("compute_advantages", "ret[b, t] = a + v[t]", "ret[b, t] = a", "lack the values"),
    ("compute_advantages", "settings.gamma * settings.gae_lambda * a", "settings.gamma * a", "gae_lambda is missing"),
    ("ppo_step", "torch.minimum(a1, a2)", "torch.maximum(a1, a2)", "max of the two terms"),
    ("ppo_step", "torch.minimum(a1, a2)", "a1", "not clipped"),
    ("ppo_step", "pl = -(", "pl = (", "an optimizer minimises"),
    ("ppo_step", "logp - episodes.log_probs)", "episodes.log_probs - logp)", "ratio is the wrong way round"),
    ("ppo_step", ".detach()", "", "detach the features"),
    ("ppo_step", "n = m.sum()", "n = m.numel()", "Padding is counted"),
    ("ppo_step", "(v - returns)", "(v - advantages)", "predict the returns"),
    ("ppo_step", "optimizer.zero_grad(set_to_none=False)", "pass", "zero_grad is missing"),
    ("ppo_step", "    optimizer.step()\n", "", "Nothing moves"),
    ("ppo_step", "/ settings.temperature", "", "those of temperature 1"),
    ("ppo_step", "[:, -C - 1 : -1] /", "[:, -C:] /", "one position late"),
    ("train", "compute_kl(reference,", "compute_kl(policy,", "KL is to the frozen reference"),
    (
        "train",
        '    opt.add_param_group({"params": list(value_head.parameters()), "lr": settings.value_learning_rate})\n',
        "",
        "value head is not in the optimizer",
    ),
    ("train", "for epoch in range(settings.num_epochs)", "for epoch in range(1)", "num_epochs x batch_size"),
    ("train", "random.shuffle(order)", "pass", "Shuffle the episodes anew"),
    ("train", "adv[idx], ret[idx]", "adv[i : i + len(idx)], ret[idx]", "of the same rows"),
    ("train", "kl.sum(1).mean()", "kl.mean()", "nats for each completion"),
    ("train", "eps=1e-5", "eps=1e-8", "eps of 1e-8"),
    ("train", "sum(x[key] for x in stats) / len(stats)", "stats[-1][key]", "last minibatch"),
]
