# A model of Qwen2.5-0.5B's true shape with random weights, for scripts/bench/real-model/run.ts: 494 M parameters in one
# BF16 file of 988 MB, with the config.json of the published model.
#
#   .cache/trl/bin/python scripts/bench/real-model/make.py FOLDER [--layers N]
import argparse
import json
import pathlib
import struct

import torch

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--layers", type=int, default=24)
arguments = parser.parse_args()

CONFIG = {
    "architectures": ["Qwen2ForCausalLM"],
    "attention_dropout": 0.0,
    "bos_token_id": 151643,
    "eos_token_id": 151645,
    "hidden_act": "silu",
    "hidden_size": 896,
    "initializer_range": 0.02,
    "intermediate_size": 4864,
    "max_position_embeddings": 32768,
    "max_window_layers": 21,
    "model_type": "qwen2",
    "num_attention_heads": 14,
    "num_hidden_layers": arguments.layers,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-06,
    "rope_theta": 1000000.0,
    "sliding_window": 32768,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "use_sliding_window": False,
    "vocab_size": 151936,
}
HIDDEN, KEYS, FEED = 896, 128, 4864
LAYER = {
    "self_attn.q_proj.weight": [HIDDEN, HIDDEN],
    "self_attn.q_proj.bias": [HIDDEN],
    "self_attn.k_proj.weight": [KEYS, HIDDEN],
    "self_attn.k_proj.bias": [KEYS],
    "self_attn.v_proj.weight": [KEYS, HIDDEN],
    "self_attn.v_proj.bias": [KEYS],
    "self_attn.o_proj.weight": [HIDDEN, HIDDEN],
    "mlp.gate_proj.weight": [FEED, HIDDEN],
    "mlp.up_proj.weight": [FEED, HIDDEN],
    "mlp.down_proj.weight": [HIDDEN, FEED],
    "input_layernorm.weight": [HIDDEN],
    "post_attention_layernorm.weight": [HIDDEN],
}
shapes = {"model.embed_tokens.weight": [151936, HIDDEN], "model.norm.weight": [HIDDEN]}
for layer in range(arguments.layers):
    shapes.update({f"model.layers.{layer}.{name}": shape for name, shape in LAYER.items()})

header, at = {"__metadata__": {"format": "pt"}}, 0
for name, shape in shapes.items():
    size = 2
    for n in shape:
        size *= n
    header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
    at += size
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)

generator = torch.Generator().manual_seed(0)
arguments.folder.mkdir(parents=True, exist_ok=True)
(arguments.folder / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")
with open(arguments.folder / "model.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text)
    for name, shape in shapes.items():
        values = torch.randn(shape, generator=generator) * 0.02
        if name.endswith("norm.weight"):
            values += 1
        # NumPy has no BF16: its bits.
        file.write(values.bfloat16().view(torch.int16).numpy().tobytes())
print(f"{arguments.folder}: {at / 1e6:.0f} MB")
