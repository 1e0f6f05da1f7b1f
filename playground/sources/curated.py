"""Models of the hub that the playground suggests: what each is good for, and its measures, known without a network.

The measures are those of each model's config.json; a test builds the architecture from them and counts the weights.
Knows nothing but words and numbers. `catalog` offers them, `estimates` reckons with them before anything is downloaded.
"""

from __future__ import annotations

from typing import NamedTuple

from playground.sources.architectures import Architecture


class HubModel(NamedTuple):
    """One suggested model. `download_mb` is about the size of its weights; `preset` names its preset."""

    name: str
    label: str
    help: str
    licence: str
    architecture: Architecture
    download_mb: int
    chat_template: bool
    preset: str

    @property
    def size(self) -> str:
        """Weights and download, for reading: "124 million parameters, 548 MB"."""
        millions = self.architecture.parameters / 1e6
        count = f"{millions / 1000:.1f} billion" if millions >= 1000 else f"{millions:.0f} million"
        return f"{count} parameters, {self.download_mb:,} MB"


def _gpt2(layers: int, parameters: int) -> Architecture:
    return Architecture("gpt2", 768, layers, 12, 12, 64, 3072, 50257, 1024, True, parameters)


def _pythia(hidden: int, layers: int, heads: int, parameters: int) -> Architecture:
    return Architecture(
        "gpt_neox", hidden, layers, heads, heads, hidden // heads, 4 * hidden, 50304, 2048, False, parameters
    )


def _smollm2(hidden: int, layers: int, heads: int, kv_heads: int, mlp: int, parameters: int) -> Architecture:
    return Architecture("llama", hidden, layers, heads, kv_heads, 64, mlp, 49152, 8192, True, parameters)


SMOLLM2_135M = _smollm2(576, 30, 9, 3, 1536, 134_515_008)
SMOLLM2_360M = _smollm2(960, 32, 15, 5, 2560, 361_821_120)

CURATED = (
    HubModel(
        "distilbert/distilgpt2",
        "DistilGPT-2",
        "Half of GPT-2's layers: the quickest real model for first experiments with a reward.",
        "Apache-2.0", _gpt2(6, 81_912_576), 353, False, "distilgpt2",
    ),
    HubModel(
        "openai-community/gpt2",
        "GPT-2",
        "The classic of RLHF experiments: continues any English text; knows no conversation.",
        "MIT", _gpt2(12, 124_439_808), 548, False, "gpt2",
    ),
    HubModel(
        "lvwerra/gpt2-imdb",
        "GPT-2, film reviews",
        "GPT-2 trained on film reviews, as in TRL's sentiment example. Its page may hold the weights as a pickle only, "
        "which is refused with the way to convert them; then GPT-2 is the next best.",
        "not stated", _gpt2(12, 124_439_808), 548, False, "gpt2-imdb",
    ),
    HubModel(
        "EleutherAI/pythia-70m",
        "Pythia 70M",
        "The smallest of a family that was made for research: see how little a model of this size can learn.",
        "Apache-2.0", _pythia(512, 6, 8, 70_426_624), 166, False, "pythia-70m",
    ),
    HubModel(
        "EleutherAI/pythia-160m",
        "Pythia 160M",
        "The same family, twice the size: for asking what scale changes.",
        "Apache-2.0", _pythia(768, 12, 12, 162_322_944), 375, False, "pythia-160m",
    ),
    HubModel(
        "EleutherAI/pythia-410m",
        "Pythia 410M",
        "The third step of the family; fluent text, best with a GPU.",
        "Apache-2.0", _pythia(1024, 24, 16, 405_334_016), 911, False, "pythia-410m",
    ),
    HubModel(
        "HuggingFaceTB/SmolLM2-135M",
        "SmolLM2 135M",
        "A modern base model, small and well read: better text than GPT-2 at the same size.",
        "Apache-2.0", SMOLLM2_135M, 269, False, "smollm2-135m",
    ),
    HubModel(
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        "SmolLM2 135M Instruct",
        "The smallest model here that answers questions; a good start for length and style rewards.",
        "Apache-2.0", SMOLLM2_135M, 269, True, "smollm2-135m-instruct",
    ),
    HubModel(
        "HuggingFaceTB/SmolLM2-360M",
        "SmolLM2 360M",
        "The larger base model of the family.",
        "Apache-2.0", SMOLLM2_360M, 724, False, "smollm2-360m",
    ),
    HubModel(
        "HuggingFaceTB/SmolLM2-360M-Instruct",
        "SmolLM2 360M Instruct",
        "Answers short questions sensibly; still trains on a laptop with LoRA, slowly.",
        "Apache-2.0", SMOLLM2_360M, 724, True, "smollm2-360m-instruct",
    ),
    HubModel(
        "Qwen/Qwen2.5-0.5B-Instruct",
        "Qwen2.5 0.5B Instruct",
        "A capable assistant for its size, in many languages; its large vocabulary costs memory.",
        "Apache-2.0",
        Architecture("qwen2", 896, 24, 14, 2, 64, 4864, 151936, 32768, True, 494_032_768),
        988, True, "qwen2.5-0.5b-instruct",
    ),
    HubModel(
        "Qwen/Qwen3-0.6B",
        "Qwen3 0.6B",
        "Likes to think before it answers, so it needs room for long completions.",
        "Apache-2.0",
        Architecture("qwen3", 1024, 28, 16, 8, 128, 3072, 151936, 40960, True, 596_049_920),
        1503, True, "qwen3-0.6b",
    ),
    HubModel(
        "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
        "TinyLlama 1.1B Chat",
        "A Llama of one billion parameters that chats; for a GPU.",
        "Apache-2.0",
        Architecture("llama", 2048, 22, 32, 4, 64, 5632, 32000, 2048, False, 1_100_048_384),
        2200, True, "tinyllama-1.1b-chat",
    ),
)  # fmt: skip
BY_NAME = {model.name: model for model in CURATED}
