"""The pretraining loop in miniature; what it makes when run in full is measured in nightly/test_acceptance.py."""

from itertools import islice

import pytest
from transformers import AutoTokenizer

from playground.pocket import pretrain
from playground.pocket.pretrain import PocketShape

TINY = PocketShape(
    hidden_size=16, intermediate_size=16, layers=1, heads=2, train_tokens=15_000, peak_learning_rate=3e-2
)


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(pretrain.MODELS_DIR / "pocket-2m")


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tokenizer):
    """A model that trains in a second, with the shipped tokenizer and no measuring."""
    monkeypatch.setitem(pretrain.SHAPES, "pocket-tiny", TINY)
    monkeypatch.setattr(pretrain, "WARMUP_TOKENS", 2_000)
    monkeypatch.setattr(pretrain, "POOLED_BATCHES", 4)
    monkeypatch.setattr(pretrain, "make_tokenizer", lambda: tokenizer)
    monkeypatch.setattr(pretrain, "acceptance", lambda folder: dict.fromkeys(pretrain.BOUNDS, 0.5))


def test_a_model_is_made_whole_and_the_same_again(tmp_path):
    steps = []
    first = pretrain.pretrain("pocket-tiny", tmp_path / "a", seed=1, on_progress=steps.append)
    second = pretrain.pretrain("pocket-tiny", tmp_path / "b", seed=1)
    other = pretrain.pretrain("pocket-tiny", tmp_path / "c", seed=2)
    weights = [(folder / "model.safetensors").read_bytes() for folder in (first, second, other)]
    assert weights[0] == weights[1] != weights[2]
    assert [step.step for step in steps] == list(range(1, len(steps) + 1))
    assert steps[-1].tokens >= 15_000 > steps[-2].tokens
    assert steps[-1].loss < steps[0].loss - 0.5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]


@pytest.mark.parametrize("moment", ["training", "measuring"])
def test_ctrl_c_leaves_the_older_model_and_nothing_else(tmp_path, monkeypatch, moment):
    def interrupt(*_):
        raise KeyboardInterrupt

    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "older").write_text("kept")
    if moment == "measuring":
        monkeypatch.setattr(pretrain, "acceptance", interrupt)
    with pytest.raises(KeyboardInterrupt):
        pretrain.pretrain("pocket-tiny", folder, on_progress=interrupt if moment == "training" else None)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert [path.name for path in folder.iterdir()] == ["older"]


def test_a_loss_that_is_no_number_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(pretrain.SHAPES, "pocket-tiny", TINY._replace(peak_learning_rate=1e30))
    with pytest.raises(RuntimeError, match="learning rate"):
        pretrain.pretrain("pocket-tiny", tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_rows_are_bos_document_eos_and_padding(tokenizer):
    bos, eos, pad = tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id
    for batch in islice(pretrain._batches(tokenizer, seed=0), 3):
        assert batch.shape[0] == pretrain.BATCH_DOCUMENTS
        for row in batch.tolist():
            assert row[0] == bos
            assert row.count(eos) == 1
            assert set(row[row.index(eos) + 1 :]) <= {pad}
            assert pad not in row[: row.index(eos)]
