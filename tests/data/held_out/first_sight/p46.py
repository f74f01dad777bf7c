"""Music transformer training."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS, VOCAB, B, T = 1024, 16, 4, 512, 4, 2048


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.o = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.register_buffer("mask", torch.ones(T, T, dtype=torch.bool).triu(1), persistent=False)

    def forward(self, x):
        q, k, v = self.qkv(x).view(B, T, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        w = q @ k.transpose(-1, -2) / math.sqrt(DIM // HEADS)
        w = w.masked_fill(self.mask, float("-inf"))
        w = w.float().softmax(-1).to(x.dtype)
        w = F.dropout(w, 0.1, self.training)
        return self.o((w @ v).transpose(1, 2).reshape(B, T, DIM))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.att = Attention()
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        x = x + self.att(self.n1(x))
        return x + self.down(F.gelu(self.up(self.n2(x))))


def setup():
    net = nn.Sequential(
        nn.Embedding(VOCAB, DIM), *[Block() for _ in range(LAYERS)], nn.LayerNorm(DIM), nn.Linear(DIM, VOCAB)
    ).to("cuda", torch.bfloat16)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)
    return {"net": net, "opt": opt, "ids": torch.randint(0, VOCAB, (B, T + 1), device="cuda")}


def step(s):
    logits = s["net"](s["ids"][:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), s["ids"][:, 1:].reshape(-1))
    loss.backward()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=8)
