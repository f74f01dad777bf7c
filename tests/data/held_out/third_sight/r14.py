"""Machine translation decoder, mixed precision, one target token per step."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DEV = "cuda" if torch.cuda.is_available() else "cpu"
LAYERS, DIM, HEADS, FF = 8, 4096, 32, 16384
BATCH, SRC_LEN, VOCAB = 48, 64, 32000


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.q, self.out = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, FF), nn.Linear(FF, DIM)

    def forward(self, x, mem):
        q = self.q(self.n1(x)).view(BATCH, HEADS, 1, DIM // HEADS)
        a = F.scaled_dot_product_attention(q, mem[0], mem[1])
        x = x + self.out(a.reshape(BATCH, DIM))
        return x + self.down(F.relu(self.up(self.n2(x))))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, ids, mems):
        x = self.emb(ids)
        for layer, mem in zip(self.layers, mems):
            x = layer(x, mem)
        return self.head(self.norm(x))


def setup():
    with torch.device(DEV):
        model = Decoder()
    model.eval().requires_grad_(False)
    hd = DIM // HEADS
    mems = [
        tuple(torch.randn(BATCH, HEADS, SRC_LEN, hd, device=DEV, dtype=torch.bfloat16) for _ in range(2))
        for _ in range(LAYERS)
    ]
    return {"model": model, "mems": mems, "ids": torch.zeros(BATCH, dtype=torch.long, device=DEV)}


@torch.no_grad()
def step(s):
    with torch.autocast(DEV, dtype=torch.bfloat16):
        s["ids"] = s["model"](s["ids"], s["mems"]).argmax(-1)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=16, warmup=3)
