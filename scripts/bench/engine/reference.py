# The same decoder, written plainly in PyTorch, for scripts/bench/engine/run.ts. Reads one job as JSON on standard input,
# prints {"seconds": [...], "peakBytes": n}. AdamW, no tricks that the other side does not have either. With
# "compile", the model goes through torch.compile, whose work is done in the first, uncounted run.
import json
import resource
import sys
import time

import torch
import torch.nn.functional as F

job = json.load(sys.stdin)
torch.set_num_threads(job["threads"])
torch.manual_seed(0)
V, D, L, H, K, W, M = (job.get(k) for k in ("vocabulary", "width", "layers", "heads", "kvHeads", "headWidth", "feedForward"))


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n1 = torch.nn.Parameter(torch.ones(D))
        self.n2 = torch.nn.Parameter(torch.ones(D))
        self.q = torch.nn.Linear(D, H * W, bias=False)
        self.k = torch.nn.Linear(D, K * W, bias=False)
        self.v = torch.nn.Linear(D, K * W, bias=False)
        self.o = torch.nn.Linear(H * W, D, bias=False)
        self.gate = torch.nn.Linear(D, M, bias=False)
        self.up = torch.nn.Linear(D, M, bias=False)
        self.down = torch.nn.Linear(M, D, bias=False)


def norm(x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * w


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(V, D)
        self.layers = torch.nn.ModuleList(Layer() for _ in range(L))
        self.n = torch.nn.Parameter(torch.ones(D))
        freq = 10000 ** (-torch.arange(0, W, 2).float() / W)
        angles = torch.arange(job["context"]).float()[:, None] * freq
        self.cos, self.sin = angles.cos(), angles.sin()

    def forward(self, tokens, cache=None, start=0):
        B, T = tokens.shape
        x = self.embed(tokens)
        cos, sin = self.cos[start : start + T], self.sin[start : start + T]
        for i, l in enumerate(self.layers):
            h = norm(x, l.n1)
            q = rotate(l.q(h).view(B, T, H, W).transpose(1, 2), cos, sin)
            k = rotate(l.k(h).view(B, T, K, W).transpose(1, 2), cos, sin)
            v = l.v(h).view(B, T, K, W).transpose(1, 2)
            if cache is not None:
                cache[i][0][:, :, start : start + T] = k
                cache[i][1][:, :, start : start + T] = v
                k, v = cache[i][0][:, :, : start + T], cache[i][1][:, :, : start + T]
            k, v = k.repeat_interleave(H // K, 1), v.repeat_interleave(H // K, 1)
            s = q @ k.transpose(-1, -2) * W**-0.5
            if T > 1:
                s = s + torch.full((T, T), -1e9).triu(1)
            x = x + l.o((s.softmax(-1) @ v).transpose(1, 2).reshape(B, T, H * W))
            h = norm(x, l.n2)
            x = x + l.down(F.silu(l.gate(h)) * l.up(h))
        return norm(x, self.n) @ self.embed.weight.t()


def build():
    model = Model()
    return model, torch.compile(model) if job["compile"] else model


seconds = []
if job["kind"] == "matmul":
    n = job["size"]
    a, b = torch.randn(n, n), torch.randn(n, n)
    for _ in range(job["runs"] + 1):
        t = time.perf_counter()
        for _ in range(job["repeat"]):
            a @ b
        seconds.append((time.perf_counter() - t) / job["repeat"])
elif job["kind"] == "train":
    model, call = build()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(0, V, (job["rows"], job["length"] + 1))
    for _ in range(job["runs"] + 1):
        t = time.perf_counter()
        logits = call(tokens[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, V), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()
        seconds.append(time.perf_counter() - t)
else:
    model, call = build()
    B, P, N = job["rows"], job["prompt"], job["length"]
    prompt = torch.randint(0, V, (B, P))
    with torch.inference_mode():
        for _ in range(job["runs"] + 1):
            t = time.perf_counter()
            cache = [(torch.empty(B, K, P + N, W), torch.empty(B, K, P + N, W)) for _ in range(L)]
            logits = call(prompt, cache, 0)[:, -1]
            for i in range(N):
                logs = logits.log_softmax(-1)
                token = torch.multinomial(logs.exp(), 1)
                logs.gather(1, token), -(logs.exp() * logs).sum(-1)
                if i + 1 < N:
                    logits = call(token, cache, P + i)[:, -1]
            seconds.append(time.perf_counter() - t)
print(json.dumps({"seconds": seconds[1:], "peakBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
