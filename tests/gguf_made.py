"""GGUF files made of tiny random models, as llama.cpp's own converter lays them out; and broken in one place."""

import json
import struct

import numpy as np
import torch
from gguf import GGMLQuantizationType, GGUFValueType, GGUFWriter, dequantize, get_tensor_name_map, quantize
from gguf.constants import MODEL_ARCH_NAMES
from transformers import AutoConfig, AutoModelForCausalLM

from tests.training import snapshots

CONTROL, NORMAL = 3, 1  # kinds of tokens
TYPES = {str: GGUFValueType.STRING, float: GGUFValueType.FLOAT32, int: GGUFValueType.UINT32}


def write(path, family="llama", kind="Q8_0", *, tied=False, fields=None, template=snapshots.CHATML, words="gpt-2"):
    """A file of a random model of a family, its matrices in the type `kind`. `fields` are added to its settings, or
    stand in the place of its own; `words`: how its tokenizer cuts text, `llama` for one of SentencePiece. Returns the
    model with the weights as a reader has them, rounded to bf16, and the tokenizer."""
    tokenizer = snapshots.sentencepiece_like(pieces="bpe") if words == "llama" else snapshots.byte_level(chat=True)
    tokenizer.chat_template = template
    torch.manual_seed(0)
    rope = {"rope_parameters": {"rope_type": "default", "rope_theta": 5000.0}}
    shape = {**snapshots.FAMILIES[family], **rope, "vocab_size": len(tokenizer) + 4, "tie_word_embeddings": tied}
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **shape))
    file = GGUFWriter(path, family)
    for name, value in (settings(model.config, family) | (fields or {})).items():
        whole = f"{family}.{name}" if "." not in name or name.startswith(("attention", "rope")) else name
        file.add_key_value(whole, value, TYPES[type(value)])
    write_tokenizer(file, tokenizer, words)
    arch = next(key for key, value in MODEL_ARCH_NAMES.items() if value == family)
    names = get_tensor_name_map(arch, model.config.num_hidden_layers)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            stem, _, ending = name.rpartition(".")
            weight.mul_(3.0 if weight.ndim == 2 else 1.0).add_(0.1 if ending == "bias" else 0.0)
            chosen = GGMLQuantizationType[kind if weight.ndim == 2 else "F32"]
            rows = quantize(weight.numpy(), chosen)
            heads = {"q_proj": 4, "k_proj": 2}.get(stem[-6:]) if family == "llama" else None
            written = rows
            if heads:  # as llama.cpp has the rows of queries and keys (`permute` of its converter)
                written = rows.reshape(heads, 2, -1, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)
            file.add_tensor(f"{names.get_name(stem)}.{ending}", written, raw_dtype=chosen)
            read = dequantize(rows.view(np.uint8), chosen).reshape(weight.shape)
            weight.copy_(torch.from_numpy(np.array(read)).bfloat16().float())
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return model.eval(), tokenizer


def settings(config, family):
    """Those of an architecture, by their names in the file."""
    names = {
        "block_count": config.num_hidden_layers,
        "context_length": config.max_position_embeddings,
        "embedding_length": config.hidden_size,
        "feed_forward_length": config.intermediate_size,
        "attention.head_count": config.num_attention_heads,
        "attention.head_count_kv": config.num_key_value_heads,
        "attention.layer_norm_rms_epsilon": config.rms_norm_eps,
        "rope.freq_base": 5000.0,
        "vocab_size": config.vocab_size,
    }
    return names | ({"attention.key_length": config.head_dim} if family == "qwen3" else {})


def write_tokenizer(file, tokenizer, words):
    """A byte-level one, or one of SentencePiece."""
    model = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    tokens = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    special = {*tokenizer.all_special_tokens, "<|endoftext|>", "<|im_start|>", "<|im_end|>"}
    file.add_tokenizer_model("llama" if words == "llama" else "gpt2")
    file.add_tokenizer_pre(words)
    file.add_token_list([token for token, _ in tokens])
    file.add_token_types([CONTROL if token in special else NORMAL for token, _ in tokens])
    if words == "llama":
        file.add_token_scores([float(-number) for number in range(len(tokens))])
        file.add_unk_token_id(tokenizer.unk_token_id)
    file.add_token_merges([" ".join(pair) for pair in model["merges"]])
    first = tokenizer.bos_token_id
    file.add_bos_token_id(tokenizer.get_vocab()["<|im_start|>"] if first is None else first)
    file.add_eos_token_id(tokenizer.eos_token_id)
    file.add_pad_token_id(tokenizer.eos_token_id)
    file.add_chat_template(tokenizer.chat_template)


def replaced(data, name, old, new):
    """The bytes of a file with the value behind a setting's or tensor's name replaced."""
    assert len(old) == len(new)
    key = struct.pack("<Q", len(name)) + name.encode()
    before, behind = data.split(key, 1)
    assert old in behind[:64]
    return before + key + behind.replace(old, new, 1)
