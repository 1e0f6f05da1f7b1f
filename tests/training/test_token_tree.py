"""What several texts begin with is read once: the numbers of a pass over the rows, in fewer tokens."""

import pytest
import torch

from playground.config import ModelConfig
from playground.training.models import loading
from playground.training.models.steering_vector import SteeringVector
from playground.training.models.token_tree import tree_of
from tests.training import snapshots
from tests.training.test_families import LORA

CPU = torch.device("cpu")
BEGIN = [5, 6, 7, 8, 9, 10, 11, 12]  # of a chat template
TEXTS = [[*BEGIN, 20, 21, 30, 31, 32], [*BEGIN, 20, 21, 33, 34], [*BEGIN, 22, 30], [*BEGIN, 20, 21, 30, 31, 35]]
PROMPTS = [10, 10, 9, 11]  # tokens of each before the model writes
ROTATED = ["llama", "gpt_neox", "qwen2", "qwen3", "gemma"]


def rows():
    """The texts with padding behind, and where each next token is the model's own."""
    ids = torch.zeros(len(TEXTS), max(map(len, TEXTS)), dtype=torch.long)
    writes = torch.zeros_like(ids, dtype=torch.bool)
    for row, (text, prompt) in enumerate(zip(TEXTS, PROMPTS, strict=True)):
        ids[row, : len(text)] = torch.tensor(text)
        writes[row, prompt - 1 : len(text) - 1] = True
    return ids, writes


def loaded(family, tmp_path, large=True):
    folder = snapshots.snapshot(tmp_path / family, family, own_pad=True)
    model, _ = loading.load(folder, CPU, ModelConfig(precision="fp32", adapter=LORA), trained=True)
    vars(model)["is_small"] = not large
    return model


def learned(model, trees):
    """A pass over the rows with its gradients."""
    vars(model)["reads_trees"] = trees
    model.zero_grad()
    hidden, logits = model(*rows())
    (logits.logsumexp(1) * torch.arange(1, len(logits) + 1)).sum().backward()
    return [hidden.detach(), *[weight.grad.clone() for weight in model.parameters() if weight.grad is not None]]


def test_each_beginning_stands_once_and_is_told_apart_by_its_marks():
    ids, writes = rows()
    tree = tree_of(ids, writes)
    assert tree.ids.shape == (1, 12 + 1 + 1 + 3)  # the last text has a longer prompt, so its mark comes later
    for row, length in enumerate(writes.sum(1) + torch.tensor(PROMPTS) - 1):
        own = tree.places[row, :length]
        assert tree.ids[0, own].tolist() == ids[row, :length].tolist()
        assert tree.marks[0, own].tolist() == writes[row, :length].tolist()
        assert tree.positions[0, own].tolist() == list(range(length))
        assert [tree.attended[0, 0, place].nonzero().flatten().tolist() for place in own] == [
            sorted(own[: number + 1].tolist()) for number in range(length)
        ]


@pytest.mark.parametrize("steered", [False, True])
@pytest.mark.parametrize("family", ROTATED)
def test_a_pass_and_its_gradients_are_those_over_the_rows(family, steered, tmp_path):
    model = loaded(family, tmp_path)
    assert model.reads_trees
    if steered:
        model.steer(SteeringVector(1, torch.ones(model.residual_size), 2.0))
    over_rows, over_tree = (learned(model, trees) for trees in (False, True))
    assert len(over_tree) > 8
    for expected, found in zip(over_rows, over_tree, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", ["gpt2", "opt", "gemma2", "llama"])
def test_a_model_that_knows_places_or_attends_otherwise_or_is_small_reads_the_rows(family, tmp_path):
    assert not loaded(family, tmp_path, large=family != "llama").reads_trees
