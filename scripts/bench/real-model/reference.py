# The same jobs in PyTorch eager, as plainly as a paper's code would: F32 weights, a padded batch of whole sequences, logits
# of completion tokens only, LoRA beside frozen matrices, a preallocated key/value cache. One job as JSON on standard input.
import json
import pathlib
import resource
import struct
import sys
import time

import torch
import torch.nn.functional as F

job = json.load(sys.stdin)
torch.set_num_threads(job["threads"])
torch.manual_seed(0)
folder = pathlib.Path(job["folder"])
config = json.loads((folder / "config.json").read_text())
D, H, K, EPSILON = (config[k] for k in ("hidden_size", "num_attention_heads", "num_key_value_heads", "rms_norm_eps"))
W = D // H


def load():
    path = folder / "model.safetensors"
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(length))
    raw = torch.from_file(str(path), shared=False, size=path.stat().st_size, dtype=torch.uint8)
    weights = {}
    for name, info in header.items():
        if name == "__metadata__":
            continue
        start, end = (8 + length + offset for offset in info["data_offsets"])
        weights[name] = raw[start:end].view(torch.bfloat16).reshape(info["shape"]).float()
    return weights


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


started = time.perf_counter()
weights = load()
load_seconds, load_bytes = time.perf_counter() - started, peak()

def scattered(index):
    """Numbers that look random and are the same on both sides."""
    return (index * 2654435761 % 2**32).double() / 2**32


adapters = {}
for name, weight in weights.items():
    if any(name.endswith(target + ".weight") for target in job["adapter"]["targets"]):
        rank = job["adapter"]["rank"]
        a = torch.nn.Parameter((scattered(torch.arange(rank * weight.shape[1])) - 0.5).float().reshape(rank, -1) / 4)
        adapters[name] = (a, torch.nn.Parameter(torch.zeros(weight.shape[0], rank)))
trained = [p for pair in adapters.values() for p in pair]
optimizer = torch.optim.AdamW(trained, lr=1e-4, weight_decay=0)


def linear(x, name):
    out = F.linear(x, weights[name + ".weight"], weights.get(name + ".bias"))
    if name + ".weight" in adapters:
        a, b = adapters[name + ".weight"]
        out = out + F.linear(F.linear(x, a), b) * (job["adapter"]["alpha"] / job["adapter"]["rank"])
    return out


def norm(x, name):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON) * weights[name + ".weight"]


frequencies = config["rope_theta"] ** (-torch.arange(0, W, 2).float() / W)
angles = torch.arange(job["prompt"] + job["length"]).float()[:, None] * frequencies
COS, SIN = angles.cos(), angles.sin()


def rotate(x, start):
    cos, sin = COS[start : start + x.shape[2]], SIN[start : start + x.shape[2]]
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def forward(tokens, cache=None, start=0):
    B, T = tokens.shape
    x = F.embedding(tokens, weights["model.embed_tokens.weight"])
    for i in range(config["num_hidden_layers"]):
        at = f"model.layers.{i}."
        h = norm(x, at + "input_layernorm")
        q = rotate(linear(h, at + "self_attn.q_proj").view(B, T, H, W).transpose(1, 2), start)
        k = rotate(linear(h, at + "self_attn.k_proj").view(B, T, K, W).transpose(1, 2), start)
        v = linear(h, at + "self_attn.v_proj").view(B, T, K, W).transpose(1, 2)
        if cache is not None:
            cache[i][0][:, :, start : start + T] = k
            cache[i][1][:, :, start : start + T] = v
            k, v = cache[i][0][:, :, : start + T], cache[i][1][:, :, : start + T]
        k, v = k.repeat_interleave(H // K, 1), v.repeat_interleave(H // K, 1)
        scores = q @ k.transpose(-1, -2) * W**-0.5
        if T > 1:
            scores = scores + torch.full((T, T), -1e9).triu(1)
        x = x + linear((scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, H * W), at + "self_attn.o_proj")
        h = norm(x, at + "post_attention_layernorm")
        x = x + linear(F.silu(linear(h, at + "mlp.gate_proj")) * linear(h, at + "mlp.up_proj"), at + "mlp.down_proj")
    return norm(x, "model.norm")


def head(x):
    return F.linear(x, weights["model.embed_tokens.weight"])


def tokens(start, rows, length):
    return (scattered(start + torch.arange(rows * length)) * config["vocab_size"]).long().reshape(rows, length)


prompts = tokens(0, job["groups"], job["prompt"]).repeat_interleave(job["rows"], 0)
completions = tokens(10**6, job["groups"] * job["rows"], job["length"])


def sample():
    B = prompts.shape[0]
    size = (B, K, job["prompt"] + job["length"], W)
    cache = [(torch.zeros(size), torch.zeros(size)) for _ in range(config["num_hidden_layers"])]
    hidden, position = forward(prompts, cache), job["prompt"]
    logprobs, entropies = [], []
    for step in range(job["length"]):
        logs = head(hidden[:, -1]).log_softmax(-1)
        probabilities = logs.exp()
        tokens = torch.multinomial(probabilities, 1)
        logprobs.append(logs.gather(1, tokens))
        entropies.append(-(probabilities * logs).sum(-1))
        if step + 1 < job["length"]:
            hidden, position = forward(tokens, cache, position), position + 1


def statistics():
    hidden = forward(torch.cat([prompts, completions], 1))[:, job["prompt"] - 1 : -1]
    logs = head(hidden).log_softmax(-1)
    return logs.gather(-1, completions[..., None])[..., 0], logs


def score():
    logprob, logs = statistics()
    entropy = -(logs.exp() * logs).sum(-1)
    assert entropy.isfinite().all()
    return logprob.flatten().tolist()


def train():
    logprob, _ = statistics()
    ratio = (logprob + 12).exp()
    advantage = torch.tensor([1.0, -1.0]).repeat(len(completions) // 2)[:, None]
    loss = -torch.min(ratio * advantage, 1.2 * advantage).sum() / job["tokens"]
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(trained, 1.0)
    optimizer.step()
    return [loss.item(), norm.item()]


seconds, cpu_seconds, found = [], [], None
for run in range(job["runs"] + 1):
    started, before = time.perf_counter(), time.process_time()
    with torch.set_grad_enabled(job["kind"] == "train"):
        result = {"load": list, "sample": sample, "score": score, "train": train}[job["kind"]]()
    if run == 0:
        found = result or []
    else:
        seconds.append(time.perf_counter() - started)
        cpu_seconds.append(time.process_time() - before)
print(json.dumps({"seconds": seconds, "cpuSeconds": cpu_seconds, "loadSeconds": load_seconds, "loadBytes": load_bytes, "peakBytes": peak(), "found": found}))
