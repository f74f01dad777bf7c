"""Builds a passage index: one vector for each passage of a collection."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DEV = "cuda" if torch.cuda.is_available() else "cpu"
LAYERS, DIM, HEADS = 6, 768, 12
BATCH, SEQ, VOCAB = 256, 512, 30000


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.out = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, DIM))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.final_norm = nn.LayerNorm(DIM)

    def forward(self, ids):
        x = self.emb(ids)
        for layer in self.layers:
            x = layer(x)
        return self.final_norm(x)


class PassageIndex:
    def __init__(self):
        self.encoder = Encoder().to(DEV, torch.bfloat16).eval()
        self.vectors = []

    @torch.inference_mode()
    def add_passages(self, ids):
        hidden = self.encoder(ids)
        self.vectors.append(hidden[:, 0])


def setup():
    return PassageIndex()


def step(index):
    index.add_passages(torch.randint(0, VOCAB, (BATCH, SEQ), device=DEV))


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=40, warmup=0)
