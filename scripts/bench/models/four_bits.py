# A GGUF file of Qwen2.5-0.5B's shape with random 4-bit weights (Q4_0, the table of embeddings in Q8_0), for load.ts --file:
# 494 M parameters in about 350 MB, with a vocabulary of 151,936 made-up tokens.
#
#   python3 -m venv .cache/venv && .cache/venv/bin/pip install gguf && .cache/venv/bin/python scripts/bench/models/four_bits.py FILE
import sys

import numpy as np
from gguf import GGMLQuantizationType as Type, GGUFWriter
from gguf.constants import GGML_QUANT_SIZES

VOCABULARY, WIDTH, LAYERS, KEYS, FEED = 151936, 896, 24, 128, 4864
random = np.random.default_rng(1)
writer = GGUFWriter(sys.argv[1], "qwen2")
writer.add_context_length(2048)
writer.add_embedding_length(WIDTH)
writer.add_block_count(LAYERS)
writer.add_feed_forward_length(FEED)
writer.add_head_count(14)
writer.add_head_count_kv(2)
writer.add_rope_freq_base(1e6)
writer.add_layer_norm_rms_eps(1e-6)
writer.add_tokenizer_model("gpt2")
writer.add_tokenizer_pre("qwen2")
bytes_alone = [chr(i) for i in [*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 324)]]
tokens = bytes_alone + [a + b for a in bytes_alone for b in bytes_alone]
merges = [f"{a} {b}" for a in bytes_alone for b in bytes_alone]
tokens += [f"{a}{b}" for a in tokens[256:66000] for b in bytes_alone[:2]]
merges += [f"{a} {b}" for a in tokens[256:66000] for b in bytes_alone[:2]]
tokens = list(dict.fromkeys(tokens))[: VOCABULARY - 1] + ["<|im_end|>"]
writer.add_token_list(tokens + [f"<|{i}|>" for i in range(VOCABULARY - len(tokens))])
writer.add_token_types([1] * (len(tokens) - 1) + [3] * (VOCABULARY - len(tokens) + 1))
writer.add_token_merges(merges[:120000])
writer.add_eos_token_id(len(tokens) - 1)


def add(name, shape, kind):
    values, size = GGML_QUANT_SIZES[Type[kind]]
    blocks = random.integers(0, 256, (shape[0] * shape[1] // values, size), dtype=np.uint8)
    blocks[:, :2] = np.frombuffer(np.float16(0.004).tobytes(), dtype=np.uint8)
    writer.add_tensor(name, blocks.reshape(shape[0], -1), raw_dtype=Type[kind])


add("token_embd.weight", (VOCABULARY, WIDTH), "Q8_0")
writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
for layer in range(LAYERS):
    at = f"blk.{layer}."
    for name, size in [("attn_norm", WIDTH), ("ffn_norm", WIDTH)]:
        writer.add_tensor(f"{at}{name}.weight", np.ones(size, np.float32))
    for name, size in [("attn_q", WIDTH), ("attn_k", KEYS), ("attn_v", KEYS)]:
        writer.add_tensor(f"{at}{name}.bias", np.zeros(size, np.float32))
        add(f"{at}{name}.weight", (size, WIDTH), "Q4_0")
    add(f"{at}attn_output.weight", (WIDTH, WIDTH), "Q4_0")
    add(f"{at}ffn_gate.weight", (FEED, WIDTH), "Q4_0")
    add(f"{at}ffn_up.weight", (FEED, WIDTH), "Q4_0")
    add(f"{at}ffn_down.weight", (WIDTH, FEED), "Q4_0")
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
