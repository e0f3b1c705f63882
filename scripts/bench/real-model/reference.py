# The same jobs with Transformers and PEFT on PyTorch, as they come: F32 weights, scaled-dot-product attention, `generate` with
# its cache, LoRA by PEFT. One job as JSON on standard input; `way` is eager or compiled (torch.compile of the model's
# forward, with a cache of fixed size for `generate`).
import json
import resource
import sys
import time

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

job = json.load(sys.stdin)
torch.set_num_threads(job["threads"])
torch.manual_seed(0)


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


started = time.perf_counter()
if job.get("device", "cpu") != "cpu":
    torch.set_default_device("cuda")
model = AutoModelForCausalLM.from_pretrained(job["folder"], dtype=torch.float32).to(torch.get_default_device())
load_seconds, load_bytes = time.perf_counter() - started, peak()
vocabulary = model.config.vocab_size


def scattered(index):
    """Numbers that look random and are the same on both sides."""
    return (index * 2654435761 % 2**32).double() / 2**32


if job["kind"] != "load":
    adapter = job["adapter"]
    lora = LoraConfig(r=adapter["rank"], lora_alpha=adapter["alpha"], target_modules=adapter["targets"])
    model = get_peft_model(model, lora)
    for name, values in model.named_parameters():
        if "lora_A" in name:
            start = (scattered(torch.arange(values.numel())) - 0.5).float() / 4
            values.data.copy_(start.reshape(values.shape))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4, weight_decay=0)
    if job["way"] == "compiled":
        inner = model.base_model.model
        inner.forward = torch.compile(inner.forward)


def tokens(start, rows, length):
    return (scattered(start + torch.arange(rows * length)) * vocabulary).long().reshape(rows, length)


prompts = tokens(0, job["groups"], job["prompt"]).repeat_interleave(job["rows"], 0)
completions = tokens(10**6, job["groups"] * job["rows"], job["length"])
sequences = torch.cat([prompts, completions], 1)


def sample():
    fixed = {"cache_implementation": "static", "disable_compile": True} if job["way"] == "compiled" else {}
    model.generate(
        input_ids=prompts, attention_mask=torch.ones_like(prompts), do_sample=True, temperature=1.0, top_k=0, top_p=1.0,
        min_new_tokens=job["length"], max_new_tokens=job["length"], pad_token_id=0, **fixed,
    )


def logprobs():
    logits = model(input_ids=sequences, use_cache=False, logits_to_keep=job["length"] + 1).logits[:, :-1]
    logs = logits.log_softmax(-1)
    return logs.gather(-1, completions[..., None])[..., 0], logs


def score():
    logprob, logs = logprobs()
    entropy = -(logs.exp() * logs).sum(-1)
    assert entropy.isfinite().all()
    return logprob.flatten().tolist()


def train():
    logprob, _ = logprobs()
    ratio = (logprob + 12).exp()
    advantage = torch.tensor([1.0, -1.0]).repeat(len(completions) // 2)[:, None]
    loss = -torch.min(ratio * advantage, 1.2 * advantage).sum() / job["tokens"]
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return [loss.item(), norm.item()]


seconds, cpu_seconds, found = [], [], None
for run in range(job["runs"] + 1):
    started, before = time.perf_counter(), time.process_time()
    with torch.set_grad_enabled(job["kind"] == "train"):
        result = {"load": list, "sample": sample, "score": score, "train": train}[job["kind"]]()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    if run == 0:
        found = result or []
    else:
        seconds.append(time.perf_counter() - started)
        cpu_seconds.append(time.process_time() - before)
measured = {"seconds": seconds, "cpuSeconds": cpu_seconds, "loadSeconds": load_seconds, "loadBytes": load_bytes}
print(json.dumps({**measured, "peakBytes": peak(), "found": found}))
