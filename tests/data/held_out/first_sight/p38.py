"""Protein language model training."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

DIM, HEADS, LAYERS, VOCAB, B, T = 1024, 16, 12, 1024, 16, 1024


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.o = nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        q, k, v = self.qkv(self.n1(x)).view(B, T, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.o(a.transpose(1, 2).reshape(B, T, DIM))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(DIM, VOCAB)

    def forward(self, ids):
        x = self.emb(ids)
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant=False)
        return self.head(x)


def setup():
    net = Model().to("cuda", torch.bfloat16)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)
    ids = torch.randint(0, VOCAB, (B, T), device="cuda")
    return {"net": net, "opt": opt, "ids": ids, "loss": torch.zeros((), device="cuda")}


def step(s):
    logits = s["net"](s["ids"])
    loss = F.cross_entropy(logits.view(-1, VOCAB), s["ids"].view(-1))
    loss.backward()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)
    s["loss"] += loss.detach()


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=8, warmup=2, record_after_setup=True)
