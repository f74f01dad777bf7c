"""Token generation for a fixed set of users."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS, VOCAB, B, CTX = 2048, 16, 8, 32000, 16, 1024


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM, bias=False)
        self.o = nn.Linear(DIM, DIM, bias=False)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)
        self.register_buffer("kv", torch.zeros(2, B, HEADS, CTX, DIM // HEADS))

    def forward(self, x, pos):
        q, k, v = self.qkv(self.n1(x)).view(B, 1, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        self.kv[0, :, :, pos : pos + 1] = k
        self.kv[1, :, :, pos : pos + 1] = v
        a = F.scaled_dot_product_attention(q, self.kv[0, :, :, : pos + 1], self.kv[1, :, :, : pos + 1])
        x = x + self.o(a.transpose(1, 2).reshape(B, 1, DIM))
        return x + self.down(F.gelu(self.up(self.n2(x))))


def setup():
    layers = nn.ModuleList(Layer() for _ in range(LAYERS)).to("cuda", torch.bfloat16).eval()
    emb = nn.Embedding(VOCAB, DIM).to("cuda", torch.bfloat16)
    return {
        "layers": layers,
        "emb": emb,
        "tok": torch.zeros(B, 1, dtype=torch.long, device="cuda"),
        "text": torch.zeros(B, CTX, dtype=torch.long, device="cuda"),
        "pos": 0,
    }


@torch.inference_mode()
def step(s):
    for _ in range(16):
        x = s["emb"](s["tok"])
        for layer in s["layers"]:
            x = layer(x, s["pos"])
        s["tok"] = (x @ s["emb"].weight.t()).argmax(-1)
        s["text"][:, s["pos"] : s["pos"] + 1] = s["tok"]
        s["pos"] = (s["pos"] + 1) % CTX


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=12, warmup=2, record_after_setup=True)
