"""Prompt processing with a sparse feed-forward transformer."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS, EXPERTS, TOP, FF, VOCAB, T = 1024, 16, 6, 32, 2, 1408, 32000, 1024


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(DIM, FF, bias=False)
        self.up = nn.Linear(DIM, FF, bias=False)
        self.down = nn.Linear(FF, DIM, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Sparse(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(DIM, EXPERTS, bias=False)
        self.experts = nn.ModuleList(Expert() for _ in range(EXPERTS))

    def forward(self, x):
        flat = x.view(-1, DIM)
        weight, chosen = self.router(flat).float().softmax(-1).topk(TOP, dim=-1)
        weight = (weight / weight.sum(-1, keepdim=True)).to(x.dtype)
        out = torch.zeros_like(flat)
        for e, expert in enumerate(self.experts):
            token, slot = torch.where(chosen == e)
            if token.numel() == 0:
                continue
            out.index_add_(0, token, expert(flat[token]) * weight[token, slot, None])
        return out.view_as(x)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.RMSNorm(DIM), nn.RMSNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM, bias=False)
        self.o = nn.Linear(DIM, DIM, bias=False)
        self.moe = Sparse()

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(b, t, DIM))
        return x + self.moe(self.n2(x))


def setup():
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        emb = nn.Embedding(VOCAB, DIM)
        layers = nn.Sequential(*[Layer() for _ in range(LAYERS)])
    torch.set_default_dtype(torch.float32)
    return {"emb": emb.eval(), "layers": layers.eval()}


@torch.no_grad()
def step(s):
    ids = torch.randint(0, VOCAB, (1, T), device="cuda")
    h = s["layers"](s["emb"](ids))
    s["next"] = (h[:, -1] @ s["emb"].weight.t()).argmax(-1)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=8, warmup=2, record_shapes=True)
