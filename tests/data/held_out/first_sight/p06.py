"""Language-model pre-training loop."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS, VOCAB, B, T = 2048, 16, 8, 8192, 8, 1024


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1 = nn.LayerNorm(DIM)
        self.n2 = nn.LayerNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM, bias=False)
        self.proj = nn.Linear(DIM, DIM, bias=False)
        self.up = nn.Linear(DIM, 4 * DIM, bias=False)
        self.down = nn.Linear(4 * DIM, DIM, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(self.n1(x)).view(B, T, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(B, T, DIM))
        return x + self.down(F.gelu(self.up(self.n2(x)), approximate="tanh"))


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, ids):
        return self.head(self.norm(self.blocks(self.emb(ids))))


def setup():
    net = LM().to("cuda", torch.bfloat16)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)
    host = [torch.randint(0, VOCAB, (B, T + 1)).pin_memory() for _ in range(4)]
    return {"net": net, "opt": opt, "host": host, "i": 0, "sum": torch.zeros((), device="cuda")}


def step(s):
    ids = s["host"][s["i"] % 4].to("cuda", non_blocking=True)
    s["i"] += 1
    logits = s["net"](ids[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), ids[:, 1:].reshape(-1))
    loss.backward()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)
    s["sum"] += loss.detach()
    if s["i"] % 10 == 0:
        s["mean"] = s["sum"].item() / 10
        s["sum"].zero_()


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=3, record_shapes=True)
