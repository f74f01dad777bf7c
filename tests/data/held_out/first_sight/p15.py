"""Encoder fine-tuning with detailed training telemetry."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS, VOCAB, B, T = 768, 12, 12, 16000, 32, 128


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.q, self.k, self.v, self.o = (nn.Linear(DIM, DIM) for _ in range(4))
        self.f1, self.f2 = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        h = self.n1(x)
        q, k, v = (f(h).view(B, T, HEADS, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.o(a.transpose(1, 2).reshape(B, T, DIM))
        return x + self.f2(F.gelu(self.f1(self.n2(x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.layers = nn.Sequential(*[Layer() for _ in range(LAYERS)])
        self.head = nn.Linear(DIM, 20)

    def forward(self, ids):
        return self.head(self.layers(self.emb(ids))[:, 0])


def setup():
    net = Encoder().to("cuda", torch.bfloat16)
    return {
        "net": net,
        "opt": torch.optim.AdamW(net.parameters(), lr=2e-5, fused=True),
        "ids": torch.randint(0, VOCAB, (B, T), device="cuda"),
        "y": torch.randint(0, 20, (B,), device="cuda"),
        "log": {},
    }


def telemetry(net, log):
    healthy = True
    for name, p in net.named_parameters():
        g = p.grad.float()
        norm, peak, size = g.norm().item(), g.abs().max().item(), p.detach().float().norm().item()
        healthy = healthy and math.isfinite(norm)
        log[name] = (norm, peak, norm / (size + 1e-12))
    return healthy


def step(s):
    loss = F.cross_entropy(s["net"](s["ids"]).float(), s["y"])
    s["opt"].zero_grad(set_to_none=True)
    loss.backward()
    if telemetry(s["net"], s["log"]):
        s["opt"].step()


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=3, record_shapes=True)
