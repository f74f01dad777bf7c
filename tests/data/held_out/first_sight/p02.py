"""Batched token generation with a decoder whose step is captured once."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS, VOCAB, CTX, BATCH = 4096, 32, 8, 32000, 512, 8


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1 = nn.LayerNorm(DIM)
        self.n2 = nn.LayerNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM, bias=False)
        self.proj = nn.Linear(DIM, DIM, bias=False)
        self.up = nn.Linear(DIM, 4 * DIM, bias=False)
        self.down = nn.Linear(4 * DIM, DIM, bias=False)
        shape = (BATCH, HEADS, CTX, DIM // HEADS)
        self.register_buffer("k", torch.zeros(shape))
        self.register_buffer("v", torch.zeros(shape))

    def forward(self, x, pos, mask):
        q, k, v = self.qkv(self.n1(x)).view(BATCH, 1, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        self.k.index_copy_(2, pos, k)
        self.v.index_copy_(2, pos, v)
        a = F.scaled_dot_product_attention(q, self.k, self.v, attn_mask=mask)
        x = x + self.proj(a.transpose(1, 2).reshape(BATCH, 1, DIM))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, tok, pos, idx):
        mask = (idx <= pos).view(1, 1, 1, CTX)
        x = self.emb(tok)
        for b in self.blocks:
            x = b(x, pos, mask)
        return self.head(self.norm(x)).argmax(-1)


def setup():
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16)
        net = Decoder().eval().requires_grad_(False)
        torch.set_default_dtype(torch.float32)
    tok = torch.zeros(BATCH, 1, dtype=torch.long, device="cuda")
    pos = torch.zeros(1, dtype=torch.long, device="cuda")
    idx = torch.arange(CTX, device="cuda")

    def one():
        tok.copy_(net(tok, pos, idx))
        pos.add_(1).remainder_(CTX)

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), torch.no_grad():
        for _ in range(3):
            one()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        one()
    return {"graph": graph, "net": net, "tok": tok, "pos": pos, "idx": idx}


def step(s):
    for _ in range(24):
        s["graph"].replay()
    s["last"] = s["tok"].tolist()


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=2)
