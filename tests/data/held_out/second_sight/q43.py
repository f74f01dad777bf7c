"""Encode a corpus for semantic search, clustering the vectors at the end."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS, VOCAB, B, T = 1024, 16, 4, 30000, 64, 256


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.o = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.o(a.transpose(1, 2).reshape(b, t, DIM))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.layers = nn.Sequential(*[Layer() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(DIM)

    def forward(self, ids):
        hidden = self.norm(self.layers(self.emb(ids)))
        return hidden[:, 0]


def setup():
    net = Encoder().to("cuda", torch.bfloat16).eval()
    return {"net": net, "vectors": []}


@torch.inference_mode()
def step(s):
    for _ in range(4):
        ids = torch.randint(0, VOCAB, (B, T), device="cuda")
        s["vectors"].append(s["net"](ids))


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=20)
