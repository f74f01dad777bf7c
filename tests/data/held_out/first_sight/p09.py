"""Single-user text generation."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS, VOCAB, CTX = 768, 12, 24, 32000, 512


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(DIM, DIM)
        self.k = nn.Linear(DIM, DIM)
        self.v = nn.Linear(DIM, DIM)
        self.o = nn.Linear(DIM, DIM)
        self.register_buffer("kc", torch.zeros(1, HEADS, CTX, DIM // HEADS))
        self.register_buffer("vc", torch.zeros(1, HEADS, CTX, DIM // HEADS))

    def forward(self, x, pos):
        shape = (1, 1, HEADS, DIM // HEADS)
        q = self.q(x).view(shape).transpose(1, 2)
        self.kc[:, :, pos : pos + 1] = self.k(x).view(shape).transpose(1, 2)
        self.vc[:, :, pos : pos + 1] = self.v(x).view(shape).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, self.kc[:, :, : pos + 1], self.vc[:, :, : pos + 1])
        return self.o(y.transpose(1, 2).reshape(1, 1, DIM))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.att = Attention()
        self.gate = nn.Linear(DIM, 2048)
        self.up = nn.Linear(DIM, 2048)
        self.down = nn.Linear(2048, DIM)

    def forward(self, x, pos):
        x = x + self.att(self.n1(x), pos)
        h = self.n2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, tok, pos):
        x = self.emb(tok)
        for l in self.layers:
            x = l(x, pos)
        return self.head(self.norm(x))


def setup():
    net = Model().to("cuda", torch.bfloat16).eval()
    return {"net": net, "tok": torch.zeros(1, 1, dtype=torch.long, device="cuda"), "pos": 0}


@torch.inference_mode()
def step(s):
    out = []
    for _ in range(16):
        s["tok"] = s["net"](s["tok"], s["pos"]).argmax(-1)
        s["pos"] = (s["pos"] + 1) % CTX
        out.append(s["tok"])
    s["text"] = torch.cat(out, 1).tolist()


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=2)
