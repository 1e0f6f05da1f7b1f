"""What several texts begin with is read once: the numbers of a pass over the rows, in fewer tokens."""

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from playground.config import ModelConfig
from playground.training.models import loading
from playground.training.models.steering_vector import SteeringVector
from playground.training.models.token_tree import tree_of
from tests.training import snapshots
from tests.training.test_families import LORA

BEGIN = [5, 6, 7, 8, 9, 10, 11, 12]  # of a chat template
TEXTS = [[*BEGIN, 20, 21, 30, 31, 32], [*BEGIN, 20, 21, 33, 34], [*BEGIN, 22, 30], [*BEGIN, 20, 21, 30, 31, 35]]
PROMPTS = torch.tensor([[10], [10], [9], [11]])  # tokens of each before the model writes


def rows():
    """The texts with padding behind, and where each next token is the model's own."""
    ids = pad_sequence([torch.tensor(text) for text in TEXTS], batch_first=True)
    column, lengths = torch.arange(ids.shape[1]), torch.tensor([[len(text)] for text in TEXTS])
    return ids, (column >= PROMPTS - 1) & (column < lengths - 1)


def loaded(family, tmp_path, large=True):
    folder = snapshots.snapshot(tmp_path / family, family, own_pad=True)
    model, _ = loading.load(folder, torch.device("cpu"), ModelConfig(precision="fp32", adapter=LORA), trained=True)
    vars(model)["is_small"] = not large
    return model


def learned(model, trees):
    vars(model)["reads_trees"] = trees
    hidden, logits = model(*rows())
    loss = (logits.logsumexp(1) * torch.arange(1, len(logits) + 1)).sum()
    return [hidden, *torch.autograd.grad(loss, [weight for weight in model.parameters() if weight.requires_grad])]


def test_each_beginning_stands_once_and_is_told_apart_by_its_marks():
    tree = tree_of(*rows())
    assert tree.ids.shape == (1, 12 + 1 + 1 + 3)  # the last text has a longer prompt, so its mark comes later
    assert tree.attended.sum() == (tree.positions + 1).sum()  # each token and what is before it in its text


@pytest.mark.parametrize("steered", [False, True])
@pytest.mark.parametrize("family", ["llama", "gpt_neox", "qwen2", "qwen3", "gemma"])
def test_a_pass_and_its_gradients_are_those_over_the_rows(family, steered, tmp_path):
    model = loaded(family, tmp_path)
    assert model.reads_trees
    if steered:
        model.steer(SteeringVector(1, torch.ones(model.residual_size), 2.0))
    over_rows, over_tree = (learned(model, trees) for trees in (False, True))
    assert len(over_tree) > 8
    torch.testing.assert_close(over_tree, over_rows, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", ["gpt2", "opt", "gemma2", "llama"])
def test_a_model_that_knows_places_or_attends_otherwise_or_is_small_reads_the_rows(family, tmp_path):
    assert not loaded(family, tmp_path, large=family != "llama").reads_trees
